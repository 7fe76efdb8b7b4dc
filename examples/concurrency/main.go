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

// Command concurrency proves what MaxConcurrentReconciles means: different
// objects are reconciled in parallel, the same object never is, and an object
// that changes while it is reconciled is reconciled once more afterwards.
//
// Look at the reconciler: it does not end before another one is in it too. With
// one worker, or a queue that held different objects back, the program would
// hang. While it waits, the object is changed five times.
package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

const workers, objects, changes = 4, 3, 5

// last is the object that comes after all changes.
const last = "last"

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	mgr, err := demo.NewManager(cfg, namespace)
	if err != nil {
		return err
	}
	r := &meeting{inside: map[string]int{}, runs: map[string]int{}, all: make(chan struct{}), last: make(chan struct{}), end: make(chan struct{})}
	if err := ctrl.NewControllerManagedBy(mgr).Named("meeting").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()["demo"] == "yes" }))).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r); err != nil {
		return err
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		user := mgr.GetClient()
		var created []*corev1.ConfigMap
		for i := range objects {
			created = append(created, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("object-%d", i), Labels: map[string]string{"demo": "yes"},
			}})
			if err := user.Create(ctx, created[i]); err != nil {
				return err
			}
		}
		<-r.all // every object is being reconciled, and none of them ends
		for i := range changes {
			created[0].Data = map[string]string{"change": fmt.Sprint(i)}
			if err := user.Update(ctx, created[0]); err != nil {
				return err
			}
		}
		// Events come in order: when the queue has this object, it has the
		// changes too. The fourth worker is free to take it.
		marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: last, Labels: map[string]string{"demo": "yes"}}}
		if err := user.Create(ctx, marker); err != nil {
			return err
		}
		select {
		case <-r.last:
		case <-ctx.Done():
			return ctx.Err()
		}
		close(r.end)
		if err := demo.Until(ctx, func(context.Context) (bool, error) { return r.count("object-0") > 1, nil }); err != nil {
			return err
		}
		fmt.Printf("%d workers, %d objects: %d were reconciled at the same time\n", workers, objects, r.most.Load())
		fmt.Println("the same object was in two reconciles at once:", r.twice.Load())
		fmt.Printf("object-0 changed %d times during its reconcile and was reconciled %d times in all, object-1 %d\n", changes, r.count("object-0"), r.count("object-1"))
		return nil
	})
}

// meeting is a reconciler that all objects have to be in before one may leave.
type meeting struct {
	mu           sync.Mutex
	inside, runs map[string]int
	most         atomic.Int64
	twice        atomic.Bool

	all, last, end chan struct{}
}

// Reconcile counts who is in it.
func (m *meeting) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if request.Name == last {
		close(m.last)
		return ctrl.Result{}, nil
	}
	m.mu.Lock()
	m.inside[request.Name]++
	m.runs[request.Name]++
	m.twice.Store(m.twice.Load() || m.inside[request.Name] > 1)
	if here := int64(len(m.inside)); here > m.most.Load() {
		m.most.Store(here)
		if here == objects {
			close(m.all)
		}
	}
	m.mu.Unlock()
	select {
	case <-m.end:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inside[request.Name]--; m.inside[request.Name] == 0 {
		delete(m.inside, request.Name)
	}
	return ctrl.Result{}, nil
}

func (m *meeting) count(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[name]
}
