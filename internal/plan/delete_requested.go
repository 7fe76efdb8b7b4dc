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

// deleteRequested replaces pods that a user asked to go. A scale-down takes them
// first anyway, so there they are left to it; with ordinals a scale-down is
// bound to the highest, so the request stands beside it.
func deleteRequested(s *scene) bool {
	if !s.ordinal() && len(s.staying()) > s.desired.Replicas {
		return false
	}
	for _, b := range s.staying() {
		if b.requested && b.inFleet && !b.orphan {
			s.obeyLabel(b.pod)
		}
	}
	return false
}

// carriesLabel is why such a pod goes.
const carriesLabel = "the pod carries the label " + appsv1.LabelDelete + "=true"

func (s *scene) obeyLabel(p *Pod) {
	s.deletePod(p, false, appsv1.WhyRequested, carriesLabel, nil)
}
