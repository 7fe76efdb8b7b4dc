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
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
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

// What needs only time is done, and what needs help is not.
func TestAFleetSettles(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	desired := plan.Desired{MinReady: time.Minute}
	before := plan.Observed{Pods: []plan.Pod{
		{Name: "unproven", Phase: corev1.PodRunning, Ready: true, ReadySince: now.Add(-time.Second)},
		{Name: "changing", Phase: corev1.PodRunning, Changing: true},
		{Name: "starting", Phase: corev1.PodPending},
		{Name: "crashing", Phase: corev1.PodRunning, Waiting: "CrashLoopBackOff"},
		{Name: "failed", Phase: corev1.PodFailed},
		{Name: "lost", Phase: corev1.PodRunning, NodeState: plan.NodeGone},
		{Name: "terminating", Phase: corev1.PodRunning, Terminating: true},
	}}
	ready := map[string]bool{}
	after, left := Settled(desired, before, now)
	if left != time.Minute {
		t.Errorf("it takes %s", left)
	}
	if _, left = Settled(desired, plan.Observed{Pods: before.Pods[:1]}, now); left != 59*time.Second {
		t.Errorf("what is ready takes %s", left)
	}
	for _, p := range after.Pods {
		ready[p.Name] = p.Ready && !p.Changing && !p.ReadySince.Add(desired.MinReady).After(now)
	}
	want := map[string]bool{"unproven": true, "changing": true, "starting": true, "crashing": false, "failed": false, "lost": false}
	if diff := cmp.Diff(want, ready); diff != "" {
		t.Errorf("available (-want +got):\n%s", diff)
	}
	if before.Pods[1].Ready || len(before.Pods) != 7 {
		t.Error("what was observed is changed")
	}
}

func TestAForecastCanBeCutOff(t *testing.T) {
	desired := plan.Desired{Name: "web", NamePrefix: "web", Replicas: 3, UID: "u"}
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if whole := Play(desired, plan.Observed{}, now); !whole.Complete || whole.Forecast.Passes < 1 {
		t.Errorf("the whole forecast has %d passes, complete: %t", whole.Forecast.Passes, whole.Complete)
	}
	if cut := Within(1, desired, plan.Observed{}, now); cut.Complete || cut.Forecast.Passes != 1 {
		t.Errorf("the forecast of one pass has %d, complete: %t", cut.Forecast.Passes, cut.Complete)
	}
}

// TestAnOrderedFleetStartsAndGoesInWaves of one pod each.
func TestAnOrderedFleetStartsAndGoesInWaves(t *testing.T) {
	desired := plan.Desired{
		Name: "web", NamePrefix: "web", UID: "1", Identity: appsv1.IdentityOrdinal, Replicas: 3, Ordered: true, Finalizer: plan.FinalizerPresent,
	}
	observed := plan.Observed{Revisions: []plan.Revision{{Name: "web-1", Number: 1, Equal: true}}}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	waves := func(run Run) (names []string) {
		for _, pass := range run.Passes {
			for _, a := range pass {
				names = append(names, string(a.Verb)+" "+a.Pod)
			}
		}
		return names
	}
	up := Play(desired, observed, now)
	if diff := cmp.Diff([]string{"CreatePod web-0", "CreatePod web-1", "CreatePod web-2"}, waves(up)); diff != "" || len(up.Passes) != 3 {
		t.Errorf("%d waves (-want +got):\n%s", len(up.Passes), diff)
	}
	for slot := range 3 {
		name := plan.SlotName(&desired, slot)
		observed.Pods = append(observed.Pods, plan.Pod{Name: name, UID: "u", Membership: plan.Member, Slot: slot, Revision: "web-1", Ready: true})
	}
	desired.Replicas = 1
	down := Play(desired, observed, now)
	if diff := cmp.Diff([]string{"DeletePod web-2", "DeletePod web-1"}, waves(down)); diff != "" || len(down.Passes) != 2 {
		t.Errorf("%d waves (-want +got):\n%s", len(down.Passes), diff)
	}
}
