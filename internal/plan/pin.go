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
	"strconv"
	"strings"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A pin keeps a fleet on a stored revision. There are two kinds. "REVISION"
// stays until it is taken off, whatever the template says. "REVISION while
// NUMBER" was made over the template of that revision number and over no other:
// the template's number grows with every change of it, also with one that goes
// back, so the next change ends the pin for good. Both are one value of one
// annotation, so that a new pin leaves nothing of the last one behind.
const pinWhile = " while "

// ParsePin reads the annotation. What cannot be read is the name of a revision
// that does not exist: the fleet stalls and says so.
func ParsePin(text string) (revision string, while int64) {
	if revision, number, found := strings.Cut(text, pinWhile); found {
		if while, err := strconv.ParseInt(number, 10, 64); err == nil && while > 0 {
			return revision, while
		}
	}
	return text, 0
}

// UndoPin is the pin to a revision that the next template change ends. It is
// empty where the revision is that of the template.
func UndoPin(observed Observed, revision string) string {
	template, number, _ := observed.templateRevision()
	if template == revision {
		return ""
	}
	return revision + pinWhile + strconv.FormatInt(number, 10)
}

// Pinned is a pin in force.
type Pinned struct {
	// Revision is the pinned revision, Template that of the template.
	Revision string `json:"revision"`
	Template string `json:"template"`
	// Stays: only the user ends it, not the next template change.
	Stays bool `json:"stays,omitempty"`
}

// Overrides reports whether the pods are kept on another revision than the
// template's.
func (p *Pinned) Overrides() bool { return p != nil && p.Revision != p.Template }

// String says what the pin does and how it ends.
func (p *Pinned) String() string {
	until := " until the annotation " + appsv1.AnnotationPin + " is removed"
	switch {
	case !p.Overrides():
		return "pods stay on revision " + p.Revision + ", which is the template's; a later one is not rolled out" + until
	case p.Stays:
		return "pods stay on revision " + p.Revision + "; neither the template's revision " + p.Template + " nor a later one is rolled out" + until
	}
	return "pods stay on revision " + p.Revision + "; the template's revision " + p.Template +
		" is not rolled out, and the next template change ends the pin"
}

// pinHolds: a pin is in force for a template of this number.
func (s *scene) pinHolds(number int64) bool {
	return s.desired.Pin != "" && (s.desired.PinWhile == 0 || number <= s.desired.PinWhile)
}

// pinnedByNumber: a pin that stays names the revision by its number, which the
// revision therefore keeps: under another the pin would not find it.
func (s *scene) pinnedByNumber(r *Revision) bool {
	return s.desired.PinWhile == 0 && s.desired.Pin == strconv.FormatInt(r.Number, 10)
}

// pinnedGoal is the pinned revision. Where it is not stored, the fleet stays
// where it is until the user says what is meant.
func (s *scene) pinnedGoal(template string) string {
	pinned := s.findRevision(s.desired.Pin)
	if pinned == nil {
		return s.pinMissing(template)
	}
	pin := &Pinned{Revision: pinned.Name, Template: template, Stays: s.desired.PinWhile == 0}
	if pin.Overrides() || pin.Stays {
		s.decision.Pinned = pin
	}
	if pin.Overrides() && s.desired.Replicas > 0 {
		s.block(Blocked{Verb: UpdatePod, Slot: NoSlot, By: appsv1.BlockedByPin, Count: s.desired.Replicas, Message: pin.String()})
	}
	return pinned.Name
}

func (s *scene) pinMissing(template string) string {
	s.halted = appsv1.BlockedByMissingPin
	s.block(Blocked{
		Verb: UpdatePod, Slot: NoSlot, By: appsv1.BlockedByMissingPin,
		Message: "the annotation " + appsv1.AnnotationPin + " names revision " + s.desired.Pin +
			", which is not stored: name one of the ControllerRevisions of this object, or take the annotation off",
	})
	if kept := s.observed.Status.UpdateRevision; s.findRevision(kept) != nil {
		return kept
	}
	return template
}
