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
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// fleet is a PodManager named web in a namespace of its own, with what only the
// tests of rollouts do to one and expect of one.
type fleet struct{ *testkit.Fleet }

// emptyFleet is a namespace in which nothing was applied yet.
func emptyFleet(t *testing.T) *fleet {
	t.Helper()
	return &fleet{suite.NewFleet(t, "web")}
}

// newFleet applies a PodManager with a spec in YAML and waits until its pods
// are available.
func newFleet(t *testing.T, replicas int, spec string) *fleet {
	t.Helper()
	f := emptyFleet(t)
	f.Apply(replicas, spec)
	f.ExpectRolledOut(replicas)
	return f
}

// restarts are the restart counts of all containers of all pods.
func (f *fleet) restarts() map[string]int {
	f.Helper()
	m := map[string]int{}
	for _, p := range f.Live() {
		for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
			for i := range list {
				m[list[i].Name] += int(list[i].RestartCount)
			}
		}
	}
	return m
}

// warnings are the warnings with a reason.
func (f *fleet) warnings(reason string) []eventsv1.Event {
	f.Helper()
	return slices.DeleteFunc(f.Warnings(), func(e eventsv1.Event) bool { return e.Reason != reason })
}
