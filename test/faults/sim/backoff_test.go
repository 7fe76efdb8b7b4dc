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
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// TestNoSuccessorBeforeItsBackoff plays what takes hours, without faults and with
// them: whatever happens to the operator, the rules about pods hold.
func TestNoSuccessorBeforeItsBackoff(t *testing.T) {
	l := newLaboratory(t)
	for _, s := range scenario.Backoffs() {
		t.Run(s.Name, func(t *testing.T) {
			l.scenarios[s.Name], l.fair[s.Name] = s, play(t, l.Lab, Run{Scenario: s})
			for _, v := range l.fair[s.Name].Violations {
				t.Errorf("without faults: %s", v)
			}
			for seed := range uint64(30 / fewer()) {
				c, schedule := l.drawFrom(rand.New(rand.NewPCG(seed, 7)), s.Name)
				result := l.play(t, *c, schedule)
				for _, v := range result.Violations {
					if slices.Contains([]string{"B", "S1", "S2", "S3"}, v.Rule) {
						t.Errorf("seed %d: %s", seed, tell(*c, result))
						break
					}
				}
			}
		})
	}
}

// TestMinReadySecondsHoldInPlace: a container that was restarted has to prove
// itself before the next ones are, though its pod was ready all the time.
func TestMinReadySecondsHoldInPlace(t *testing.T) {
	const replicas, seconds, together = 4, 10, 2
	result := play(t, newLab(t), Run{Scenario: scenario.RestartsInPlace(replicas, seconds)})
	for _, v := range result.Violations {
		t.Error(v)
	}
	var changed []time.Time
	seen := map[string]bool{}
	for i := range result.History {
		pod, ok := result.History[i].Object.(*corev1.Pod)
		if !ok || seen[pod.Name] || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].Image != scenario.New {
			continue
		}
		seen[pod.Name] = true
		changed = append(changed, pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time)
	}
	if len(changed) != replicas {
		t.Fatalf("%d pods were changed, want %d", len(changed), replicas)
	}
	for i, at := range changed[together:] {
		if since := at.Sub(changed[i]); since < seconds*time.Second {
			t.Errorf("the change %d came %s after that two before it", i+together, since)
		}
	}
}
