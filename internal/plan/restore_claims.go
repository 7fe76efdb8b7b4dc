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

// restoreClaims makes the claims of pending pods again that were deleted: the
// pods cannot run without them. A running pod keeps its claims from going.
func restoreClaims(s *scene) bool {
	if len(s.desired.Claims.Templates) == 0 {
		return false
	}
	for _, b := range s.staying() {
		if b.pod.Phase != corev1.PodPending || b.pod.Membership != Member || !b.inFleet && !s.extras[b.pod] {
			continue
		}
		for _, template := range s.desired.Claims.Templates {
			if name := ClaimName(template, b.pod.Name); s.claim(name) == nil {
				s.act(Action{Verb: CreateClaim, Slot: b.slot, Claim: name, Template: template, Surge: !b.inFleet},
					appsv1.WhyClaimMissing, "the pod "+b.pod.Name+" waits for it", nil)
			}
		}
	}
	return false
}
