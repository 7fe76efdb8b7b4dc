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

package flight_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func fleet(replicas, pods int) (plan.Desired, plan.Observed) {
	desired := plan.Desired{
		Namespace: "shop", Name: "web", UID: "u", NamePrefix: "web", Identity: appsv1.IdentityOrdinal, Replicas: replicas,
		Finalizer: plan.FinalizerPresent, MinReady: 1500 * time.Millisecond, RevisionHistoryLimit: 10,
		Update: plan.Update{Strategy: appsv1.UpdateInPlace, MaxUnavailable: 1},
	}
	observed := plan.Observed{Revisions: []plan.Revision{{Name: "web-a", Number: 1, Equal: true}}, NewRevision: "web-a"}
	for i := range pods {
		observed.Pods = append(observed.Pods, plan.Pod{
			Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint("p", i)), Membership: plan.Member, Slot: i, Revision: "web-a",
			Created: now.Add(-time.Minute), Phase: corev1.PodRunning, Ready: true, ReadySince: now.Add(-time.Second),
		})
	}
	return desired, observed
}

func TestAFlightReadBackIsDecidedTheSameWayAgain(t *testing.T) {
	for name, c := range map[string]struct{ replicas, pods int }{
		"too few pods":           {5, 2},
		"too many pods":          {1, 4},
		"pods not yet available": {3, 3},
		"no pods at all":         {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			desired, observed := fleet(c.replicas, c.pods)
			decision := plan.Plan(desired, observed, now)
			raw, err := json.Marshal(flight.New(desired, observed, decision, nil, now))
			if err != nil {
				t.Fatal(err)
			}
			f, err := flight.Of(&flightrecorder.Record{Payload: raw})
			if err != nil {
				t.Fatal(err)
			}
			again, ok := f.Again()
			if !ok {
				t.Fatal("the flight does not hold what was seen")
			}
			if diff := cmp.Diff(decision, again); diff != "" {
				t.Errorf("decided otherwise (-then +again):\n%s", diff)
			}
		})
	}
}

func TestALargeFleetIsRecordedWithoutItsPods(t *testing.T) {
	desired, observed := fleet(flight.MaxPods+1, flight.MaxPods+1)
	f := flight.New(desired, observed, plan.Plan(desired, observed, now), nil, now)
	if _, ok := f.Again(); ok || f.Decision.Live != nil {
		t.Errorf("a fleet of %d pods is kept pod by pod", len(observed.Pods))
	}
}

func TestOnlyWhatWasNotDoneIsListedApart(t *testing.T) {
	desired, observed := fleet(2, 0)
	decision := plan.Plan(desired, observed, now)
	outcomes := []plan.Outcome{
		{Action: decision.Actions[0], Result: plan.Done},
		{Action: decision.Actions[1], Result: plan.Refused, Cause: appsv1.ReasonQuotaExceeded},
	}
	f := flight.New(desired, observed, decision, outcomes, now)
	want := []flight.Undone{{Verb: plan.CreatePod, Pod: "web-1", Result: plan.Refused, Cause: appsv1.ReasonQuotaExceeded}}
	if diff := cmp.Diff(want, f.Undone); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

func TestWhatCameAlongEarlyIsNotTheCause(t *testing.T) {
	record := &flightrecorder.Record{Triggers: []flightrecorder.Trigger{
		{Kind: flightrecorder.TriggerRequeueAfter, Delay: flightrecorder.Duration(30 * time.Second), Early: true},
		{Kind: flightrecorder.TriggerManual, User: "ada"},
	}}
	want := []string{"ada asked for it", "this reconcile took the place of one that was planned for later"}
	if diff := cmp.Diff(want, flight.Causes(record)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// What a person did is the cause; what kubelets report about it follows from it. A writer is
// named only where the object proves it.
func TestTheHumanCauseComesFirst(t *testing.T) {
	web := flightrecorder.ObjectRef{Kind: "PodManager", Name: "web"}
	update := func(kind, name string, changes ...flightrecorder.Change) flightrecorder.Trigger {
		return flightrecorder.Trigger{Kind: flightrecorder.TriggerUpdate, Object: &flightrecorder.ObjectRef{Kind: kind, Name: name}, Changes: changes}
	}
	record := &flightrecorder.Record{Object: web, TriggersDropped: 2, Triggers: []flightrecorder.Trigger{
		{Kind: flightrecorder.TriggerRequeueAfter, Delay: flightrecorder.Duration(time.Second)},
		update("Pod", "web-0", flightrecorder.Change{Manager: "kubelet", Subresource: "status", Fields: []string{"status.a", "status.b", "status.c", "status.d", "status.e"}}),
		update("Pod", "web-1", flightrecorder.Change{Manager: "bob", Inferred: true, Fields: []string{"metadata.labels.app"}}),
		{Kind: flightrecorder.TriggerDelete, Object: &flightrecorder.ObjectRef{Kind: "Pod", Name: "web-2"}},
		update("PodManager", "web", flightrecorder.Change{Manager: "ada", Fields: []string{"spec.image"}}),
	}}
	want := []string{
		"PodManager web changed by ada: spec.image",
		"Pod web-2 is gone",
		"Pod web-1 changed: metadata.labels.app",
		"Pod web-0 has a new status from kubelet: status.a, status.b, status.c and 2 more fields",
		"the previous reconcile asked to be requeued after 1s",
		"2 further events came in",
	}
	got := flight.Causes(record)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if first := flight.FirstCause(got); first != want[0]+" (and 5 other causes)" {
		t.Errorf("in a line it is %q", first)
	}
}
