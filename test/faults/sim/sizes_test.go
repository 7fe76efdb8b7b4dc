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
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// script is a schedule that chooses its lines, each as soon as an option begins
// with it, and else what is fair.
func script(lines ...string) (schedule Schedule, left func() int) {
	return func(_ int, options []Option) int {
		at := slices.IndexFunc(options, func(o Option) bool { return len(lines) > 0 && strings.HasPrefix(o.Text, lines[0]) })
		if at < 0 {
			return 0
		}
		lines = lines[1:]
		return at
	}, func() int { return len(lines) }
}

func scenarioOf(t *testing.T, name string) scenario.Scenario {
	t.Helper()
	for _, s := range everything() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no scenario %q", name)
	return scenario.Scenario{}
}

// TestAResizeThatIsTornApart: of the two writes that a resize takes, the second
// one does not happen, and at this moment the user takes the size back or wants a
// third one. At the end every pod has the size of its revision, and none was
// recreated for it. Without a proof of who resized the pod it would keep the wrong
// size.
func TestAResizeThatIsTornApart(t *testing.T) {
	lab := newLab(t)
	for name, next := range map[string]string{
		"a resize is taken back": "the user: size 1 and 1", "a resize gives way to another": "the user: size 1 and 2",
		"a resize is taken back without history": "the user: size 1 and 1",
	} {
		for _, fault := range []string{"operator-1: patch Pod web-0 : 409", "operator-1: patch Pod web-0 : the request is lost", "operator-1: crashes"} {
			t.Run(name+", "+fault, func(t *testing.T) {
				run := func(w Weakness) *Result {
					lines := []string{fault, next}
					if fault == "operator-1: crashes" { // between the two writes
						lines = []string{"operator-1: patch Pod web-0 resize", fault, next}
					}
					schedule, left := script(lines...)
					result := play(t, lab, Run{Scenario: scenarioOf(t, name), Hasty: true, Faults: 1, Schedule: schedule, Weakness: w})
					if left() > 0 {
						t.Fatalf("%d lines of the script were not met:\n%s", left(), strings.Join(result.Trace, "\n"))
					}
					return result
				}
				result := run(None)
				for _, v := range result.Violations {
					t.Error(v)
				}
				if n := result.Tally["delete web-0"]; n > 0 {
					t.Errorf("web-0 was recreated %d times", n)
				}
				weak := run(NoSizeProof).Violations
				if !slices.ContainsFunc(weak, func(v oracle.Violation) bool { return v.Rule == "C" }) {
					t.Errorf("without the proof, %v is violated: want C", weak)
				}
			})
		}
	}
}

// TestSizesOfOthersAreLeftAlone, though they are exactly those of an old revision.
func TestSizesOfOthersAreLeftAlone(t *testing.T) {
	result := play(t, newLab(t), Run{Scenario: scenarioOf(t, "another one resizes a pod")})
	for i := len(result.History) - 1; i >= 0; i-- {
		if pod, ok := result.History[i].Object.(*corev1.Pod); ok && pod.Name == "web-0" {
			if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "1" {
				t.Errorf("the pod has %s cpus, and 1 was asked for", got)
			}
			return
		}
	}
}
