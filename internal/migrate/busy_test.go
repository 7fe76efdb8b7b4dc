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
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// busy is a client of a cluster in which others write to an object after it was read, once.
type busy struct {
	client.Client
	written bool
}

func (c *busy) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	return errors.Join(c.write(ctx, obj), c.Client.Update(ctx, obj, options...))
}

func (c *busy) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	return errors.Join(c.write(ctx, obj), c.Client.Patch(ctx, obj, patch, options...))
}

func (c *busy) write(ctx context.Context, obj client.Object) error {
	if _, record := obj.(*corev1.ConfigMap); record || c.written {
		return nil
	}
	c.written = true
	other, _ := obj.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), other); err != nil {
		return err
	}
	other.SetLabels(map[string]string{"of": "another"})
	return c.Client.Update(ctx, other)
}

// The operator and the controller of autoscalers write to what a migration changes. Some
// migrations ended for that in the middle.
func TestOthersWriteToWhatAMigrationChanges(t *testing.T) {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	pm.Annotations = map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	for name, step := range map[string]func(context.Context, *run) error{
		"scaled":     func(ctx context.Context, r *run) error { return r.scale(ctx, 4) },
		"redirected": func(ctx context.Context, r *run) error { return r.follow(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			c := fakeClient(t, pm.DeepCopy(), hpa.DeepCopy())
			key := client.ObjectKeyFromObject(pm)
			s, err := newStore(t.Context(), c, key, &Record{}, "me")
			if err != nil {
				t.Fatal(err)
			}
			w := &Workload{Kind: Deployments, Namespace: "shop", Name: "web", Selector: labels.Everything()}
			if err := step(t.Context(), &run{Mover: &Mover{Client: &busy{Client: c}, Say: t.Logf}, Workload: w, store: s}); err != nil {
				t.Error(err)
			}
		})
	}
}

// noManagers refuses PodManagers, as a policy or a full quota does.
type noManagers struct{ client.Client }

func (c *noManagers) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if _, manager := obj.(*appsv1.PodManager); manager {
		return errors.New("exceeded quota: full")
	}
	return c.Client.Create(ctx, obj, options...)
}

// A PodManager that the API server refuses is found out before anything is stored.
func TestAPodManagerThatIsRefusedLeavesNoRecord(t *testing.T) {
	c := fakeClient(t, aReplicaSet())
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	w, err := Read(t.Context(), c, ReplicaSets, key)
	if err != nil {
		t.Fatal(err)
	}
	m := &Mover{Client: &noManagers{c}, Holder: "me", Say: t.Logf}
	if err := m.TakeOver(t.Context(), ReplicaSets, key, w); err == nil {
		t.Error("the PodManager was refused, and the take-over succeeded")
	}
	if _, err := LoadRecord(t.Context(), c, key); !errors.Is(err, ErrNoRecord) {
		t.Errorf("the record: %v, want none", err)
	}
}

func aReplicaSet() *kappsv1.ReplicaSet {
	rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "rs", Generation: 1}}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs.Spec.Replicas = ptr.To[int32](1)
	rs.Status.ObservedGeneration = 1
	return rs
}
