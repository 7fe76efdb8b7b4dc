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
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Where two rules meet, or a number is just enough.
func TestEdges(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	inPlace := Change{Images: []string{"app"}, Restarts: true}
	none := func(f fleet) fleet { f.desired.Update.NoneUnavailable = true; return f }
	for name, test := range map[string]struct {
		given fleet
		want  []string
	}{
		"no pod may be missing and none may be too many: one at a time, or none would ever change": {
			given: none(aFleet(2, old(0), old(1)).rollingOut().changing(inPlace).budget(0, 0)),
			want:  []string{"UpdatePod web-1 RolloutInPlace"},
		},
		"of two pods beyond replicas one has to stand in, and the other was not made for that": {
			given: aFleet(2, ordinal(0).unready(), old(1), ordinal(2).surge(), ordinal(3)).rollingOut().budget(0, 2).
				progress(1, time.Minute).changing(Change{Recreate: "x"}),
			want: []string{"DeletePod web-3 ScaleDown"},
		},
		"a pod on a reserved ordinal stays as long as it is held": {
			given: aFleet(2, ordinal(0).holdDelete(), ordinal(1)).reserving(0),
			want:  []string{"TellHolder web-0 Held", "CreatePod web-2 Missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, saidOf(test.given.plan())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A pod is stale on every revision but the goal, wherever the two are stored.
func TestRevisionsAreToldApart(t *testing.T) {
	var stored []Revision
	for i := range 8 {
		stored = append(stored, Revision{Name: fmt.Sprintf("web-%c", 'a'+i), Number: int64(i) + 1, Equal: i == 0})
	}
	for _, goal := range stored {
		for _, of := range stored {
			f := aFleet(1, ordinal(0).revision(of.Name)).revisions(10, stored...)
			f.desired.Pin = goal.Name
			d := f.plan()
			if stale := d.Counts.Stale == 1; d.UpdateRevision != goal.Name || stale != (of.Name != goal.Name) {
				t.Errorf("the goal is %s, want %s; a pod on %s is stale: %t", d.UpdateRevision, goal.Name, of.Name, stale)
			}
		}
	}
}

// Pods that go once they are no longer held count as stale like the others.
func TestHeldPodsCountAsStale(t *testing.T) {
	old := func(slot int) podBuilder { return random(slot).revision(oldRev) }
	f := aFleet(2, old(0), old(1), old(2).holdDelete()).random().rollingOut().paused()
	if got := f.plan().Counts.Stale; got != 3 {
		t.Errorf("%d pods are stale, want 3", got)
	}
}
