//go:build linux

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

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// inPlace is what became of the pods if each lived on and restarted once.
func inPlace(before map[string]life, image string) map[string]life {
	after := map[string]life{}
	for name, l := range before {
		after[name] = life{UID: l.UID, Restarts: l.Restarts + 1, Image: image}
	}
	return after
}

func TestImageChangesInPlaceUnderTraffic(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, nil)
	before := f.lives()
	client := newTraffic(f)
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageV2 })
	f.waitReady()
	client.end(t, 2, "v1", "v2")
	if diff := cmp.Diff(inPlace(before, imageV2), f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"v2", "v2", "v2"}, f.versions()); diff != "" {
		t.Errorf("what the pods answer (-want +got):\n%s", diff)
	}
}

// With the gate a pod is out of service before its container is ended, so that
// a client that follows the endpoints never gets a refused connection.
func TestReadinessGateTakesPodsOutOfServiceFirst(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, func(pm *appsv1.PodManager) { pm.Spec.Update.ReadinessGate = true })
	for _, p := range f.pods() {
		if !slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: appsv1.GateInService}) {
			t.Fatalf("pod %s has no gate: %v", p.Name, p.Spec.ReadinessGates)
		}
	}
	before := f.lives()
	seen := watchPods(f)
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageV2 })
	f.waitReady()
	if diff := cmp.Diff(inPlace(before, imageV2), f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
	changes := 0
	for _, p := range seen() {
		// The write that changes the image, and all that follow until the
		// kubelet has ended the old container.
		if p.Spec.Containers[0].Image == imageV2 && restarts(p) == 0 {
			changes++
			if podHas(p, corev1.PodReady) {
				t.Errorf("pod %s got its new image while it was in service", p.Name)
			}
		}
	}
	if changes < len(before) {
		t.Errorf("%d pods were seen with a new image and the old container, want %d at least", changes, len(before))
	}
}

func podHas(p corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// watchPods collects every state of the fleet's pods from now on. The returned
// function ends the watch and returns them.
func watchPods(f *fleet) func() []corev1.Pod {
	f.Helper()
	watching, err := client.NewWithWatch(suite.Cluster.RESTConfig(), client.Options{Scheme: suite.Client.Scheme()})
	if err != nil {
		f.Fatal(err)
	}
	watch, err := watching.Watch(f.Context(), &corev1.PodList{}, client.InNamespace(f.namespace))
	if err != nil {
		f.Fatalf("watch the pods of %s: %v", f.name, err)
	}
	collected := make(chan []corev1.Pod, 1)
	go func() {
		var pods []corev1.Pod
		for event := range watch.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				pods = append(pods, *p)
			}
		}
		collected <- pods
	}()
	return func() []corev1.Pod { watch.Stop(); return <-collected }
}

// A readiness gate of another controller keeps a pod from counting as ready, and
// a rollout from going on, until that controller opens it.
func TestAnothersGateHoldsTheFleetBack(t *testing.T) {
	t.Parallel()
	const gate = "example.com/connected"
	f := createFleet(t, 2, func(pm *appsv1.PodManager) {
		pm.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	})
	f.eventually("both containers are ready and no pod is", func() error {
		for _, p := range f.pods() {
			if !podHas(p, corev1.ContainersReady) {
				return fmt.Errorf("pod %s: %v", p.Name, p.Status.Conditions)
			}
		}
		status := f.get().Status
		return errors.Join(want("currentReplicas", status.CurrentReplicas, 2), want("readyReplicas", status.ReadyReplicas, 0))
	})
	for _, p := range f.pods() {
		before := p.DeepCopy()
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue})
		if err := suite.Client.Status().Patch(t.Context(), &p, client.StrategicMergeFrom(before)); err != nil {
			t.Fatalf("open the gate of pod %s: %v", p.Name, err)
		}
	}
	f.waitReady()
}

func want[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}
