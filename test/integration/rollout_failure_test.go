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
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// breakages are ways in which a new revision does not come up: the image is not
// there, in place or with new pods, or the program crashes as it starts.
var breakages = map[string]string{
	"image missing in place":    `{"image":"broken.invalid/app:1"}`,
	"image missing in new pods": `{"image":"broken.invalid/app:1",` + strings.TrimPrefix(env("broken"), "{"),
	"crash loop in place":       `{"image":"nginx:crash"}`,
}

// brokenCause is what the nodes say of one.
func brokenCause(name string) string {
	if strings.HasPrefix(name, "crash") {
		return "CrashLoopBackOff"
	}
	return "ImagePullBackOff"
}

// shortDeadline is for a fleet whose first pods are there: those may take
// longer, on a slow machine.
const shortDeadline = `{"update":{"progressDeadlineSeconds":5}}`

// expectStalled waits until the condition says that the deadline has passed, and
// why. A slow node reports the cause after the deadline.
func (f *fleet) expectStalled(words ...string) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("Stalled says %q", words), func() error {
		_, message := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonProgressDeadlineExceeded)
		for _, word := range words {
			if !strings.Contains(message, word) {
				return errors.New("it says " + message)
			}
		}
		return nil
	})
}

// A rollout that gets nowhere is stopped at its deadline, names the cause,
// warns once, and goes on at once when the cause is gone.
func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	for name, breakage := range breakages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 4, "update: {maxUnavailable: 1, maxSurge: 0}"+plain)
			f.Patch(shortDeadline)
			w := f.watch(within(3, 4))
			f.Patch(breakage)
			f.expectStalled(brokenCause(name), "0 of 4 pods are available on it")
			if n := f.Get().Status.UpdatedReplicas; n != 1 {
				t.Errorf("%d pods are on the broken revision", n)
			}
			f.Patch(`{"image":"nginx:1.28","update":{"progressDeadlineSeconds":60}}`)
			f.ExpectRolledOut(4)
			w.hear(f)
			f.ExpectWarnings(1)
		})
	}
}

// The first pods of a fleet have a deadline, too.
func TestABrokenFirstRevisionIsReportedAndPutRight(t *testing.T) {
	t.Parallel()
	f := emptyFleet(t)
	f.Apply(2, "image: broken.invalid/app:1\nupdate: {progressDeadlineSeconds: 5, onFailure: Rollback}")
	f.expectStalled("ImagePullBackOff")
	f.Patch(`{"image":"nginx:1.27","update":{"progressDeadlineSeconds":60}}`)
	f.ExpectRolledOut(2)
	f.ExpectWarnings(1)
}

// With onFailure: Rollback the fleet goes back to the last revision on which it
// was wholly available, once: the bad revision is not tried again until the
// template changes.
func TestRollback(t *testing.T) {
	t.Parallel()
	for name, breakage := range breakages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, "update: {maxUnavailable: 1, maxSurge: 0, onFailure: Rollback}"+plain)
			f.Patch(shortDeadline)
			good := f.Get().Status.UpdateRevision
			w := f.watch(within(2, 3))
			f.Patch(breakage)
			_, message := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonRolledBack)
			if !strings.Contains(message, "made no progress") || !strings.Contains(message, good) {
				t.Errorf("Stalled does not tell what happened: %s", message)
			}
			back := f.Get().Status.Rollback
			if back == nil || back.To != good {
				t.Fatalf("status.rollback is %+v, want to %s", back, good)
			}
			f.ExpectImages(map[string]int{"nginx:1.27": 3})
			f.ExpectHistory(appsv1.ReasonRolledBack, appsv1.WhyProgressDeadline, "rolled back from "+back.From+" to "+good)

			// No loop, also when the user asks for something else than another
			// template.
			pods, revisions := f.UIDs(), len(f.Revisions())
			testkit.Stays(f, 6*time.Second, func() error {
				if now := f.UIDs(); !maps.Equal(pods, now) {
					return fmt.Errorf("it goes on: %s", f.Table())
				}
				return nil
			})
			w.hear(f)
			f.Kubectl("scale", "pm", "web", "--replicas=4")
			f.ExpectImages(map[string]int{"nginx:1.27": 4})
			f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonRolledBack)
			if now := len(f.Revisions()); now != revisions {
				t.Errorf("there are %d revisions, there were %d", now, revisions)
			}
			if told := f.warnings(appsv1.ReasonRolledBack); len(told) != 1 || told[0].Series != nil {
				t.Errorf("the rollback is told %d times", len(told))
			}

			f.Patch(`{"image":"nginx:1.28","update":{"progressDeadlineSeconds":60}}`)
			pm := f.ExpectRolledOut(4)
			f.ExpectImages(map[string]int{"nginx:1.28": 4})
			if pm.Status.Rollback != nil {
				t.Errorf("status.rollback is still %+v", pm.Status.Rollback)
			}
		})
	}
}

// Pods of a broken revision never block its fix, with ordinals neither, where a
// StatefulSet waits until a user deletes the broken pod by hand.
func TestABrokenRevisionNeverBlocksItsFix(t *testing.T) {
	t.Parallel()
	for _, identity := range []string{"Ordinal", "Random"} {
		for name, breakage := range breakages {
			if identity == "Random" && !strings.HasSuffix(name, "new pods") {
				continue // in place a pod's name makes no difference
			}
			t.Run(identity+" "+name, func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, 3, "identity: "+identity+"\nupdate: {maxUnavailable: 1, maxSurge: 0}"+plain)
				w := f.watch(within(2, 3))
				f.Patch(breakage)
				f.Expect("one pod is broken and the others are spared", func(pm *appsv1.PodManager) error {
					if pm.Status.UpdatedReplicas != 1 || pm.Status.AvailableReplicas != 2 {
						return fmt.Errorf("%d updated, %d available", pm.Status.UpdatedReplicas, pm.Status.AvailableReplicas)
					}
					return nil
				})
				testkit.Eventually(t, "Reconciling names the cause", func() error {
					if _, m := f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut); !strings.Contains(m, brokenCause(name)) {
						return fmt.Errorf("it says %s", m)
					}
					return nil
				})
				f.Patch(`{"image":"nginx:1.28"}`)
				f.ExpectRolledOut(3)
				f.ExpectImages(map[string]int{"nginx:1.28": 3})
				w.hear(f)
			})
		}
	}
}

// notReady makes pods lose their readiness.
func (f *fleet) notReady(names ...string) {
	f.Helper()
	for _, name := range names {
		f.Kubectl("patch", "pod", name, "--subresource=status", "--type=strategic", "-p",
			`{"status":{"conditions":[{"type":"ContainersReady","status":"False"},{"type":"Ready","status":"False"}]}}`)
	}
	f.Expect("the status shows it", func(pm *appsv1.PodManager) error {
		if n := int(pm.Status.CurrentReplicas - pm.Status.ReadyReplicas); n != len(names) {
			return fmt.Errorf("%d pods are not ready", n)
		}
		return nil
	})
}

// Old pods that do not serve are replaced first and free of budget: more at
// once than maxUnavailable allows, and before any that serves.
func TestUnreadyOldPodsGoFirstAndFreeOfBudget(t *testing.T) {
	t.Parallel()
	for _, identity := range []string{"Ordinal", "Random"} {
		t.Run(identity, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 5, "identity: "+identity+"\nupdate: {maxUnavailable: 1, maxSurge: 0}"+plain)
			sick := f.Names()[:2]
			f.notReady(sick...)
			var order []string
			seen := map[string]bool{}
			w := f.watch(func(pods map[string]*corev1.Pod) string {
				for name, p := range pods {
					if uid := string(p.UID); p.DeletionTimestamp != nil && !seen[uid] {
						seen[uid] = true
						order = append(order, name)
					}
				}
				return within(3, 5)(pods)
			})
			f.Patch(env("1"))
			f.ExpectRolledOut(5)
			w.hear(f)
			if got := slices.Sorted(slices.Values(order[:2])); !slices.Equal(got, sick) {
				t.Errorf("the pods went in the order %v, want %v first", order, sick)
			}
		})
	}
}
