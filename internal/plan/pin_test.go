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
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// pinned sets the annotation.
func (f fleet) pinned(text string) fleet {
	f.desired.Pin, f.desired.PinWhile = ParsePin(text)
	return f
}

func TestAPinSaysHowLongItHolds(t *testing.T) {
	type read struct {
		Revision string
		While    int64
	}
	for text, want := range map[string]read{
		"":                 {},
		"3":                {Revision: "3"},
		"web-old":          {Revision: "web-old"},
		"web-old while 5":  {Revision: "web-old", While: 5},
		"3 while 5":        {Revision: "3", While: 5},
		"3 while later":    {Revision: "3 while later"},
		"3 while 0":        {Revision: "3 while 0"},
		"3 while -1":       {Revision: "3 while -1"},
		"3 while 5 or six": {Revision: "3 while 5 or six"},
	} {
		revision, while := ParsePin(text)
		if diff := cmp.Diff(want, read{revision, while}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestAPinEndsWithTheNextTemplateChangeUnlessItStays(t *testing.T) {
	const third = "web-third"
	// The template was web-old, then web-new, when the user went back to web-old.
	undone := func(pin string) fleet {
		f := aFleet(1, ordinal(0).revision(oldRev)).rollingOut().pinned(pin)
		f.observed.Status.UpdateRevision = oldRev
		return f
	}
	// And then the template changed.
	template := func(f fleet, revisions ...Revision) fleet { return f.revisions(10, revisions...) }
	old, new1 := Revision{Name: oldRev, Number: 1}, Revision{Name: newRev, Number: 2}
	equal := func(r Revision) Revision { r.Equal = true; return r }
	for name, test := range map[string]struct {
		given   fleet
		want    string
		blocked bool
	}{
		"as long as the template is the same, it holds":         {undone("web-old while 2"), oldRev, true},
		"the pass that stores a new template ends it":           {template(undone("web-old while 2"), old, new1), "web-next", false},
		"so does the number of a new one":                       {template(undone("web-old while 2"), old, new1, equal(Revision{Name: third, Number: 3})), third, false},
		"a template that goes back to the pinned one ends it":   {template(undone("web-old while 2"), equal(old), new1), oldRev, false},
		"and it does not come back with the template it was on": {template(undone("web-old while 2"), old, equal(Revision{Name: newRev, Number: 4}), Revision{Name: third, Number: 3}), newRev, false},
		"one whose revision is gone says nothing once it ended": {template(undone("web-lost while 2"), old, new1), "web-next", false},
		"one that stays holds against a new template":           {template(undone("web-old"), old, new1), oldRev, true},
		"by number, too": {template(undone("1"), old, new1), oldRev, true},
		"and is no blocker where the template is the same": {template(undone("web-old"), equal(old), new1), oldRev, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if got.UpdateRevision != test.want {
				t.Errorf("the goal is %s, want %s", got.UpdateRevision, test.want)
			}
			if blocked := slices.Contains(heldBackOf(got), "UpdatePod "+appsv1.BlockedByPin); blocked != test.blocked {
				t.Errorf("blockers %v, want one by the pin: %t", heldBackOf(got), test.blocked)
			}
		})
	}
}

// A template that returns to an older revision gives it the newest number. A
// pin by number must find it all the same, in this pass and in the next.
func TestARevisionPinnedByItsNumberKeepsIt(t *testing.T) {
	f := aFleet(1, ordinal(0).revision(oldRev)).pinned("1").
		revisions(10, Revision{Name: oldRev, Number: 1, Equal: true}, Revision{Name: newRev, Number: 2})
	f.observed.Status.CurrentRevision, f.observed.Status.UpdateRevision = oldRev, oldRev
	foreseen := Foresee(f.desired, f.observed, noon())
	if got := foreseen.First; got.UpdateRevision != oldRev || len(got.Actions) > 0 {
		t.Errorf("the goal is %s with %v, want %s and nothing to do", got.UpdateRevision, saidOf(got), oldRev)
	}
	if !foreseen.Complete || len(foreseen.Blocked) > 0 {
		t.Errorf("it comes to rest: %t, with %v", foreseen.Complete, foreseen.Blocked)
	}
	// Without the pin the newest number is the template's.
	if got := saidOf(f.pinned("").plan()); !slices.Equal(got, []string{"RenumberRevision web-old#3 NewTemplate"}) {
		t.Errorf("without the pin: %v", got)
	}
}

func TestTheUndoPinIsForTheTemplateOfNow(t *testing.T) {
	for name, test := range map[string]struct {
		revisions []Revision
		to, want  string
	}{
		"over the newest revision":                       {[]Revision{{Name: oldRev, Number: 1}, {Name: newRev, Number: 2, Equal: true}}, oldRev, "web-old while 2"},
		"over a template that is not stored yet":         {[]Revision{{Name: oldRev, Number: 1}, {Name: newRev, Number: 2}}, newRev, "web-new while 3"},
		"over one that returned and is not renumbered":   {[]Revision{{Name: oldRev, Number: 1, Equal: true}, {Name: newRev, Number: 2}}, newRev, "web-new while 3"},
		"the template's own revision needs none":         {[]Revision{{Name: oldRev, Number: 1}, {Name: newRev, Number: 2, Equal: true}}, newRev, ""},
		"nor does one that the template has returned to": {[]Revision{{Name: oldRev, Number: 1, Equal: true}, {Name: newRev, Number: 2}}, oldRev, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(1, ordinal(0)).revisions(10, test.revisions...)
			got := UndoPin(f.observed, test.to)
			if got != test.want {
				t.Fatalf("the pin is %q, want %q", got, test.want)
			}
			if goal := f.pinned(got).plan().UpdateRevision; goal != test.to {
				t.Errorf("with it the goal is %s, want %s", goal, test.to)
			}
		})
	}
}

// A pin in force shows in the conditions; where it keeps the template from being
// rolled out, the fleet is not Ready: what the spec asks for is not there.
func TestAPinIsVisible(t *testing.T) {
	on := func(pin, revision string) fleet {
		f := aFleet(1, ordinal(0).revision(revision)).rollingOut().pinned(pin)
		f.observed.Status.CurrentRevision, f.observed.Status.UpdateRevision = revision, revision
		return f
	}
	for name, test := range map[string]struct {
		given                fleet
		ready, pinned, words string
		kstatus              status.Status
	}{
		"none": {given: on("", newRev), ready: "True Available", kstatus: status.CurrentStatus},
		"one that the next template ends": {
			given: on("web-old while 2", oldRev), ready: "False Pinned", pinned: "True Pinned", kstatus: status.InProgressStatus,
			words: "pods stay on revision web-old; the template's revision web-new is not rolled out, and the next template change ends the pin",
		},
		"one that stays": {
			given: on("1", oldRev), ready: "False Pinned", pinned: "True Pinned", kstatus: status.InProgressStatus,
			words: "pods stay on revision web-old; neither the template's revision web-new nor a later one is rolled out until the annotation " +
				"apps.mycompany.com/pin-revision is removed",
		},
		"one that stays on the template's revision": {
			given: on("2", newRev), ready: "True Available", pinned: "True Pinned", kstatus: status.CurrentStatus,
			words: "pods stay on revision web-new, which is the template's; a later one is not rolled out until the annotation " +
				"apps.mycompany.com/pin-revision is removed",
		},
		"one that was for another template": {given: on("web-old while 1", newRev), ready: "True Available", kstatus: status.CurrentStatus},
		"one that changes nothing":          {given: on("2 while 2", newRev), ready: "True Available", kstatus: status.CurrentStatus},
	} {
		t.Run(name, func(t *testing.T) {
			decision := test.given.plan()
			if decision.NextLook != 0 || len(decision.Actions) > 0 {
				t.Errorf("a fleet on its pinned revision rests; this one looks again in %s and does %v", decision.NextLook, saidOf(decision))
			}
			got := test.given.done(decision).Status
			told := conditionsOf(got)
			if told[appsv1.ConditionReady] != test.ready || told[appsv1.ConditionPinned] != test.pinned {
				t.Errorf("Ready is %q and Pinned %q, want %q and %q", told[appsv1.ConditionReady], told[appsv1.ConditionPinned], test.ready, test.pinned)
			}
			for _, c := range got.Conditions {
				if c.Type == appsv1.ConditionPinned && (!strings.HasPrefix(c.Message, test.words) || !strings.Contains(c.Message, "rollout undo web --clear")) {
					t.Errorf("Pinned says %q, want %q and how it ends", c.Message, test.words)
				}
			}
			if k := kstatusOf(t, test.given.desired, got); k != test.kstatus {
				t.Errorf("kstatus reads %s, want %s", k, test.kstatus)
			}
		})
	}
}

// An automatic rollback is out of force while a pin is in force, and so is what
// the condition says of it.
func TestAPinAwayFromARollbackIsNotARollback(t *testing.T) {
	f := aFleet(1, ordinal(0)).rollingOut().rolledBack().pinned(newRev)
	f.observed.Status.CurrentRevision = newRev
	if got := toldOf(f.done(f.plan()).Status); got.Stalled != "" {
		t.Errorf("on the pinned revision Stalled is %q", got.Stalled)
	}
}

// A pin that has ended no longer keeps a failed revision from being taken back.
func TestAfterAPinARollbackIsPossible(t *testing.T) {
	f := aFleet(1, ordinal(0).unready()).rollingOut().pinned("web-old while 1")
	f.desired.Update.OnFailure = appsv1.FailureRollback
	f.observed.Status.Rollout = &appsv1.RolloutRecord{Revision: newRev, ProgressTime: metav1.NewTime(ago(time.Hour)), StuckSeconds: 3600}
	if got := f.plan(); got.Rollback == nil || got.UpdateRevision != oldRev {
		t.Errorf("the goal is %s, rollback %v; want a rollback to %s", got.UpdateRevision, got.Rollback, oldRev)
	}
}

func TestAPinHoldsBackNothingWhereThereIsNothing(t *testing.T) {
	if got := aFleet(0).rollingOut().pinned("web-old while 2").plan().Blocked; len(got) > 0 {
		t.Errorf("without replicas it holds back %+v", got)
	}
}

// A pin to a revision that is not stored leaves the fleet on the revision that it has,
// or, if that is not stored either, on the template's.
func TestAPinToNothing(t *testing.T) {
	for update, want := range map[string]string{oldRev: oldRev, "web-gone": newRev} {
		f := aFleet(1, ordinal(0)).rollingOut().pinned("web-nowhere")
		f.observed.Status.UpdateRevision = update
		if got := f.plan().UpdateRevision; got != want {
			t.Errorf("on %s the goal is %s, want %s", update, got, want)
		}
	}
}
