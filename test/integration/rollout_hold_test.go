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

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// expectHeld waits until the status lists a pod as held, by whom, and since a
// time that has come.
func (f *fleet) expectHeld(pod, from, by string) {
	f.Helper()
	f.Expect(pod+" is held from "+from, func(pm *appsv1.PodManager) error {
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
	f.Expect("nothing is held", func(pm *appsv1.PodManager) error {
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
			set: func(f *fleet, pod string) { f.Kubectl("label", "pod", pod, name+"=backup") },
			end: func(f *fleet, pod string) { f.Kubectl("label", "pod", pod, name+"-") },
		},
		"by finalizer": {
			by: name,
			set: func(f *fleet, pod string) {
				f.Kubectl("patch", "pod", pod, "--type=merge", "-p", fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, name))
			},
			end: func(f *fleet, pod string) {
				f.Kubectl("patch", "pod", pod, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
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
			f.Kubectl("scale", "pm", "web", "--replicas=2")
			f.expectHeld("web-2", "delete", h.by)
			testkit.Eventually(t, "the holder is told", func() error {
				if wanted := f.Pod("web-2").Labels[appsv1.LabelWanted]; wanted != "delete" {
					return fmt.Errorf("the label says %q", wanted)
				}
				return nil
			})
			testkit.Stays(f, time.Second, func() error {
				if p := f.Pod("web-2"); p.DeletionTimestamp != nil || !testkit.IsReady(p) {
					return fmt.Errorf("it went all the same, at %s", p.DeletionTimestamp)
				}
				return nil
			})
			// Called off: the holder is told that, too.
			f.Kubectl("scale", "pm", "web", "--replicas=3")
			f.ExpectRolledOut(3)
			f.expectNoneHeld()
			testkit.Eventually(t, "the holder is told that it is called off", func() error {
				if wanted, ok := f.Pod("web-2").Labels[appsv1.LabelWanted]; ok {
					return fmt.Errorf("the label still says %q", wanted)
				}
				return nil
			})
			f.Kubectl("scale", "pm", "web", "--replicas=2")
			f.expectHeld("web-2", "delete", h.by)
			h.end(f, "web-2")
			f.ExpectRolledOut(2)
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
			before := f.UIDs()
			h.set(f, "web-1")
			f.seen("web-0")
			f.Patch(`{"image":"nginx:1.28"}`)
			f.expectHeld("web-1", "update", h.by)
			f.ExpectImages(map[string]int{"nginx:1.27": 1, "nginx:1.28": 2})
			testkit.Eventually(t, "the holder is told", func() error {
				p := f.Pod("web-1")
				if image := p.Spec.Containers[0].Image; image != "nginx:1.27" {
					t.Fatalf("web-1 runs %s", image)
				}
				if wanted := p.Labels[appsv1.LabelWanted]; wanted != "update" {
					return fmt.Errorf("the label says %q", wanted)
				}
				return nil
			})
			if _, message := f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut); !strings.Contains(message, "web-1") {
				t.Errorf("Reconciling does not say who holds it up: %s", message)
			}
			h.end(f, "web-1")
			f.ExpectRolledOut(3)
			f.expectNoneHeld()
			f.ExpectSamePods(before)
		})
	}
}

// A pod that a finalizer keeps after its deletion is listed, and its ordinal
// waits for it.
func TestAFinalizerKeepsADeletedPod(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, plain)
	f.Kubectl("patch", "pod", "web-1", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/backup"]}}`)
	old := f.Pod("web-1").UID
	f.Kubectl("delete", "pod", "web-1", "--wait=false")
	f.expectHeld("web-1", "delete", "example.com/backup")
	f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonWaitingForTermination)
	testkit.Stays(f, time.Second, func() error {
		if f.Pod("web-1").UID != old {
			return fmt.Errorf("its finalizer was removed by another client")
		}
		return nil
	})
	f.Kubectl("patch", "pod", "web-1", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	f.ExpectRolledOut(2)
	f.expectNoneHeld()
}

// useEviction: the status reports a PodDisruptionBudget that refuses, and the
// rollout waits for it; it is neither an error nor a reason to ask all the time.
func TestAPodDisruptionBudgetHolds(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, "update: {useEviction: true, maxUnavailable: 1, maxSurge: 0}"+plain)
	f.ApplyYAML(`apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all}
spec: {minAvailable: 3, selector: {matchLabels: {podmanager: web}}}
`)
	testkit.Eventually(t, "the budget is counted", func() error {
		if healthy := f.Kubectl("get", "pdb", "all", "-o", "jsonpath={.status.currentHealthy}"); healthy != "3" {
			return fmt.Errorf("it says %q", healthy)
		}
		return nil
	})
	before, began := f.UIDs(), time.Now()
	f.Patch(`{"update":{"progressDeadlineSeconds":3}}`) // only now: the first pods may take longer
	f.Patch(env("1"))
	testkit.Eventually(t, "Reconciling names the budget", func() error {
		_, message := f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut)
		if !strings.Contains(message, "a PodDisruptionBudget refuses the eviction of web-2") {
			return fmt.Errorf("it says %s", message)
		}
		return nil
	})
	// The deadline passes: it does not apply while a PodDisruptionBudget refuses.
	testkit.Stays(f, 5*time.Second, func() error {
		f.ExpectSamePods(before)
		for _, c := range f.Get().Status.Conditions {
			if c.Type == appsv1.ConditionStalled {
				return fmt.Errorf("it is stalled: %s", c.Message)
			}
		}
		return nil
	})
	n := f.Count("create", "pods", "eviction")
	// One every 5 s, and a few for what changed at the start.
	if took := time.Since(began); n < 1 || n > 4+int(took/(5*time.Second)) {
		t.Errorf("%d evictions were asked for in %s while the budget refused", n, took)
	}
	f.ExpectWarnings(0)
	f.Patch(`{"update":{"progressDeadlineSeconds":600}}`) // from now on the deadline counts, and machines are slow
	f.Kubectl("patch", "pdb", "all", "--type=merge", "-p", `{"spec":{"minAvailable":2}}`)
	f.ExpectRolledOut(3)
	f.ExpectNewPods(before)
	f.ExpectHistory(appsv1.ReasonEvicted, appsv1.WhyRolloutRecreate, "env of container app changed")
	if n := f.Count("delete", "pods", ""); n > 0 {
		t.Errorf("%d pods were deleted past the budget", n)
	}
}
