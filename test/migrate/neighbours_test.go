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
	"fmt"
	"strings"
	"sync"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// Two Deployments that select the same pods get along, because each ReplicaSet has an owner. When
// one of them was taken over, the other adopted its ReplicaSet and scaled it to 0.
func TestADeploymentBesideOneThatSelectsTheSameIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	suite.Fleet(t, w.namespace, "other").ApplyYAML(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "nginx:1.26"}]}}}
`)
	suite.Kubectl(t, "rollout", "status", "-n", w.namespace, "deployment/other", "--timeout=60s")
	w.witness()
	err := w.take(suite.Client, migrate.Deployments)
	if err == nil || !strings.Contains(err.Error(), "deployment/other selects by app=web and would take the pods of deployment/web") {
		t.Errorf("error %v, want that it would lose its pods", err)
	}
	w.expectUntouched()
}

// A Deployment that came since adopted the ReplicaSet that was given back, and scaled it to 0.
func TestAReplicaSetIsNotGivenBackToADeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.replicaSet()
	w.must(w.take(suite.Client, migrate.ReplicaSets))
	w.expectManager(2)
	suite.Fleet(t, w.namespace, "other").ApplyYAML(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "nginx:1.26"}]}}}
`)
	suite.Kubectl(t, "rollout", "status", "-n", w.namespace, "deployment/other", "--timeout=60s")
	w.witness()
	err := w.giveBack(suite.Client)
	if err == nil || !strings.Contains(err.Error(), "deployment/other selects by app=web and would take the pods of replicaset/web") {
		t.Errorf("error %v, want that it would lose its pods", err)
	}
	w.expectUntouched()
}

// Two exports of the same labels at the same moment each saw that the other's Deployment was not
// there. One of the two may be made.
func TestTwoExportsOfTheSameLabelsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{"blue", "green"}
	for _, name := range names {
		fleet := suite.Fleet(t, w.namespace, name)
		fleet.Create(fleet.Build().Replicas(2).Template(corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "shop"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
		}))
		fleet.ExpectReady(2)
	}
	w.witness()
	errs := make([]error, 2)
	var ready, all sync.WaitGroup
	ready.Add(2)
	for i, name := range names {
		all.Go(func() {
			decided := sync.OnceFunc(ready.Done)
			m := w.mover(during("delete *v1.PodManager", func() { // both have checked everything
				decided()
				ready.Wait()
			}))
			m.Holder = name
			errs[i] = m.Export(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, migrate.Deployments)
			decided()
		})
	}
	all.Wait()
	t.Log(errs)
	if errs[0] == nil && errs[1] == nil {
		t.Error("both were exported")
	}
	for _, err := range errs {
		if err != nil && !strings.Contains(err.Error(), "change the labels and the selector of one of the two first") {
			t.Errorf("error %v, want one that says what to do", err)
		}
	}
	w.expectUntouched()
	for _, name := range names {
		testkit.Eventually(t, name+" has its two pods", func() error {
			var deployment kappsv1.Deployment
			err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &deployment)
			if err == nil && deployment.Status.ReadyReplicas == 2 {
				return nil
			}
			var pm appsv1.PodManager
			if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &pm); err != nil {
				return err
			}
			if pm.Status.ReadyReplicas != 2 || pm.Annotations[appsv1.AnnotationTakeOver] != "" {
				return fmt.Errorf("%+v", pm.Status)
			}
			return nil
		})
	}
}
