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
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// during does something before the first write of a kind.
func during(what string, do func()) *writes {
	done := false
	return &writes{Client: suite.Client, before: func(_ int, write string) {
		if !done && strings.HasPrefix(write, what) {
			done = true
			do()
		}
	}}
}

const (
	deletion  = "delete *unstructured.Unstructured web"
	labelling = "patch *v1.Pod"
)

func TestADeploymentIsScaledDuringItsMigration(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"before its pods are labelled": labelling, "before it is deleted": deletion} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(2, "nginx:1.27")
			w.witness()
			w.must(w.take(during(at, func() {
				suite.Kubectl(t, "scale", "-n", w.namespace, "deployment/web", "--replicas=4")
			}), migrate.Deployments))
			w.expectManager(4)
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.gone) > 0 || len(w.seen) != 4 {
				t.Errorf("pods went: %v; seen: %v", w.gone, w.seen)
			}
		})
	}
}

func TestADeploymentIsEditedDuringItsMigration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.26")
	err := w.take(during(deletion, func() {
		suite.Kubectl(t, "set", "image", "-n", w.namespace, "deployment/web", "app=nginx:1.27")
	}), migrate.Deployments)
	if err == nil || !strings.Contains(err.Error(), "was edited in the meantime") {
		t.Fatalf("error %v, want that it was edited", err)
	}
	w.awaitDeployment(2)
	w.witness()
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	w.expectUntouched()
	suite.Fleet(t, w.namespace, "web").ExpectImages(map[string]int{"nginx:1.27": 2})
}

func TestTheRightToDeleteIsTakenAwayDuringAMigration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	w.witness()
	err := w.take(&forbidding{Client: suite.Client}, migrate.Deployments)
	if err == nil || !apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "forbidden") {
		t.Fatalf("error %v, want that it is forbidden", err)
	}
	w.expectUntouched()
	w.expectOwner("ReplicaSet")
	w.must(w.giveBack(suite.Client))
	w.expectUntouched()
	w.expectNothingLeft()
}

// forbidding forbids deletions.
type forbidding struct{ client.Client }

func (c *forbidding) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, obj.GetName(), nil)
}

func TestTwoMigrateAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	w.witness()
	var second error
	w.must(w.take(during(deletion, func() {
		found, err := migrate.Find(t.Context(), suite.Client, migrate.Deployments, w.key())
		w.must(err)
		other := w.mover(suite.Client)
		other.Holder = "someone else"
		second = other.TakeOver(t.Context(), migrate.Deployments, w.key(), found)
	}), migrate.Deployments))
	if second == nil || !strings.Contains(second.Error(), "is migrating it right now") {
		t.Errorf("the second got %v, want to be told of the first", second)
	}
	w.expectManager(2)
	w.expectUntouched()
}

func TestARolloutIsUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	suite.Kubectl(t, "set", "image", "-n", w.namespace, "deployment/web", "app=registry.invalid/web:1")
	testkit.Eventually(t, "the rollout has begun", func() error {
		found, err := migrate.Read(t.Context(), suite.Client, migrate.Deployments, w.key())
		if err != nil {
			return err
		}
		if !strings.Contains(found.Obstacle(), "rollout is under way") {
			return apierrors.NewBadRequest("obstacle: " + found.Obstacle())
		}
		return nil
	})
	if err := w.take(suite.Client, migrate.Deployments); err == nil {
		t.Error("a Deployment was taken over during its rollout")
	}
}

func TestAPodThatDiffersIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	pod := w.live()[0]
	suite.Kubectl(t, "set", "image", "-n", w.namespace, "pod/"+pod.Name, "app=nginx:1.99")
	found, err := migrate.Find(t.Context(), suite.Client, migrate.Deployments, w.key())
	w.must(err)
	preview, err := migrate.Look(t.Context(), suite.Client, found)
	w.must(err)
	if len(preview.Restarting()) != 1 || len(preview.Differences) != 1 {
		t.Fatalf("differences %v, want one", preview.Differences)
	}
	want := pod.Name + ": spec.containers[app].image is nginx:1.99, and the template says nginx:1.27"
	if got := preview.Differences[0].String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A pod that has the labels of the selector, and is not the Deployment's, stays
// alone, there and back.
func TestAPodWithTheSameLabelsIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	stray := &corev1.Pod{}
	stray.Namespace, stray.Name, stray.Labels = w.namespace, "debug", map[string]string{"app": "web"}
	stray.Spec.Containers = []corev1.Container{{Name: "debug", Image: "nginx:1.27"}}
	suite.Create(t, stray)
	w.witness()
	w.must(w.take(suite.Client, migrate.Deployments))
	suite.Fleet(t, w.namespace, "web").ExpectReady(2)
	w.must(w.giveBack(suite.Client))
	w.expectUntouched()
	got := testkit.Read(t, suite, stray)
	_, named := got.Labels[appsv1.LabelName]
	_, hashed := got.Labels[kappsv1.DefaultDeploymentUniqueLabelKey]
	if len(got.OwnerReferences) > 0 || named || hashed {
		t.Errorf("the pod has owners %v and labels %v", got.OwnerReferences, got.Labels)
	}
}

// Nothing is created, so there need not be room for anything.
func TestTheQuotaIsFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	suite.Kubectl(t, "create", "quota", "full", "-n", w.namespace, "--hard=pods=2")
	testkit.Eventually(t, "the quota counts the pods", func() error {
		used := suite.Kubectl(t, "get", "quota", "full", "-n", w.namespace, "-o", "jsonpath={.status.used.pods}")
		if used != "2" {
			return fmt.Errorf("%s pods are counted", used)
		}
		return nil
	})
	w.witness()
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	w.must(w.giveBack(suite.Client))
	w.awaitDeployment(2)
	w.expectUntouched()
}

func TestADeploymentOfAnotherOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(1, "nginx:1.27")
	owner := &corev1.ConfigMap{}
	owner.Namespace, owner.Name = w.namespace, "operator"
	suite.Create(t, owner)
	suite.Kubectl(t, "patch", "-n", w.namespace, "deployment/web", "--type=merge", "-p",
		`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"operator","uid":"`+string(owner.UID)+`","controller":true}]}}`)
	err := w.take(suite.Client, migrate.Deployments)
	if err == nil || !strings.Contains(err.Error(), "belongs to ConfigMap operator") {
		t.Errorf("error %v, want that it belongs to another", err)
	}
}

func TestAPodManagerOfTheNameExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(1, "nginx:1.27")
	fleet := suite.Fleet(t, w.namespace, "web")
	fleet.Create(fleet.Build().Replicas(0).Image("nginx:1.27"))
	err := w.take(suite.Client, migrate.Deployments)
	if err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("error %v, want that the name is taken", err)
	}
}
