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
	"cmp"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// revise finds the revision of the template, by meaning: Observed says which
// stored revisions equal it. An equal older one is used again under a new
// number, so that the newest number is always the one in force. Then it sets
// the goal of the fleet: that revision, unless the user pinned another or a
// failed one was taken back.
func revise(s *scene) bool {
	template, number, stored := s.observed.templateRevision()
	s.template = template
	switch {
	case stored == nil:
		s.act(Action{Verb: CreateRevision, Slot: NoSlot, Revision: template, Number: number},
			appsv1.WhyNewTemplate, "the template differs from every stored revision", nil)
	case s.pinnedByNumber(stored):
		number = stored.Number
	case stored.Number < number:
		s.act(Action{Verb: RenumberRevision, Slot: NoSlot, Revision: template, UID: stored.UID, Number: number},
			appsv1.WhyNewTemplate, "the template equals an older revision, which becomes the newest", nil)
	}
	s.decision.UpdateRevision = s.goal(template, number)
	return false
}

// templateRevision finds the revision of the template: its name, the number
// that it has or gets, and the stored revision, or nil where there is none. The
// number grows with every change of the template.
func (o *Observed) templateRevision() (name string, number int64, stored *Revision) {
	var newest int64
	for i := range o.Revisions {
		r := &o.Revisions[i]
		newest = max(newest, r.Number)
		if r.Equal && (stored == nil || r.newerThan(stored)) {
			stored = r
		}
	}
	switch {
	case stored == nil:
		return o.NewRevision, newest + 1, nil
	case stored.Number < newest:
		return stored.Name, newest + 1, stored
	}
	return stored.Name, newest, stored
}

// newerThan: where an operator with an old cache used a number again, the name
// decides. The cache lists such revisions in any order, and a goal that followed
// the order would change from pass to pass.
func (r *Revision) newerThan(other *Revision) bool {
	return cmp.Or(cmp.Compare(r.Number, other.Number), cmp.Compare(r.Name, other.Name)) > 0
}

// goal is the revision that the fleet moves to.
func (s *scene) goal(template string, number int64) string {
	if s.decision.Rollback != nil && s.decision.Rollback.From != template {
		s.decision.Rollback = nil // the template has changed since
	}
	if s.pinHolds(number) {
		return s.pinnedGoal(template)
	}
	if back := s.decision.Rollback; back != nil && s.findRevision(back.To) != nil {
		return back.To
	}
	return template
}
