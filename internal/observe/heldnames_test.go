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

package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestHeldNames: pods of others that have the names of slots to be filled.
func TestHeldNames(t *testing.T) {
	deleting := fleetOf(2, template("app:1"))
	deleting.Desired.Deletion = plan.DeletionDelete
	rolling := fleetOf(1, template("app:1"))
	rolling.Desired.Update.MaxSurge = 1
	rolling.Status.CurrentRevision, rolling.Status.UpdateRevision = "old", "new"
	resting := fleetOf(1, template("app:1"))
	resting.Desired.Update.MaxSurge = 1
	reserving := func(ordinals ...int) desired.Fleet {
		f := fleetOf(2, template("app:1"))
		f.Desired.Reserved = ordinals
		return f
	}
	ours := func(name string) client.Object { return fleetPod(name, me, "web") }
	theirs := func(name string) client.Object { return fleetPod(name, "you", "web") }

	for name, test := range map[string]struct {
		fleet desired.Fleet
		pods  []client.Object
		want  []string
	}{
		"the names are free":                      {fleetOf(2, template("app:1")), nil, nil},
		"another owner's pod":                     {fleetOf(2, template("app:1")), []client.Object{theirs("web-1")}, []string{"web-1"}},
		"a pod without owner":                     {fleetOf(2, template("app:1")), []client.Object{fleetPod("web-1", "", "other")}, []string{"web-1"}},
		"our own pod":                             {fleetOf(2, template("app:1")), []client.Object{ours("web-1")}, nil},
		"a name beyond replicas":                  {fleetOf(2, template("app:1")), []client.Object{theirs("web-2")}, nil},
		"two names":                               {fleetOf(3, template("app:1")), []client.Object{theirs("web-0"), ours("web-1"), theirs("web-2")}, []string{"web-0", "web-2"}},
		"a slot that an extra pod does not fill":  {fleetOf(2, template("app:1")), []client.Object{ours("web-0"), ours("web-2"), theirs("web-1")}, []string{"web-1"}},
		"a pod of ours that has no ordinal":       {fleetOf(2, template("app:1")), []client.Object{ours("web-0"), ours("web-x"), theirs("web-1")}, []string{"web-1"}},
		"a name for a surge":                      {rolling, []client.Object{ours("web-0"), theirs("web-1")}, []string{"web-1"}},
		"a name beyond the surge":                 {rolling, []client.Object{ours("web-0"), theirs("web-2")}, nil},
		"a name for a surge that may come":        {resting, []client.Object{ours("web-0"), theirs("web-1")}, []string{"web-1"}},
		"a reserved ordinal":                      {reserving(0), []client.Object{theirs("web-0")}, nil},
		"the last ordinal after a reserved one":   {reserving(0), []client.Object{ours("web-1"), theirs("web-2")}, []string{"web-2"}},
		"a name beyond them and a reserved one":   {reserving(0), []client.Object{theirs("web-3")}, nil},
		"a reserved ordinal beyond adds no other": {reserving(9), []client.Object{theirs("web-0"), theirs("web-2")}, []string{"web-0"}},
		"an extra pod before a reserved ordinal":  {reserving(9), []client.Object{ours("web-2"), theirs("web-1")}, []string{"web-1"}},
		"a pod on a reserved ordinal is extra":    {reserving(0), []client.Object{ours("web-0"), ours("web-1"), theirs("web-2")}, []string{"web-2"}},
		"an owner that is being deleted":          {deleting, []client.Object{theirs("web-1")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, observed(t, test.fleet, test.pods...).HeldNames); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeldRandomNames: random names never end, so as many are looked for as pods
// are missing.
func TestHeldRandomNames(t *testing.T) {
	f := fleetOf(1, template("app:1"))
	f.Desired.Identity = appsv1.IdentityRandom
	first, second, third := plan.SlotName(&f.Desired, 0), plan.SlotName(&f.Desired, 1), plan.SlotName(&f.Desired, 2)
	ours := func(name string, change func(*corev1.Pod)) client.Object {
		p := fleetPod(name, me, "web")
		if change != nil {
			change(p)
		}
		return p
	}
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	theirs := func(name string) client.Object { return fleetPod(name, "you", "web") }

	for name, test := range map[string]struct {
		pods []client.Object
		want []string
	}{
		"the first name":                    {[]client.Object{theirs(first)}, []string{first}},
		"the first two":                     {[]client.Object{theirs(first), theirs(second)}, []string{first, second}},
		"a name that is not needed":         {[]client.Object{theirs(second)}, nil},
		"a name behind one that is free":    {[]client.Object{theirs(first), theirs(third)}, []string{first}},
		"no pod is missing":                 {[]client.Object{ours(first, phase(corev1.PodRunning)), theirs(second)}, nil},
		"a pod that failed is replaced":     {[]client.Object{ours(first, phase(corev1.PodFailed)), theirs(second)}, []string{second}},
		"a pod that is done is replaced":    {[]client.Object{ours(first, phase(corev1.PodSucceeded)), theirs(second)}, []string{second}},
		"a pod on a lost node is replaced":  {[]client.Object{ours(first, func(p *corev1.Pod) { p.Spec.NodeName = "gone" }), theirs(second)}, []string{second}},
		"a pod that terminates is replaced": {[]client.Object{ours(first, terminate), theirs(second)}, []string{second}},
		"more pods than replicas":           {[]client.Object{ours("web-a", nil), ours("web-b", nil), theirs(first)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, observed(t, f, test.pods...).HeldNames); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeldNamesDuringARestart: a restart surges and moves no fleet to another revision.
func TestHeldNamesDuringARestart(t *testing.T) {
	f := fleetOf(1, template("app:1"))
	f.Desired.Identity, f.Desired.Update.MaxSurge = appsv1.IdentityRandom, 1
	f.Status.CurrentRevision, f.Status.UpdateRevision = "web-1", "web-1"
	f.Status.Rollout = &appsv1.RolloutRecord{Revision: "web-1"}
	first, second := plan.SlotName(&f.Desired, 0), plan.SlotName(&f.Desired, 1)
	got := observed(t, f, fleetPod(second, me, "web"), fleetPod(first, "you", "web")).HeldNames
	if diff := cmp.Diff([]string{first}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHeldNamesOfPodsThatStandIn: where pods may be moved to restore the spread, others
// stand in for them meanwhile, and need names.
func TestHeldNamesOfPodsThatStandIn(t *testing.T) {
	f := fleetOf(1, template("app:1"))
	f.Desired.Identity = appsv1.IdentityRandom
	f.Desired.Disruption = plan.Disruption{MaxSurge: 1, Spread: []plan.Spread{{Key: corev1.LabelHostname, MaxSkew: 1}}, AutoRebalance: true}
	first, second := plan.SlotName(&f.Desired, 0), plan.SlotName(&f.Desired, 1)
	got := observed(t, f, fleetPod(second, me, "web"), fleetPod(first, "you", "web")).HeldNames
	if diff := cmp.Diff([]string{first}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// terminate: a finalizer keeps the pod.
func terminate(p *corev1.Pod) {
	p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.Now()), []string{"example.com/hold"}
}

// TestNamesThatTheCacheDoesNotShow: with shards a pod that is in no shard is not
// in the cache. Its name is known from the create that it refused, and looked up
// live from then on.
func TestNamesThatTheCacheDoesNotShow(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	ledger := NewLedger(clock)
	live := cache(t, fleetPod("web-1", "you", "other"))
	observer := New(cache(t), live, ledger)
	expect := func(want ...string) {
		t.Helper()
		seen, err := observer.Observe(t.Context(), fleetOf(3, template("app:1")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, seen.Observed.HeldNames); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	expect()
	ledger.Taken(me, "web-1")
	expect("web-1")
	clock.SetTime(time.Unix(10, 0))
	expect("web-1")
	if err := live.Delete(t.Context(), fleetPod("web-1", "", "")); err != nil {
		t.Fatal(err)
	}
	expect("web-1") // it was looked up a moment ago
	clock.SetTime(time.Unix(20, 0))
	expect()
	// What is free again is not looked up live any more: a create would meet it.
	if err := live.Create(t.Context(), fleetPod("web-1", "you", "other")); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(time.Unix(30, 0))
	expect()
}

// TestANameThatCannotBeLookedUp: the pods were listed before the names are looked
// up, and what came in between is no reason to plan.
func TestANameThatCannotBeLookedUp(t *testing.T) {
	broken := errors.New("broken")
	refuse := interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
	}
	behind := interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
	}
	var stale *StaleError
	for name, test := range map[string]struct {
		cache, live client.Reader
		taken       bool
		want        func(error) bool
	}{
		"the cache gives none": {
			cache: interceptor.NewClient(cache(t), refuse), live: cache(t),
			want: func(err error) bool { return errors.Is(err, broken) },
		},
		"the API server gives none": {
			cache: cache(t), live: interceptor.NewClient(cache(t), refuse), taken: true,
			want: func(err error) bool { return errors.Is(err, broken) },
		},
		"a pod of ours came since": {
			cache: interceptor.NewClient(cache(t, fleetPod("web-0", me, "web")), behind), live: cache(t),
			want: func(err error) bool { return errors.As(err, &stale) && stale.What == "ns/web-0" },
		},
		"a pod of another owner came since": {
			cache: interceptor.NewClient(cache(t, fleetPod("web-0", "you", "web")), behind), live: cache(t),
			want: func(err error) bool { return err == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			ledger := NewLedger(clock)
			if test.taken {
				ledger.Taken(me, "web-0")
			}
			clock.SetTime(time.Unix(10, 0))
			if _, err := New(test.cache, test.live, ledger).Observe(t.Context(), fleetOf(1, template("app:1"))); !test.want(err) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
