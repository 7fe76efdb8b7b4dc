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

package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A pass over a fleet in which everything happens at once: each rule does its
// part, in order, and none touches what another has dealt with. Old revisions wait: pods
// are made.
func TestEveryRuleAtOnce(t *testing.T) {
	f := aFleet(6,
		ordinal(0).requested(),                                 // asked for
		ordinal(1).failed(time.Second),                         // failed
		ordinal(2).nodeGone(),                                  // lost
		ordinal(3).orphan(),                                    // to adopt
		ordinal(4).drifted(),                                   // to release
		ordinal(6).unready(), ordinal(7).unready().requested(), // above replicas
	).finalizer(FinalizerMissing).revisions(0, Revision{Name: "ancient", Number: 1})
	got := f.plan()
	want := []string{
		"AddFinalizer FinalizerMissing",
		"CreateRevision web-next#2 NewTemplate",
		"AdoptPod web-3 MatchingOrphan",
		"ReleasePod web-4 LabelsEdited",
		"DeletePod web-2 NodeGone by force",
		"DeletePod web-0 RequestedByLabel",
		"DeletePod web-7 ScaleDown",
		"DeletePod web-6 ScaleDown",
		"DeletePod web-1 PodFailed",
		"CreatePod web-5 Missing",
	}
	// The fleet is paused: what a rollout would do is not the matter here.
	if diff := cmp.Diff(want, saidOf(f.paused().plan())); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	for _, a := range got.Actions {
		if a.Verb == CreatePod && a.Revision != "web-next" {
			t.Errorf("pod %s is created from revision %q, want the new one", a.Pod, a.Revision)
		}
	}
}

func TestPausedScalesAndRepairs(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  []string
	}{
		"up":      {aFleet(1), []string{"CreatePod web-0 Missing"}},
		"down":    {aFleet(0, ordinal(0)), []string{"DeletePod web-0 ScaleDown"}},
		"repairs": {aFleet(1, ordinal(0).nodeGone()), []string{"DeletePod web-0 NodeGone by force"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, saidOf(test.given.paused().plan())); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan is recorded, shown and replayed, so what goes in and what comes out
// are plain values.
func TestPlansSurviveJSON(t *testing.T) {
	f := aFleet(3, ordinal(0), ordinal(1).failed(time.Second), ordinal(2).orphan()).failures(1, time.Minute, 0)
	desired, observed, decision := roundTrip(t, f.desired), roundTrip(t, f.observed), roundTrip(t, f.plan())
	if diff := cmp.Diff(f.plan(), decision, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the decision (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(f.plan(), Plan(desired, observed, noon()), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the replay (-before +after):\n%s", diff)
	}
}

func roundTrip[T any](t *testing.T, in T) T {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatalf("encode %T: %v", in, err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("decode %T: %v", in, err)
	}
	return out
}

// One rule has one name, in the list, as a function, and as a file with its test.
func TestOneRuleOneFile(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules() {
		if r.name == "" || seen[r.name] {
			t.Errorf("rule %q has no name of its own", r.name)
		}
		seen[r.name] = true
		function := runtime.FuncForPC(reflect.ValueOf(r.decide).Pointer())
		if want := strings.ReplaceAll(r.name, "-", ""); !strings.HasSuffix(strings.ToLower(function.Name()), "."+want) {
			t.Errorf("rule %s is decided by %s", r.name, function.Name())
		}
		want := strings.ReplaceAll(r.name, "-", "_")
		if file, _ := function.FileLine(function.Entry()); filepath.Base(file) != want+".go" {
			t.Errorf("rule %s is in %s, want %s.go", r.name, filepath.Base(file), want)
		}
		if _, err := os.Stat(want + "_test.go"); err != nil {
			t.Errorf("rule %s has no test of its own: %v", r.name, err)
		}
	}
}

// The API allows a hundred thousand replicas and the type more; one pass over
// an empty fleet costs what one batch costs.
func TestHugeReplicasCostOneBatch(t *testing.T) {
	for name, f := range map[string]fleet{
		"ordinal":                    aFleet(2_000_000_000),
		"ordinal, and one far out":   aFleet(2_000_000_000, ordinal(1_999_999_999)),
		"few ordinals, and far ones": aFleet(2, ordinal(1_999_999_999), ordinal(1_999_999_998).terminating()),
		"random":                     aFleet(2_000_000_000).random(),
	} {
		t.Run(name, func(t *testing.T) {
			cost := costPerPod(f, MaxPodsPerPass)
			if cost.allocs > 20 || cost.bytes > 5_000 {
				t.Errorf("%.0f allocations and %.0f bytes for each pod of a batch", cost.allocs, cost.bytes)
			}
		})
	}
}
