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
	"iter"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// findHolders finds the pod in each place, dead or alive. An ordinal is its pod's
// name: those below the number of pods are found by it, the few beyond by name,
// so that nothing is as large as the replicas that were asked for. Otherwise any
// free slot will do.
func (f *filling) findHolders() {
	if !f.ordinal() {
		f.names = f.occupied()
		for slot := range f.holders() {
			f.highest = max(f.highest, slot)
		}
		return
	}
	f.slots = make([]*Pod, len(f.observed.Pods))
	for slot, p := range f.holders() {
		f.highest = max(f.highest, slot)
		switch {
		case slot != NoSlot && slot < len(f.slots):
			f.slots[slot] = p
		case f.names == nil:
			f.names = map[string]*Pod{p.Name: p}
		default:
			f.names[p.Name] = p
		}
	}
}

// place is the name that goes with a slot, and the pod that has it.
func (f *filling) place(slot int) (name string, holder *Pod) {
	if slot < len(f.slots) && f.slots[slot] != nil {
		return f.slots[slot].Name, f.slots[slot]
	}
	name = SlotName(&f.desired, slot)
	return name, f.names[name]
}

// occupied maps every name to the pod that has it, dead or alive. A slot is
// free when its name is: so a Random pod whose slot label was edited keeps its
// place, and of two slots whose suffixes happen to be the same one is used.
func (s *scene) occupied() map[string]*Pod {
	names := make(map[string]*Pod, len(s.observed.Pods))
	for _, p := range s.holders() {
		names[p.Name] = p
	}
	return names
}

// holders are the pods that keep their names from others, with their slots.
func (s *scene) holders() iter.Seq2[int, *Pod] {
	return func(yield func(int, *Pod) bool) {
		for _, b := range s.briefs {
			if !yield(b.slot, b.pod) {
				return
			}
		}
		for _, bucket := range [][]*Pod{s.failed, s.lost, s.terminating, s.drifted} {
			for _, p := range bucket {
				if !yield(p.Slot, p) {
					return
				}
			}
		}
	}
}

// blockOnHolder reports that an ordinal waits for its old pod. A live pod is no
// blocker, and a failed one on backoff has said so already; a dead orphan is
// deleted once it is adopted, and a dead pod that is held when its holder lets go.
func (s *scene) blockOnHolder(p *Pod, slot int) {
	switch {
	case p.Membership == Drifted && !p.Terminating:
		s.blockOnName(p.Name, slot)
	case p.Terminating || s.gone[p] || p.dead() && (p.Membership == Orphan || s.wanted[p]):
		s.blockOnTermination(p.Name, slot)
	}
}

func (s *scene) blockOnTermination(name string, slot int) {
	if !s.ordinal() {
		return
	}
	s.block(Blocked{
		Verb: CreatePod, Pod: name, Slot: slot, By: appsv1.BlockedByTermination,
		Message: "the pod's name is free only when the old pod is gone",
	})
}

func (s *scene) blockOnName(name string, slot int) {
	if !s.ordinal() {
		return
	}
	s.block(Blocked{
		Verb: CreatePod, Pod: name, Slot: slot, By: appsv1.BlockedByName,
		Message: "a pod named " + name + " exists and is not this owner's: delete it, or label it so that it can be adopted",
	})
}

func (s *scene) blockOnMovers(name string, slot int) {
	s.block(Blocked{
		Verb: CreatePod, Pod: name, Slot: slot, By: appsv1.BlockedByBudget,
		Message: fmt.Sprintf("pods on other ordinals go first: %d and a surge of %d may be there", s.desired.Replicas, s.desired.MostSurge()),
	})
}

// createWhy distinguishes a scale-up from a repair of a fleet that was complete,
