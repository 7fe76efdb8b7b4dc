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

import "testing"

// TestUndone: what each verb holds back when it was not carried out, of a pass
// that does everything.
func TestUndone(t *testing.T) {
	var verbs []Verb
	for i := range Verbs {
		verbs = append(verbs, Verbs[i].Verb)
	}
	same := func(v Verb) Action {
		return Action{Verb: v, Pod: "web-1", Slot: 1, Revision: "web-b", Goal: "web-b", From: "web-a", Claim: "data-web-1"}
	}
	other := func(v Verb) Action {
		return Action{Verb: v, Pod: "web-2", Slot: 2, Revision: "web-a", Goal: "web-a", From: "web-0", Claim: "data-web-2"}
	}
	// What is held back of the same slot and revision, and of another.
	type held struct{ same, other []Verb }
	slot := held{same: []Verb{AdoptPod, AdoptClaim, CreatePod, UpdatePod}}
	everything := []Verb{
		AddFinalizer, CreateRevision, RenumberRevision, AdoptPod, ShutGate, ResizePod, UpdatePod, CreateClaim, CondemnClaim, AdoptClaim, DeleteClaim,
		CreatePod, DeleteRevision,
	}
	for verb, want := range map[Verb]held{
		AddFinalizer:     {everything, everything},
		CreateRevision:   {same: []Verb{ShutGate, ResizePod, UpdatePod, EvictPod, DeletePod, CreatePod}},
		CreateClaim:      {same: []Verb{AdoptPod, AdoptClaim, CreatePod}},
		KeepPod:          {same: []Verb{AdoptPod, AdoptClaim, CreatePod}},
		CondemnClaim:     {same: []Verb{EvictPod, DeletePod}},
		AdoptClaim:       {same: []Verb{EvictPod, DeletePod}},
		AdoptPod:         slot,
		ReleasePod:       slot,
		OrphanPod:        slot,
		EvictPod:         slot,
		DeletePod:        slot,
		ResizePod:        slot,
		RenumberRevision: {}, OpenGate: {}, ShutGate: {}, UpdatePod: {}, TellHolder: {}, DeleteClaim: {}, CreatePod: {}, DeleteRevision: {},
	} {
		var undone Undone
		done := same(verb)
		undone.Add(&done)
		for _, v := range verbs {
			for name, c := range map[string]struct {
				action Action
				held   []Verb
			}{"the same": {same(v), want.same}, "another": {other(v), want.other}} {
				expected := v == RemoveFinalizer
				for _, h := range c.held {
					expected = expected || h == v
				}
				if got := undone.HoldsBack(&c.action); got != expected {
					t.Errorf("%s that was not done holds back %s of %s slot: %t, want %t", verb, v, name, got, expected)
				}
			}
		}
	}
}

// TestNothingUndoneHoldsBackNothing.
func TestNothingUndoneHoldsBackNothing(t *testing.T) {
	var undone Undone
	if undone.HoldsBack(&Action{Verb: RemoveFinalizer}) {
		t.Error("all is done, and the finalizer stays")
	}
}

// TestASuccessorWaitsForTheDelete: with random names a new pod takes the place
// of one that goes in the same pass, and of no other.
func TestASuccessorWaitsForTheDelete(t *testing.T) {
	given := aFleet(4, random(0), random(1).requested(), random(2)).random()
	d := given.plan()
	after := map[string]int{}
	var deleted string
	for _, a := range d.Actions {
		switch a.Verb {
		case CreatePod:
			after[a.After]++
		case DeletePod:
			deleted = a.Pod
		}
	}
	if deleted == "" || after[deleted] != 1 || after[""] != 1 || len(after) != 2 {
		t.Errorf("one pod is missing and %q goes, and the new ones come after %v", deleted, after)
	}
}
