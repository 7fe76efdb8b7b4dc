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
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// exported is the Deployment of a PodManager that never was one, and its ReplicaSet.
func exported(t *testing.T, name string, own map[string]string) (r *run, d kappsv1.Deployment, rs kappsv1.ReplicaSet) {
	t.Helper()
	template := plainest()
	template.Labels = own
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	pm.Spec.Template, pm.Spec.Replicas = &template, ptr.To[int32](3)
	target, err := (&Record{}).export(pm, Deployments)
	if err != nil {
		t.Fatal(err)
	}
	for i, into := range []any{&d, &rs} {
		if err := decode(Part{&target.Parts[i]}, into); err != nil {
			t.Fatal(err)
		}
	}
	record := &Record{Stage: Taken, Export: target}
	w, err := record.workload("shop")
	if err != nil {
		t.Fatal(err)
	}
	return &run{Mover: &Mover{Client: fakeClient(t)}, Workload: w, store: &store{record: record}}, d, rs
}

// A Deployment adopts every free ReplicaSet that its selector finds. It was app=VALUE alone,
// which two PodManagers may share.
func TestExportsDoNotSelectEachOther(t *testing.T) {
	_, web, _ := exported(t, "shop-web", map[string]string{"app": "shop", "tier": "web", "app.kubernetes.io/version": "1"})
	_, _, worker := exported(t, "shop-worker", map[string]string{"app": "shop", "tier": "worker"})
	selector, err := metav1.LabelSelectorAsSelector(web.Spec.Selector)
	if err != nil || selector.Matches(labels.Set(worker.Labels)) {
		t.Errorf("Deployment shop-web (%s) adopts ReplicaSet %s (%v), %v", selector, worker.Name, worker.Labels, err)
	}
	if got, want := selector.String(), "app=shop,tier=web"; got != want {
		t.Errorf("it selects by %s, want %s", got, want)
	}
	_, _, green := exported(t, "green", map[string]string{"app": "shop"})
	_, _, blue := exported(t, "blue", map[string]string{"app": "shop"})
	selector, err = metav1.LabelSelectorAsSelector(green.Spec.Selector)
	if err != nil || selector.Matches(labels.Set(blue.Spec.Template.Labels)) {
		t.Errorf("ReplicaSet %s (%s) adopts the pods of %s, %v", green.Name, selector, blue.Name, err)
	}
}

// object is another controller, with its selector.
func object(t *testing.T, version, kind string, selector map[string]string) client.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace("shop")
	u.SetName("other")
	path := []string{"spec", "selector"}
	if version != "v1" {
		path = append(path, "matchLabels")
	}
	if err := unstructured.SetNestedStringMap(u.Object, selector, path...); err != nil {
		t.Fatal(err)
	}
	return u
}

// Where two would select each other's, the one that is made again is refused.
func TestADeploymentIsNotMadeBesideOneThatSelectsTheSame(t *testing.T) {
	deployment := func(selector, own map[string]string) client.Object {
		d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}}
		d.Spec.Selector, d.Spec.Template = &metav1.LabelSelector{MatchLabels: selector}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: own}}
		return d
	}
	set := func(name string, selector map[string]string, owners ...metav1.OwnerReference) client.Object {
		rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: selector, OwnerReferences: owners}}
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: selector}
		return rs
	}
	app, web := map[string]string{"app": "shop"}, map[string]string{"app": "shop", "tier": "web"}
	more := map[string]string{"app": "shop", "tier": "web", "zone": "a"}
	_, _, own := exported(t, "web", web)
	for name, test := range map[string]struct {
		other client.Object
		want  string
		undo  bool
	}{
		"alone":                          {other: deployment(map[string]string{"app": "mail"}, map[string]string{"app": "mail"})},
		"a Deployment that selects us":   {other: deployment(app, app), want: "deployment/other selects by app=shop and would take the pods of deployment/web"},
		"a Deployment that we select":    {other: deployment(more, more), want: "deployment/web would select by app=shop,tier=web and take the pods of deployment/other"},
		"as before, on an undo":          {other: deployment(more, more), undo: true},
		"a free ReplicaSet, on an undo":  {other: set("other", more), undo: true, want: "deployment/web would select by app=shop,tier=web and take the pods of replicaset/other"},
		"a ReplicaSet that selects us":   {other: set("other", app), want: "replicaset/other selects by app=shop and would take the pods"},
		"a ReplicaSet with pods of ours": {other: object(t, "apps/v1", "ReplicaSet", app), want: "replicaset/other selects by app=shop and would take the pods"},
		"a DaemonSet":                    {other: object(t, "apps/v1", "DaemonSet", app), want: "daemonset/other selects by app=shop and would take the pods"},
		"a DaemonSet of others":          {other: object(t, "apps/v1", "DaemonSet", map[string]string{"app": "mail"})},
		"a Job that selects by hand":     {other: object(t, "batch/v1", "Job", app), want: "job/other selects by app=shop and would take the pods"},
		"a ReplicationController":        {other: object(t, "v1", "ReplicationController", app), want: "replicationcontroller/other selects by app=shop and would take the pods"},
		"a StatefulSet goes by names":    {other: object(t, "apps/v1", "StatefulSet", app)},
		"a ReplicaSet with a Rollout":    {other: set("other", app, metav1.OwnerReference{Kind: "Rollout", Name: "x", UID: "x", Controller: ptr.To(true)})},
		"our own, of a run before this":  {other: set(own.Name, own.Labels)},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := exported(t, "web", web)
			if test.undo {
				r.store.record.Export = nil
			}
			r.Client = fakeClient(t, test.other)
			err := r.alone(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A ReplicaSet without an owner is adopted by a Deployment that selects it, which scales it to 0,
// and adopts every free pod itself, of which it deletes those that are too many.
func TestAReplicaSetIsNotMadeBesideOthersThatFindIt(t *testing.T) {
	app := map[string]string{"app": "web"}
	deployment := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: app}
	pod := func(labels map[string]string, owners ...metav1.OwnerReference) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "by-hand", Labels: merged(app, labels), OwnerReferences: owners}}
	}
	owned := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db", Controller: ptr.To(true)}
	for name, test := range map[string]struct {
		other client.Object
		stage Stage // of the migration of db
		want  string
	}{
		"a Deployment that selects it":         {deployment, Taken, "deployment/other selects by app=web and would take the pods of replicaset/web"},
		"a pod without an owner":               {pod(nil), Taken, "pod by-hand has no owner, and replicaset/web would adopt it"},
		"a pod of its own":                     {pod(map[string]string{appsv1.LabelName: "web"}), Taken, ""},
		"a pod of another":                     {pod(map[string]string{appsv1.LabelName: "db"}, owned), Taken, ""},
		"a pod of another that is given back":  {pod(map[string]string{appsv1.LabelName: "db"}, owned), Returning, "pod by-hand of PodManager db, which changes hands, would be adopted by replicaset/web"},
		"a pod of another that is taken over":  {pod(map[string]string{appsv1.LabelName: "db"}, owned), Releasing, "pod by-hand of PodManager db, which changes hands"},
		"a Deployment that selects other pods": {object(t, "apps/v1", "Deployment", map[string]string{"app": "mail"}), Taken, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rs := aReplicaSet()
			rs.Labels, rs.Spec.Template.Labels = app, app
			record := &Record{Stage: Returning, Target: Target{Resource: ReplicaSets.id(), Name: "web", Selector: "app=web"}}
			record.Parts = []unstructured.Unstructured{*partOf(rs, ReplicaSets).Unstructured}
			w, err := record.workload("shop")
			if err != nil {
				t.Fatal(err)
			}
			c := fakeClient(t, test.other)
			sts := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
			db := &Record{Stage: test.stage, Target: Target{Resource: StatefulSets.id(), Name: "db"}}
			db.Parts = []unstructured.Unstructured{*partOf(sts, StatefulSets).Unstructured}
			if _, err := newStore(t.Context(), c, client.ObjectKey{Namespace: "shop", Name: "db"}, db, "another"); err != nil {
				t.Fatal(err)
			}
			err = (&run{Mover: &Mover{Client: c}, Workload: w, store: &store{record: record}}).alone(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
