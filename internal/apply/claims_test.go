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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

func volumeClaim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "data-web-0", UID: "uid-data-web-0",
		Labels:      map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: "before", "tier": "db"},
		Annotations: map[string]string{appsv1.AnnotationCondemnedBy: "before", appsv1.AnnotationSurge: "true", "note": "kept"},
	}}
}

func onClaim(verb plan.Verb) plan.Action {
	return plan.Action{Verb: verb, Claim: "data-web-0", Template: "data", UsedBy: "web-0", UID: "uid-data-web-0", ResourceVersion: "999"}
}

func (w *world) claim(t *testing.T) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "data-web-0"}, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// TestWhoseAClaimIs is in its metadata: a mark of who condemned it, or the labels
// of who took it over. What others wrote there stays.
func TestWhoseAClaimIs(t *testing.T) {
	w := newWorld(t, owner(), volumeClaim(), pod("web-0", controlledBy(me)))
	if _, err := w.apply(t, onClaim(plan.CondemnClaim)); err != nil {
		t.Fatal(err)
	}
	if got := w.claim(t); got.Annotations[appsv1.AnnotationCondemnedBy] != string(me) || got.Annotations["note"] != "kept" || len(got.Labels) != 3 {
		t.Errorf("annotations %v, labels %v", got.Annotations, got.Labels)
	}
	if !strings.Contains(w.patches["data-web-0"], `"resourceVersion":"999"`) || !strings.Contains(w.patches["data-web-0"], `"uid":"uid-data-web-0"`) {
		t.Errorf("the patch is %s", w.patches["data-web-0"])
	}
	adopt := onClaim(plan.AdoptClaim)
	adopt.ResourceVersion = w.claim(t).ResourceVersion
	if _, err := w.apply(t, adopt); err != nil {
		t.Fatal(err)
	}
	got := w.claim(t)
	if diff := cmp.Diff(map[string]string{"note": "kept"}, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(me), "tier": "db"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"wrote data-web-0", "wrote data-web-0"}, w.ledger.list); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}

// TestAClaimThatAStatefulSetMadeIsAdopted: it has the name that ours would have, and
// none of our labels. One that carries a PodManager's name stays as it is.
func TestAClaimThatAStatefulSetMadeIsAdopted(t *testing.T) {
	theirs := volumeClaim()
	theirs.Labels, theirs.Annotations = map[string]string{"app": "web"}, map[string]string{"note": "kept"}
	earlier := volumeClaim()
	earlier.Labels[podrender.LabelManagedBy] = podrender.ManagedBy
	for name, tc := range map[string]struct {
		found *corev1.PersistentVolumeClaim
		want  map[string]string
	}{
		"a StatefulSet's": {theirs, map[string]string{
			"app": "web", appsv1.LabelName: "web", appsv1.LabelUID: string(me), podrender.LabelManagedBy: podrender.ManagedBy,
		}},
		"an earlier owner's": {earlier, earlier.Labels},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, owner(), tc.found)
			outcomes, err := w.apply(t, plan.Action{Verb: plan.CreateClaim, Claim: "data-web-0", Template: "data"})
			if err != nil || outcomes[0].Result != plan.Done {
				t.Fatalf("%v, %v", outcomes, err)
			}
			got := w.claim(t)
			if diff := cmp.Diff(tc.want, got.Labels); diff != "" || got.UID != tc.found.UID || got.Annotations["note"] != "kept" ||
				(got.Annotations[appsv1.AnnotationFound] == "true") != (name == "a StatefulSet's") {
				t.Errorf("uid %s, annotations %v, labels (-want +got):\n%s", got.UID, got.Annotations, diff)
			}
		})
	}
}

// TestAClaimThatIsGoneNeedsNoMark, and one that changed is read again first: the
// next reconcile waits until the cache shows it, or it would meet the same conflict.
func TestAClaimThatIsGoneNeedsNoMark(t *testing.T) {
	user := pod("web-0", controlledBy(me))
	outcomes, err := newWorld(t, owner(), user).apply(t, onClaim(plan.CondemnClaim))
	if err != nil || outcomes[0].Result != plan.Done {
		t.Errorf("%v, %v", outcomes, err)
	}
	late := onClaim(plan.CondemnClaim)
	late.ResourceVersion = "1"
	w := newWorld(t, owner(), volumeClaim(), user)
	outcomes, err = w.apply(t, late)
	if err != nil || outcomes[0].Result != plan.Outdated {
		t.Errorf("%v, %v", outcomes, err)
	}
	if diff := cmp.Diff([]string{"wrote data-web-0"}, w.ledger.list); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
	late.UID = "uid-of-one-that-is-gone"
	w = newWorld(t, owner(), volumeClaim(), user)
	if _, err := w.apply(t, late); err != nil || len(w.ledger.list) > 0 {
		t.Errorf("of a claim of the same name: noted %v, %v", w.ledger.list, err)
	}
}

// TestTheClaimOfAPodThatIsGoneIsNotMarked: the pod ended before whenScaled became
// Delete, and the cache is late. A pod of another owner is not a user, either. When
// the API server does not say, there is no mark.
func TestTheClaimOfAPodThatIsGoneIsNotMarked(t *testing.T) {
	for name, pods := range map[string][]client.Object{
		"gone": nil, "of another owner": {pod("web-0", controlledBy("other"))}, "of no owner": {pod("web-0")},
	} {
		w := newWorld(t, append(pods, owner(), volumeClaim())...)
		outcomes, err := w.apply(t, onClaim(plan.CondemnClaim))
		if err != nil || outcomes[0].Result != plan.Outdated || w.asked("patch") > 0 {
			t.Errorf("%s: %v, %v, requests %v", name, outcomes, err, w.requests)
		}
	}
	w := newWorld(t, owner(), volumeClaim(), pod("web-0", controlledBy(me)))
	w.live = interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	})
	if outcomes, err := w.apply(t, onClaim(plan.CondemnClaim)); err == nil || outcomes[0].Result == plan.Done || w.asked("patch") > 0 {
		t.Errorf("%v, %v, requests %v", outcomes, err, w.requests)
	}
}

// TestAClaimThatTheCacheDoesNotShowIsLookedFor before its pod goes: nothing would show
// later that it was to go, too. Only this owner's is marked.
func TestAClaimThatTheCacheDoesNotShowIsLookedFor(t *testing.T) {
	ours, condemned, ending := volumeClaim(), volumeClaim(), volumeClaim()
	ours.Labels[appsv1.LabelUID], condemned.Labels[appsv1.LabelUID], ending.Labels[appsv1.LabelUID] = string(me), string(me), string(me)
	condemned.Annotations[appsv1.AnnotationCondemnedBy] = string(me)
	ending.DeletionTimestamp, ending.Finalizers = new(metav1.Now()), []string{"kubernetes.io/pvc-protection"}
	unseen := plan.Action{Verb: plan.CondemnClaim, Claim: "data-web-0", UsedBy: "web-0"}
	for name, c := range map[string]struct {
		found   []client.Object
		patches int
	}{
		"this owner's": {[]client.Object{ours}, 1}, "an earlier owner's": {[]client.Object{volumeClaim()}, 0}, "none": {nil, 0},
		"one with the mark": {[]client.Object{condemned}, 0}, "one that goes": {[]client.Object{ending}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(c.found, owner(), pod("web-0", controlledBy(me)))...)
			outcomes, err := w.apply(t, unseen, plan.Action{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0"})
			if diff := cmp.Diff([]plan.Result{plan.Done, plan.Done}, results(outcomes)); diff != "" || err != nil || w.asked("patch") != c.patches {
				t.Errorf("%v, requests %v (-want +got):\n%s", err, w.requests, diff)
			}
			if c.patches > 0 && w.claim(t).Annotations[appsv1.AnnotationCondemnedBy] != string(me) {
				t.Errorf("annotations %v", w.claim(t).Annotations)
			}
		})
	}
	t.Run("no answer", func(t *testing.T) {
		w := newWorld(t, owner(), ours.DeepCopy(), pod("web-0", controlledBy(me)))
		w.live = interceptor.NewClient(w.client, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if _, claim := obj.(*corev1.PersistentVolumeClaim); claim {
					return errors.New("no answer")
				}
				return c.Get(ctx, key, obj, opts...)
			},
		})
		if _, err := w.apply(t, unseen, plan.Action{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0"}); err == nil || w.asked("delete") > 0 {
			t.Errorf("%v, requests %v", err, w.requests)
		}
	})
}

// TestAClaimIsDeletedAsItWasRead: under its UID and resourceVersion, and only
// after the API server has confirmed what the owner asks for. Where it asks for
// something else, nothing else of what was planned is done either.
func TestAClaimIsDeletedAsItWasRead(t *testing.T) {
	w := newWorld(t, owner(), volumeClaim())
	if _, err := w.apply(t, onClaim(plan.DeleteClaim)); err != nil {
		t.Fatal(err)
	}
	got := w.deletes["data-web-0"].Preconditions
	if got == nil || *got.UID != "uid-data-web-0" || *got.ResourceVersion != "999" {
		t.Errorf("the preconditions are %v", got)
	}
	edited := owner()
	edited.ResourceVersion = "1001"
	w = newWorld(t, edited, volumeClaim(), pod("web-1", controlledBy(me)))
	if _, err := w.apply(t, onClaim(plan.DeleteClaim), plan.Action{Verb: plan.DeletePod, Pod: "web-1", UID: "uid-web-1", Slot: 1}); err == nil || w.asked("delete") > 0 {
		t.Errorf("an owner that was edited since: %v, requests %v", err, w.requests)
	}
}

// TestTheClaimOfAStandIn says that it is one.
func TestTheClaimOfAStandIn(t *testing.T) {
	w := newWorld(t, owner())
	create := onClaim(plan.CreateClaim)
	create.Surge = true
	if _, err := w.apply(t, create); err != nil {
		t.Fatal(err)
	}
	if got := w.claim(t).Annotations[appsv1.AnnotationSurge]; got != "true" {
		t.Errorf("the annotation is %q", got)
	}
}

// TestAPodStaysUntilItsClaimIsMarked: else nothing would tell that the claim was
// to go with it. Other pods go on.
func TestAPodStaysUntilItsClaimIsMarked(t *testing.T) {
	w := newWorld(t, owner(), volumeClaim(), pod("web-0", controlledBy(me)), pod("web-1", controlledBy(me)))
	mark := onClaim(plan.CondemnClaim)
	mark.ResourceVersion = "1"
	outcomes, err := w.apply(t, mark,
		plan.Action{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0", Slot: 0},
		plan.Action{Verb: plan.DeletePod, Pod: "web-1", UID: "uid-web-1", Slot: 1})
	if diff := cmp.Diff([]plan.Result{plan.Outdated, plan.Skipped, plan.Done}, results(outcomes)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestTheClaimOfAPodThatExistsIsNotDeleted: the garbage collector let the pod go, and
// the cache does not show it. When the API server does not answer, the claim stays.
func TestTheClaimOfAPodThatExistsIsNotDeleted(t *testing.T) {
	orphan := pod("web-0")
	orphan.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-0"},
	}}}
	for name, tc := range map[string]struct {
		there   []client.Object
		deletes int
	}{
		"our pod": {[]client.Object{pod("web-0", controlledBy(me))}, 0}, "a pod that uses it": {[]client.Object{orphan}, 0},
		"another's pod of that name": {[]client.Object{pod("web-0", controlledBy("other"))}, 1}, "no pod": {nil, 1},
	} {
		w := newWorld(t, append(tc.there, owner(), volumeClaim())...)
		action := onClaim(plan.DeleteClaim)
		action.ResourceVersion = w.claim(t).ResourceVersion
		if _, err := w.apply(t, action); err != nil || w.asked("delete") != tc.deletes {
			t.Errorf("%s: %v, requests %v", name, err, w.requests)
		}
	}
	w := newWorld(t, owner(), volumeClaim())
	w.live = interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	})
	if _, err := w.apply(t, onClaim(plan.DeleteClaim)); err == nil || w.asked("delete") > 0 {
		t.Errorf("without an answer: %v, requests %v", err, w.requests)
	}
}
