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

package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func (f *fleet) pod(name string) *corev1.Pod {
	f.Helper()
	pod := &corev1.Pod{}
	if err := suite.Client.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: name}, pod); err != nil {
		f.Fatalf("get pod %s: %v", name, err)
	}
	return pod
}

// expectHeld waits until the status lists a pod as held, by whom, and since a
// time that has come.
func (f *fleet) expectHeld(pod, from, by string) {
	f.Helper()
	f.expect(pod+" is held from "+from, func(pm *appsv1.PodManager) error {
		for _, h := range pm.Status.Held {
			if h.Pod == pod && h.From == from && h.By == by && !h.Since.IsZero() && !h.Since.After(time.Now()) {
				return nil
			}
		}
		return fmt.Errorf("status.held is %+v", pm.Status.Held)
	})
}

func (f *fleet) expectNoneHeld() {
	f.Helper()
	f.expect("nothing is held", func(pm *appsv1.PodManager) error {
		if len(pm.Status.Held) > 0 {
			return fmt.Errorf("status.held is %+v", pm.Status.Held)
		}
		return nil
	})
}

// hold is a way to hold a pod.
type hold struct {
	by       string
	set, end func(f *fleet, pod string)
}

// holds are the ways to hold pods back from deletion or from an update.
func holds(name string) map[string]hold {
	return map[string]hold{
		"by label": {
			by:  "backup",
			set: func(f *fleet, pod string) { f.kubectl("label", "pod", pod, name+"=backup") },
			end: func(f *fleet, pod string) { f.kubectl("label", "pod", pod, name+"-") },
		},
		"by finalizer": {
			by: name,
			set: func(f *fleet, pod string) {
				f.kubectl("patch", "pod", pod, "--type=merge", "-p", fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, name))
			},
			end: func(f *fleet, pod string) {
				f.kubectl("patch", "pod", pod, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
			},
		},
	}
}

// An outside controller holds a pod back from its deletion until it has done
// its work; it is told that it is time, and the status lists the pod.
func TestHeldBackFromDeletion(t *testing.T) {
	t.Parallel()
	for name, h := range holds(appsv1.LabelHoldDelete) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, plain)
			h.set(f, "web-2")
			f.seen("web-0")
			f.kubectl("scale", "pm", "web", "--replicas=2")
			f.expectHeld("web-2", "delete", h.by)
			testkit.Eventually(t, "the holder is told", func() error {
				if wanted := f.pod("web-2").Labels[appsv1.LabelWanted]; wanted != "delete" {
					return fmt.Errorf("the label says %q", wanted)
				}
				return nil
			})
			f.stays(time.Second, func() error {
				if p := f.pod("web-2"); p.DeletionTimestamp != nil || !isReady(p) {
					return fmt.Errorf("it went all the same, at %s", p.DeletionTimestamp)
				}
				return nil
			})
			// Called off: the holder is told that, too.
			f.kubectl("scale", "pm", "web", "--replicas=3")
			f.expectReady(3)
			f.expectNoneHeld()
			testkit.Eventually(t, "the holder is told that it is called off", func() error {
				if wanted, ok := f.pod("web-2").Labels[appsv1.LabelWanted]; ok {
					return fmt.Errorf("the label still says %q", wanted)
				}
				return nil
			})
			f.kubectl("scale", "pm", "web", "--replicas=2")
			f.expectHeld("web-2", "delete", h.by)
			h.end(f, "web-2")
			f.expectReady(2)
			f.expectNoneHeld()
		})
	}
}

// The same for a change in place: the others go on meanwhile.
func TestHeldBackFromAnUpdate(t *testing.T) {
	t.Parallel()
	for name, h := range holds(appsv1.LabelHoldUpdate) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, "update: {maxUnavailable: 1}"+plain)
			before := f.uids()
			h.set(f, "web-1")
			f.seen("web-0")
			f.patch(`{"image":"nginx:1.28"}`)
			f.expectHeld("web-1", "update", h.by)
			f.expectImages(map[string]int{"nginx:1.27": 1, "nginx:1.28": 2})
			testkit.Eventually(t, "the holder is told", func() error {
				p := f.pod("web-1")
				if image := p.Spec.Containers[0].Image; image != "nginx:1.27" {
					t.Fatalf("web-1 runs %s", image)
				}
				if wanted := p.Labels[appsv1.LabelWanted]; wanted != "update" {
					return fmt.Errorf("the label says %q", wanted)
				}
				return nil
			})
			if message := f.expectCondition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut); !strings.Contains(message, "web-1") {
				t.Errorf("Reconciling does not say who holds it up: %s", message)
			}
			h.end(f, "web-1")
			f.expectReady(3)
			f.expectNoneHeld()
			f.expectSamePods(before)
		})
	}
}

// A pod that a finalizer keeps after its deletion is listed, and its ordinal
// waits for it.
func TestAFinalizerKeepsADeletedPod(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, plain)
	f.kubectl("patch", "pod", "web-1", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/backup"]}}`)
	old := f.pod("web-1").UID
	f.kubectl("delete", "pod", "web-1", "--wait=false")
	f.expectHeld("web-1", "delete", "example.com/backup")
	f.expectCondition(appsv1.ConditionReconciling, appsv1.ReasonWaitingForTermination)
	f.stays(time.Second, func() error {
		if f.pod("web-1").UID != old {
			return fmt.Errorf("its finalizer was removed by another client")
		}
		return nil
	})
	f.kubectl("patch", "pod", "web-1", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	f.expectReady(2)
	f.expectNoneHeld()
}

// useEviction: the status reports a PodDisruptionBudget that refuses, and the
// rollout waits for it; it is neither an error nor a reason to ask all the time.
func TestAPodDisruptionBudgetHolds(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, "update: {useEviction: true, maxUnavailable: 1, maxSurge: 0}"+plain)
	f.applyYAML(`apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all}
spec: {minAvailable: 3, selector: {matchLabels: {podmanager: web}}}
`)
	testkit.Eventually(t, "the budget is counted", func() error {
		if healthy := f.kubectl("get", "pdb", "all", "-o", "jsonpath={.status.currentHealthy}"); healthy != "3" {
			return fmt.Errorf("it says %q", healthy)
		}
		return nil
	})
	before, began := f.uids(), time.Now()
	f.patch(`{"update":{"progressDeadlineSeconds":3}}`) // only now: the first pods may take longer
	f.patch(env("1"))
	testkit.Eventually(t, "Reconciling names the budget", func() error {
		message := f.expectCondition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut)
		if !strings.Contains(message, "a PodDisruptionBudget refuses the eviction of web-2") {
			return fmt.Errorf("it says %s", message)
		}
		return nil
	})
	// The deadline passes: it does not apply while a PodDisruptionBudget refuses.
	f.stays(5*time.Second, func() error {
		f.expectSamePods(before)
		for _, c := range f.get().Status.Conditions {
			if c.Type == appsv1.ConditionStalled {
				return fmt.Errorf("it is stalled: %s", c.Message)
			}
		}
		return nil
	})
	n := f.requests("create", "pods", "eviction")
	// One every 5 s, and a few for what changed at the start.
	if took := time.Since(began); n < 1 || n > 4+int(took/(5*time.Second)) {
		t.Errorf("%d evictions were asked for in %s while the budget refused", n, took)
	}
	f.expectWarnings(0)
	f.patch(`{"update":{"progressDeadlineSeconds":600}}`) // from now on the deadline counts, and machines are slow
	f.kubectl("patch", "pdb", "all", "--type=merge", "-p", `{"spec":{"minAvailable":2}}`)
	f.expectReady(3)
	f.expectNewPods(before)
	f.expectHistory(appsv1.ReasonEvicted, appsv1.WhyRolloutRecreate, "env of container app changed")
	if n := f.requests("delete", "pods", ""); n > 0 {
		t.Errorf("%d pods were deleted past the budget", n)
	}
}
