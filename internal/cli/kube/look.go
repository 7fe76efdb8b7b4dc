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

package kube

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// Sight is one look at a fleet. All that a verb prints about it comes from this look.
type Sight struct {
	report.Snapshot
	Now      time.Time
	Desired  plan.Desired
	Observed plan.Observed
	Decision plan.Decision
}

// NewSight decides about what was observed, as the controller would.
func NewSight(desired plan.Desired, observed plan.Observed, now time.Time) Sight {
	decision := plan.Plan(desired, observed, now)
	return Sight{
		Snapshot: report.Look(desired, observed, decision, now),
		Now:      now, Desired: desired, Observed: observed, Decision: decision,
	}
}

// Look sees a PodManager's fleet, live.
func Look(ctx context.Context, c client.Client, pm *appsv1.PodManager) (Sight, error) {
	fleet, seen, err := Observe(ctx, c, pm)
	if err != nil {
		return Sight{}, err
	}
	return NewSight(fleet.Desired, seen.Observed, time.Now()), nil
}
