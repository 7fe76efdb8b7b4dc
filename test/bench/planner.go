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

package bench

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/test/bench/figures"
)

// PlannerSizes are the fleets, in pods.
func PlannerSizes() []int { return []int{10, 100, 1_000, 10_000, 100_000} }

// plannerFleet is one question to the planner.
type plannerFleet struct {
	name string
	of   func(pods int) (plan.Desired, plan.Observed)
}

// now is the planner's; it takes any.
func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func plannerFleets() []plannerFleet {
	return []plannerFleet{
		{"at rest", func(n int) (plan.Desired, plan.Observed) { return fleetOf(n, n) }},
		{"one pod lost", func(n int) (plan.Desired, plan.Observed) {
			desired, observed := fleetOf(n, n)
			observed.Pods = observed.Pods[:n-1]
			return desired, observed
		}},
		{"down to half", func(n int) (plan.Desired, plan.Observed) { return fleetOf(n, n/2) }},
		{"another image", func(n int) (plan.Desired, plan.Observed) {
			desired, observed := fleetOf(n, n)
			observed.Revisions = []plan.Revision{{Name: "web-1", Number: 1}, {Name: "web-2", Number: 2, Equal: true}}
			observed.Changes = []plan.Change{{From: "web-1", To: "web-2", Images: []string{"app"}, Restarts: true}}
			return desired, observed
		}},
	}
}

// fleetOf is an Ordinal fleet with n ready pods that is to have some other
// number.
func fleetOf(n, replicas int) (plan.Desired, plan.Observed) {
	desired := plan.Desired{
		Namespace: "default", Name: "web", UID: "uid-web", Generation: 2, NamePrefix: "web", Identity: appsv1.IdentityOrdinal,
		Selector: "podmanager=web", Replicas: replicas, RevisionHistoryLimit: 10, Finalizer: plan.FinalizerPresent,
		FailedPods: plan.FailedPods{Limit: 1, Initial: 10 * time.Second, Max: 5 * time.Minute},
		Update: plan.Update{
			Strategy: appsv1.UpdateInPlace, MaxUnavailable: replicas / 4, MaxSurge: replicas / 4,
			ProgressDeadline: 10 * time.Minute, OnFailure: appsv1.FailurePause,
		},
	}
	observed := plan.Observed{
		Revisions: []plan.Revision{{Name: "web-1", Number: 1, Equal: true}}, NewRevision: "web-3",
		Pods: make([]plan.Pod, n),
	}
	for i := range observed.Pods {
		name := "web-" + strconv.Itoa(i)
		observed.Pods[i] = plan.Pod{
			Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Membership: plan.Member, Slot: i, Revision: "web-1",
			Created: now().Add(-time.Hour), Phase: corev1.PodRunning, Ready: true, ReadySince: now().Add(-time.Hour),
			Node: "node-" + strconv.Itoa(i%50), Zone: "zone-" + strconv.Itoa(i%3),
		}
	}
	return desired, observed
}

// MeasurePlanner adds what the planner and the cache cost per pod.
func MeasurePlanner(ctx context.Context, results *figures.Results, log io.Writer) error {
	for _, fleet := range plannerFleets() {
		for _, pods := range PlannerSizes() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			desired, observed := fleet.of(pods)
			run := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					plan.Plan(desired, observed, now())
				}
			})
			results.Planner = append(results.Planner, figures.PlannerCost{
				Fleet: fleet.name, Pods: pods, NanosPerPod: float64(run.NsPerOp()) / float64(pods),
				AllocsPerPod: float64(run.AllocsPerOp()) / float64(pods), AllocatedBytes: float64(run.AllocedBytesPerOp()) / float64(pods),
			})
		}
		fmt.Fprintf(log, "planner, %s: measured\n", fleet.name)
	}
	bytes, err := CacheBytesPerPod(10_000)
	if err != nil {
		return err
	}
	results.CacheBytesPerPod = bytes
	return nil
}
