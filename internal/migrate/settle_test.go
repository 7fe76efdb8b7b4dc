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
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// openKruise does after every write of others what OpenKruise's manager does with a
// CloneSet: it knows pods by their owner references alone, counts none that
// have ended, makes those that are missing, and replaces those of another revision.
type openKruise struct {
	client.Client
	made []string
}

const revision = "web-7d9f"

func (k *openKruise) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if obj.GetObjectKind().GroupVersionKind() == CloneSets.GroupVersionKind && obj.GetUID() == "" {
		obj.SetUID("cloneset")
		obj.SetGeneration(1)
	}
	if err := k.Client.Create(ctx, obj, options...); err != nil {
		return err
	}
	return k.sync(ctx)
}

func (k *openKruise) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := k.Client.Patch(ctx, obj, patch, options...); err != nil {
		return err
	}
	return k.sync(ctx)
}

func (k *openKruise) sync(ctx context.Context) error {
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(CloneSets.GroupVersionKind)
	if k.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, set) != nil {
		return nil
	}
	var pods corev1.PodList
	if err := k.List(ctx, &pods, client.InNamespace("shop")); err != nil {
		return err
	}
	own, updated := 0, 0
	paused, _, _ := unstructured.NestedBool(set.Object, "spec", "updateStrategy", "paused")
	for i := range pods.Items {
		if !metav1.IsControlledBy(&pods.Items[i], set) || pods.Items[i].Status.Phase == corev1.PodFailed {
			continue
		}
		own++
		switch {
		case pods.Items[i].Labels[kappsv1.ControllerRevisionHashLabelKey] == revision:
			updated++
		case !paused:
			k.made = append(k.made, "instead of "+pods.Items[i].Name)
		}
	}
	replicas, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	limit, limited, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "scaleStrategy", "maxUnavailable")
	if none := limited && fmt.Sprint(limit) == "0"; int64(own) < replicas && !none {
		k.made = append(k.made, fmt.Sprintf("%d new ones", replicas-int64(own)))
	}
	status := map[string]any{"observedGeneration": int64(1), "replicas": int64(own), "updatedReplicas": int64(updated), "updateRevision": revision}
	if was, _, _ := unstructured.NestedMap(set.Object, "status"); maps.Equal(was, status) {
		return nil
	}
	set.Object["status"] = status
	return k.Update(ctx, set)
}

// A CloneSet adopts no pods, and would make new ones: it gets them, and works only then.
func TestACloneSetGetsItsPodsBack(t *testing.T) {
	top := &unstructured.Unstructured{}
	err := yaml.Unmarshal([]byte(`
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "web:1"}]}}
  updateStrategy: {type: InPlaceIfPossible}
  scaleStrategy: {maxUnavailable: 20%}
`), &top.Object)
	if err != nil {
		t.Fatal(err)
	}
	top.SetGroupVersionKind(CloneSets.GroupVersionKind)
	old := &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-5c4b", UID: "old"}}
	record := &Record{Stage: Returning, Replicas: 2, Target: Target{
		Resource: CloneSets.id(), Name: "web", Selector: "app=web", PodLabels: map[string]string{kappsv1.ControllerRevisionHashLabelKey: revision},
		Parts: []unstructured.Unstructured{*top, *partOf(old, &Kind{GroupVersionKind: controllerRevision}).Unstructured},
	}}
	c := fakeClient(t)
	for name, labels := range map[string]map[string]string{
		"web-a": {kappsv1.ControllerRevisionHashLabelKey: revision, appsv1.LabelName: "web"},
		"web-b": {kappsv1.ControllerRevisionHashLabelKey: revision, appsv1.LabelName: "web"},
		"web-c": {kappsv1.ControllerRevisionHashLabelKey: revision, appsv1.LabelName: "web"}, // it was evicted
		"debug": {},                                                                          // its labels are those of the selector, and it is on its own
	} {
		labels["app"] = "web"
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: labels}}
		if name == "web-c" {
			pod.Status.Phase = corev1.PodFailed
		}
		if err := c.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	kruise := &openKruise{Client: c}
	if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
		t.Fatal(err)
	}
	m := &Mover{Client: kruise, Holder: "me", Say: t.Logf, Patience: 5 * time.Second}
	if err := m.GiveBack(t.Context(), key, CloneSets); err != nil {
		t.Error(err)
	}
	if len(kruise.made) > 0 {
		t.Errorf("OpenKruise makes pods: %s", strings.Join(kruise.made, ", "))
	}
	var pods corev1.PodList
	var owned []string
	if err := c.List(t.Context(), &pods); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if ref := metav1.GetControllerOf(&pods.Items[i]); ref != nil && ref.UID == "cloneset" {
			owned = append(owned, pods.Items[i].Name)
		}
	}
	if !slices.Equal(owned, []string{"web-a", "web-b", "web-c"}) {
		t.Errorf("the CloneSet owns %v, want web-a, web-b and web-c", owned)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(CloneSets.GroupVersionKind)
	if err := c.Get(t.Context(), key, live); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(live.Object["spec"]), fmt.Sprint(top.Object["spec"]); got != want {
		t.Errorf("it asks for\n%s\nand asked for\n%s", got, want)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), old); err != nil || metav1.GetControllerOf(old) == nil {
		t.Errorf("its earlier revision: %v, owners %v", err, old.OwnerReferences)
	}
}
