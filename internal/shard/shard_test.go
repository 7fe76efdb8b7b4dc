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

package shard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The shard of an owner is stored in labels: a new version that counted
// otherwise would move every object.
func TestOfNeverChanges(t *testing.T) {
	got := map[string]int{}
	for _, name := range []string{"web", "db", "my-pod-manager", "", "a-name-that-is-rather-long-for-an-owner"} {
		got[name] = Of("default", name, 32)
	}
	want := map[string]int{
		"": 20, "a-name-that-is-rather-long-for-an-owner": 7, "db": 2, "my-pod-manager": 24, "web": 27,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shards moved (-want +got):\n%s", diff)
	}
}

func TestOfSpreadsAlikeNames(t *testing.T) {
	tests := map[string]func(i int) (namespace, name string){
		"names that differ in a number":           func(i int) (string, string) { return "default", fmt.Sprintf("web-%d", i) },
		"namespaces that differ in a number":      func(i int) (string, string) { return fmt.Sprintf("team-%d", i), "web" },
		"namespaces that differ in a last letter": func(i int) (string, string) { return fmt.Sprintf("ns-%c%c", 'a'+i%26, 'a'+i/26), "x" },
	}
	for name, owner := range tests {
		t.Run(name, func(t *testing.T) {
			const shards, owners = 32, 640
			counts := make([]int, shards)
			for i := range owners {
				counts[Of(first(owner(i)), second(owner(i)), shards)]++
			}
			// With 31 degrees of freedom, chi-squared exceeds 61 once in a
			// thousand fair draws.
			chi := 0.0
			for _, n := range counts {
				d := float64(n) - owners/shards
				chi += d * d / (owners / shards)
			}
			if chi > 61 {
				t.Errorf("chi-squared is %.1f: %v", chi, counts)
			}
		})
	}
}

func first(a, _ string) string  { return a }
func second(_, b string) string { return b }

func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 64).Draw(t, "shards")
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,8}`), 1, 8, rapid.ID[string]).Draw(t, "members")
		assigned := Assign(names, shards)
		load := map[string]int{}
		for s, m := range assigned {
			if m == "" {
				t.Fatalf("shard %d has no holder", s)
			}
			load[m]++
		}
		for _, m := range names {
			if n := load[m]; n < shards/len(names) || n > (shards+len(names)-1)/len(names) {
				t.Fatalf("%s has %d of %d shards, with %d members", m, n, shards, len(names))
			}
		}
		shuffled := rapid.Permutation(names).Draw(t, "shuffled")
		if diff := cmp.Diff(assigned, Assign(shuffled, shards)); diff != "" {
			t.Fatalf("the order of the members matters:\n%s", diff)
		}
	})
}

func TestAssignWithoutMembers(t *testing.T) {
	if diff := cmp.Diff([]string{"", ""}, Assign(nil, 2)); diff != "" {
		t.Error(diff)
	}
}

// A member that leaves moves its own shards; of the others' at most as many
// again move, to even things out.
func TestAssignMovesLittle(t *testing.T) {
	const shards = 32
	before := Assign([]string{"a", "b", "c", "d"}, shards)
	after := Assign([]string{"a", "b", "c"}, shards)
	moved := 0
	for s := range before {
		if before[s] != "d" && before[s] != after[s] {
			moved++
		}
	}
	if moved > shards/4 {
		t.Errorf("%d shards moved that were not the leaver's", moved)
	}
}
