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
