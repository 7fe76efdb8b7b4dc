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

package observe

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// TestThePlannerReadsTheSamePodFromTheCache: what Slim drops is nothing that
// describePod reads, and a change that PodChanged does not pass is none that the
// planner would see.
func TestThePlannerReadsTheSamePodFromTheCache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawPod(t, "before")
		after := drawChange(t, before)
		slim := [2]*corev1.Pod{slimmed(t, before), slimmed(t, after)}
		for i, whole := range []*corev1.Pod{before, after} {
			if diff := cmp.Diff(describePod(ordinals(), whole, plan.Member), describePod(ordinals(), slim[i], plan.Member)); diff != "" {
				t.Fatalf("the planner reads another pod from the cache (-whole +slim):\n%s", diff)
			}
			if diff := cmp.Diff(sizesOf(whole), sizesOf(slim[i])); diff != "" {
				t.Fatalf("the planner reads another size from the cache (-whole +slim):\n%s", diff)
			}
		}
		if whole, cached := PodChanged(before, after), PodChanged(slim[0], slim[1]); whole != cached {
			t.Fatalf("the change passes: %t, and from the cache: %t", whole, cached)
		}
		if PodChanged(slim[0], slim[1]) {
			return
		}
		was, is := describePod(ordinals(), before, plan.Member), describePod(ordinals(), after, plan.Member)
		is.ResourceVersion, is.Node, is.Restarts, is.DeletionCost = was.ResourceVersion, was.Node, was.Restarts, was.DeletionCost
		is.UnreadySince = was.UnreadySince
		if diff := cmp.Diff(was, is); diff != "" {
			t.Fatalf("the planner would see a change that does not pass (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(sizesOf(before), sizesOf(after)); diff != "" {
			t.Fatalf("the planner would see a size that does not pass (-before +after):\n%s", diff)
		}
	})
}

// sizesOf is all that describeSizes can read of a pod.
func sizesOf(pod *corev1.Pod) podrender.Size {
	return podrender.SizeOf(&corev1.PodTemplateSpec{Spec: pod.Spec})
}

// TestChangesThatPass: whose a pod is, and what the planner reads of it, and not
// what changes all the time.
func TestChangesThatPass(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"none":              {func(*corev1.Pod) {}, false},
		"its version":       {func(p *corev1.Pod) { p.ResourceVersion = "9" }, false},
		"its restarts":      {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount++ }, false},
		"its deletion cost": {func(p *corev1.Pod) { p.Annotations[corev1.PodDeletionCost] = "9" }, false},
		"its size": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("7")}
		}, true},
		"its phase":                 {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, true},
		"a label that is not ours":  {func(p *corev1.Pod) { p.Labels["app"] = "web" }, true},
		"it was released":           {func(p *corev1.Pod) { p.OwnerReferences = nil }, true},
		"it has a new owner":        {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "you" }, true},
		"its owner's name":          {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "api" }, true},
		"its owner's kind":          {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" }, true},
		"its owner's group":         {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "apps/v1" }, true},
		"its owner controls it not": {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, true},
		"its owner waits for it":    {func(p *corev1.Pod) { p.OwnerReferences[0].BlockOwnerDeletion = ptr.To(true) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := richPod()
			test.change(after)
			if got := PodChanged(richPod(), after); got != test.want {
				t.Errorf("the change passes: %t, want %t", got, test.want)
			}
		})
	}
}

// drawChange changes one part of a pod.
func drawChange(t *rapid.T, before *corev1.Pod) *corev1.Pod {
	after, other := before.DeepCopy(), drawPod(t, "after")
	parts := map[string]func(){
		"meta":       func() { after.ObjectMeta = other.ObjectMeta },
		"spec":       func() { after.Spec, after.Generation = other.Spec, other.Generation },
		"phase":      func() { after.Status.Phase, after.Status.Reason = other.Status.Phase, other.Status.Reason },
		"observed":   func() { after.Status.ObservedGeneration = other.Status.ObservedGeneration },
		"conditions": func() { after.Status.Conditions = other.Status.Conditions },
		"containers": func() { after.Status.ContainerStatuses = other.Status.ContainerStatuses },
		"init":       func() { after.Status.InitContainerStatuses = other.Status.InitContainerStatuses },
		"states": func() {
			for i := range min(len(after.Status.ContainerStatuses), len(other.Status.ContainerStatuses)) {
				after.Status.ContainerStatuses[i].State = other.Status.ContainerStatuses[i].State
			}
		},
	}
	parts[rapid.SampledFrom(slices.Sorted(maps.Keys(parts))).Draw(t, "what changes")]()
	return after
}

func slimmed(t *rapid.T, pod *corev1.Pod) *corev1.Pod {
	slim, err := Slim(pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	return slim.(*corev1.Pod)
}

// drawPod draws a pod in any state that the API allows, also in those that no
// kubelet would write.
func drawPod(t *rapid.T, label string) *corev1.Pod {
	d := drawer{t, label}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: d.of("name", "web-0", "web-1"), UID: me, Generation: int64(d.number("generation", 1, 3)),
			ResourceVersion: strconv.Itoa(d.number("version", 1, 9)), CreationTimestamp: d.time("created"),
			Labels: d.some("labels", map[string][]string{
				appsv1.LabelSlot: {"0", "1"}, appsv1.LabelRevision: {"web-a", "web-b"}, appsv1.LabelDelete: {"true", "no"},
				appsv1.LabelHoldDelete: {"", "backup"}, appsv1.LabelHoldUpdate: {"backup"}, appsv1.LabelWanted: {"delete", "update"},
			}),
			Annotations: d.some("annotations", map[string][]string{
				corev1.PodDeletionCost: {"1", "-7", "much"}, appsv1.AnnotationSurge: {"true", "no"}, "example.com/blob": {"x"},
				appsv1.AnnotationInPlace: {"edited by hand", d.marks()}, appsv1.AnnotationEvictionRequested: {"2026-03-01T12:00:00Z", "soon"},
				appsv1.AnnotationEvictionGrace: {"0", "30", "-1", "long"}, appsv1.AnnotationReplaces: {appsv1.WhyMissing, appsv1.WhyDisruptionSurge},
			}),
			Finalizers: d.list("finalizers", appsv1.LabelHoldDelete, appsv1.LabelHoldUpdate, "example.com/backup"),
		},
		Spec: corev1.PodSpec{
			NodeName:   d.of("node", "", "n", "m"),
			Containers: []corev1.Container{{Name: "app", Image: d.image("app"), Resources: d.requests("app")}},
		},
		Status: corev1.PodStatus{
			Phase:  corev1.PodPhase(d.of("phase", "Pending", "Running", "Failed", "Succeeded", "Unknown")),
			Reason: d.of("reason", "", "Evicted"), ObservedGeneration: int64(d.number("observed", 0, 3)),
		},
	}
	if d.yes("deleted") {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(d.time("deletion")), ptr.To(int64(d.number("grace", 0, 30)))
	}
	if d.yes("gated") {
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}}
	}
	if d.yes("init container") {
		init := corev1.Container{Name: "proxy", Image: d.image("proxy"), Resources: d.requests("proxy")}
		if d.yes("sidecar") {
			init.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = []corev1.Container{init}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{d.status("proxy")}
	}
	if d.yes("status of its container") {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{d.status("app")}
	}
	for _, kind := range []string{"PodScheduled", "Ready", string(appsv1.GateInService), "PodResizePending", "PodResizeInProgress", "Initialized"} {
		if d.yes(kind) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodConditionType(kind), Status: corev1.ConditionStatus(d.of(kind+" status", "True", "False", "Unknown")),
				Reason:             d.of(kind+" reason", "", "Unschedulable", "SchedulingGated", "Infeasible", "Deferred"),
				Message:            d.of(kind+" message", "", "0/3 nodes are available. preemption: none", "no room"),
				LastTransitionTime: d.time(kind + " since"),
			})
		}
	}
	return pod
}

// drawer draws the parts of a pod.
type drawer struct {
	t     *rapid.T
	label string
}

func (d drawer) yes(what string) bool { return rapid.Bool().Draw(d.t, d.label+": "+what) }

func (d drawer) number(what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(d.t, d.label+": "+what)
}

func (d drawer) of(what string, values ...string) string {
	return rapid.SampledFrom(values).Draw(d.t, d.label+": "+what)
}

func (d drawer) time(what string) metav1.Time { return at(int64(d.number(what, 0, 4))) }

func (d drawer) image(name string) string { return name + ":" + d.of(name+" image", "1", "2") }

func (d drawer) list(what string, values ...string) []string {
	return slices.DeleteFunc(values, func(value string) bool { return !d.yes(what + " " + value) })
}

func (d drawer) some(what string, values map[string][]string) map[string]string {
	drawn := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if d.yes(what + " " + key) {
			drawn[key] = d.of(key, values[key]...)
		}
	}
	return drawn
}

func (d drawer) requests(name string) corev1.ResourceRequirements {
	drawn := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse(d.of(name+" memory", "1Gi", "2Gi")),
	}}
	if d.yes(name + " is limited") {
		drawn.Limits = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(d.of(name+" cpu", "1", "2", "1000m")), "example.com/gpu": resource.MustParse("1"),
		}
	}
	return drawn
}

func (d drawer) marks() string {
	raw, err := json.Marshal([]plan.ContainerMark{{
		Name: d.of("marked", "app", "proxy"), ContainerID: d.of("marked container", "one", "two"),
		ImageID: d.of("marked image ID", "sha-1", "sha-2"), Image: d.of("marked image", "app:1", "app:2"),
	}})
	if err != nil {
		d.t.Fatal(err)
	}
	return string(raw)
}

func (d drawer) status(name string) corev1.ContainerStatus {
	status := corev1.ContainerStatus{
		Name: name, Image: d.image(name + " runs"), ImageID: d.of(name+" image ID", "sha-1", "sha-2"), ContainerID: d.of(name+" ID", "", "one", "two", "three"),
		Ready: d.yes(name + " ready"), RestartCount: int32(d.number(name+" restarts", 0, 2)),
	}
	if d.yes(name + " allocated") {
		status.AllocatedResources = d.requests(name + " allocated").Requests
	}
	status.State = d.state(name)
	status.LastTerminationState.Terminated = d.state(name + " before").Terminated
	return status
}

func (d drawer) state(name string) (state corev1.ContainerState) {
	switch d.of(name+" state", "", "waiting", "running", "terminated") {
	case "waiting":
		state.Waiting = &corev1.ContainerStateWaiting{Reason: d.of(name+" waits", "", "ContainerCreating", "CrashLoopBackOff"), Message: "long"}
	case "running":
		state.Running = &corev1.ContainerStateRunning{StartedAt: d.time(name + " started")}
	case "terminated":
		state.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: int32(d.number(name+" exit code", 0, 1)), Reason: d.of(name+" ended", "Error", "Completed"),
			ContainerID: d.of(name+" ended ID", "one", "two"), FinishedAt: d.time(name + " ended at"),
		}
	}
	return state
}
