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

// release releases pods whose labels were edited away: a user took them out of
// the fleet on purpose, to look at them.
func release(s *scene) bool {
	for _, p := range s.drifted {
		if !s.room(ReleasePod, p) {
			break
		}
		s.act(Action{Verb: ReleasePod, Pod: p.Name, UID: p.UID, Slot: p.Slot, ResourceVersion: p.ResourceVersion},
			appsv1.WhyLabelsEdited, "the pod's labels no longer match "+s.desired.Selector, nil)
	}
	return false
}
