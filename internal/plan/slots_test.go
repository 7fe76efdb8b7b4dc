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

	"github.com/google/go-cmp/cmp"
)

func TestOrdinalsInUse(t *testing.T) {
	for name, test := range map[string]struct {
		replicas, surge int
		reserved        []int
		want            []string
	}{
		"the first replicas are the base, the next may stand in": {
			replicas: 2, surge: 1,
			want: []string{"0 base", "1 base", "2 surge", "3 -", "4 -", "5 -"},
		},
		"reserved ones are left out, and the others move up": {
			replicas: 2, surge: 2, reserved: []int{1, 3},
			want: []string{"0 base", "1 -", "2 base", "3 -", "4 surge", "5 surge"},
		},
		"reserved ones above all do not matter": {
			replicas: 1, reserved: []int{5, 9},
			want: []string{"0 base", "1 -", "2 -", "3 -", "4 -", "5 -"},
		},
		"no replicas, no base": {
			surge: 1,
			want:  []string{"0 surge", "1 -", "2 -", "3 -", "4 -", "5 -"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(test.replicas).budget(0, test.surge)
			f.desired.Reserved = test.reserved
			s := newScene(f.desired, f.observed, noon())
			var got []string
			for slot := range 6 {
				use := "-"
				switch {
				case s.inBase(slot):
					use = "base"
				case s.mayStandIn(slot):
					use = "surge"
				}
				got = append(got, fmt.Sprintf("%d %s", slot, use))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for slot := NoSlot; slot < 6; slot++ {
				if f.desired.Keeps(slot) != s.inBase(slot) {
					t.Errorf("a pod of slot %d is kept: %t", slot, f.desired.Keeps(slot))
				}
			}
			if s.inBase(NoSlot) || s.mayStandIn(NoSlot) {
				t.Error("no slot counts as a slot")
			}
		})
	}
}

// Reserving an ordinal moves its pod to the next free one.
func TestReservedOrdinals(t *testing.T) {
	f := aFleet(3, ordinal(0), ordinal(1), ordinal(2))
	f.desired.Reserved = []int{1}
	want := []string{"DeletePod web-1 OrdinalReserved", "CreatePod web-3 Missing"}
	if diff := cmp.Diff(want, saidOf(f.plan())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without ordinals, no pod is kept rather than another.
func TestEveryPodWithARandomNameIsKept(t *testing.T) {
	d := aFleet(1).random().desired
	if !d.Keeps(NoSlot) || !d.Keeps(7) {
		t.Error("a pod with a random name is not kept")
	}
}
