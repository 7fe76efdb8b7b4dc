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

	"pgregory.net/rapid"
)

// FuzzPlan lets the fuzzer choose the fleet: no input makes the planner panic,
// and every decision is explained and allowed.
//
//	go test ./internal/plan -run '^$' -fuzz FuzzPlan -fuzztime 10m
func FuzzPlan(f *testing.F) {
	f.Add([]byte("a fleet at rest"))
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		fleet := anyFleet().Draw(t, "fleet")
		decision := fleet.plan()
		for _, a := range decision.Actions {
			if a.Why.Rule == "" || a.Why.Reason == "" || a.Why.Message == "" {
				t.Errorf("%s %s has no full why: %+v", a.Verb, a.Pod, a.Why)
			}
		}
		checkAllowed(t, fleet, decision, noon())
	}))
}
