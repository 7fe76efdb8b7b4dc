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

package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit/drawn"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// TestEveryFieldAndEventIsDrawn in 1,000 schedules: every field of the spec with more
// than one value and with every constant, and every event.
func TestEveryFieldAndEventIsDrawn(t *testing.T) {
	values := drawn.New(metav1.Duration{}, intstr.IntOrString{}, corev1.PodTemplateSpec{}, corev1.PersistentVolumeClaim{})
	if err := values.Enums("../../../api/apps/v1"); err != nil {
		t.Fatal(err)
	}
	events := map[string]bool{}
	for seed := range uint64(1000) {
		rng, c := rand.New(rand.NewPCG(seed, 1)), &Case{}
		if drawScenario(rng, c); rng.IntN(named) == 0 {
			continue // this one would have been a scenario with a name
		}
		values.Add(*c.Spec)
		for i := range c.Events {
			for _, name := range c.Events[i].Counts() {
				events[name] = true
			}
		}
	}
	for _, missing := range values.Missing(appsv1.PodManagerSpec{}) {
		t.Error(missing)
	}
	for _, name := range scenario.Events() {
		if !events[name] {
			t.Errorf("the event %q is never drawn", name)
		}
	}
}

// carriedOut counts the events that were carried out in the schedules of a search: an
// event that always finds nothing to happen to is not tried.
type carriedOut struct {
	mu    sync.Mutex
	times map[string]int
}

func (c *carriedOut) add(done map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range done {
		c.times[name] += n
	}
}

// enoughSchedules is from how many schedules on every event has to be carried out.
const enoughSchedules = 5000

// check fails for what was never carried out. The identity and the claim templates
// cannot be edited, and of the orders of a scale-down there is only one.
func (c *carriedOut) check(t *testing.T, schedules int) {
	t.Helper()
	for _, name := range scenario.Events() {
		if schedules >= enoughSchedules && c.times[name] == 0 && !slices.Contains(
			[]string{"edit Identity", "edit VolumeClaimTemplates", "edit ScaleDown.Prefer"}, name) {
			t.Errorf("the event %q was never carried out in %d schedules", name, schedules)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.times)) {
		t.Logf("%s: %d times", name, c.times[name])
	}
}
