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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// settledPods are pods without an owner on given nodes. A paused fleet takes
// them in and leaves them where they are.
func settledPods(f *fleet, nodes ...string) []string {
	f.Helper()
	var names, manifests []string
	for i, node := range nodes {
		names = append(names, fmt.Sprintf("settled-%d", i))
		manifests = append(manifests, fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {podmanager: web, app: web}}
spec: {nodeName: %s, containers: [{name: app, image: "nginx:1.27"}]}
`, names[i], node))
	}
	f.ApplyYAML(strings.Join(manifests, "---\n"))
	f.Apply(len(nodes), "identity: Random\npaused: true"+plain)
	f.Expect("the pods are taken in", func(pm *appsv1.PodManager) error { return testkit.Settled(pm, len(nodes)) })
	if got := f.Names(); strings.Join(got, " ") != strings.Join(names, " ") {
		f.Fatalf("the fleet has %v, want %v", got, names)
	}
	return names
}

// goes waits until exactly one pod went in a scale-down, and says why it was
// that one.
func (f *fleet) goes(replicas int, victims ...string) {
	f.Helper()
	before := f.Names()
	f.Kubectl("scale", "pm", "web", fmt.Sprintf("--replicas=%d", replicas))
	f.Expect("the scale-down is done", func(pm *appsv1.PodManager) error { return testkit.Settled(pm, replicas) })
	left := strings.Join(f.Names(), " ")
	var gone []string
	for _, name := range before {
		if !strings.Contains(left, name) {
			gone = append(gone, name)
		}
	}
	if len(gone) != 1 || !strings.Contains(strings.Join(victims, " "), gone[0]) {
		f.Fatalf("%v went, want one of %v", gone, victims)
	}
}

// seen waits until the operator has seen what was done to the pods before: what
// comes after in the same watch, one that is not ready and is again, is told.
func (f *fleet) seen(pod string) {
	f.Helper()
	ready := f.Get().Status.ReadyReplicas
	f.notReady(pod)
	f.Kubectl("patch", "pod", pod, "--subresource=status", "--type=strategic", "-p",
		`{"status":{"conditions":[{"type":"ContainersReady","status":"True"},{"type":"Ready","status":"True"}]}}`)
	f.Expect(pod+" is ready again", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != ready {
			return fmt.Errorf("%d pods are ready", pm.Status.ReadyReplicas)
		}
		return nil
	})
}

func (f *fleet) because(want string) {
	f.Helper()
	f.ExpectHistory(appsv1.ReasonDeleted, appsv1.WhyScaleDown, "chosen because "+want)
}

// The victims of a scale-down, one criterion after the other. The nodes are
// spread over zone-a, zone-b and zone-c in turn: node-1 and node-4 are in the
// first.
func TestScaleDownVictims(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		nodes   []string
		given   func(f *fleet)
		victims []string
		because string
	}{
		"not ready": {
			nodes:   []string{"node-1", "node-2", "node-3"},
			given:   func(f *fleet) { f.notReady("settled-1") },
			victims: []string{"settled-1"},
			because: "it is not ready",
		},
		"lower deletion cost": {
			nodes: []string{"node-1", "node-2", "node-3"},
			given: func(f *fleet) {
				f.Kubectl("annotate", "pod", "settled-2", "controller.kubernetes.io/pod-deletion-cost=-10")
				f.seen("settled-0")
			},
			victims: []string{"settled-2"},
			because: "its deletion cost is lower",
		},
		"a zone with more pods": {
			nodes:   []string{"node-2", "node-1", "node-3", "node-4"},
			victims: []string{"settled-1", "settled-3"},
			because: "its zone has more pods of this owner",
		},
		"a node with more pods": {
			nodes:   []string{"node-4", "node-1", "node-1"},
			victims: []string{"settled-1", "settled-2"},
			because: "its node has more pods of this owner",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := emptyFleet(t)
			settledPods(f, test.nodes...)
			if test.given != nil {
				test.given(f)
			}
			f.goes(len(test.nodes)-1, test.victims...)
			f.because(test.because)
		})
	}
}

// A pod with the delete label goes first in a scale-down. It is held until the
// scale-down comes, or it would be replaced at once.
func TestTheDeleteLabelComesFirst(t *testing.T) {
	t.Parallel()
	f := emptyFleet(t)
	settledPods(f, "node-1", "node-2", "node-3")
	f.Kubectl("annotate", "pod", "settled-0", "controller.kubernetes.io/pod-deletion-cost=-10")
	f.Kubectl("label", "pod", "settled-2", appsv1.LabelHoldDelete+"=test", appsv1.LabelDelete+"=true")
	f.expectHeld("settled-2", "delete", "test")
	f.Kubectl("scale", "pm", "web", "--replicas=2")
	f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonScalingDown)
	f.Kubectl("label", "pod", "settled-2", appsv1.LabelHoldDelete+"-")
	f.Expect("it is gone", func(pm *appsv1.PodManager) error { return testkit.Settled(pm, 2) })
	if got := strings.Join(f.Names(), " "); got != "settled-0 settled-1" {
		t.Errorf("%s are left", got)
	}
	f.because("its deletion was asked for by label")
}

// With ordinals the highest go, and without a scale-down a pod with the delete
// label is replaced under its name.
func TestOrdinalVictims(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4, plain)
	f.notReady("web-0")
	left := func(what, want string) {
		testkit.Eventually(t, what, func() error {
			if got := strings.Join(f.Names(), " "); got != want {
				return fmt.Errorf("%s are left", got)
			}
			return nil
		})
	}
	f.Kubectl("scale", "pm", "web", "--replicas=2")
	left("web-3 is gone, and web-2 serves for web-0", "web-0 web-1 web-2")
	f.Kubectl("patch", "pod", "web-0", "--subresource=status", "--type=strategic", "-p",
		`{"status":{"conditions":[{"type":"ContainersReady","status":"True"},{"type":"Ready","status":"True"}]}}`)
	left("web-2 is gone, too", "web-0 web-1")
	f.ExpectHistory(appsv1.ReasonDeleted, appsv1.WhyScaleDown, "only ordinals 0 to 1 remain at 2 replicas")
	old := f.Pod("web-1").UID
	f.Kubectl("label", "pod", "web-1", appsv1.LabelDelete+"=true")
	testkit.Eventually(t, "web-1 has a successor", func() error {
		if p := f.Live(); len(p) != 2 || p[1].UID == old {
			return fmt.Errorf("%s", f.Table())
		}
		return nil
	})
	f.ExpectHistory(appsv1.ReasonDeleted, appsv1.WhyRequested, appsv1.LabelDelete)
}
