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
	"errors"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A dry run tries each ReplicaSet of the history by itself: their sum has to fit, too,
// before the pods are let go.
func TestAQuotaLeavesNoRoomForTheHistory(t *testing.T) {
	part := func(name string) *kappsv1.ReplicaSet {
		return &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	quota := func(hard string) *corev1.ResourceQuota {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sets"}}
		q.Status.Hard = corev1.ResourceList{"count/replicasets.apps": resource.MustParse(hard)}
		q.Status.Used = corev1.ResourceList{"count/replicasets.apps": resource.MustParse("1")}
		return q
	}
	for hard, want := range map[string]string{
		"2": "ResourceQuota sets leaves room for 1 count/replicasets.apps, and deployment/web needs 2",
		"3": "", // one of the three is there already
	} {
		r := &run{
			Mover:    &Mover{Client: fakeClient(t, quota(hard), part("web-1"))},
			Workload: &Workload{Kind: Deployments, Namespace: "shop", Name: "web", Selector: labels.SelectorFromSet(labels.Set{"app": "web"})},
			store:    &store{record: &Record{Replicas: 1}},
		}
		r.Parts = []Part{partOf(&kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, Deployments)}
		for _, name := range []string{"web-3", "web-2", "web-1"} {
			r.Parts = append(r.Parts, partOf(part(name), ReplicaSets))
		}
		err := r.tryParts(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("with %s: %v, want %q", hard, err, want)
		}
	}
}

// oneSet has a quota with room for one StatefulSet. It looks at dry runs, too.
type oneSet struct{ client.Client }

func (c *oneSet) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	var sets kappsv1.StatefulSetList
	if err := c.List(ctx, &sets); err != nil {
		return err
	}
	if len(sets.Items) > 0 {
		return errors.New("exceeded quota: used: count/statefulsets.apps=1")
	}
	return c.Client.Create(ctx, obj, options...)
}

// A StatefulSet that was made again was asked for its defaults by a dry run of a second one:
// a quota refused that, and the StatefulSet kept OnDelete.
func TestAStatefulSetComesBackWhereAQuotaIsFull(t *testing.T) {
	sts := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	sts.Spec.Selector, sts.Spec.Template = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, plainest()
	record := &Record{Target: Target{
		Resource: StatefulSets.id(), Name: "web", Selector: "app=web", Parts: []unstructured.Unstructured{*partOf(sts, StatefulSets).Unstructured},
	}}
	w, err := record.workload("shop")
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Mover: &Mover{Client: &oneSet{fakeClient(t)}}, Workload: w, store: &store{record: record}}
	if err := errors.Join(r.tryParts(t.Context()), r.createAll(t.Context())); err != nil {
		t.Fatal(err)
	}
	made, err := r.defaulted(t.Context())
	if err != nil || !sameTemplate(&made.Spec.Template, &sts.Spec.Template) {
		t.Errorf("the defaults: %v, %v", made, err)
	}
}
