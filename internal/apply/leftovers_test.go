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
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

func labelled(obj client.Object) client.Object {
	obj.SetLabels(map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(me)})
	return obj
}

func revisionOf(name string, owners ...metav1.OwnerReference) client.Object {
	return labelled(&kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners,
	}})
}

// TestAnOwnerLeavesNothingBehind: its finalizer goes only when the API server
// itself shows none of its pods, and revisions that the garbage collector would
// not collect go with it.
func TestAnOwnerLeavesNothingBehind(t *testing.T) {
	ending := func(p *corev1.Pod) client.Object {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"example.com/slow"}
		return labelled(p)
	}
	for name, test := range map[string]struct {
		left     client.Object
		deletion plan.Deletion
		want     string
		deletes  int
	}{
		"a pod that terminates is waited for": {
			left: ending(pod("web-0", controlledBy(me))), deletion: plan.DeletionDelete, want: "pod ns/web-0 is still there",
		},
		"but not where pods are to be left alone": {left: ending(pod("web-0", controlledBy(me))), deletion: plan.DeletionOrphan},
		"one that lives is let go first": {
			left: labelled(pod("web-0", controlledBy(me))), deletion: plan.DeletionOrphan, want: "pod ns/web-0 is still there",
		},
		"nothing is left":                          {},
		"a pod that the cache does not show":       {left: labelled(pod("web-0", controlledBy(me))), want: "pod ns/web-0 is still there"},
		"a pod that was let go":                    {left: labelled(pod("web-0"))},
		"a pod of a successor":                     {left: labelled(pod("web-0", controlledBy("another")))},
		"a revision for the garbage collector":     {left: revisionOf("web-a", controlledBy(me))},
		"a revision that lost its owner reference": {left: revisionOf("web-a"), deletes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			going := owner()
			going.Finalizers = []string{appsv1.Finalizer}
			objects := []client.Object{going}
			if test.left != nil {
				objects = append(objects, test.left)
			}
			w := newWorld(t, objects...)
			w.deletion = test.deletion
			_, err := w.apply(t, plan.Action{Verb: plan.RemoveFinalizer})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			if patched := w.asked("patch web") > 0; patched != (test.want == "") || w.asked("delete") != test.deletes {
				t.Errorf("requests %v", w.requests)
			}
		})
	}
}

// TestANewProcessMissesPods that the API server has and the cache has not shown: it
// would make them a second time, under other names.
func TestANewProcessMissesPods(t *testing.T) {
	broken := errors.New("broken")
	unlisted := interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	}
	ours, theirs := labelled(pod("web-0", controlledBy(me))), labelled(pod("web-0", controlledBy("you")))
	for name, test := range map[string]struct {
		live  client.Object
		known map[types.UID]bool
		funcs interceptor.Funcs
		want  string
	}{
		"a pod that was seen":             {live: ours, known: map[types.UID]bool{"uid-web-0": true}},
		"a pod that was not":              {live: ours, known: map[types.UID]bool{}, want: "it does not show pod ns/web-0"},
		"a pod of another owner":          {live: theirs, known: map[types.UID]bool{}},
		"a pod whose name says its place": {live: ours},
		"pods that cannot be listed":      {live: ours, known: map[types.UID]bool{"uid-web-0": true}, funcs: unlisted, want: "broken"},
		"pods that need not be listed":    {live: ours, funcs: unlisted},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, owner(), test.live)
			w.live = interceptor.NewClient(w.client, test.funcs)
			w.ledger.doubts, w.known = true, test.known
			outcomes, err := w.apply(t, plan.Action{Verb: plan.CreatePod, Pod: "web-1", Slot: 1})
			if test.want == "" {
				if err != nil || outcomes[0].Result != plan.Done || !slices.Contains(w.ledger.list, "trusts the owner") {
					t.Errorf("%v, %v, %v", results(outcomes), err, w.ledger.list)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || outcomes[0].Result != plan.Skipped || len(w.requests)+len(w.ledger.list) > 0 {
				t.Errorf("%v, %v, %v, %v", results(outcomes), err, w.requests, w.ledger.list)
			}
		})
	}
}
