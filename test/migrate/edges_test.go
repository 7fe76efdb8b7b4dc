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
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// fail has a pod end, as one that its node evicted: its workload replaces it, and it stays for
// inspection.
func (w *world) fail(pod *corev1.Pod) {
	w.Helper()
	suite.Kubectl(w, "patch", "pod", pod.Name, "-n", w.namespace, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed","reason":"Evicted"}}`)
}

// A pod that has ended is no reason to wait, and none to make another.
func TestADeploymentWithAnEvictedPodIsTakenOverAndGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	evicted := w.live()[0]
	w.fail(&evicted)
	testkit.Eventually(t, "it is replaced", func() error {
		if d := w.deployment(); d.Status.AvailableReplicas != 2 || len(w.live()) != 3 {
			return fmt.Errorf("%d available, %d pods", d.Status.AvailableReplicas, len(w.live()))
		}
		return nil
	})
	w.witness()
	w.must(w.take(suite.Client, migrate.Deployments))
	suite.Fleet(t, w.namespace, "web").ExpectReady(2)
	w.must(w.giveBack(suite.Client))
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.gone, evicted.UID) // the operator may clear it away
	if len(w.gone) > 0 || len(w.seen) != 3 {
		t.Errorf("pods went: %v; seen: %v", w.gone, w.seen)
	}
}

// Who has deleted the PodManager, and made the Deployment again, is told what is in the way of a
// second migration, and how to go on.
func TestAMigrationAfterThePodManagerWasDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	suite.Kubectl(t, "delete", "pm", "web", "-n", w.namespace)
	w.deploy(2, "nginx:1.28")
	w.witness()
	err := w.take(suite.Client, migrate.Deployments)
	if err == nil || !strings.Contains(err.Error(), "kubectl podmanager migrate --undo deployment/web") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	w.must(w.giveBack(suite.Client))
	w.expectNothingLeft()
	w.expectUntouched()
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	w.expectUntouched()
}

// What the original has otherwise than the PodManager is said, and a dry run says what the run
// refuses.
func TestAnUndoSaysWhatComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	suite.Kubectl(t, "create", "service", "clusterip", "found", "--tcp=80", "-n", w.namespace)
	suite.Kubectl(t, "set", "selector", "service/found", "podmanager=web", "-n", w.namespace)
	mover := w.mover(suite.Client)
	for what, try := range map[string]error{
		"the dry run": mover.TryGiveBack(t.Context(), w.key(), nil), "the run": mover.GiveBack(t.Context(), w.key(), nil),
	} {
		if try == nil || !strings.Contains(try.Error(), "Service found selects by the label podmanager") {
			t.Errorf("%s: %v, want that a Service would lose the pods", what, try)
		}
	}
	suite.Kubectl(t, "delete", "service", "found", "-n", w.namespace)
	w.fleet().Edit(func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 1 })
	w.fleet().Scale(3)
	w.expectManager(3)
	w.must(mover.TryGiveBack(t.Context(), w.key(), nil))
	var said []string
	mover.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	w.witness()
	w.must(mover.GiveBack(t.Context(), w.key(), nil))
	w.awaitDeployment(3)
	w.expectUntouched()
	text := strings.Join(said, "\n")
	if want := "spec.minReadySeconds was changed since the migration: deployment/web comes back as it was before"; !strings.Contains(text, want) || strings.Count(text, "was changed") != 1 {
		t.Errorf("it said\n%s\nwant %q and no other field", text, want)
	}
}

// A namespace that goes is said, and nothing waits for it.
func TestANamespaceGoesDuringAnUndo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(1, "nginx:1.27")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(1)
	err := w.giveBack(during("delete *v1.PodManager", func() { suite.Kubectl(t, "delete", "namespace", w.namespace, "--wait=false") }))
	if err == nil || !strings.Contains(err.Error(), "terminat") && !strings.Contains(err.Error(), "another migration") {
		t.Errorf("error %v, want that the namespace goes", err)
	}
	testkit.Eventually(t, "the namespace is gone", func() error {
		err := suite.Client.Get(t.Context(), client.ObjectKey{Name: w.namespace}, &corev1.Namespace{})
		if err == nil {
			return fmt.Errorf("it is there: %s", suite.Kubectl(t, "get", "all", "-n", w.namespace))
		}
		return client.IgnoreNotFound(err)
	})
}

// unwilling refuses to make workloads, as for a user who lost the right to that.
type unwilling struct{ client.Client }

func (c *unwilling) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if _, part := obj.(*unstructured.Unstructured); part && !slices.Contains(options, client.CreateOption(client.DryRunAll)) {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, obj.GetName(), nil)
	}
	return c.Client.Create(ctx, obj, options...)
}

// A right is taken away once the PodManager is gone: the command says how to go on, and another
// person does.
func TestTheRightToCreateIsTakenAwayDuringAnUndo(t *testing.T) {
	t.Parallel()
	for name, s := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s.make(w)
			w.must(w.take(suite.Client, s.kind))
			w.expectManager(2)
			w.witness()
			err := w.giveBack(&unwilling{suite.Client})
			if err == nil || !strings.Contains(err.Error(), "forbidden") || !strings.Contains(err.Error(), "nothing is lost: run it again") {
				t.Errorf("error %v, want that it is forbidden, and what to do", err)
			}
			other := w.mover(suite.Client)
			other.Holder = "another person"
			w.must(other.GiveBack(t.Context(), w.key(), s.kind))
			s.await(w)
			w.expectOwner(s.owner)
			w.expectUntouched()
			w.expectNothingLeft()
		})
	}
}
