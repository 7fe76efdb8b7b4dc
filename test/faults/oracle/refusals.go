/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Injected is the container that a webhook adds to pods. Two runs are compared
// without it.
const Injected = "injected"

// The rate that H allows: in any minute no more than so many writes of a
// PodManager are refused.
const (
	RefusedPerMinute = 60
	minute           = time.Minute
)

// Request is a write that the operator asked for.
type Request struct {
	Time time.Time
	// Version is that of the cluster when it was asked for.
	Version          int64
	Verb, Kind, Name string
	// Refused: the API server said no, and nothing happened. TooLarge: it was a resize
	// beyond all that the pod's node can allocate. Invalid: it was a resize that no pod
	// can have.
	Refused, TooLarge, Invalid bool
}

// Refusal is a rule of the API server that is in force at the end, and an object
// that it was met for.
type Refusal struct {
	Verb, Kind, Name string
	// Message is in every answer.
	Message string
	// Stalls: the refusal is one for good, and the owner has to say so.
	Stalls bool
}

// Rate is the part of H that is about refusals: while something is refused, it
// is not asked for too often.
func Rate(requests []Request) []Violation {
	var refused []Request
	for _, r := range requests {
		if r.Refused {
			refused = append(refused, r)
		}
	}
	first := 0
	for i := range refused {
		for refused[i].Time.Sub(refused[first].Time) >= minute {
			first++
		}
		if i-first >= RefusedPerMinute {
			return []Violation{{Rule: "H", Version: refused[i].Version, Message: fmt.Sprintf(
				"%d writes were refused within a minute, the last: %s %s %s", i-first+1, refused[i].Verb, refused[i].Kind, refused[i].Name)}}
		}
	}
	return nil
}

// Possible is P: what can be done is done. At the end, with some writes refused
// for good, every slot that none of them is about is filled, no pod that none of
// them is about is too many, and the owner names one of them.
func Possible(end []client.Object, refusals []Refusal) []Violation {
	var found []Violation
	for _, obj := range end {
		pm, ok := obj.(*appsv1.PodManager)
		if !ok {
			continue
		}
		j := &judge{pm: pm, refusals: refusals, pods: map[string]*corev1.Pod{}}
		for _, other := range end {
			if pod, ok := other.(*corev1.Pod); ok {
				j.pods[pod.Name] = pod
			}
		}
		j.told()
		j.slots()
		found = append(found, j.found...)
	}
	return found
}

// judge looks at one owner.
type judge struct {
	pm       *appsv1.PodManager
	pods     map[string]*corev1.Pod
	refusals []Refusal
	found    []Violation
}

func (j *judge) report(format string, args ...any) {
	j.found = append(j.found, Violation{Rule: "P", Message: fmt.Sprintf(format, args...)})
}

// told checks that the condition Stalled reports a refusal for good, in the API
// server's words.
func (j *judge) told() {
	var messages []string
	for _, r := range j.refusals {
		if r.Stalls {
			messages = append(messages, r.Message)
		}
	}
	if len(messages) == 0 {
		return
	}
	c := meta.FindStatusCondition(j.pm.Status.Conditions, appsv1.ConditionStalled)
	if c == nil {
		j.report("owner %s does not say that it is stalled: %s", j.pm.Name, strings.Join(messages, "; "))
		return
	}
	// A conflict does not have to be told, because it could pass. Where it does not, it is
	// as permanent as the others.
	for _, r := range j.refusals {
		if strings.Contains(c.Message, r.Message) {
			return
		}
	}
	j.report("owner %s says %q, and is refused: %s", j.pm.Name, c.Message, strings.Join(messages, "; "))
}

// touched are the pods that a refusal is about: itself, or its claim.
func (j *judge) touched(name string) bool {
	for _, r := range j.refusals {
		if r.Kind == "Pod" && r.Name == name || r.Kind == "PersistentVolumeClaim" && strings.HasSuffix(r.Name, "-"+name) {
			return true
		}
	}
	return false
}

// needed: without the owner's finalizer or a revision there are no pods.
func (j *judge) needed() bool {
	for _, r := range j.refusals {
		if r.Kind == "PodManager" || r.Kind == "ControllerRevision" && r.Verb == "create" {
			return true
		}
	}
	return false
}

func (j *judge) slots() {
	want := SpecOf(j.pm)
	if j.needed() || j.pm.DeletionTimestamp != nil || want.TakesOver || want.Random {
		return
	}
	held := 0
	for slot := range want.Replicas + len(want.Reserved) {
		if !want.InBase(slot) {
			continue
		}
		name := fmt.Sprintf("%s-%d", j.pm.Name, slot)
		pod := j.pods[name]
		if j.touched(name) || j.foreign(pod) {
			held++
			if want.Ordered {
				return // all that come after it wait
			}
			continue
		}
		if (pod == nil || !Live(pod)) && !j.full(want) {
			j.report("slot %d of %s is empty, and nothing that is refused is about it", slot, j.pm.Name)
		}
	}
	if want.Ordered && slices.ContainsFunc(j.refusals, func(r Refusal) bool { return r.Kind == "Pod" }) {
		return // what may not be deleted keeps those below it
	}
	j.extras(want.Replicas+len(want.Reserved), min(held, want.MaxSurge))
}

// full: as many pods live as may, because some may not be deleted: they share the
// budget of those that are missing.
func (j *judge) full(want *Spec) bool {
	live := 0
	for _, pod := range j.pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.UID == j.pm.UID && Live(pod) {
			live++
		}
	}
	return live >= want.Replicas+want.SurgeAllowed()
}

// extras: beyond the replicas there are only pods that may not be deleted, pods with a
// hold ("do not delete the pod until the label is removed"), the surge that stands in
// for pods which are held back, and, where those of the fleet do not serve, so many
// that do: "a pod that serves stays, also above replicas, as long as fewer than replicas
// minus maxUnavailable pods would serve without it".
func (j *judge) extras(replicas, surge int) {
	want := SpecOf(j.pm)
	needed := want.Replicas - want.Unavailable()
	for _, slot := range want.Base() {
		if pod := j.pods[want.PodName(slot)]; pod != nil && !j.foreign(pod) && Live(pod) && Serves(pod) {
			needed-- // a pod that could not be adopted is none of the fleet
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.pods)) {
		pod := j.pods[name]
		if ref := metav1.GetControllerOf(pod); ref == nil || ref.UID != j.pm.UID || !Live(pod) || j.touched(name) || Held(pod, appsv1.LabelHoldDelete) {
			continue
		}
		var slot int
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, j.pm.Name+"-"), "%d", &slot); err == nil && slot >= replicas+surge {
			if needed > 0 && Serves(pod) {
				needed--
				continue
			}
			j.report("pod %s is beyond the replicas of %s, and nothing that is refused is about it", name, j.pm.Name)
		}
	}
}

// foreign: another's pod has the name, or a finalizer keeps it.
func (j *judge) foreign(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	ref := metav1.GetControllerOf(pod)
	return ref == nil || ref.UID != j.pm.UID || pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0
}
