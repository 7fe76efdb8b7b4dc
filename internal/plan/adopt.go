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

// adopt adopts orphans that match.
func adopt(s *scene) bool {
	for _, b := range s.briefs {
		if b.orphan {
			s.takeIn(b.pod)
		}
	}
	for _, bucket := range [][]*Pod{s.failed, s.lost} {
		for _, p := range bucket {
			if p.Membership == Orphan {
				s.takeIn(p)
			}
		}
	}
	return false
}

func (s *scene) takeIn(p *Pod) {
	if !s.room(AdoptPod, p) {
		return
	}
	s.act(Action{
		Verb: AdoptPod, Pod: p.Name, UID: p.UID, Slot: p.Slot, Revision: p.Revision, ResourceVersion: p.ResourceVersion,
	}, appsv1.WhyMatchingOrphan, "the pod has no owner and matches "+s.desired.Selector, nil)
}
