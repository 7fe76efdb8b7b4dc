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

import appsv1 "github.com/mycompany/pod-operator/api/apps/v1"

// takeOver ends a pass in the middle of a take-over. The pods of the other
// workload come one by one, first with a controller that would replace what we
// delete, and until the last of them is adopted every count is too low: whatever
// the other rules decided would be wrong. So the fleet gets its revisions and its
// pods, its failures are counted, and nothing more happens until the annotation is taken
// off.
//
// The time does not count against a rollout that was under way before.
func takeOver(s *scene) bool {
	if s.desired.TakeOver == "" {
		return false
	}
	s.holdBack()
	if before := s.decision.Rollout; before != nil {
		record := *before
		record.Waits, record.StuckSeconds, record.StuckTime = true, 0, nil
		s.decision.Rollout = &record
	}
	s.countFailures()
	pruneRevisions(s)
	return true
}

// holdBack notes what would happen to pods without the take-over, one entry for
// each verb that has a name.
func (s *scene) holdBack() {
	free := s.desired
	free.TakeOver = ""
	var waiting []Blocked
	places := map[Verb]int{}
	for _, a := range Plan(free, s.observed, s.now).Actions {
		facts := a.Verb.Facts()
		if !facts.movesPods || facts.Noun == "" || a.Verb == AdoptPod {
			continue
		}
		at, ok := places[a.Verb]
		if !ok {
			at = len(waiting)
			places[a.Verb] = at
			waiting = append(waiting, Blocked{
				Verb: a.Verb, Pod: a.Pod, Slot: a.Slot, By: appsv1.BlockedByTakeOver,
				Message: "a take-over from " + s.desired.TakeOver + " is under way",
			})
		}
		waiting[at].Count++
	}
	for _, b := range waiting {
		s.block(b)
	}
}
