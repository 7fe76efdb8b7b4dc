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

package dashboard

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The page explains a fleet with the maximum of the operator that it is part of.
func TestThePageCountsWithTheOperatorsMaximum(t *testing.T) {
	pm := &appsv1.PodManager{}
	pm.Spec.Disruption = appsv1.Disruption{Policy: appsv1.DisruptionSurgeFirst, DeadlineSeconds: ptr.To[int32](86400)}
	s := &Server{Parts: Parts{MaxHold: 20 * time.Minute}}
	if fleet, _ := s.fleetFor(pm); fleet.Desired.Disruption.Deadline != 20*time.Minute {
		t.Errorf("evictions wait for %s, want 20m", fleet.Desired.Disruption.Deadline)
	}
}
