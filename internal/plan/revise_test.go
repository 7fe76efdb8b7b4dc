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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestRevise(t *testing.T) {
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		update  string
		current string
	}{
		"the first template gets revision 1": {
			given: func() fleet {
				f := aFleet(0).revisions(10)
				f.observed.Status.CurrentRevision = ""
				return f
			}(),
			want:    []string{"CreateRevision web-next#1 NewTemplate"},
			update:  "web-next",
			current: "",
		},
		"a template like no stored revision gets the next number": {
			given: aFleet(0).revisions(10, Revision{Name: "a", Number: 4}, Revision{Name: "b", Number: 9}),
			want:  []string{"CreateRevision web-next#10 NewTemplate"},
			// Without pods there is no proof of it.
			update: "web-next", current: newRev,
		},
		"the newest revision is used as it is": {
			given:  aFleet(0).revisions(10, Revision{Name: "a", Number: 4}, Revision{Name: newRev, Number: 9, Equal: true}),
			update: newRev, current: newRev,
		},
		"an older one that means the same is used again under the next number": {
			given:  aFleet(0).revisions(10, Revision{Name: oldRev, Number: 4, Equal: true}, Revision{Name: newRev, Number: 9}),
			want:   []string{"RenumberRevision web-old#10 NewTemplate"},
			update: oldRev, current: newRev,
		},
		"of several that mean the same, the newest": {
			given:  aFleet(0).revisions(10, Revision{Name: oldRev, Number: 4, Equal: true}, Revision{Name: newRev, Number: 9, Equal: true}),
			update: newRev, current: newRev,
		},
		"of two that have the same number, always the same": {
			given:  aFleet(0).revisions(10, Revision{Name: oldRev, Number: 9, Equal: true}, Revision{Name: newRev, Number: 9, Equal: true}),
			update: oldRev, current: newRev,
		},
		"in whatever order they are listed": {
			given:  aFleet(0).revisions(10, Revision{Name: newRev, Number: 9, Equal: true}, Revision{Name: oldRev, Number: 9, Equal: true}),
			update: oldRev, current: newRev,
		},
		"the order in which revisions are stored does not matter": {
			given:  aFleet(0).revisions(10, Revision{Name: newRev, Number: 9}, Revision{Name: oldRev, Number: 4, Equal: true}),
			want:   []string{"RenumberRevision web-old#10 NewTemplate"},
			update: oldRev, current: newRev,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if got.UpdateRevision != test.update || got.CurrentRevision != test.current {
				t.Errorf("update, current = %q, %q, want %q, %q", got.UpdateRevision, got.CurrentRevision, test.update, test.current)
			}
		})
	}
}

func TestTheCurrentRevisionFollowsWhenTheFleetIsComplete(t *testing.T) {
	// Paused, so that the pods stay as they are.
	changing := func(pods ...podBuilder) fleet { return aFleet(2, pods...).rollingOut().paused() }
	for name, test := range map[string]struct {
		given fleet
		want  string
	}{
		"while a pod is on the old one it stays":           {changing(ordinal(0), ordinal(1).revision(oldRev)), oldRev},
		"while a pod is not available it stays":            {changing(ordinal(0), ordinal(1).unready()), oldRev},
		"while a pod is missing it stays":                  {changing(ordinal(0)), oldRev},
		"while one has failed it stays":                    {changing(ordinal(0), ordinal(1).failed(time.Second)), oldRev},
		"then it follows":                                  {changing(ordinal(0), ordinal(1)), newRev},
		"a terminating pod does not hold it back":          {changing(ordinal(0), ordinal(1), ordinal(2).revision(oldRev).terminating()), newRev},
		"nor does a corpse":                                {changing(random(0), random(1), random(2).revision(oldRev).failed(time.Second)).random(), newRev},
		"nor one that was taken out of the fleet":          {changing(ordinal(0), ordinal(1), ordinal(2).revision(oldRev).drifted()), newRev},
		"nor an orphan that has no place in it":            {changing(ordinal(0), ordinal(1), aPod("stray").orphan().revision(oldRev)), newRev},
		"an orphan that is taken in counts like any other": {changing(ordinal(0), ordinal(1).orphan().revision(oldRev)), oldRev},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.given.plan().CurrentRevision; got != test.want {
				t.Errorf("current revision %q, want %q", got, test.want)
			}
		})
	}
}

func TestAPinnedRevisionIsTheGoal(t *testing.T) {
	pinned := func(pin string) fleet {
		f := aFleet(1, ordinal(0)).rollingOut().paused()
		f.desired.Pin = pin
		return f
	}
	for name, test := range map[string]struct {
		given   fleet
		want    string
		blocked bool
	}{
		"by name":                                   {given: pinned(oldRev), want: oldRev},
		"by number":                                 {given: pinned("1"), want: oldRev},
		"without a pin the template's":              {given: pinned(""), want: newRev},
		"one that is not stored leaves the last":    {given: pinned("web-lost"), want: newRev, blocked: true},
		"a pin stands above a way back":             {given: pinned(newRev).rolledBack(), want: newRev},
		"without it a way back is taken":            {given: pinned("").rolledBack(), want: oldRev},
		"a way back whose revision is lost is none": {given: pinned("").rolledBack().revisions(10, Revision{Name: newRev, Number: 2, Equal: true}), want: newRev},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if got.UpdateRevision != test.want {
				t.Errorf("the goal is %s, want %s", got.UpdateRevision, test.want)
			}
			blocked := slices.Contains(heldBackOf(got), "UpdatePod "+appsv1.BlockedByMissingPin)
			if blocked != test.blocked {
				t.Errorf("blockers %v, want one by the missing pin: %t", heldBackOf(got), test.blocked)
			}
		})
	}
}

// rolledBack: the newest revision failed and was taken back.
func (f fleet) rolledBack() fleet {
	f.observed.Status.Rollback = &appsv1.RollbackRecord{From: newRev, To: oldRev, Time: metav1.NewTime(ago(time.Minute))}
	return f
}

// A pinned fleet keeps its template's revision, however few are kept: it would
// be made again, and deleted again, for ever.
func TestATemplateKeepsItsRevisionWhileAnotherIsPinned(t *testing.T) {
	f := aFleet(1, ordinal(0).revision(oldRev)).revisions(0, Revision{Name: oldRev, Number: 1}, Revision{Name: newRev, Number: 2, Equal: true})
	f.observed.Status.CurrentRevision, f.observed.Status.UpdateRevision = oldRev, oldRev
	f.desired.Pin = oldRev
	m := newModel(f)
	for range 3 {
		if d := m.step(time.Minute); len(d.Actions) > 0 {
			t.Errorf("at rest, and yet %v", saidOf(d))
		}
	}
}
