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

package testkit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
)

// Expect waits until the PodManager is as it should be.
func (f *Fleet) Expect(what string, check func(*appsv1.PodManager) error) *appsv1.PodManager {
	f.Helper()
	var pm *appsv1.PodManager
	var unmet error
	defer func() {
		if unmet != nil {
			f.Logf("the pods of %s: %s", f.name, f.Table())
		}
	}()
	Eventually(f, f.name+": "+what, func() error {
		pm = f.Get()
		if unmet = check(pm); unmet != nil {
			return fmt.Errorf("%w; conditions %+v", unmet, pm.Status.Conditions)
		}
		return nil
	})
	return pm
}

// Settled checks that n pods are available for the latest spec, on any revision,
// and that nothing is under way.
func Settled(pm *appsv1.PodManager, n int) error {
	s := pm.Status
	if s.ObservedGeneration != pm.Generation {
		return fmt.Errorf("status is for generation %d of %d", s.ObservedGeneration, pm.Generation)
	}
	if int(s.AvailableReplicas) != n || int(s.CurrentReplicas) != n || s.TerminatingReplicas != 0 {
		return fmt.Errorf("%d available, %d live, %d terminating", s.AvailableReplicas, s.CurrentReplicas, s.TerminatingReplicas)
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.ConditionReconciling || c.Type == appsv1.ConditionStalled {
			return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return nil
}

// ExpectReady waits until n pods are available for the latest spec and nothing
// is under way.
func (f *Fleet) ExpectReady(n int) *appsv1.PodManager {
	f.Helper()
	return f.Expect(fmt.Sprintf("%d pods are available and nothing is under way", n), func(pm *appsv1.PodManager) error {
		return Settled(pm, n)
	})
}

// RolledOut is Settled, and all pods are on the latest revision.
func RolledOut(pm *appsv1.PodManager, n int) error {
	if err := Settled(pm, n); err != nil {
		return err
	}
	if s := pm.Status; int(s.UpdatedReplicas) != n || n > 0 && s.CurrentRevision != s.UpdateRevision {
		return fmt.Errorf("%d updated, current %s, update %s", s.UpdatedReplicas, s.CurrentRevision, s.UpdateRevision)
	}
	return nil
}

// ExpectRolledOut is ExpectReady, and all pods are on the latest revision.
func (f *Fleet) ExpectRolledOut(n int) *appsv1.PodManager {
	f.Helper()
	return f.Expect(fmt.Sprintf("%d pods are available on the latest revision", n), func(pm *appsv1.PodManager) error {
		return RolledOut(pm, n)
	})
}

// ExpectCondition waits until a condition of the latest spec is True with a
// reason, and returns its message, too.
func (f *Fleet) ExpectCondition(kind, reason string) (pm *appsv1.PodManager, message string) {
	f.Helper()
	pm = f.Expect(kind+" says "+reason, func(pm *appsv1.PodManager) error {
		c := meta.FindStatusCondition(pm.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || c.ObservedGeneration != pm.Generation {
			return fmt.Errorf("%s is %+v", kind, c)
		}
		return nil
	})
	return pm, meta.FindStatusCondition(pm.Status.Conditions, kind).Message
}

// ExpectImages waits until so many live pods have each image.
func (f *Fleet) ExpectImages(want map[string]int) {
	f.Helper()
	Eventually(f, fmt.Sprintf("the pods run %v", want), func() error {
		got := map[string]int{}
		for _, p := range f.Live() {
			got[p.Spec.Containers[0].Image]++
		}
		if !maps.Equal(want, got) {
			return fmt.Errorf("they run %v: %s", got, f.Table())
		}
		return nil
	})
}

// ExpectSamePods fails when a live pod came or went since its UIDs were taken.
func (f *Fleet) ExpectSamePods(before map[string]types.UID) {
	f.Helper()
	if after := f.UIDs(); !maps.Equal(before, after) {
		f.Errorf("the pods of %s were %v and are %v", f.name, before, after)
	}
}

// ExpectNewPods fails when a pod was not replaced since its UID was taken.
func (f *Fleet) ExpectNewPods(before map[string]types.UID) {
	f.Helper()
	for name, uid := range f.UIDs() {
		if before[name] == uid {
			f.Errorf("pod %s is still the old one", name)
		}
	}
}

// ExpectSuccessor waits until another pod has an old one's name.
func (f *Fleet) ExpectSuccessor(old *corev1.Pod) *corev1.Pod {
	f.Helper()
	pod := &corev1.Pod{}
	Eventually(f, "pod "+old.Name+" has a successor", func() error {
		pod = &corev1.Pod{}
		if err := f.suite.Client.Get(f.Context(), client.ObjectKeyFromObject(old), pod); err != nil {
			return err
		}
		if pod.UID == old.UID {
			return fmt.Errorf("it is still the old one, phase %s", pod.Status.Phase)
		}
		return nil
	})
	return pod
}

// ExpectHistory waits until the newest decision of an action and a reason says
// a text.
func (f *Fleet) ExpectHistory(action, reason, text string) {
	f.Helper()
	f.Expect(fmt.Sprintf("the history has %s for %s", action, reason), func(pm *appsv1.PodManager) error {
		if d := Decided(pm, action, reason); d == nil || !strings.Contains(d.Message, text) {
			return fmt.Errorf("it is %+v", pm.Status.History)
		}
		return nil
	})
}

// Decided finds the newest decision of an action and a reason, or nil.
func Decided(pm *appsv1.PodManager, action, reason string) *appsv1.Decision {
	i := slices.IndexFunc(pm.Status.History, func(d appsv1.Decision) bool { return d.Action == action && d.Reason == reason })
	if i < 0 {
		return nil
	}
	return &pm.Status.History[i]
}

// ExpectEvent waits for an event about the PodManager whose note contains a text.
func (f *Fleet) ExpectEvent(eventType, reason, text string) {
	f.Helper()
	f.suite.ExpectEvent(f, f.object(), eventType, reason, text)
}

// ExpectWarnings waits until there were so many warnings.
func (f *Fleet) ExpectWarnings(want int) {
	f.Helper()
	Eventually(f, fmt.Sprintf("there are %d warnings about %s", want, f.name), func() error {
		if n := f.CountWarnings(); n != want {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// ExpectUntouched fails when the operator asked for a change of one of these
// pods since the fleet was named.
func (f *Fleet) ExpectUntouched(pods ...string) {
	f.Helper()
	for _, e := range f.Requests(f.since, func(e *localkube.AuditEvent) bool {
		return e.Mutating() && e.ObjectRef.Resource == "pods" && slices.Contains(pods, e.ObjectRef.Name) &&
			(e.Verb != "create" || e.ObjectRef.Subresource != "")
	}) {
		f.Errorf("the operator asked to %s pod %s: %s", e.Verb, e.ObjectRef.Name, e.RequestObject)
	}
}
