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

import "slices"

// Ordinals in use are the first replicas of 0, 1, 2 … that are not reserved,
// the base, followed by those of pods that stand in for others.

// position is the place of a slot among the ordinals that are not reserved, or
// -1 for a reserved one and for no slot.
func (s *scene) position(slot int) int {
	if slot < 0 {
		return -1
	}
	i, reserved := slices.BinarySearch(s.desired.Reserved, slot)
	if reserved {
		return -1
	}
	return slot - i
}

// inBase: the slot has a pod whatever the rollout does.
func (s *scene) inBase(slot int) bool {
	place := s.position(slot)
	return place >= 0 && place < s.desired.Replicas
}

// mayStandIn: the slot may have a pod while a rollout or a drain needs it.
func (s *scene) mayStandIn(slot int) bool {
	place := s.position(slot)
	return place >= s.desired.Replicas && place < s.desired.Replicas+s.desired.MostSurge()
}

// Keeps reports whether the fleet keeps a pod in the slot whatever a rollout or a
// drain does. The others stand in for some of these, or are too many.
func (d *Desired) Keeps(slot int) bool {
	s := scene{desired: *d}
	return !s.ordinal() || s.inBase(slot)
}
