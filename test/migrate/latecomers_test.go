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
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// A controller that has not seen yet that its workload is deleted replaces a pod that
// is evicted at that moment. The new pod stays, although its owner goes.
func TestAPodIsReplacedAsItsWorkloadIsDeleted(t *testing.T) {
	testkit.Long(t, "it tries many moments")
	t.Parallel()
	for name, s := range subjects {
		for i := range 4 {
			between := time.Duration(i) * 10 * time.Millisecond // the controller needs some of it
			t.Run(fmt.Sprintf("%s %s after an eviction", name, between), func(t *testing.T) {
				t.Parallel()
				s.evictAtDeletion(newWorld(t), between)
			})
		}
	}
}

func (s subject) evictAtDeletion(w *world, between time.Duration) {
	s.make(w)
	w.witness()
	evicted := w.live()[1]
	keeper := evicted.OwnerReferences[0].Name
	w.must(w.take(during("delete *unstructured.Unstructured "+keeper, func() {
		w.must(suite.Client.SubResource("eviction").Create(w.Context(), &evicted, &policyv1.Eviction{}))
		select {
		case <-w.Context().Done():
		case <-time.After(between):
		}
	}), s.kind))
	w.expectManager(2)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.gone, evicted.UID)
	if len(w.gone) > 0 || len(w.seen) != 3 {
		w.Errorf("pods went: %v; seen: %v", w.gone, w.seen)
	}
}

// A run is killed after it gave what keeps the pods its finalizer, and is never run again: the
// namespace is deleted, and with it the record. An undo lets go what it waits for.
func TestANamespaceIsDeletedAfterAnAbandonedRun(t *testing.T) {
	testkit.Long(t, "a namespace takes a while to go")
	t.Parallel()
	for name, s := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s.make(w)
			keeper := w.live()[0].OwnerReferences[0].Name
			if err := w.take(&writes{Client: suite.Client, killAt: "delete *unstructured.Unstructured " + keeper}, s.kind); err == nil {
				t.Fatal("it was not killed")
			}
			suite.Kubectl(t, "delete", "namespace", w.namespace, "--wait=false")
			testkit.Eventually(t, "the namespace waits for nothing but "+keeper, func() error {
				left := suite.Kubectl(t, "get", "pods,configmaps,podmanagers,replicasets,statefulsets,persistentvolumeclaims", "-n", w.namespace, "-o", "name")
				if !strings.HasSuffix(strings.TrimSpace(left), "/"+keeper) || strings.Contains(strings.TrimSpace(left), "\n") {
					return fmt.Errorf("left: %s", left)
				}
				return nil
			})
			w.must(w.giveBack(suite.Client))
			testkit.Eventually(t, "the namespace is gone", func() error {
				err := suite.Client.Get(t.Context(), client.ObjectKey{Name: w.namespace}, &corev1.Namespace{})
				if err == nil {
					return errors.New("it is there")
				}
				return client.IgnoreNotFound(err)
			})
		})
	}
}
