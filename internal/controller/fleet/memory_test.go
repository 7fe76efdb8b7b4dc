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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// adds is a queue that notes for how long what is added waits.
type adds struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	waits []time.Duration
}

func (a *adds) AddAfter(_ reconcile.Request, wait time.Duration) { a.waits = append(a.waits, wait) }

// TestPodEventsWaitForOthers, longer in a larger fleet; those of an owner that was
// never reconciled, or of a pod without one, do not wait.
func TestPodEventsWaitForOthers(t *testing.T) {
	for name, test := range map[string]struct {
		owner string
		pods  int
		want  time.Duration
	}{
		"its owner was never reconciled": {owner: "uid-new", pods: 1000, want: 0},
		"a few":                          {owner: "uid-web", pods: 9, want: 0},
		"a hundred":                      {owner: "uid-web", pods: 100, want: 10 * time.Millisecond},
		"a thousand":                     {owner: "uid-web", pods: 1000, want: 100 * time.Millisecond},
		"a hundred thousand":             {owner: "uid-web", pods: 100_000, want: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			web := fleetOwner("web")
			r, w := newReconciler(t, web)
			handlers := r.Handlers(w.Client, w.Ledger, Watched{GVK: testGVK, NameLabel: appsv1.LabelName})
			r.memories.measure(r.memories.of(web), size{pods: test.pods})
			ref := controlledBy("apps.mycompany.com/v1", testGVK.Kind, "web")
			ref.UID = types.UID(test.owner)
			pod, orphan := podOf("web-0", nil, ref), podOf("stray", map[string]string{appsv1.LabelName: "web"})
			q := &adds{}
			handlers.Pods.Create(t.Context(), event.CreateEvent{Object: pod}, q)
			handlers.Pods.Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, q)
			handlers.Pods.Delete(t.Context(), event.DeleteEvent{Object: pod}, q)
			handlers.Pods.Generic(t.Context(), event.GenericEvent{Object: pod}, q)
			handlers.Pods.Create(t.Context(), event.CreateEvent{Object: orphan}, q)
			if diff := cmp.Diff([]time.Duration{test.want, test.want, test.want, test.want, 0}, q.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAReleasedPodWakesBothOwners: the one it had, and the one it has.
func TestAReleasedPodWakesBothOwners(t *testing.T) {
	r, w := newReconciler(t, fleetOwner("web"), fleetOwner("shop"))
	handlers := r.Handlers(w.Client, w.Ledger, Watched{GVK: testGVK, NameLabel: appsv1.LabelName})
	ref := func(name string) metav1.OwnerReference {
		return metav1.OwnerReference{
			APIVersion: testGVK.GroupVersion().String(), Kind: testGVK.Kind, Name: name, UID: types.UID("uid-" + name), Controller: ptr.To(true),
		}
	}
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		want          int
	}{
		"its own":         {podOf("web-0", nil, ref("web")), podOf("web-0", nil, ref("web")), 1},
		"another owner's": {podOf("web-x", nil, ref("web")), podOf("web-x", nil, ref("shop")), 2},
	} {
		t.Run(name, func(t *testing.T) {
			q := &adds{}
			handlers.Pods.Update(t.Context(), event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}, q)
			if len(q.waits) != test.want {
				t.Errorf("%d owners are woken, want %d", len(q.waits), test.want)
			}
		})
	}
}

// TestAPassSeesANewSpec: a new generation ends it, another version does not, and
// one of a namesake does not either.
func TestAPassSeesANewSpec(t *testing.T) {
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
		"what was read, seen late":   {version("one", 1, "10"), version("one", 2, "20"), false},
		"an older one":               {version("one", 0, "5"), version("one", 1, "10"), false},
		"one of the same name, gone": {version("other", 8, "10"), version("other", 9, "11"), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := newReconciler(t)
			handlers := r.Handlers(w.Client, w.Ledger, Watched{GVK: testGVK, NameLabel: appsv1.LabelName})
			r.memories.of(read) // a pass begins
			if r.memories.outdated(read) {
				t.Error("it is outdated before any event")
			}
			handlers.OwnerChanged.Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after})
			if got := r.memories.outdated(read); got != test.want {
				t.Errorf("it is outdated: %t, want %t", got, test.want)
			}
			handlers.OwnerChanged.Delete(event.DeleteEvent{Object: read})
			if r.memories.outdated(read) || len(r.memories.owners) != 0 {
				t.Error("it is remembered after it is gone")
			}
		})
	}
}

// TestOwnersOfANameAreForgotten: also one that was deleted and created again, and
// not those of other names.
func TestOwnersOfANameAreForgotten(t *testing.T) {
	m := newMemories()
	again := fleetOwner("web")
	again.UID = "uid-again"
	shop := fleetOwner("shop")
	for _, owner := range []*appsv1.PodManager{fleetOwner("web"), again, shop} {
		m.wait(m.of(owner), true)
	}
	m.forgetNamed(types.NamespacedName{Namespace: "ns", Name: "web"})
	if len(m.owners) != 1 || m.owners[shop.UID] == nil || m.waiting() != 1 {
		t.Errorf("%d owners are remembered and %d statuses wait, want those of shop", len(m.owners), m.waiting())
	}
	gone := m.of(shop) // a pass that is under way when its owner goes
	m.forget(shop.UID)
	m.wait(gone, true)
	if n := m.waiting(); n != 0 {
		t.Errorf("%d statuses wait, want none", n)
	}
}

// TestAnotherShardsOwnerIsForgotten, so that its gauges are not served twice.
func TestAnotherShardsOwnerIsForgotten(t *testing.T) {
	r, _ := newReconciler(t, fleetOwner("web"))
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil {
		t.Fatal(err)
	}
	if len(r.memories.sizes()) != 1 {
		t.Fatalf("sizes %v", r.memories.sizes())
	}
	r.mine = func(client.Object) bool { return false }
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil || len(r.memories.sizes()) != 0 {
		t.Errorf("sizes %v, %v", r.memories.sizes(), err)
	}
}
