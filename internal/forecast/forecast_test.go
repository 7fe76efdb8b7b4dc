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

package forecast

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/plan"
)

// Created pods have UIDs of their own.
func TestPodsAreToldApart(t *testing.T) {
	m := rehearsal{}
	m.do(plan.Action{Verb: plan.CreatePod, Pod: "a"})
	m.do(plan.Action{Verb: plan.CreatePod, Pod: "b"})
	if a, b := m.observed.Pods[0].UID, m.observed.Pods[1].UID; a != "forecast-1" || b != "forecast-2" {
		t.Errorf("the UIDs are %s and %s", a, b)
	}
}

// Only the revision that is named gets another number.
func TestRenumbering(t *testing.T) {
	m := rehearsal{observed: plan.Observed{Revisions: []plan.Revision{{Name: "a", Number: 1}, {Name: "b", Number: 2}}}}
	m.do(plan.Action{Verb: plan.RenumberRevision, Revision: "a", Number: 3})
	if diff := cmp.Diff([]plan.Revision{{Name: "a", Number: 3}, {Name: "b", Number: 2}}, m.observed.Revisions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
