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
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// writes counts the operator's mutating requests in the fleet's namespace since
// a mark, by verb and resource, when no more come.
func (f *fleet) writes(since localkube.AuditMark) (total int, by map[string]int) {
	f.Helper()
	count := func() (int, map[string]int) {
		n, m := 0, map[string]int{}
		for _, e := range f.Requests(since, (*localkube.AuditEvent).Mutating) {
			n++
			m[strings.Trim(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")]++
		}
		return n, m
	}
	quiet := time.Now()
	for last := -1; time.Since(quiet) < 2*time.Second; {
		testkit.Stays(f, 200*time.Millisecond, func() error { return nil })
		if total, by = count(); total != last {
			last, quiet = total, time.Now()
		}
	}
	return total, by
}

func written(by map[string]int) string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(by)) {
		list = append(list, fmt.Sprintf("%d %s", by[what], what))
	}
	return strings.Join(list, ", ")
}

// A rollout costs what its pods cost and next to nothing more: one write for a
// change in place, three with the readiness gate, two for a recreate, and 15 for
// revision, status and events. Those are paced by time, so a machine that needs
// more than ten seconds gets some more.
func TestWritesOfARollout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec, patch  string
		pods, writes int
		replaced     bool
	}{
		"a hundred images in place":        {"update: {maxUnavailable: 25%, maxSurge: 25%}", `{"image":"nginx:1.28"}`, 100, 100, false},
		"a hundred recreates":              {"update: {maxUnavailable: 25%, maxSurge: 25%}", env("1"), 100, 200, true},
		"twenty recreates of random names": {"identity: Random\nupdate: {maxUnavailable: 25%, maxSurge: 25%}", env("1"), 20, 40, true},
		"twenty images with the gate":      {"update: {readinessGate: true}", `{"image":"nginx:1.28"}`, 20, 60, false},
	} {
		t.Run(name, func(t *testing.T) {
			if test.pods > 20 {
				testkit.Long(t, "it keeps the API server busy")
			}
			t.Parallel()
			f := newFleet(t, test.pods, test.spec+plain)
			f.writes(suite.AuditMark(t)) // until the creation has been told to its end
			before := f.UIDs()
			mark, start := suite.AuditMark(t), time.Now()
			f.Patch(test.patch)
			f.ExpectRolledOut(test.pods)
			most := test.writes + 15 + max(0, int((time.Since(start)-10*time.Second)/time.Second))
			total, by := f.writes(mark)
			t.Logf("%d writes: %s", total, written(by))
			if total > most {
				t.Errorf("%d writes, want at most %d: %s", total, most, written(by))
			}
			if test.replaced {
				f.ExpectNewPods(before)
				return
			}
			f.ExpectSamePods(before)
			if by["create pods"]+by["delete pods"] > 0 {
				t.Errorf("pods were created or deleted: %s", written(by))
			}
		})
	}
}
