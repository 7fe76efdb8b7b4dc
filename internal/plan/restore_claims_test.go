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
	"testing"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestRestoreClaims(t *testing.T) {
	expectPlans(t, claimsOf, map[string]planned{
		"a pending pod whose claim vanished gets it again": {
			given: aFleet(2, ordinal(0), ordinal(1).pending()).claiming(appsv1.ClaimRetain, "data").claims(0),
			want:  []string{"CreateClaim data-web-1 ClaimMissing"},
		},
		"one that runs has what it needs": {
			given: aFleet(2, ordinal(0), ordinal(1)).claiming(appsv1.ClaimRetain, "data").claims(0),
		},
		"and one that goes needs none": {
			given: aFleet(0, ordinal(1).pending()).claiming(appsv1.ClaimRetain, "data"),
			want:  []string{"DeletePod web-1 ScaleDown"},
		},
	})
}
