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

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/podrender"
)

const me = types.UID("me")

func owner(version string) *appsv1.PodManager {
	return &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: me, ResourceVersion: version}}
}

func pod(uid types.UID, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0", UID: uid, ResourceVersion: version}}
}

func going(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return p
}

func revision(uid types.UID, version string) *kappsv1.ControllerRevision {
	return &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: uid, ResourceVersion: version}}
}

func claim(uid types.UID, version string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "data-web-0", UID: uid, ResourceVersion: version,
		Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(me), podrender.LabelManagedBy: podrender.ManagedBy},
	}}
}

func unmanaged(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	delete(claim.Labels, podrender.LabelManagedBy)
	return claim
}

func unlabelled(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim.Labels = nil
	return claim
}

// TestLedger: what the cache has to show before it may be believed.
func TestLedger(t *testing.T) {
	for name, test := range map[string]struct {
		wrote     func(*Ledger)
		owner     *appsv1.PodManager
		pods      []*corev1.Pod
		revisions []*kappsv1.ControllerRevision
		claims    []*corev1.PersistentVolumeClaim
		stale     bool
	}{
		"nothing was written": {
			wrote: func(*Ledger) {},
		},
		"a created pod is not there yet": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			stale: true,
		},
		"a created pod is there": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			pods:  []*corev1.Pod{pod("a", "10")},
		},
		"a created pod has moved on": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			pods:  []*corev1.Pod{pod("a", "11")},
		},
		"a patched pod is there as it was before": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			pods:  []*corev1.Pod{pod("a", "9")},
			stale: true,
		},
		"another pod has the name of the created one": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("b", "10")) },
			pods:  []*corev1.Pod{pod("a", "99")},
			stale: true,
		},
		"a deleted pod is still there": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "")) },
			pods:  []*corev1.Pod{pod("a", "99")},
			stale: true,
		},
		"a deleted pod terminates": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "")) },
			pods:  []*corev1.Pod{going(pod("a", "99"))},
		},
		"a deleted pod is gone": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "")) },
		},
		"a deleted pod has a successor": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "")) },
			pods:  []*corev1.Pod{pod("b", "99")},
		},
		"a released pod is still the owner's": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "10")) },
			pods:  []*corev1.Pod{pod("a", "9")},
			stale: true,
		},
		"a released pod was given back": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "10")) },
			pods:  []*corev1.Pod{pod("a", "11")},
		},
		"a new revision is not there yet": {
			wrote: func(l *Ledger) { l.Wrote(me, revision("r", "10")) },
			stale: true,
		},
		"a new revision is there": {
			wrote:     func(l *Ledger) { l.Wrote(me, revision("r", "10")) },
			revisions: []*kappsv1.ControllerRevision{revision("r", "10")},
		},
		"the owner's status is the one before": {
			wrote: func(l *Ledger) { l.WroteOwner(owner("10")) },
			owner: owner("9"),
			stale: true,
		},
		"the owner's status is there": {
			wrote: func(l *Ledger) { l.WroteOwner(owner("10")) },
			owner: owner("10"),
		},
		"versions are compared as numbers": {
			wrote: func(l *Ledger) { l.WroteOwner(owner("9")) },
			owner: owner("10"),
		},
		"a version that is no number is no reason to wait": {
			wrote: func(l *Ledger) { l.WroteOwner(owner("ten")) },
			owner: owner("9"),
		},
		"another owner waits for its pod": {
			wrote: func(l *Ledger) { l.Wrote("you", pod("a", "10")) },
		},
		"the end of a created pod was seen": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")); l.Saw(me, "a") },
		},
		"the end of a deleted pod was seen": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "")); l.Saw(me, "a") },
		},
		"the end of a deleted pod was seen after its list was read": {
			wrote: func(l *Ledger) { l.TookAway(me, pod("a", "")); l.Saw(me, "a") },
			pods:  []*corev1.Pod{pod("a", "9")},
			stale: true,
		},
		"the owner was forgotten": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")); l.WroteOwner(owner("10")); l.Forget(me) },
			owner: owner("9"),
		},
		"a claim that was marked is as it was before": {
			wrote:  func(l *Ledger) { l.Wrote(me, claim("a", "10")) },
			claims: []*corev1.PersistentVolumeClaim{claim("a", "9")},
			stale:  true,
		},
		"a claim that was marked shows it": {
			wrote:  func(l *Ledger) { l.Wrote(me, claim("a", "10")) },
			claims: []*corev1.PersistentVolumeClaim{claim("a", "10")},
		},
		"a fleet without claim templates looks for no claims": {
			wrote: func(l *Ledger) { l.Wrote(me, claim("a", "10")) },
		},
		"one of two pods is missing": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")); l.Wrote(me, pod("b", "11")) },
			pods:  []*corev1.Pod{pod("b", "11")},
			stale: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			test.wrote(ledger)
			if test.owner == nil {
				test.owner = owner("1")
			}
			err := ledger.check(test.owner, test.pods, test.revisions, test.claims)
			var stale *StaleError
			if errors.As(err, &stale) != test.stale || err != nil && !test.stale {
				t.Errorf("check returns %v, want stale: %t", err, test.stale)
			}
		})
	}
}

// TestLedgerForgetsWhatWasShown: a write is looked up until it is seen, and a
// pod that goes later is not missed.
func TestLedgerForgetsWhatWasShown(t *testing.T) {
	ledger := NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	ledger.Wrote(me, pod("a", "10"))
	if err := ledger.check(owner("1"), []*corev1.Pod{pod("a", "10")}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := ledger.check(owner("1"), nil, nil, nil); err != nil {
		t.Errorf("a pod that was seen and is gone: %v", err)
	}
}

// TestOverdueWritesAreLookedUpLive: nothing waits for ever for an event that
// was missed, and nothing is believed before the API server says so.
func TestOverdueWritesAreLookedUpLive(t *testing.T) {
	for name, test := range map[string]struct {
		wrote  func(*Ledger)
		cached []*corev1.Pod
		claims []*corev1.PersistentVolumeClaim
		live   client.Object
		// fresh: after the look the cache is believed.
		fresh bool
	}{
		"a created pod came and went unseen": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			fresh: true,
		},
		"a created pod went, and its name has another": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			live:  pod("b", "20"),
			fresh: true,
		},
		"a created pod is there, and the cache is behind": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			live:  owned(pod("a", "10")),
		},
		"a created pod was released by another client": {
			wrote: func(l *Ledger) { l.Wrote(me, pod("a", "10")) },
			live:  pod("a", "11"),
			fresh: true,
		},
		"a deleted pod is gone, and the cache is behind": {
			wrote:  func(l *Ledger) { l.TookAway(me, pod("a", "")) },
			cached: []*corev1.Pod{pod("a", "9")},
		},
		"a deleted pod is there after all": {
			wrote:  func(l *Ledger) { l.TookAway(me, pod("a", "")) },
			cached: []*corev1.Pod{pod("a", "9")},
			live:   pod("a", "9"),
			fresh:  true,
		},
		"a claim that was marked is there, and the cache is behind": {
			wrote:  func(l *Ledger) { l.Wrote(me, claim("a", "10")) },
			claims: []*corev1.PersistentVolumeClaim{claim("a", "9")},
			live:   claim("a", "10"),
		},
		"a claim that was marked is gone": {
			wrote:  func(l *Ledger) { l.Wrote(me, claim("a", "10")) },
			claims: []*corev1.PersistentVolumeClaim{},
			fresh:  true,
		},
		"a claim that was marked lost the label by which it is found": {
			wrote:  func(l *Ledger) { l.Wrote(me, claim("a", "10")) },
			claims: []*corev1.PersistentVolumeClaim{},
			live:   unmanaged(claim("a", "11")),
			fresh:  true,
		},
		"a claim that was marked lost its labels": {
			wrote:  func(l *Ledger) { l.Wrote(me, claim("a", "10")) },
			claims: []*corev1.PersistentVolumeClaim{},
			live:   unlabelled(claim("a", "11")),
			fresh:  true,
		},
		"a new revision is there, and the cache is behind": {
			wrote: func(l *Ledger) { l.Wrote(me, revision("r", "10")) },
			live:  ownedRevision(podrender.ManagedBy),
		},
		"a new revision was deleted": {
			wrote: func(l *Ledger) { l.Wrote(me, revision("r", "10")) },
			fresh: true,
		},
		"a new revision lost the label by which it is found": {
			wrote: func(l *Ledger) { l.Wrote(me, revision("r", "10")) },
			live:  ownedRevision("another"),
			fresh: true,
		},
		"a new revision was released": {
			wrote: func(l *Ledger) { l.Wrote(me, revision("r", "10")) },
			live:  released(ownedRevision(podrender.ManagedBy)),
			fresh: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			ledger := NewLedger(clock)
			test.wrote(ledger)
			reads := 0
			builder := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, obj, o...)
				},
			})
			if test.live != nil {
				builder.WithObjects(test.live)
			}
			observer := New(nil, builder.Build(), ledger)
			check := func() error {
				return observer.checkFresh(t.Context(), desired.Fleet{Owner: owner("1"), Ref: podrender.Owner{UID: me}}, test.cached, nil, test.claims)
			}

			clock.SetTime(time.Unix(4, 0))
			if err := check(); err == nil || reads != 0 {
				t.Fatalf("within its patience: %v after %d live reads", err, reads)
			}
			clock.SetTime(time.Unix(5, 0))
			if err := check(); err == nil || reads != 1 {
				t.Fatalf("past its patience: %v after %d live reads", err, reads)
			}
			if err := check(); (err == nil) != test.fresh || reads != 1 {
				t.Errorf("after the look: %v and %d live reads, want fresh: %t", err, reads, test.fresh)
			}
		})
	}
}

// TestALiveLookThatFailsIsAnError, not a silent wait.
func TestALiveLookThatFailsIsAnError(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	ledger := NewLedger(clock)
	ledger.Wrote(me, pod("a", "10"))
	clock.SetTime(time.Unix(6, 0))
	broken := errors.New("broken")
	live := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
	}).Build()
	err := New(nil, live, ledger).checkFresh(t.Context(), desired.Fleet{Owner: owner("1"), Ref: podrender.Owner{UID: me}}, nil, nil, nil)
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// owned makes the owner the pod's controller.
func owned(pod *corev1.Pod) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "PodManager", Name: "web", UID: me, Controller: ptr.To(true)}}
	return pod
}

// ownedRevision is a revision of the owner with a manager's label.
func ownedRevision(manager string) *kappsv1.ControllerRevision {
	r := revision("r", "10")
	r.Labels = map[string]string{podrender.LabelManagedBy: manager}
	r.OwnerReferences = owned(pod("", "")).OwnerReferences
	return r
}

func released(r *kappsv1.ControllerRevision) *kappsv1.ControllerRevision {
	r.OwnerReferences = nil
	return r
}

// TestTakenNamesAreLookedUpAgain after a while, and where the clock was set back.
func TestTakenNamesAreLookedUpAgain(t *testing.T) {
	for name, test := range map[string]struct {
		pod        string
		later      time.Duration
		taken, ask bool
	}{
		"at once":                          {pod: "web-0", taken: true},
		"just before the patience ends":    {pod: "web-0", later: ledgerPatience - 1, taken: true},
		"when the patience ends":           {pod: "web-0", later: ledgerPatience, taken: true, ask: true},
		"after the clock was set back":     {pod: "web-0", later: -1, taken: true, ask: true},
		"another name":                     {pod: "web-1"},
		"another name, after the patience": {pod: "web-1", later: ledgerPatience},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(100, 0))
			ledger := NewLedger(clock)
			ledger.Taken(me, "web-0")
			clock.SetTime(time.Unix(100, 0).Add(test.later))
			if taken, ask := ledger.takes(me, test.pod); taken != test.taken || ask != test.ask {
				t.Errorf("taken: %t, ask: %t; want %t, %t", taken, ask, test.taken, test.ask)
			}
			if taken, ask := ledger.takes("you", test.pod); taken || ask {
				t.Errorf("for another owner: taken: %t, ask: %t", taken, ask)
			}
		})
	}
}

// TestTrust: an owner is trusted once the API server confirmed it, until it is gone.
func TestTrust(t *testing.T) {
	for name, test := range map[string]struct {
		given func(*Ledger)
		want  bool
	}{
		"nothing is known of it":      {given: func(*Ledger) {}},
		"its pods were written":       {given: func(l *Ledger) { l.Wrote(me, pod("a", "10")) }},
		"it was confirmed":            {given: func(l *Ledger) { l.Trust(me) }, want: true},
		"it was confirmed, and wrote": {given: func(l *Ledger) { l.Trust(me); l.Wrote(me, pod("a", "10")) }, want: true},
		"another was confirmed":       {given: func(l *Ledger) { l.Trust("you") }},
		"it was confirmed and went":   {given: func(l *Ledger) { l.Trust(me); l.Forget(me) }},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			test.given(ledger)
			if got := ledger.Trusts(me); got != test.want {
				t.Errorf("the owner is trusted: %t, want %t", got, test.want)
			}
		})
	}
}
