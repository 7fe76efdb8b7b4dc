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

import "time"

const (
	// MaxPodsPerPass bounds how many pods one pass creates, adopts and
	// releases, maxDeletesPerPass how many it deletes. A mistyped replicas can
	// be corrected before the rest follows; a pass ends as soon as that is seen.
	MaxPodsPerPass    = 500
	maxDeletesPerPass = 1000
	// safetyLook is how long a fleet that is not at its goal goes without a
	// look: nothing waits for an event that may have been missed.
	safetyLook = 30 * time.Second
	// soon is the next look when there is more to do right away.
	soon = time.Millisecond
)

// A rule decides one thing. It returns true when the rules after it have
// nothing to say.
type rule struct {
	name   string
	decide func(*scene) (last bool)
}

// rules is the planner: the order is the algorithm. It is an array, because a
// slice would be allocated for every pass.
func rules() [21]rule {
	return [...]rule{
		{"finalize", finalize},                // an owner that is being deleted settles its pods, and that is all
		{"add-finalizer", addFinalizer},       // nothing is made before the finalizer is there
		{"revise", revise},                    // the template has a revision, and the fleet a goal
		{"adopt", adopt},                      // orphans that match are adopted
		{"take-over", takeOver},               // while others are still to come, that is all
		{"release", release},                  // pods whose labels were edited away are released
		{"replace-lost", replaceLost},         // pods on nodes that are gone make room
		{"delete-requested", deleteRequested}, // so do pods that a user asked to delete
		{"progress", progress},                // a rollout without progress is stopped or rolled back
		{"find-leaving", findLeaving},         // pods that have to leave their nodes are found
		{"find-stale", findStale},             // old pods are found, and how many more their rollout needs
		{"scale-down", scaleDown},             // surplus pods go, the least useful first
		{"replace-failed", replaceFailed},     // failed ones that a successor waits for make room, with backoff
		{"move", move},                        // pods that leave their nodes go when their replacements are available
		{"rollout", rollout},                  // old pods that stay follow the goal, within the budget
		{"restore-claims", restoreClaims},     // claims that pending pods wait for are made again
		{"scale-up", scaleUp},                 // missing pods are created in free slots
		{"in-service", inService},             // pods that are done go back into service
		{"keep-claims", keepClaims},           // claims are marked before their pods go, and go after them
		{"release-holders", releaseHolders},   // holders of pods that may stay are told
		{"prune-revisions", pruneRevisions},   // old revisions that are not in use go
	}
}

// Plan decides what to do with a fleet. It is pure: the same input gives the
// same Decision, whatever the order of the pods.
func Plan(desired Desired, observed Observed, now time.Time) Decision {
	s := newScene(desired, observed, now)
	for _, r := range rules() {
		s.rule = r.name
		if r.decide(s) {
			break
		}
	}
	return s.conclude()
}
