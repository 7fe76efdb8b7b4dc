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

	"github.com/google/go-cmp/cmp"
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

// TestANewProcessHoldsItsPodsAgainstTheAPIServer: of a pod that the cache does not show
// it would make a second one, under another name, and for one that is gone it would
// delete another. What the cache lacks is noted, so that the next pass waits for that
// and for nothing that happens later.
func TestANewProcessHoldsItsPodsAgainstTheAPIServer(t *testing.T) {
	broken := errors.New("broken")
	unlisted := interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	}
	unread := interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, isPod := obj.(*corev1.Pod); isPod {
				return broken
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}
	ours, theirs, renamed := labelled(pod("web-0", controlledBy(me))), labelled(pod("web-0", controlledBy("you"))), pod("web-0", controlledBy(me))
	seen := []plan.Pod{{Name: "web-0", UID: "uid-web-0", ResourceVersion: "999"}}
	older := []plan.Pod{{Name: "web-0", UID: "uid-web-0", ResourceVersion: "998"}}
	for name, test := range map[string]struct {
		live  client.Object
		known []plan.Pod
		funcs interceptor.Funcs
		fresh bool
		// notes are what the ledger waits for.
		notes []string
		want  string
	}{
		"a pod that was seen":               {live: ours, known: seen},
		"a pod of another owner":            {live: theirs},
		"an orphan that has changed":        {live: pod("web-0"), known: []plan.Pod{{Name: "web-0", UID: "uid-web-0", Membership: plan.Orphan}}},
		"a pod that lost its labels":        {live: renamed, known: seen},
		"a pod that was not seen":           {live: ours, notes: []string{"wrote web-0"}},
		"a pod that has changed":            {live: ours, known: older, notes: []string{"wrote web-0"}},
		"a pod that changed without labels": {live: renamed, known: older, notes: []string{"wrote web-0"}},
		"a pod that is gone":                {live: ours, known: append(seen, plan.Pod{Name: "web-2", UID: "uid-web-2"}), notes: []string{"took away web-2"}},
		"a pod that was made again": {
			live: ours, known: []plan.Pod{{Name: "web-0", UID: "uid-before"}},
			notes: []string{"took away web-0", "wrote web-0"},
		},
		"pods that need not be listed":   {live: ours, fresh: true, funcs: unlisted},
		"pods that cannot be listed":     {live: ours, known: seen, funcs: unlisted, want: "broken"},
		"a pod that cannot be looked up": {live: renamed, known: seen, funcs: unread, want: "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, owner(), test.live)
			w.live = interceptor.NewClient(w.client, test.funcs)
			w.ledger.doubts, w.pods, w.fresh = true, test.known, test.fresh
			outcomes, err := w.apply(t, plan.Action{Verb: plan.CreatePod, Pod: "web-1", Slot: 1})
			trusted := slices.Contains(w.ledger.list, "trusts the owner")
			switch behind := (*BehindError)(nil); {
			case test.want != "":
				if err == nil || !strings.Contains(err.Error(), test.want) || trusted || len(w.requests) > 0 {
					t.Errorf("%v, %v, %v", err, w.requests, w.ledger.list)
				}
			case test.notes != nil:
				if diff := cmp.Diff(append(test.notes, "trusts the owner"), w.ledger.list); diff != "" || !errors.As(err, &behind) || len(w.requests) > 0 {
					t.Errorf("%v, %v, (-want +got):\n%s", err, w.requests, diff)
				}
			case err != nil || outcomes[0].Result != plan.Done || !trusted:
				t.Errorf("%v, %v, %v", results(outcomes), err, w.ledger.list)
			}
		})
	}
}
