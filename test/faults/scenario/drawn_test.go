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

package scenario

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit/drawn"
)

// TestEveryFieldAndEventIsDrawnOnAPI in 1,000 schedules of the tier on a real API server:
// every field of the spec with more than one value and with every constant, and every
// event that can happen there.
func TestEveryFieldAndEventIsDrawnOnAPI(t *testing.T) {
	values := drawn.New(metav1.Duration{}, intstr.IntOrString{}, corev1.PodTemplateSpec{}, corev1.PersistentVolumeClaim{})
	if err := values.Enums("../../../api/apps/v1"); err != nil {
		t.Fatal(err)
	}
	counts := map[string]bool{}
	for seed := range uint64(1000) {
		spec, events := DrawOnAPI(rand.New(rand.NewPCG(seed, 4)))
		values.Add(*spec)
		for i := range events {
			for _, name := range events[i].Counts() {
				counts[name] = true
			}
		}
	}
	for _, missing := range values.Missing(appsv1.PodManagerSpec{}) {
		t.Error(missing)
	}
	for _, name := range APIEvents() {
		if !counts[name] {
			t.Errorf("the event %q is never drawn", name)
		}
	}
	for i := range table {
		if table[i].where == simulated && counts[table[i].name] {
			t.Errorf("the event %q is drawn, and only the simulator can carry it out", table[i].name)
		}
	}
}

// TestTheAPIIsEnough for the events that can happen anywhere: without a Cluster and without
// nodes, none of them panics or asks for a node.
func TestTheAPIIsEnough(t *testing.T) {
	for i := range onAPI {
		t.Run(onAPI[i].name, func(t *testing.T) {
			for seed := range uint64(5) {
				e := &Event{}
				if onAPI[i].draw != nil {
					onAPI[i].draw(rand.New(rand.NewPCG(seed, 0)), e)
				}
				w := World{Client: withoutNodes(t), Namespace: "ns"}
				if err := onAPI[i].do(t.Context(), w, e); errors.Is(err, errNode) {
					t.Fatal(err)
				}
			}
		})
	}
}

var errNode = errors.New("a real API server shares its nodes with all schedules")

// withoutNodes is a client with a fleet of one pod that refuses to touch nodes.
func withoutNodes(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	pm := fleet(1, claims)
	pm.Namespace = "ns"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: Name + "-0"}}
	pod.Spec.Containers = []corev1.Container{{Name: appsv1.AppContainer, Image: Old}}
	refuse := func(obj client.Object) error {
		if _, node := obj.(*corev1.Node); node {
			return errNode
		}
		return nil
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(pm, pod).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
			return errors.Join(refuse(obj), c.Get(ctx, key, obj, options...))
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
			return errors.Join(refuse(obj), c.Create(ctx, obj, options...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
			return errors.Join(refuse(obj), c.Delete(ctx, obj, options...))
		},
	}).Build()
}
