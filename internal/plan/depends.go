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

// Undone collects the actions of a pass that were not carried out. Each of them
// holds back only what depends on it: the same slot, the same budget, or what
// cannot be right without it. Everything else of the pass goes on.
//
//   - Without the finalizer no pod is made, adopted or changed.
//   - Without its revision stored, no pod is made for it, moved to it, or taken
//     down to be recreated on it.
//   - A slot that was not freed, or whose claim is missing, gets no pod.
//   - A pod whose claims go with it stays until they are marked: nothing would
//     show later that they were to go. Nor does one go whose claims stay and still
//     carry a mark, and a stand-in loses its mark before its claims do.
//   - A pod that takes the place of another, under another name, waits for that
//     one to go: the fleet never grows beyond replicas and maxSurge.
//   - A pod that was not resized keeps its revision: the last step says that all
//     of them are done.
//   - The owner's finalizer goes last, when all else is done.
type Undone struct {
	any, finalizer bool
	revisions      map[string]bool
	slots, marks   map[int]bool
	pods           map[string]bool
}

// Add adds an action that was not carried out.
func (u *Undone) Add(a *Action) {
	u.any = true
	leaves := a.Verb.Facts().leaves
	if leaves&tieFinalizer != 0 {
		u.finalizer = true
	}
	if leaves&tieRevision != 0 {
		mark(&u.revisions, a.Revision)
	}
	if leaves&tieSlot != 0 {
		mark(&u.slots, a.Slot)
	}
	if leaves&tieMark != 0 {
		mark(&u.marks, a.Slot)
	}
	if leaves&tiePod != 0 {
		mark(&u.pods, a.Pod)
	}
}

// HoldsBack reports whether an action must wait for one that was not carried out.
func (u *Undone) HoldsBack(a *Action) bool {
	if !u.any {
		return false
	}
	needs := a.Verb.Facts().needs
	return needs&tieAll != 0 ||
		needs&tieFinalizer != 0 && u.finalizer ||
		needs&tieRevision != 0 && u.revisions[a.Revision] ||
		needs&tieGoal != 0 && u.revisions[a.Goal] ||
		needs&tieSlot != 0 && a.Slot != NoSlot && u.slots[a.Slot] ||
		needs&tieMark != 0 && u.marks[a.Slot] ||
		needs&tiePod != 0 && u.pods[a.Pod] ||
		needs&tieAfter != 0 && a.After != "" && u.pods[a.After]
}
