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
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// pruneRevisions deletes the oldest revisions beyond the limit, never one that
// a pod, its size or the status still names, nor the template's, which would be made
// again while another one is pinned. A pass that makes pods prunes none: after a
// restart on an old list it may not see the pods that use them.
func pruneRevisions(s *scene) bool {
	if len(s.observed.Revisions) <= s.desired.RevisionHistoryLimit {
		return false // within the limit, in use or not
	}
	if slices.ContainsFunc(s.decision.Actions, func(a Action) bool { return a.Verb == CreatePod }) {
		return false
	}
	used := map[string]bool{s.template: true, s.decision.UpdateRevision: true, s.decision.CurrentRevision: true}
	for i := range s.observed.Pods {
		used[s.observed.Pods[i].Revision], used[s.observed.Pods[i].SizeOf] = true, true
	}
	if s.decision.Rollback != nil {
		used[s.decision.Rollback.From], used[s.decision.Rollback.To] = true, true
	}
	unused := slices.DeleteFunc(slices.Clone(s.observed.Revisions), func(r Revision) bool { return used[r.Name] })
	slices.SortFunc(unused, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	excess := max(0, len(unused)-s.desired.RevisionHistoryLimit)
	for _, r := range unused[:excess] {
		s.act(Action{Verb: DeleteRevision, Slot: NoSlot, Revision: r.Name, UID: r.UID, Number: r.Number},
			appsv1.WhyHistoryLimit, "more old revisions than revisionHistoryLimit",
			map[string]int64{"kept": int64(s.desired.RevisionHistoryLimit), "unused": int64(len(unused))})
	}
	return false
}
