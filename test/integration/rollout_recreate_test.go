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
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// env is a change that needs new pods.
func env(value string) string {
	return fmt.Sprintf(`{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.27","env":[{"name":"A","value":%q}]}]}}}`, value)
}

// plain is a fleet of one container.
const plain = `
image: nginx:1.27
template: {spec: {containers: [{name: app}]}}
`

// A witness watches every event: never too many pods, never too few.
func TestRecreateKeepsToTheBudget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		identity, unavailable, surge string
		least, most                  int
	}{
		{"Ordinal", "1", "0", 3, 4},
		{"Ordinal", "0", "1", 4, 5},
		{"Ordinal", "50%", "25%", 2, 5},
		{"Random", "1", "0", 3, 4},
		{"Random", "0", "1", 4, 5},
		{"Random", "0", "0", 3, 4},
	} {
		t.Run(fmt.Sprintf("%s %s unavailable %s more", test.identity, test.unavailable, test.surge), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 4, fmt.Sprintf("identity: %s\nupdate: {maxUnavailable: %s, maxSurge: %s}%s",
				test.identity, test.unavailable, test.surge, plain))
			before, names := f.UIDs(), f.Names()
			w := f.watch(within(test.least, test.most))
			f.Patch(env("1"))
			f.ExpectRolledOut(4)
			w.hear(f)
			f.ExpectNewPods(before)
			if test.identity == "Ordinal" && !slices.Equal(names, f.Names()) {
				t.Errorf("the names were %v and are %v", names, f.Names())
			}
			f.ExpectHistory(appsv1.ReasonDeleted, appsv1.WhyRolloutRecreate, "recreated: env of container app changed")
		})
	}
}

func TestOnDeleteWaitsForTheUser(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, "update: {strategy: OnDelete}"+plain)
	before := f.UIDs()
	f.Patch(`{"image":"nginx:1.28"}`)
	f.Expect("the new revision is known and nothing moves", func(pm *appsv1.PodManager) error {
		if pm.Status.UpdatedReplicas != 0 || pm.Status.CurrentRevision == pm.Status.UpdateRevision {
			return fmt.Errorf("%d pods are updated", pm.Status.UpdatedReplicas)
		}
		return testkit.Settled(pm, 2)
	})
	f.ExpectSamePods(before)
	f.Kubectl("delete", "pod", "web-1")
	f.ExpectImages(map[string]int{"nginx:1.27": 1, "nginx:1.28": 1})
	f.Kubectl("delete", "pod", "web-0")
	f.ExpectRolledOut(2)
	f.ExpectImages(map[string]int{"nginx:1.28": 2})
}

func TestPartition(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		identity, partition string
		patch               string
		old                 int
	}{
		{"Ordinal", "3", `{"image":"nginx:1.28"}`, 3},
		{"Ordinal", "50%", env("1"), 3}, // of 5, rounded up
		{"Random", "2", `{"image":"nginx:1.28"}`, 2},
		{"Random", "20%", env("1"), 1},
	} {
		t.Run(test.identity+" "+test.partition, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 5, fmt.Sprintf("identity: %s\nupdate: {maxUnavailable: 2, maxSurge: 0, partition: %s}%s",
				test.identity, test.partition, plain))
			revision := f.Get().Status.UpdateRevision
			f.Patch(test.patch)
			waits := func(pm *appsv1.PodManager) error {
				if int(pm.Status.UpdatedReplicas) != 5-test.old || pm.Status.CurrentRevision != revision {
					return fmt.Errorf("%d pods are updated", pm.Status.UpdatedReplicas)
				}
				return testkit.Settled(pm, 5)
			}
			f.Expect(fmt.Sprintf("%d pods stay old", test.old), waits)
			if test.identity == "Ordinal" {
				for i, p := range f.Live() {
					if old := p.Labels[appsv1.LabelRevision] == revision; old != (i < test.old) {
						t.Errorf("%s is old: %t", p.Name, old)
					}
				}
			}
			// What the partition keeps comes back as it was.
			kept := slices.IndexFunc(f.Live(), func(p corev1.Pod) bool { return p.Labels[appsv1.LabelRevision] == revision })
			f.Kubectl("delete", "pod", f.Live()[kept].Name)
			f.Expect("the pod comes back on the old revision", waits)
			f.Patch(`{"update":{"partition":0}}`)
			f.ExpectRolledOut(5)
		})
	}
}

func TestPauseAndGoOn(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4, "paused: true\nupdate: {maxUnavailable: 1, maxSurge: 1, progressDeadlineSeconds: 10}"+plain)
	before := f.UIDs()
	f.Patch(env("1"))
	stands := func(pm *appsv1.PodManager) error {
		if pm.Status.CurrentRevision == pm.Status.UpdateRevision {
			return fmt.Errorf("the new revision is not known yet")
		}
		return testkit.Settled(pm, 4)
	}
	f.Expect("it is paused", stands)
	f.ExpectCondition(appsv1.ConditionPaused, appsv1.ReasonPaused)
	f.ExpectSamePods(before)
	// Repair and scaling go on, on the old revision.
	f.Kubectl("delete", "pod", "web-1")
	f.Kubectl("scale", "pm", "web", "--replicas=5")
	old := f.Get().Status.CurrentRevision
	f.Expect("the pods are there", func(pm *appsv1.PodManager) error { return testkit.Settled(pm, 5) })
	for _, p := range f.Live() {
		if p.Labels[appsv1.LabelRevision] != old {
			t.Errorf("%s is on %s", p.Name, p.Labels[appsv1.LabelRevision])
		}
	}
	// The pause lasts longer than the deadline, which does not run meanwhile.
	testkit.Stays(f, 11*time.Second, func() error { return testkit.Settled(f.Get(), 5) })
	f.Patch(`{"paused":false}`)
	f.ExpectRolledOut(5)
	f.ExpectNewPods(before)
	if warnings := f.warnings(appsv1.ReasonFailed); len(warnings) > 0 {
		t.Errorf("there were warnings: %v", warnings[0].Note)
	}
}

// A restart replaces every pod once, within the budget; asked for by an
// annotation on the PodManager, or by that which kubectl rollout restart
// writes into templates.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(f *fleet){
		"the annotation": func(f *fleet) {
			f.Kubectl("annotate", "pm", "web", "--overwrite", appsv1.AnnotationRestart+"="+time.Now().UTC().Format(time.RFC3339))
		},
		"kubectl's annotation": func(f *fleet) {
			f.Patch(fmt.Sprintf(`{"template":{"metadata":{"annotations":{%q:%q}}}}`,
				appsv1.AnnotationKubectlRestart, time.Now().UTC().Format(time.RFC3339)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 4, "update: {maxUnavailable: 0, maxSurge: 1}"+plain)
			age(t, time.Now().Truncate(time.Second))
			before := f.UIDs()
			w := f.watch(within(4, 5))
			ask(f)
			testkit.Eventually(t, "all pods are new", func() error {
				for name, uid := range f.UIDs() {
					if before[name] == uid {
						return fmt.Errorf("%s is not", name)
					}
				}
				return nil
			})
			f.ExpectRolledOut(4)
			w.hear(f)
			after := f.UIDs()
			testkit.Stays(f, time.Second, func() error {
				if now := f.UIDs(); !maps.Equal(now, after) {
					return fmt.Errorf("it goes on: %v, then %v", after, now)
				}
				return nil
			})
		})
	}
}

// A scale-up in the middle of a rollout: new pods are made of the new revision,
// except those that the partition keeps old.
func TestScaleUpInMidRollout(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, "update: {maxUnavailable: 1, maxSurge: 0, partition: 2}"+plain)
	old := f.Get().Status.UpdateRevision
	f.Patch(env("1"))
	f.Expect("one pod is updated", func(pm *appsv1.PodManager) error {
		if pm.Status.UpdatedReplicas != 1 {
			return fmt.Errorf("%d are", pm.Status.UpdatedReplicas)
		}
		return testkit.Settled(pm, 3)
	})
	f.Kubectl("scale", "pm", "web", "--replicas=6")
	f.Expect("the new pods are there", func(pm *appsv1.PodManager) error { return testkit.Settled(pm, 6) })
	var onOld []string
	for _, p := range f.Live() {
		if p.Labels[appsv1.LabelRevision] == old {
			onOld = append(onOld, p.Name)
		}
	}
	if got := strings.Join(onOld, " "); got != "web-0 web-1" {
		t.Errorf("%s are on the old revision, want web-0 web-1", got)
	}
}

// successor waits for a pod that was not there before.
func (f *fleet) successor(before map[string]types.UID) (pod corev1.Pod) {
	f.Helper()
	testkit.Eventually(f, "there is a successor", func() error {
		for _, pod = range f.Live() {
			if before[pod.Name] != pod.UID {
				return nil
			}
		}
		return errors.New("there is none")
	})
	return pod
}

// terminating.policy decides whether a pod gets its successor while it still
// terminates. With ordinals it always waits: it needs the name.
func TestTerminatingPolicies(t *testing.T) {
	t.Parallel()
	const lingering = `
identity: %s
image: nginx:1.27
terminating: {policy: %s, timeout: %s}
update: {maxUnavailable: 1, maxSurge: 0}
template: {metadata: {annotations: {localkube.mycompany.com/termination-delay: 1h}}, spec: {containers: [{name: app}]}}
`
	for _, test := range []struct {
		identity, policy, timeout string
		// waits: for the end of the pod; otherwise after so long.
		waits bool
		after time.Duration
		most  int
	}{
		{"Random", "ReplaceAtOnce", "30s", false, 0, 3},
		{"Random", "WaitForDeletion", "30s", true, 0, 2},
		{"Random", "AfterTimeout", "2s", false, 2 * time.Second, 3},
		{"Ordinal", "ReplaceAtOnce", "30s", true, 0, 2},
	} {
		t.Run(test.identity+" "+test.policy, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2, fmt.Sprintf(lingering, test.identity, test.policy, test.timeout))
			w := f.watch(func(pods map[string]*corev1.Pod) string {
				if len(pods) > test.most {
					return fmt.Sprintf("%d pods are there, terminating ones included", len(pods))
				}
				return ""
			})
			before, victim := f.UIDs(), f.Live()[0]
			f.Kubectl("delete", "pod", victim.Name, "--wait=false")
			terminating := f.Pod(victim.Name)
			if test.waits {
				testkit.Stays(f, 4*time.Second, func() error {
					if n := len(f.Live()); n != 1 {
						return fmt.Errorf("%d pods live while %s terminates", n, victim.Name)
					}
					return nil
				})
				f.Kubectl("delete", "pod", victim.Name, "--force", "--grace-period=0")
			}
			successor := f.successor(before)
			grace := time.Duration(*terminating.DeletionGracePeriodSeconds) * time.Second
			waited := successor.CreationTimestamp.Sub(terminating.DeletionTimestamp.Add(-grace))
			if waited < test.after {
				t.Errorf("the successor came after %s, want %s", waited, test.after)
			}
			if !test.waits && f.Pod(victim.Name).UID != victim.UID {
				t.Errorf("the successor waited until %s was gone", victim.Name)
			}
			w.hear(f)
		})
	}
}
