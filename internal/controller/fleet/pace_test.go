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

package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

func TestALargerFleetIsLookedAtLessOften(t *testing.T) {
	owner := types.NamespacedName{Namespace: "default", Name: "web"}
	for name, test := range map[string]struct {
		seen       look
		want, gone time.Duration
	}{
		"nobody has looked at it":      {look{}, 0, 0},
		"a small one":                  {look{pods: 3, moving: 3}, 0, 0},
		"a hundred pods":               {look{pods: 100, moving: 100}, 50 * time.Millisecond, 50 * time.Millisecond},
		"a thousand":                   {look{pods: 1000, moving: 1000}, 500 * time.Millisecond, 500 * time.Millisecond},
		"a thousand that go for names": {look{pods: 1000, moving: 1000, names: true}, 500 * time.Millisecond, 25 * time.Millisecond},
		"a thousand, few on the way":   {look{pods: 1000, moving: 3, names: true}, 20 * time.Millisecond, 20 * time.Millisecond},
		"a thousand at rest":           {look{pods: 1000}, 5 * time.Millisecond, 5 * time.Millisecond},
		"a hundred thousand":           {look{pods: 100_000, moving: 5000, names: true}, 500 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPacer()
			if test.seen.pods > 0 {
				p.note(owner, test.seen, 0)
			}
			if got := p.wait(owner, false); got != test.want {
				t.Errorf("waits %s, want %s", got, test.want)
			}
			if got := p.wait(owner, true); got != test.gone {
				t.Errorf("waits %s for a pod that is gone, want %s", got, test.gone)
			}
			p.forget(owner)
			if got := p.wait(owner, false); got != 0 {
				t.Errorf("waits %s for an owner that is gone", got)
			}
		})
	}
}

// adds is a queue that writes down what is added.
type adds struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	waits []time.Duration
}

func (a *adds) Add(reconcile.Request) { a.waits = append(a.waits, 0) }

func (a *adds) AddAfter(_ reconcile.Request, wait time.Duration) { a.waits = append(a.waits, wait) }

func TestPodEventsWaitForOthers(t *testing.T) {
	r, w := newReconciler(t)
	ears := r.Ears(w.Client, w.Ledger, Watched{GVK: testGVK, NameLabel: appsv1.LabelName})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web-0",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: testGVK.GroupVersion().String(), Kind: testGVK.Kind, Name: "web", Controller: ptr.To(true),
		}},
	}}
	q := &adds{}
	ears.Pods.Create(t.Context(), event.CreateEvent{Object: pod}, q)
	r.pace.note(types.NamespacedName{Namespace: "default", Name: "web"}, look{pods: 1000, moving: 1000, names: true}, 0)
	ears.Pods.Create(t.Context(), event.CreateEvent{Object: pod}, q)
	ears.Pods.Delete(t.Context(), event.DeleteEvent{Object: pod}, q)
	if diff := cmp.Diff([]time.Duration{0, 500 * time.Millisecond, 25 * time.Millisecond}, q.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

// TestTheLastPodThatArrivesIsToldSoon: whether the others arrived before the
// last pass ended or after it. Becoming ready counts, and nothing else does.
func TestTheLastPodThatArrivesIsToldSoon(t *testing.T) {
	r, w := newReconciler(t)
	ears := r.Ears(w.Client, w.Ledger, Watched{GVK: testGVK, NameLabel: appsv1.LabelName})
	owner := types.NamespacedName{Namespace: "default", Name: "web"}
	waiting := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web-0",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: testGVK.GroupVersion().String(), Kind: testGVK.Kind, Name: "web", Controller: ptr.To(true),
		}},
	}}
	ready := waiting.DeepCopy()
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	hear := func(before, after *corev1.Pod) time.Duration {
		q := &adds{}
		ears.Pods.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		return q.waits[0]
	}
	r.pace.note(owner, look{pods: 1000, moving: 20}, 0)
	arrived := r.pace.arrivals(owner) // a pass begins
	for range 12 {
		hear(waiting, ready)
	}
	r.pace.note(owner, look{pods: 1000, moving: 20}, arrived) // and ends
	for range 3 {
		hear(ready, ready)
		hear(ready, waiting)
	}
	var waits []time.Duration
	for range 8 {
		waits = append(waits, hear(waiting, ready)/time.Millisecond)
	}
	if diff := cmp.Diff([]time.Duration{40, 35, 30, 25, 20, 15, 10, 5}, waits); diff != "" {
		t.Errorf("waits in ms (-want +got):\n%s", diff)
	}
}

// TestAnOwnerIsHeardInTheMiddleOfAPass: a new generation is, another version is
// not, and one of a namesake is not either.
func TestAnOwnerIsHeardInTheMiddleOfAPass(t *testing.T) {
	version := func(uid types.UID, generation int64, version string) *appsv1.PodManager {
		return &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", UID: uid, Generation: generation, ResourceVersion: version,
		}}
	}
	read := version("one", 2, "20")
	for name, test := range map[string]struct {
		before, after *appsv1.PodManager
		want          bool
	}{
		"a new spec":                 {version("one", 2, "20"), version("one", 3, "21"), true},
		"a status":                   {version("one", 2, "20"), version("one", 2, "21"), false},
		"what was read, heard late":  {version("one", 1, "10"), version("one", 2, "20"), false},
		"an older one":               {version("one", 0, "5"), version("one", 1, "10"), false},
		"one of the same name, gone": {version("other", 8, "10"), version("other", 9, "11"), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := newReconciler(t)
			ears := r.Ears(w.Client, w.Ledger, Watched{GVK: testGVK, NameLabel: appsv1.LabelName})
			if r.pace.asksAnew(read) {
				t.Error("it asks for something else before anybody has heard of it")
			}
			ears.OwnerChanged.Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after})
			if got := r.pace.asksAnew(read); got != test.want {
				t.Errorf("it asks for something else: %t, want %t", got, test.want)
			}
			r.pace.forget(types.NamespacedName{Namespace: "default", Name: "web"})
			if r.pace.asksAnew(read) {
				t.Error("it asks for something else after it is gone")
			}
		})
	}
}

// TestAPassGoesOnWhereTheLastOneEndedWell: and starts with one pod where it did
// not, where the template is another, and where it was long ago.
func TestAPassGoesOnWhereTheLastOneEndedWell(t *testing.T) {
	owner := types.NamespacedName{Namespace: "default", Name: "web"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	create := func(result plan.Result) plan.Outcome {
		return plan.Outcome{Action: plan.Action{Verb: plan.CreatePod}, Result: result}
	}
	other := plan.Outcome{Action: plan.Action{Verb: plan.DeletePod}, Result: plan.Failed}
	for name, test := range map[string]struct {
		outcomes []plan.Outcome
		revision string
		later    time.Duration
		want     int
	}{
		"more were made":         {outcomes: append(slices.Repeat([]plan.Outcome{create(plan.Done)}, 9), other), revision: "web-1", want: 9},
		"fewer were made":        {outcomes: []plan.Outcome{create(plan.Done), other, create(plan.Done)}, revision: "web-1", want: 7},
		"one was refused":        {outcomes: []plan.Outcome{create(plan.Done), create(plan.Refused)}, revision: "web-1"},
		"one was not tried":      {outcomes: []plan.Outcome{create(plan.Done), create(plan.Skipped)}, revision: "web-1"},
		"none had to be made":    {outcomes: []plan.Outcome{other}, revision: "web-1", want: 7},
		"the template is new":    {outcomes: []plan.Outcome{create(plan.Done)}, revision: "web-2"},
		"it is some time ago":    {outcomes: []plan.Outcome{create(plan.Done)}, revision: "web-1", later: time.Minute},
		"it was just a bit more": {outcomes: []plan.Outcome{create(plan.Done)}, revision: "web-1", later: time.Second, want: 7},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPacer()
			if got := p.firstBatch(owner, "web-1", now); got != 0 {
				t.Errorf("starts with %d pods of an owner that nobody has looked at", got)
			}
			p.made(owner, "web-1", slices.Repeat([]plan.Outcome{create(plan.Done)}, 7), now)
			p.made(owner, "web-1", test.outcomes, now)
			if got := p.firstBatch(owner, test.revision, now.Add(test.later)); got != test.want {
				t.Errorf("starts with %d, want %d", got, test.want)
			}
		})
	}
}
