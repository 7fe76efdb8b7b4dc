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

	"github.com/google/go-cmp/cmp"
)

func TestPruneRevisions(t *testing.T) {
	stored := []Revision{
		{Name: "r4", Number: 4},
		{Name: "r1", Number: 1},
		{Name: "r3", Number: 3},
		{Name: "r2", Number: 2},
		{Name: newRev, Number: 5, Equal: true},
	}
	for name, test := range map[string]struct {
		given fleet
		want  []string
	}{
		"the oldest beyond the limit go, oldest first": {
			given: aFleet(1, ordinal(0)).revisions(2, stored...),
			want:  []string{"DeleteRevision r1#1 RevisionHistoryLimit", "DeleteRevision r2#2 RevisionHistoryLimit"},
		},
		"the one in use does not count": {
			given: aFleet(1, ordinal(0)).revisions(4, stored...),
		},
		"a limit of 0 keeps only what is in use": {
			given: aFleet(1, ordinal(0)).revisions(0, stored...),
			want: []string{
				"DeleteRevision r1#1 RevisionHistoryLimit", "DeleteRevision r2#2 RevisionHistoryLimit",
				"DeleteRevision r3#3 RevisionHistoryLimit", "DeleteRevision r4#4 RevisionHistoryLimit",
			},
		},
		"a revision of a live pod stays": {
			given: aFleet(1, ordinal(0).revision("r1")).paused().revisions(2, stored...),
			want:  []string{"DeleteRevision r2#2 RevisionHistoryLimit"},
		},
		"and one whose size a pod has": {
			given: aFleet(1, ordinal(0).sized("r1")).paused().revisions(2, stored...),
			want:  []string{"DeleteRevision r2#2 RevisionHistoryLimit"},
		},
		"so does that of a terminating one, which is still there to be looked at": {
			given: aFleet(1, ordinal(0), ordinal(1).revision("r1").terminating()).revisions(2, stored...),
			want:  []string{"DeleteRevision r2#2 RevisionHistoryLimit"},
		},
		"none while pods are made: those that are there may not be seen yet": {
			given: aFleet(1).revisions(0, stored...),
			want:  []string{"CreatePod web-0 Missing"},
		},
		"and the one that the status calls current": {
			given: func() fleet {
				f := aFleet(1, ordinal(0).revision("r2").unready()).paused().revisions(0, stored...)
				f.observed.Status.CurrentRevision = "r1"
				return f
			}(),
			want: []string{"DeleteRevision r3#3 RevisionHistoryLimit", "DeleteRevision r4#4 RevisionHistoryLimit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, saidOf(test.given.plan())); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// While an owner goes, its status still tells which revision its pods are on.
func TestAnOwnerThatGoesKeepsItsRevisions(t *testing.T) {
	f := aFleet(2, ordinal(0), ordinal(1).orphan()).deleting(DeletionDelete)
	got := f.plan()
	if got.UpdateRevision != newRev || got.CurrentRevision != newRev {
		t.Errorf("update, current = %q, %q, want %q twice", got.UpdateRevision, got.CurrentRevision, newRev)
	}
	status := f.done(got).Status
	if status.Replicas != 0 || status.TerminatingReplicas != 1 {
		t.Errorf("replicas, terminating = %d, %d, want 0, 1: an orphan is not counted", status.Replicas, status.TerminatingReplicas)
	}
}
