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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestSpans(t *testing.T) {
	for want, ordinals := range map[string][]int{
		"": nil, "0": {0}, "0-1": {0, 1}, "3": {3}, "0,2-4,6": {0, 2, 3, 4, 6},
	} {
		var list spanList
		for _, n := range ordinals {
			list = list.with(n)
		}
		if got := list.String(); got != want {
			t.Errorf("%v are %q, want %q", ordinals, got, want)
		}
		read := parseSpans(want)
		for n := range 8 {
			in := false
			for _, o := range ordinals {
				in = in || o == n
			}
			if read.contain(n) != in {
				t.Errorf("%q contains %d: %t", want, n, !in)
			}
		}
	}
}

// A partition of random names keeps so many pods and successors, and no more.
func TestSuccessorsBehindAPartition(t *testing.T) {
	leaves := func(i int) podBuilder { return random(i).revision(oldRev).evicted(time.Second) }
	for name, tc := range map[string]struct {
		given fleet
		want  int
	}{
		"beside a pod that stays": {aFleet(2, random(0).revision(oldRev), leaves(1)).partition(1), 1},
		"all of them":             {aFleet(3, leaves(0), leaves(1), leaves(2)).partition(2), 2},
	} {
		kept := 0
		for _, b := range tc.given.random().rollingOut().budget(0, 1).surgeFirst(1).plan().Blocked {
			if b.By == appsv1.BlockedByPartition {
				kept += b.Count
			}
		}
		if kept != tc.want {
			t.Errorf("%s: the partition keeps %d pods, want %d", name, kept, tc.want)
		}
	}
}
