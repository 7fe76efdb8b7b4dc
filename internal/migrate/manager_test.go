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

package migrate

import (
	"context"
	"slices"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The program of a finalizer would clean up as the workload is deleted, and the command waited
// for that without end. Owners that are no controllers were lost without a word.
func TestAFinalizerOfOthersIsInTheWay(t *testing.T) {
	for finalizer, want := range map[string]string{
		"dns.example.com/records": "Deployment web has the finalizer dns.example.com/records",
		finalizerMigrating:        "", // an interrupted run left it
	} {
		d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d", Finalizers: []string{finalizer}}}
		d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "app.k8s.io/v1beta1", Kind: "Application", Name: "shop", UID: "app"}}
		d.Spec.Selector, d.Spec.Template, d.Spec.Replicas = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, plainest(), ptr.To[int32](0)
		rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-h", UID: "rs", Labels: map[string]string{"app": "web"}}}
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, Deployments.GroupVersionKind)}
		rs.Spec.Selector, rs.Spec.Template, rs.Spec.Replicas = d.Spec.Selector, plainest(), ptr.To[int32](0)
		w, err := Read(t.Context(), fakeClient(t, d, rs), Deployments, client.ObjectKeyFromObject(d))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Obstacle(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("in the way: %q, want %q", got, want)
		}
		if !slices.Contains(w.Losses, "the owner reference to Application shop: with that it would have been deleted") {
			t.Errorf("lost: %q", w.Losses)
		}
	}
}

// permitted answers what a user may do: everything but one verb.
type permitted struct {
	client.Client
	not string
}

func (c *permitted) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if review, ok := obj.(*authorizationv1.SelfSubjectAccessReview); ok {
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = asked.Verb+" "+asked.Resource != c.not
		return nil
	}
	return c.Client.Create(ctx, obj, options...)
}

// A dry run said that all is well, and the run ended at once.
func TestATryRefusesWhatTheRunWould(t *testing.T) {
	template := plainest()
	w := &Workload{Kind: StatefulSets, Namespace: "shop", Name: "web", Selector: labels.Everything()}
	w.Spec.Template, w.Spec.Replicas = &template, ptr.To[int32](1)
	w.Parts = []Part{partOf(&kappsv1.StatefulSet{}, StatefulSets)}
	of := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	for want, c := range map[string]*permitted{
		"":                            {Client: fakeClient(t)},
		"you may not: create podmana": {Client: fakeClient(t), not: "create podmanagers"},
		"PodManager web exists already, and did not come from a migration": {Client: fakeClient(t, &appsv1.PodManager{ObjectMeta: of})},
		"ConfigMap web-migration exists already": {
			Client: fakeClient(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-migration"}}),
		},
	} {
		err := (&Mover{Client: c}).Try(t.Context(), w)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A dry run said that all is well beside the record of another migration, at which the run ended.
func TestATryReadsTheRecordAsTheRunDoes(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	part := []unstructured.Unstructured{*partOf(aReplicaSet(), ReplicaSets).Unstructured}
	of := func(kind *Kind, stage Stage) *Record {
		return &Record{Stage: stage, Target: Target{Resource: kind.id(), Name: "web", Parts: part}}
	}
	edited := of(ReplicaSets, Taken)
	edited.Parts = nil
	for name, test := range map[string]struct {
		record *Record
		pm     []client.Object
		want   string
	}{
		"of another kind":         {of(Deployments, Taken), []client.Object{pm}, "PodManager web was taken over from deployment/web: undo that first"},
		"that is undone":          {of(ReplicaSets, Returning), []client.Object{pm}, "an undo of this migration is under way"},
		"of one that came again":  {of(ReplicaSets, Taken), []client.Object{pm}, "replicaset/web was taken over before and was made again since"},
		"of a PodManager of late": {of(ReplicaSets, Taken), nil, "replicaset/web was taken over before, and PodManager web is gone"},
		"that others edited":      {edited, []client.Object{pm}, "the record of replicaset/web was edited, and has no parts any more"},
		"of an interrupted run":   {of(ReplicaSets, Prepared), []client.Object{pm}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &permitted{Client: fakeClient(t, append(test.pm, aReplicaSet())...)}
			if _, err := newStore(t.Context(), c, key, test.record, ""); err != nil {
				t.Fatal(err)
			}
			w, err := Read(t.Context(), c, ReplicaSets, key)
			if err != nil {
				t.Fatal(err)
			}
			err = (&Mover{Client: c}).Try(t.Context(), w)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// The advice was to migrate the owner, of whatever kind it is.
func TestAnOwnerThatCannotBeTakenOver(t *testing.T) {
	for kind, test := range map[string]struct{ version, want string }{
		"Deployment": {"apps/v1", "it belongs to Deployment shop, which would make it again: migrate that instead, or take its owner reference off"},
		"HelloWorld": {"apps.mycompany.com/v1", "it belongs to HelloWorld shop, which would make it again: a HelloWorld cannot be taken over"},
	} {
		rs := aReplicaSet()
		rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: test.version, Kind: kind, Name: "shop", UID: "x", Controller: ptr.To(true)}}
		d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop", UID: "x"}}
		d.Spec.Selector = rs.Spec.Selector
		rs.Labels, rs.Status.Replicas = d.Spec.Selector.MatchLabels, 1
		w, err := Read(t.Context(), fakeClient(t, rs, d), ReplicaSets, client.ObjectKeyFromObject(rs))
		if err != nil || !strings.HasPrefix(w.Obstacle(), test.want) {
			t.Errorf("%v: %q, want %q", err, w.Obstacle(), test.want)
		}
	}
}

// Ordinals that begin very late are refused by name, and not counted one by one.
func TestOrdinalsThatBeginTooLate(t *testing.T) {
	for start, want := range map[int32]string{
		maxReserved: "", 2_000_000_000: "spec.ordinals.start is 2000000000, and a PodManager leaves out at most 1000 ordinals",
	} {
		w := &Workload{Kind: StatefulSets}
		w.ordinals(&kappsv1.StatefulSetSpec{Ordinals: &kappsv1.StatefulSetOrdinals{Start: start}})
		if w.Refused != want || len(w.Spec.ReserveOrdinals) > maxReserved {
			t.Errorf("from %d on: %d reserved, refused %q, want %q", start, len(w.Spec.ReserveOrdinals), w.Refused, want)
		}
	}
}
