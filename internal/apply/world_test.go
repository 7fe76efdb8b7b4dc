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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

const me = types.UID("me")

// world is an API server that writes down what it is asked for and answers as
// a test wants.
type world struct {
	client client.WithWatch
	// answer, where set, is asked before every write: an error is the answer.
	answer func(request string) error
	// outdated is the target's.
	outdated func() bool
	memory   *Memory
	clock    *clocktesting.FakePassiveClock
	// generation is the owner's.
	generation int64
	deletion   plan.Deletion
	// finalizers are the owner's, and pods the target's.
	finalizers []string
	pods       []plan.Pod
	// fresh: the target is New.
	fresh bool
	// template, where set, finds the template of a revision.
	template func(revision string) (*corev1.PodTemplateSpec, error)
	// unchanged: a patch of a subresource leaves the object as it was.
	unchanged bool
	// live, where set, answers instead of client what is read past the cache.
	live client.Reader

	mu       sync.Mutex
	requests []string
	patches  map[string]string
	deletes  map[string]*client.DeleteOptions
	// evictions are by the name of their pod.
	evictions map[string]*policyv1.Eviction
	ledger    notes
}

// notes is a ledger that only writes down.
type notes struct {
	mu   sync.Mutex
	list []string
	// doubts: the API server has not confirmed the owner yet.
	doubts bool
}

func (n *notes) add(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, what)
}

func (n *notes) Wrote(_ types.UID, obj client.Object)    { n.add("wrote " + obj.GetName()) }
func (n *notes) TookAway(_ types.UID, obj client.Object) { n.add("took away " + obj.GetName()) }
func (n *notes) WroteOwner(obj client.Object)            { n.add("wrote owner " + obj.GetName()) }

func (n *notes) Taken(_ types.UID, pod string) { n.add("taken " + pod) }

func (n *notes) Trusts(types.UID) bool { return !n.doubts }
func (n *notes) Trust(types.UID)       { n.add("trusts the owner") }

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{
		patches: map[string]string{}, deletes: map[string]*client.DeleteOptions{}, evictions: map[string]*policyv1.Eviction{},
		clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)),
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if err := w.ask("create " + obj.GetName()); err != nil {
				return err
			}
			obj.SetUID(types.UID("uid-" + obj.GetName()))
			return c.Create(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, o ...client.PatchOption) error {
			raw, err := patch.Data(obj)
			if err != nil {
				return err
			}
			w.mu.Lock()
			w.patches[obj.GetName()] = string(raw)
			w.mu.Unlock()
			if err := w.ask("patch " + obj.GetName()); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			w.mu.Lock()
			w.deletes[obj.GetName()] = (&client.DeleteOptions{}).ApplyOptions(o)
			w.mu.Unlock()
			if err := w.ask("delete " + obj.GetName()); err != nil {
				return err
			}
			return c.Delete(ctx, obj)
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, name string, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
			raw, err := patch.Data(obj)
			if err != nil {
				return err
			}
			w.mu.Lock()
			w.patches[obj.GetName()+"/"+name] = string(raw)
			w.mu.Unlock()
			if obj.SetResourceVersion("1000"); w.unchanged {
				obj.SetResourceVersion("999")
			}
			return w.ask(name + " " + obj.GetName())
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, obj, sub client.Object, _ ...client.SubResourceCreateOption) error {
			w.mu.Lock()
			w.evictions[obj.GetName()], _ = sub.(*policyv1.Eviction)
			w.mu.Unlock()
			if err := w.ask(name + " " + obj.GetName()); err != nil {
				return err
			}
			return c.Delete(ctx, obj)
		},
	}).Build()
	return w
}

func (w *world) ask(request string) error {
	w.mu.Lock()
	w.requests = append(w.requests, request)
	w.mu.Unlock()
	if w.answer == nil {
		return nil
	}
	return w.answer(request)
}

// asked counts the requests that begin with a word.
func (w *world) asked(word string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(w.requests), func(r string) bool { return !strings.HasPrefix(r, word) }))
}

func (w *world) apply(t *testing.T, actions ...plan.Action) ([]plan.Outcome, error) {
	t.Helper()
	target := Target{
		Owner: owner(), Finalizer: appsv1.Finalizer, Encoded: []byte(`{"spec":{}}`), ReservedLabels: appsv1.ReservedLabels(),
		Ref: podrender.Owner{
			GVK: appsv1.GroupVersion.WithKind("PodManager"), Namespace: "ns", Name: "web", UID: me,
			Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(me)},
		},
		Template: func(string) (*corev1.PodTemplateSpec, error) { return podrender.Template("web", "app:1", nil), nil },
		Claim: func(_, name string) (*corev1.PersistentVolumeClaim, error) {
			return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}, nil
		},
		Outdated: w.outdated, Memory: w.memory, Deletion: w.deletion, Pods: w.pods, New: w.fresh,
	}
	target.Owner.SetGeneration(w.generation)
	target.Owner.SetFinalizers(w.finalizers)
	if w.template != nil {
		target.Template = w.template
	}
	live := w.live
	if live == nil {
		live = w.client
	}
	return New(w.client, live, &w.ledger, w.clock).Apply(t.Context(), target, actions)
}

func owner() *appsv1.PodManager {
	return &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: me, ResourceVersion: "999"}}
}

// pod is a pod with the given controllers and other owners.
func pod(name string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners,
		Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelSlot: "0", "app": "web"},
	}}
}

func controlledBy(uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps.mycompany.com/v1", Kind: "PodManager", Name: "web", UID: uid, Controller: ptr.To(true)}
}

func results(outcomes []plan.Outcome) []plan.Result {
	var list []plan.Result
	for i := range outcomes {
		list = append(list, outcomes[i].Result)
	}
	return list
}

func many(verb plan.Verb, n int) []plan.Action {
	actions := make([]plan.Action, n)
	for i := range actions {
		name := "web-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		actions[i] = plan.Action{Verb: verb, Pod: name, UID: types.UID("uid-" + name), Slot: i}
	}
	return actions
}
