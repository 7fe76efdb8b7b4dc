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

package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestWhatMustNotFollowAFailure: no pod is created without its finalizer and
// revision, and no finalizer is removed too early; but deletions go on.
func TestWhatMustNotFollowAFailure(t *testing.T) {
	all := []plan.Action{
		{Verb: plan.AddFinalizer},
		{Verb: plan.CreateRevision, Revision: "web-1"},
		{Verb: plan.DeletePod, Pod: "web-9", UID: "uid-web-9", Slot: 9},
		{Verb: plan.CreatePod, Pod: "web-0", Revision: "web-1"},
		{Verb: plan.RemoveFinalizer},
	}
	for name, test := range map[string]struct {
		broken string
		want   []plan.Result
	}{
		"the finalizer": {
			"patch web", []plan.Result{plan.Failed, plan.Skipped, plan.Done, plan.Skipped, plan.Skipped},
		},
		"the revision": {
			"create web-1", []plan.Result{plan.Done, plan.Failed, plan.Done, plan.Skipped, plan.Skipped},
		},
		"a pod": {
			"create web-0", []plan.Result{plan.Done, plan.Done, plan.Done, plan.Failed, plan.Skipped},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, owner(), pod("web-9", controlledBy(me)))
			broken := errors.New("broken")
			w.answer = func(request string) error {
				if request == test.broken {
					return broken
				}
				return nil
			}
			outcomes, err := w.apply(t, all...)
			if diff := cmp.Diff(test.want, results(outcomes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !errors.Is(err, broken) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestARefusalIsNoError: it is told in the status, and trying again at once
// would not help.
func TestARefusalIsNoError(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy("you")))
	outcomes, err := w.apply(t, plan.Action{Verb: plan.CreatePod, Pod: "web-0"})
	if err != nil || outcomes[0].Result != plan.Refused || outcomes[0].Cause != appsv1.ReasonNameTaken {
		t.Errorf("%+v, %v", outcomes, err)
	}
}

// TestAPodSaysThatItReplacesAnother: a client may still try to evict that one by the
// name that both have.
func TestAPodSaysThatItReplacesAnother(t *testing.T) {
	for replaces, want := range map[bool]string{true: appsv1.WhyMissing, false: ""} {
		w := newWorld(t, owner())
		if _, err := w.apply(t, plan.Action{Verb: plan.CreatePod, Pod: "web-0", Replaces: replaces, Why: plan.Why{Reason: appsv1.WhyMissing}}); err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-0"}, &pod); err != nil {
			t.Fatal(err)
		}
		if got := pod.Annotations[appsv1.AnnotationReplaces]; got != want {
			t.Errorf("the pod replaces another: %q, want %q", got, want)
		}
	}
}

// TestAdoptionAsksTheAPIServer: an owner that is gone or being deleted adopts
// no pod, whatever the cache says.
func TestAdoptionAsksTheAPIServer(t *testing.T) {
	reborn := owner()
	reborn.UID = "another"
	leaving := owner()
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{}, []string{appsv1.Finalizer}
	leaving.DeletionTimestamp = ptr.To(metav1.Now())
	for name, test := range map[string]struct {
		live *appsv1.PodManager
		want string
	}{
		"it is there":       {owner(), ""},
		"it is gone":        {nil, "read ns/web live: "},
		"it is another one": {reborn, "ns/web was deleted and made again"},
		"it is going":       {leaving, "ns/web is being deleted and adopts no more pods"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{pod("web-0"), pod("web-1")}
			if test.live != nil {
				objects = append(objects, test.live)
			}
			w := newWorld(t, objects...)
			outcomes, err := w.apply(t,
				plan.Action{Verb: plan.AdoptPod, Pod: "web-0", UID: "uid-web-0"},
				plan.Action{Verb: plan.AdoptPod, Pod: "web-1", UID: "uid-web-1", Slot: 1})
			if test.want == "" {
				if err != nil || outcomes[0].Result != plan.Done || w.asked("patch") != 2 {
					t.Errorf("%v, %v, %d patches", results(outcomes), err, w.asked("patch"))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
			if outcomes[0].Result != plan.Skipped || w.asked("patch") > 0 {
				t.Errorf("%v after %d patches", results(outcomes), w.asked("patch"))
			}
		})
	}
}

// TestAdoptionAsksBeforeWhatIsTriedAgain: whether the last pass was refused some of
// the pods changes nothing. Without anything to adopt the API server is not asked.
func TestAdoptionAsksBeforeWhatIsTriedAgain(t *testing.T) {
	adopt := func(name string) plan.Action {
		return plan.Action{Verb: plan.AdoptPod, Pod: name, UID: types.UID("uid-" + name), ResourceVersion: "999", Slot: plan.NoSlot}
	}
	finalizer := plan.Action{Verb: plan.AddFinalizer, Slot: plan.NoSlot}
	for name, test := range map[string]struct {
		// before is what the last pass failed at.
		before, actions []plan.Action
		asks            bool
	}{
		"a new one":                      {nil, []plan.Action{adopt("web-0")}, true},
		"one that failed":                {[]plan.Action{adopt("web-0")}, []plan.Action{adopt("web-0")}, true},
		"one that failed and a new one":  {[]plan.Action{adopt("web-0")}, []plan.Action{adopt("web-0"), adopt("web-1")}, true},
		"one that waits for another":     {nil, []plan.Action{finalizer, adopt("web-0")}, false},
		"nothing that has to be adopted": {nil, []plan.Action{{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, pod("web-0"), pod("web-1")) // and no owner
			w.memory = &Memory{owner: me}
			for _, action := range test.before {
				w.memory.note([]plan.Outcome{{Action: action, Result: plan.Failed}}, w.clock.Now())
			}
			reads := 0
			w.live = interceptor.NewClient(w.client, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
					if _, isOwner := obj.(*appsv1.PodManager); isOwner {
						reads++
					}
					return c.Get(ctx, key, obj, o...)
				},
			})
			_, _ = w.apply(t, test.actions...)
			if asked := reads > 0; asked != test.asks || w.asked("patch web-") > 0 {
				t.Errorf("the owner was read %d times, want it read: %t; requests %v", reads, test.asks, w.requests)
			}
		})
	}
}

// TestANewProcessAsksTheAPIServer before it acts on the cached owner: the first
// list may come from an API server that is behind.
func TestANewProcessAsksTheAPIServer(t *testing.T) {
	newer, pinned := owner(), owner()
	newer.Generation, newer.ResourceVersion = 2, "1001"
	pinned.ResourceVersion, pinned.Annotations = "1001", map[string]string{appsv1.AnnotationPin: "web-1"}
	for name, test := range map[string]struct {
		live *appsv1.PodManager
		want string
	}{
		"the owner is as the cache says": {owner(), ""},
		"the owner was edited since":     {newer, "the cache is behind with version 999, the API server has 1001"},
		"the owner was pinned since":     {pinned, "the cache is behind with version 999, the API server has 1001"},
		"the owner is gone":              {nil, "read ns/web live: "},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{pod("web-0", controlledBy(me))}
			if test.live != nil {
				objects = append(objects, test.live)
			}
			w := newWorld(t, objects...)
			w.ledger.doubts = true
			outcomes, err := w.apply(t, plan.Action{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0"})
			if test.want == "" {
				if err != nil || outcomes[0].Result != plan.Done || w.ledger.list[0] != "trusts the owner" {
					t.Errorf("%v, %v, %v", results(outcomes), err, w.ledger.list)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || outcomes[0].Result != plan.Skipped || w.asked("delete") > 0 {
				t.Errorf("%v, %v after %d deletes", results(outcomes), err, w.asked("delete"))
			}
		})
	}
}

// TestFinalizer: the list is changed under the version that was read, and other
// finalizers stay.
func TestFinalizer(t *testing.T) {
	w := newWorld(t, owner())
	if _, err := w.apply(t, plan.Action{Verb: plan.AddFinalizer}); err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"finalizers":["apps.mycompany.com/podmanager"],"resourceVersion":"999"}}`
	if diff := cmp.Diff(want, w.patches["web"]); diff != "" {
		t.Errorf("the patch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"wrote owner web", "trusts the owner"}, w.ledger.list); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}

// TestTheFinalizerIsRemoved, and no other.
func TestTheFinalizerIsRemoved(t *testing.T) {
	leaving := owner()
	leaving.Finalizers = []string{"example.com/first", appsv1.Finalizer, "example.com/last"}
	w := newWorld(t, leaving)
	w.finalizers = leaving.Finalizers
	if _, err := w.apply(t, plan.Action{Verb: plan.RemoveFinalizer}); err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"finalizers":["example.com/first","example.com/last"],"resourceVersion":"999"}}`
	if diff := cmp.Diff(want, w.patches["web"]); diff != "" {
		t.Errorf("the patch (-want +got):\n%s", diff)
	}
}

// TestAnOwnerThatIsGoneNeedsNoFinalizerRemoved a second time.
func TestAnOwnerThatIsGoneNeedsNoFinalizerRemoved(t *testing.T) {
	w := newWorld(t)
	outcomes, err := w.apply(t, plan.Action{Verb: plan.RemoveFinalizer})
	if err != nil || outcomes[0].Result != plan.Done {
		t.Errorf("%v, %v", results(outcomes), err)
	}
}

func TestAnUnknownVerbIsAnError(t *testing.T) {
	w := newWorld(t)
	if _, err := w.apply(t, plan.Action{Verb: "Juggle"}); err == nil || !strings.Contains(err.Error(), "Juggle") {
		t.Errorf("the error is %v", err)
	}
}

// Every verb of the table can be carried out.
func TestEveryVerbIsKnown(t *testing.T) {
	for _, facts := range plan.Verbs {
		w := newWorld(t, pod("web-0", controlledBy(me)))
		action := plan.Action{Verb: facts.Verb, Pod: "web-0", UID: "uid-web-0", Claim: "data-web-0", Revision: "web-1"}
		if _, err := w.apply(t, action); err != nil && strings.Contains(err.Error(), "unknown verb") {
			t.Errorf("%s: %v", facts.Verb, err)
		}
	}
}
