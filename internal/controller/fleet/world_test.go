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

package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

var testGVK = appsv1.GroupVersion.WithKind("PodManager")

// testKind is a kind like PodManager, with what these tests need of it.
type testKind struct{}

func (testKind) Name() string             { return "test" }
func (testKind) New() client.Object       { return &appsv1.PodManager{} }
func (testKind) Finalizer() string        { return appsv1.Finalizer }
func (testKind) ReservedLabels() []string { return appsv1.ReservedLabels() }

func (testKind) Status(owner client.Object) appsv1.PodManagerStatus {
	return owner.(*appsv1.PodManager).Status
}

func (testKind) SetStatus(owner client.Object, status appsv1.PodManagerStatus) {
	owner.(*appsv1.PodManager).Status = status
}

func (testKind) Fleet(owner client.Object) desired.Fleet {
	pm := owner.(*appsv1.PodManager)
	state := plan.FinalizerMissing
	if len(pm.Finalizers) > 0 {
		state = plan.FinalizerPresent
	}
	return desired.Fleet{
		Owner: pm, Template: podrender.Template(pm.Name, pm.Spec.Image, nil),
		Ref: podrender.Owner{
			GVK: testGVK, Namespace: pm.Namespace, Name: pm.Name, UID: pm.UID, Labels: map[string]string{appsv1.LabelName: pm.Name},
		},
		Desired: plan.Desired{
			Namespace: pm.Namespace, Name: pm.Name, UID: pm.UID, Generation: pm.Generation, NamePrefix: pm.Name,
			Identity: appsv1.IdentityOrdinal, Selector: appsv1.LabelName + "=" + pm.Name, Replicas: int(*pm.Spec.Replicas),
			Finalizer: state, RevisionHistoryLimit: 10,
		},
		Selector:  labels.SelectorFromSet(labels.Set{appsv1.LabelName: pm.Name}),
		OrphanKey: desired.OrphanKey(appsv1.LabelName, pm.Name),
	}
}

func fleetOwner(name string) *appsv1.PodManager {
	replicas := int32(2)
	return &appsv1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Generation: 2},
		Spec:       appsv1.PodManagerSpec{Replicas: &replicas, Image: "app:1"},
		// It has a status already. The first status of a new owner waits.
		Status: appsv1.PodManagerStatus{ObservedGeneration: 1},
	}
}

// indexer registers indexes with a fake client.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(obj, field, values)
	return nil
}

func newBuilder(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&appsv1.PodManager{}, &corev1.Pod{})
	if err := observe.AddIndexes(t.Context(), indexer{builder}, appsv1.LabelName); err != nil {
		t.Fatal(err)
	}
	return builder
}

func newCache(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	return newBuilder(t, objects...).Build()
}

// world is a reconciler with everything it is made of.
type world struct {
	Parts
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	registry *prometheus.Registry
}

// newReconciler makes a reconciler on a fake API server whose cache is never
// behind.
func newReconciler(t *testing.T, objects ...client.Object) (*Reconciler, *world) {
	t.Helper()
	return newReconcilerWith(t, interceptor.Funcs{}, objects...)
}

func newReconcilerWith(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) (*Reconciler, *world) {
	t.Helper()
	w := &world{
		clock:    clocktesting.NewFakePassiveClock(time.Unix(1000, 0)),
		recorder: events.NewFakeRecorder(100),
		registry: prometheus.NewRegistry(),
	}
	metrics, err := NewMetrics(w.registry)
	if err != nil {
		t.Fatal(err)
	}
	c := newBuilder(t, objects...).WithInterceptorFuncs(funcs).Build()
	w.Parts = Parts{
		Client: c, Live: c, Ledger: observe.NewLedger(w.clock), Recorder: w.recorder, Metrics: metrics, Clock: w.clock,
	}
	return New(testKind{}, w.Parts), w
}

// said are the events so far.
func (w *world) said() []string {
	var list []string
	for {
		select {
		case e := <-w.recorder.Events:
			list = append(list, e)
		default:
			return list
		}
	}
}
