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
	"fmt"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A ConfigMap of the user's that has the name of ours was said to be damaged.
func TestAConfigMapOfTheUserIsNoRecord(t *testing.T) {
	own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-migration"}, Data: map[string]string{"plan": "move to the cloud"}}
	_, err := LoadRecord(t.Context(), fakeClient(t, own), client.ObjectKey{Namespace: "shop", Name: "web"})
	if want := "ConfigMap web-migration exists already, and is no record of a migration: rename"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// An export that was killed was seen by none of --undo, --undo --all and doctor. Where the
// PodManager stands it goes on, and else the Deployment is made.
func TestAnInterruptedExportIsEnded(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	for name, stands := range map[string]bool{"the PodManager stands": true, "the PodManager is gone": false} {
		t.Run(name, func(t *testing.T) {
			pod := freePod("web-a", corev1.PodRunning)
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-h", UID: "rs", Controller: ptr.To(true)}}
			objects := []client.Object{pod}
			if stands {
				pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
				pm.Annotations = map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}
				objects = append(objects, pm)
			}
			c := fakeClient(t, objects...)
			export := returning(t, c)
			record := &Record{Stage: Returning, Replicas: 1, Export: &export.store.record.Target}
			if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
				t.Fatal(err)
			}
			records, err := Records(t.Context(), c, "")
			if err != nil || len(records) != 1 || records[0].Name != "web" || records[0].Namespace != "shop" || records[0].Ended() {
				t.Fatalf("the records: %v, %v", records, err)
			}
			m := &Mover{Client: &kubeControllerManager{c}, Holder: "me", Say: t.Logf, Patience: time.Second}
			if err := m.GiveBack(t.Context(), key, nil); err != nil {
				t.Error(err)
			}
			pm := &appsv1.PodManager{}
			if err := c.Get(t.Context(), key, pm); (err == nil) != stands || len(pm.Annotations) > 0 {
				t.Errorf("the PodManager: %v, annotations %v", err, pm.Annotations)
			}
			if err := c.Get(t.Context(), key, &kappsv1.Deployment{}); (err == nil) == stands {
				t.Errorf("the Deployment: %v", err)
			}
			if records, err = Records(t.Context(), c, ""); err != nil || len(records) > 0 {
				t.Errorf("left: %v, %v", records, err)
			}
		})
	}
}

// A PodManager that another person deletes while it is exported leaves nothing to make a
// workload of: the command crashed, also when it was run again.
func TestAnExportOfAPodManagerThatIsDeletedMeanwhile(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	c := fakeClient(t)
	if _, err := newStore(t.Context(), c, key, &Record{Stage: Taken}, ""); err != nil {
		t.Fatal(err)
	}
	var said []string
	m := &Mover{Client: c, Holder: "me", Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	err := m.Export(t.Context(), key, Deployments)
	if err == nil || !strings.Contains(err.Error(), "PodManager web was deleted by others") {
		t.Errorf("got %v, want that it was deleted", err)
	}
	if text := strings.Join(said, "; "); strings.Contains(text, "its pods keep running") {
		t.Errorf("it said %q", text)
	}
	if _, err := LoadRecord(t.Context(), c, key); !errors.Is(err, ErrNoRecord) {
		t.Errorf("the record: %v, want none", err)
	}
}

// lettingGo lets the pods of a PodManager go that is deleted.
type lettingGo struct{ client.Client }

func (c *lettingGo) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if pm, ok := obj.(*appsv1.PodManager); ok {
		pod := &corev1.Pod{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: pm.Namespace, Name: "web-a"}, pod); err != nil {
			return err
		}
		pod.OwnerReferences = nil
		if err := c.Update(ctx, pod); err != nil {
			return err
		}
	}
	return c.Client.Delete(ctx, obj, options...)
}

// What was made of pods without a controller can become a Deployment. An export gave the pods
// back as they had been, and nothing kept them any more.
func TestAnExportOfWhatWereBarePods(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	pm := aFrozenManager()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-a", Labels: merged(pm.Spec.Template.Labels, podLabels(pm, "r1"))}}
	pod.Spec = pm.Spec.Template.Spec
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pm, appsv1.GroupVersion.WithKind("PodManager"))}
	c := &permitted{Client: &lettingGo{&kubeControllerManager{&replicaSetController{fakeClient(t, pm, pod)}}}}
	record := &Record{Stage: Taken, Replicas: 1, Target: Target{Resource: BarePods.id(), Name: "web", Selector: "app=web"}}
	if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
		t.Fatal(err)
	}
	m := &Mover{Client: c, Holder: "me", Say: t.Logf, Patience: time.Second}
	if err := m.Export(t.Context(), key, Deployments); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), key, &kappsv1.Deployment{}); err != nil {
		t.Error("the Deployment:", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || metav1.GetControllerOf(pod) == nil {
		t.Errorf("the pod: %v, its owners are %v", err, pod.OwnerReferences)
	}
}

// kubeControllerManager counts the pods of a budget, and gives a Deployment its ReplicaSets.
type kubeControllerManager struct{ client.Client }

func (c *kubeControllerManager) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if budget, ok := obj.(*policyv1.PodDisruptionBudget); ok {
		budget.Status.ObservedGeneration, budget.Status.ExpectedPods = 1, 1
	}
	if err := c.Client.Create(ctx, obj, options...); err != nil || obj.GetObjectKind().GroupVersionKind() != Deployments.GroupVersionKind {
		return err
	}
	var sets kappsv1.ReplicaSetList
	if err := c.List(ctx, &sets); err != nil {
		return err
	}
	for i := range sets.Items {
		sets.Items[i].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(obj, Deployments.GroupVersionKind)}
		if err := c.Update(ctx, &sets.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
