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
	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// inService puts pods in service that carry our gate and are not about to
// change: new ones, those whose change is done, and those whose change was
// called off or is held. A new one has time until it runs: before that the
// scheduler and the kubelet write to it, too.
func inService(s *scene) bool {
	for _, b := range s.staying() {
		p := b.pod
		if !b.gated || p.InChange(s.now) || s.changing[p] || b.orphan || p.Phase != corev1.PodRunning {
			continue
		}
		s.act(Action{
			Verb: OpenGate, Pod: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, Slot: p.Slot, Revision: p.Revision,
		}, appsv1.WhyInService, "nothing is to be changed in place", nil)
	}
	return false
}
