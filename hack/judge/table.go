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

package main

import "slices"

// table is every fault: those of the planner's rules, in the order of the rules, and
// mends that are taken back.
func table() []fault { return slices.Concat(planner, mends) }

// in is an edit of a file of the planner.
func in(file, find, replace string) []edit {
	return []edit{{file: "internal/plan/" + file + ".go", find: find, replace: replace}}
}

// mends are faults that the code once had: each is a mend taken back.
var mends = []fault{
	{
		rule: "C2", what: "a delete on a stale list reaches a pod that is held", by: kept("a-hold-that-a-stuck-watch-does-not-show"),
		edits: []edit{{"internal/apply/pods.go", "if version := r.version(action); version != \"\" {", "if version := r.version(action); version == \"\" {"}},
	},
	{
		rule: "C3", what: "a restarted operator with a stale owner undoes what its predecessor did for a pin", by: kept("a-pin-that-a-restarted-operator-has-not-seen"),
		edits: []edit{{"internal/apply/apply.go", "fresh.GetResourceVersion() != have {", "fresh.GetGeneration() != r.target.Owner.GetGeneration() {"}},
	},
	{
		rule: "C25", what: "with ordinals all pods of a rebalance move at once, and the stand-ins take their places", by: kept("a-rebalance-onto-a-node-that-came-back"),
		edits: slices.Concat(in("rebalance", "most := max(1, (t.skew()+1)/3)", "most := len(s.live)"),
			in("rebalance", "wave(); moved > 0 {", "wave(); moved > len(s.live) {"), in("rebalance", "\t\t\treturn l.from\n", "\t\t\treturn f.prefers()\n")),
	},
	{
		rule: "C27", what: "a rebalance begins its next wave while pods of the last one stand in", by: kept("a-rebalance-moves-more-pods-than-stand-in"),
		edits: in("rebalance", "wave(); moved > 0 {", "wave(); moved > len(s.live) {"),
	},
	{
		rule: "C26", what: "a new process does not hold its list of pods against the API server", by: kept("pods-that-a-restarted-operator-has-not-seen"),
		edits: []edit{{"internal/apply/leftovers.go", "if r.target.New {", "if r.target.New || r.target.Ref.Name != \"\" {"}},
	},
	{
		rule: "C4", what: "refused deletes do not hold back those that are tried for the first time", by: finder{tier: "sim", test: "^TestRefusalsOfALargeFleet$/^deletes$"},
		edits: []edit{
			{"internal/apply/memory.go", "return firsts >= maxRefusals, all >= maxRefusals", "return firsts < 0, all < 0"},
			{"internal/apply/memory.go", "left := maxInFlight - m.spent", "left := 10 * maxInFlight"},
			{"internal/apply/batch.go", "if stopped || inARow >= maxRefusals {", "if stopped {"},
		},
	},
	{
		rule: "C7", what: "a resize that a quota refuses counts as infeasible", by: kept("a-resize-is-refused-by-quota"),
		edits: []edit{{"internal/apply/batch.go", "beyondNode(err) || refusesResize(err):", "beyondNode(err) || refusesResize(err) || apierrors.IsForbidden(err):"}},
	},
	{
		rule: "C8", what: "another client's resize that is put off counts as ours", by: kept("anothers-resize-is-infeasible"),
		edits: []edit{{"internal/observe/sizes.go", "if pending && !known.asked {", "if pending && !known.asked && known.ours {"}},
	},
	{
		rule: "C9", what: "a pod that stood in keeps its mark when its ordinal joins the fleet", by: kept("the-ordinal-of-a-surge-pod-joins-the-base"),
		edits: append(in("scale_up", "if !touched[b.pod.Name] && s.room(KeepPod, b.pod) {", "if touched[b.pod.Name] && s.room(KeepPod, b.pod) {"),
			in("order", "(!b.pod.Surge || !b.standsIn)", "!b.pod.Surge")...),
	},
	{
		rule: "C10", what: "a drained pod of a paused canary comes back on the old revision", by: kept("a-paused-canary-is-drained"),
		edits: in("scale_up", "case f.halted != \"\" && !f.wasMoved(slot):", "case f.halted != \"\":"),
	},
	{
		rule: "C11", what: "every edit restarts the progress deadline", by: kept("an-autoscaler-delays-a-rollback"),
		edits: in("progress", "case record.Done > before.Done || s.restartedSince(before):",
			"case record.Done > before.Done || s.restartedSince(before) || s.desired.Generation != s.observed.Status.ObservedGeneration:"),
	},
	{
		rule: "C15", what: "when the surge shrinks, the serving pod goes and its replacement stays", by: kept("max-surge-is-lowered"),
		edits: append(in("rank", "order := func(a, b *victim) int {\n", "order := func(a, b *victim) int {\n\t\tif c := first(a.leaving, b.leaving); c != 0 {\n\t\t\treturn c\n\t\t}\n"),
			in("scale_down", "if !v.pod.DeleteRequested && !budget.affords(cost) {", "if !v.pod.DeleteRequested && s.desired.Paused && !budget.affords(cost) {")...),
	},
	{
		rule: "C16", what: "a scale-down in mid-drain deletes the last serving pods", by: small("drained, and scaled down", 2),
		edits: append(in("scale_down", "movers := serving[len(serving)-max(0, min(len(serving), missing)):]", "movers := serving[max(len(serving), missing-len(serving)):]"),
			in("budget", "max(s.surge, needed, 0)", "max(s.surge, min(needed, 0))")...),
	},
	{
		rule: "C18", what: "the policy switched in mid-drain deletes the only serving pod", by: kept("surge-first-is-switched-off-in-mid-drain"),
		edits: in("scale_down", "if !b.requested && !budget.affords(cost) {\n\t\t\twaiting", "if !b.requested && s.desired.Disruption.SurgeFirst && !budget.affords(cost) {\n\t\t\twaiting"),
	},
	{
		rule: "C19", what: "a notice before the cordon triggers no reconcile", by: kept("a-notice-comes-before-the-cordon"),
		edits: []edit{{"internal/observe/nodes.go", "\t\tbefore.Spec.Unschedulable != after.Spec.Unschedulable ||\n", ""}},
	},
	{
		rule: "C20", what: "surplus pods wait for a replacement that is never made", by: kept("a-surplus-pod-is-drained"),
		edits: []edit{{"internal/webhook/eviction/eviction.go", "if !f.keeps(pod) && pod.Annotations", "if dryRun && !f.keeps(pod) && pod.Annotations"}},
	},
	{
		rule: "C24", what: "a client that asks again by name moves the successors", by: kept("a-node-goes-in-mid-drain"),
		edits: []edit{{"internal/webhook/eviction/eviction.go", "if uid == \"\" && !dryRun {", "if uid == \"\" && dryRun {"}},
	},
	{
		rule: "C6", what: "a surplus pod that is held keeps currentRevision back", by: small("a surplus pod is held", 2),
		edits: in("progress", "if b.inFleet && b.available && !b.resizing && !b.missized {",
			"if !b.inFleet && b.pod.Revision != s.decision.UpdateRevision {\n\t\t\treturn \"\"\n\t\t}\n\t\tif b.inFleet && b.available && !b.resizing && !b.missized {"),
	},
	{
		rule: "C13", what: "held failed pods are deleted", by: small("a held pod fails", 1),
		edits: in("scene", "if !s.held(p, wantDelete) && s.room(DeletePod, p) {", "if (p.dead() || !s.held(p, wantDelete)) && s.room(DeletePod, p) {"),
	},
	{
		rule: "C14", what: "pods that were made to stand in are forgiven", by: small("drained, with a full cluster, random", 1),
		edits: in("move", "broken = s.brokenBefore(l.since)", "broken = max(0, len(s.staying())-1)"),
	},
	{
		rule: "C1", what: "pods whose ordinals are freed go at once", by: small("un-reserved, no pod may be missing", 2),
		edits: in("scale_down", "if b.serving && b.pod.HoldDelete == nil && !s.goesInOrder(b) {", "if b.serving && b.pod.HoldDelete == nil && s.position(b.slot) < 0 {"),
	},
	{
		rule: "C17", what: "the replacement goes at the deadline", by: small("drained, and pods wait for longer than the deadline", 1),
		edits: in("find_leaving", "over := until.Add(LetThrough + askedAnew);", "over := until;"),
	},
	{
		rule: "C12", what: "with the policy Orphan, pods are released while --cascade=foreground deletes them", by: kept("cascade-foreground-wins-over-the-policy"),
		edits: []edit{{"internal/desired/podmanager.go", "appsv1.DeletionOrphan && !slices.Contains(pm.Finalizers, metav1.FinalizerDeleteDependents):", "appsv1.DeletionOrphan:"}},
	},
	{
		rule: "C23", what: "a drain that a budget refuses makes and deletes replacements for ever", by: small("drained, pods start slowly, and a budget holds", 2),
		edits: in("find_leaving", "over := until.Add(LetThrough + askedAnew);", "over := until;"),
	},
	{
		rule: "C28", what: "with random names a scale-down promotes the canary of a partition", by: kept("an-autoscaler-shrinks-a-canary-random"),
		edits: in("scale_down", "if keep := s.keptOld(); keep > 0 {", "if keep := s.keptOld(); keep > 0 && s.ordinal() {"),
	},
	{
		rule: "C29", what: "a rollout that failed is forgotten with its pods", by: kept("a-failed-rollout-is-scaled-to-nothing-and-back"),
		edits: in("progress", "|| !s.outOfTime(record) {", "|| s.desired.Replicas == 0 {"),
	},
	{
		rule: "C29", what: "with random names the places that a scale-down took count as moved", by: kept("a-failed-rollout-is-scaled-down-and-up-random"),
		edits: in("moved", "min(max(most-n, leaving), missing)", "max(most-n, leaving)"),
	},
	{
		rule: "C30", what: "the successor of a drained pod of a paused rollout comes on the old revision", by: kept("a-paused-canary-is-drained-random"),
		edits: in("scale_up", "case s.onGoal(b) && !s.ordinal() && s.leaves[b.pod]:", "case s.onGoal(b) && !s.ordinal() && s.leaves[b.pod] && !s.desired.Paused:"),
	},
	{
		rule: "C31", what: "with random names the delete label waits for the end of a surge", by: kept("a-label-asks-for-a-deletion-while-a-surge-stands-in-random"),
		edits: in("scale_down", "if b.requested {\n\t\t\ts.obeyLabel", "if b.requested && s.ordinal() {\n\t\t\ts.obeyLabel"),
	},
	{
		rule: "C32", what: "a refusal longer than a condition may be keeps the status from being stored", by: kept("a-refusal-longer-than-a-condition"),
		edits: []edit{{"internal/report/conditions.go", "if len(message) <= maxMessage {", "if len(message) > 0 {"}},
	},
	{
		rule: "C33", what: "a rollout that failed is forgotten at 0 replicas for a holder", by: kept("a-failed-rollout-is-scaled-to-nothing-beside-a-holder"),
		edits: in("progress", "|| !s.outOfTime(record) {", "|| !s.timed(record) || s.timeLeft(record) > 0 {"),
	},
	{
		rule: "C34", what: "a rollout that failed is forgotten behind a partition that keeps the whole fleet", by: kept("a-failed-rollout-is-scaled-to-its-partition"),
		edits: in("progress", " && (keep < s.desired.Replicas || !s.outOfTime(record))", ""),
	},
	{
		rule: "C35", what: "with ordinals the delete label waits for the budget of a scale-down", by: kept("a-label-asks-for-a-deletion-beyond-the-ordinals"),
		edits: in("scale_down", "if !b.requested && !budget.affords(cost) {", "if !budget.affords(cost) {"),
	},
	{
		rule: "C35", what: "with ordinals the delete label waits for the end of a surge", by: kept("a-label-asks-for-a-deletion-of-a-pod-that-stands-in"),
		edits: in("budget", "case b.requested: // the user's own word", "case b.requested && b.orphan:"),
	},
	{
		rule: "C36", what: "a pod is removed in order while a higher one is dead and held", by: kept("a-held-pod-fails-while-pods-are-removed-in-order"),
		edits: in("order", "[][]*Pod{s.terminating, s.failed, s.lost}", "[][]*Pod{s.terminating}"),
	},
	{
		rule: "C37", what: "a failed pod that is kept stays with the delete label", by: kept("a-label-asks-for-a-deletion-of-a-failed-pod"),
		edits: in("replace_failed", "case p.DeleteRequested:", "case p.DeleteRequested && p.HoldDelete != nil:"),
	},
	{
		rule: "C38", what: "a pass goes on after it learned that its owner changed", by: kept("an-ordinal-is-unreserved-beside-the-deletion-of-a-claim"),
		edits: []edit{{"internal/apply/batch.go", "return r.behind || r.target.Outdated", "return r.target.Outdated"}},
	},
	{
		rule: "C39", what: "with random names a scale-down ends a paused rollout", by: kept("a-paused-rollout-is-scaled-down-and-up"),
		edits: in("progress", "(s.desired.Paused || failed)", "failed"),
	},
	{
		rule: "C39", what: "with random names a scale-down ends a rollout that failed", by: kept("a-failed-rollout-whose-pods-serve-is-scaled-down-and-up"),
		edits: in("progress", "failed := record != nil && ", "failed := record != nil && s.ordinal() && "),
	},
}

var planner = []fault{
	{
		rule: "finalize", what: "the finalizer goes while pods terminate", by: small("deleted", 2),
		edits: in("finalize", "waiting := len(s.terminating)", "waiting := 0"),
	},
	{
		rule: "finalize", what: "policy Orphan deletes the pods", by: small("deleted, policy Orphan", 2),
		edits: in("finalize", "case DeletionOrphan:\n\t\ts.orphanAll()", "case DeletionOrphan:\n\t\ts.deleteAll()"),
	},
	{
		rule: "finalize", what: "the claims stay though whenDeleted is Delete", by: small("deleted", 2),
		edits: in("finalize", "s.desired.Claims.WhenDeleted != appsv1.ClaimDelete", "s.desired.Claims.WhenDeleted == appsv1.ClaimDelete"),
	},
	{
		rule: "finalize", what: "a hold is ignored", by: small("deleted, held", 1),
		edits: in("finalize", "if s.held(p, wantDelete) || !s.room", "if !s.room"),
	},
	{
		rule: "add-finalizer", what: "the finalizer is not added", by: small("at rest", 1),
		edits: in("add_finalizer", "s.desired.Finalizer == FinalizerMissing", "s.desired.Finalizer == FinalizerUnused"),
	},
	{
		rule: "add-finalizer", what: "it is added in every pass", by: small("at rest", 1),
		edits: in("add_finalizer", "s.desired.Finalizer == FinalizerMissing", "s.desired.Finalizer != FinalizerUnused"),
	},
	{
		rule: "revise", what: "a pin is ignored", by: small("pinned", 2),
		edits: in("revise", "if s.pinHolds(number) {", "if s.pinHolds(number) && number == 0 {"),
	},
	{
		rule: "revise", what: "a rollback stays when the template changes", by: small("a broken revision is mended", 1),
		edits: in("revise", "s.decision.Rollback.From != template", "s.decision.Rollback.From == \"\""),
	},
	{
		rule: "adopt", what: "orphans are not adopted", by: small("taken over", 1),
		edits: in("adopt", "if b.orphan {", "if b.orphan && b.requested {"),
	},
	{
		rule: "adopt", what: "every pod is adopted in every pass", by: small("at rest", 1),
		edits: in("adopt", "if b.orphan {", "if b.inFleet {"),
	},
	{
		rule: "take-over", what: "the pass goes on", by: small("taken over", 1),
		edits: in("take_over", "pruneRevisions(s)\n\treturn true", "return false"),
	},
	{
		rule: "take-over", what: "it comes before the adoption", by: small("taken over", 1),
		edits: in("plan", "\t\t{\"adopt\", adopt},                      // orphans that match are adopted\n\t\t{\"take-over\", takeOver},               // while others are still to come, that is all\n",
			"\t\t{\"take-over\", takeOver},\n\t\t{\"adopt\", adopt},\n"),
	},
	{
		rule: "release", what: "pods whose labels were edited are deleted", by: small("held and flapping", 1),
		edits: in("release", "Verb: ReleasePod", "Verb: DeletePod"),
	},
	{
		rule: "release", what: "they are kept", by: small("held and flapping", 1),
		edits: in("release", "for _, p := range s.drifted {", "for _, p := range s.drifted[:0] {"),
	},
	{
		rule: "replace-lost", what: "pods of nodes that are gone stay", by: small("at rest", 1),
		edits: in("replace_lost", "p.Membership == Orphan || p.stillborn()", "p.Membership == Orphan || !p.stillborn()"),
	},
	{
		rule: "replace-lost", what: "deletions are forced while the node is there", by: small("at rest", 1),
		edits: in("replace_lost", "if p.NodeState == NodePresent || p.Ended {", "if p.NodeState == NodePresent && p.KeptBy != \"\" || p.Ended {"),
	},
	{
		rule: "delete-requested", what: "the label is ignored", by: small("held and flapping", 1),
		edits: in("delete_requested", "if b.requested && b.inFleet", "if !b.requested && b.inFleet"),
	},
	{
		rule: "delete-requested", what: "a hold is ignored", by: small("a held pod is asked to go", 1),
		edits: in("delete_requested", "s.deletePod(p, false, ", "s.remove(Action{Verb: DeletePod}, p, "),
	},
	{
		rule: "progress", what: "the deadline is never checked", by: small("a broken revision is mended", 1),
		edits: in("progress", "if s.halted == \"\" {\n\t\ts.checkDeadline()", "if s.halted == \"\" && s.desired.Paused {\n\t\ts.checkDeadline()"),
	},
	{
		rule: "progress", what: "time in which the operator was away counts", by: small("in place", 1),
		edits: in("deadline", "min(gap, s.longestGap())", "gap"),
	},
	{
		rule: "progress", what: "a revision counts as proved before its pods are available", by: small("a broken revision is mended", 1),
		edits: append(in("progress", "if b.inFleet && b.available && !b.resizing && !b.missized {", "if b.inFleet && !b.resizing && !b.missized {"),
			in("progress", "s.moved(b) && (!b.available || b.resizing)", "s.moved(b) && b.resizing")...),
	},
	{
		rule: "find-leaving", what: "no replacement is made", by: small("a node announces its end", 1),
		edits: in("find_leaving", "n := min(s.stillLeaving(), s.desired.Disruption.MaxSurge)", "n := min(s.stillLeaving(), s.desired.Disruption.MaxSurge-1)"),
	},
	{
		rule: "find-leaving", what: "an eviction counts only after its deadline", by: small("drained, and nothing else", 1),
		edits: in("find_leaving", "; s.now.Before(over) {", "; s.now.Before(over) && !s.now.Before(until) {"),
	},
	{
		rule: "find-stale", what: "a change that needs a new pod is made in place", by: small("recreate", 1),
		edits: in("find_stale", "case change.Recreate != \"\":", "case change.Recreate != \"\" && s.desired.Paused:"),
	},
	{
		rule: "find-stale", what: "a resize that no node can do is waited for", by: small("a resize cannot be done", 1),
		edits: in("find_stale", "|| b.resizing && s.resizeFailed(b.pod))", ")"),
	},
	{
		rule: "find-stale", what: "a restart is forgotten", by: small("restarted, and nothing else", 2),
		edits: in("progress", "return p.Created.Before(s.desired.Restart) && !s.desired.Restart.After(s.now)", "return p.Created.Before(s.desired.Restart) && s.desired.Restart.After(s.now)"),
	},
	{
		rule: "scale-down", what: "one pod too many is deleted", by: small("at rest, random", 2),
		edits: in("scale_down", "surplus := len(members) - s.desired.Replicas -", "surplus := len(members) + 1 - s.desired.Replicas -"),
	},
	{
		rule: "scale-down", what: "the lowest ordinals go first", by: small("in order, scaled down", 2),
		edits: in("scale_down", "return b.slot - a.slot", "return a.slot - b.slot"),
	},
	{
		rule: "scale-down", what: "the most useful pods go first, and none is spared", by: small("scaled down, random", 2),
		edits: slices.Concat(
			in("rank", "return first(!a.pod.Ready, !b.pod.Ready)", "return first(a.pod.Ready, b.pod.Ready)"),
			in("scale_down", "if !v.pod.DeleteRequested && !budget.affords(cost) {", "if !v.pod.DeleteRequested && s.desired.Paused && !budget.affords(cost) {")),
	},
	{
		rule: "replace-failed", what: "the backoff is skipped", by: small("a pod fails again and again", 1),
		edits: in("replace_failed", "case record == nil || !s.now.Before(record.RetryTime.Time):", "case record == nil || record.Count > 0:"),
	},
	{
		rule: "replace-failed", what: "failed pods are not replaced", by: small("at rest", 1),
		edits: in("replace_failed", "case record != nil && s.inBase(p.Slot):", "case s.inBase(p.Slot) && record == nil:\n\t\tcase record != nil && s.inBase(p.Slot):"),
	},
	{
		rule: "move", what: "one available pod too few is enough", by: small("drained, and nothing else", 1),
		edits: in("move", "b, forgiven := s.budgetFor(s.desired.Replicas), ", "b, forgiven := s.budgetFor(s.desired.Replicas-1), "),
	},
	{
		rule: "move", what: "pods that are replaced stay", by: small("a node announces its end", 1),
		edits: in("move", "case s.gone[l.pod]:", "case s.gone[l.pod] || l.until.IsZero():"),
	},
	{
		rule: "move", what: "PodDisruptionBudgets are passed", by: small("drained, and nothing else", 2),
		edits: in("move", "Action{Verb: EvictPod}", "Action{Verb: DeletePod}"),
	},
	{
		rule: "rollout", what: "the budget is off by one", by: small("recreate", 1),
		edits: in("budget", "s.budgetFor(s.desired.Replicas - unavailable)", "s.budgetFor(s.desired.Replicas - unavailable - 1)"),
	},
	{
		rule: "rollout", what: "the partition is ignored", by: small("a partition keeps a pod that is deleted", 2),
		edits: in("rollout", "return s.position(p.slot) < keep }", "return s.position(p.slot) > keep }"),
	},
	{
		rule: "rollout", what: "a pause is ignored", by: small("a canary is paused and drained", 2),
		edits: in("rollout", "case s.desired.Paused:\n", "case s.desired.Paused && len(s.stale) > 0:\n\t\treturn \"\", \"\"\n\tcase s.desired.Paused:\n"),
	},
	{
		rule: "rollout", what: "a hold is ignored", by: small("held in place", 2),
		edits: in("rollout", "if s.held(p.pod, wantUpdate) {", "if s.held(p.pod, wantUpdate) && p.missized {"),
	},
	{
		rule: "restore-claims", what: "a claim that a pod waits for is not made", by: small("claims, recreate", 1),
		edits: in("restore_claims", "s.claim(name) == nil", "s.claim(name) != nil && !b.inFleet"),
	},
	{
		rule: "restore-claims", what: "pods of the fleet are left out", by: small("claims, recreate", 1),
		edits: in("restore_claims", "!b.inFleet && !s.extras[b.pod]", "b.inFleet || !s.extras[b.pod]"),
	},
	{
		rule: "scale-up", what: "a pod behind the partition comes back on the new revision", by: small("a partition keeps a pod that is deleted", 2),
		edits: in("scale_up", "case f.ordinal() && f.position(slot) < f.partition():", "case f.ordinal() && f.position(slot) < f.partition()-1:"),
	},
	{
		rule: "scale-up", what: "a name is not waited for", by: small("recreate", 1),
		edits: in("scale_up", "case holder != nil:", "case holder != nil && !holder.Terminating:"),
	},
	{
		rule: "scale-up", what: "one pod too few is made", by: small("at rest, random", 2),
		edits: in("scale_up", "f.missing = max(0, s.desired.Replicas+s.surge-f.live", "f.missing = max(0, s.desired.Replicas-1+s.surge-f.live"),
	},
	{
		rule: "in-service", what: "new pods are not put in service", by: small("in place with gate", 1),
		edits: in("in_service", "if !b.gated || p.InChange(s.now)", "if !b.gated || p.Gate == GateUnset || p.InChange(s.now)"),
	},
	{
		rule: "in-service", what: "a pod that is about to change is put back", by: small("in place with gate", 1),
		edits: in("in_service", "|| s.changing[p] ", ""),
	},
	{
		rule: "keep-claims", what: "claims are not condemned", by: small("claims, scaled down", 1),
		edits: in("keep_claims", "if !s.goesWithPod(c, p) {", "if !s.goesWithPod(c, p) || !p.Surge {"),
	},
	{
		rule: "keep-claims", what: "a claim goes while its pod is there", by: small("claims, scaled down", 1),
		edits: in("keep_claims", "|| occupied[name] != nil:", "|| occupied[name] != nil && !occupied[name].Terminating && !s.gone[occupied[name]]:"),
	},
	{
		rule: "keep-claims", what: "a claim that is used again stays condemned", by: small("claims, scaled down", 1),
		edits: in("keep_claims", "if users[c.Slot] {", "if users[c.Slot] && c.CondemnedBy == \"\" {"),
	},
	{
		rule: "release-holders", what: "a holder is not told", by: small("a held pod may stay after all", 2),
		edits: in("release_holders", "if p.Wanted != want {", "if p.Wanted != \"\" && p.Wanted != want {"),
	},
	{
		rule: "release-holders", what: "it is not told that the pod may stay", by: small("a held pod may stay after all", 2),
		edits: in("release_holders", "b.notified && !s.wanted[b.pod]", "b.notified && s.wanted[b.pod]"),
	},
	{
		rule: "prune-revisions", what: "a revision in use goes", by: small("few revisions are kept", 2),
		edits: in("prune_revisions", "used[s.observed.Pods[i].Revision], used", "used[s.observed.Pods[i].SizeOf], used"),
	},
	{
		rule: "prune-revisions", what: "one too many stays", by: small("few revisions are kept", 1),
		edits: in("prune_revisions", "max(0, len(unused)-s.desired.RevisionHistoryLimit)", "max(0, len(unused)-1-s.desired.RevisionHistoryLimit)"),
	},
}
