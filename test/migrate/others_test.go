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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// stateful makes a StatefulSet with claims and waits until it is ready.
func (w *world) stateful(replicas int32) {
	w.Helper()
	for i := range replicas {
		w.volume(i)
	}
	suite.Fleet(w, w.namespace, "web").ApplyYAML(fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: %[1]d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: nginx:1.27
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      storageClassName: %[2]s
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 1Gi}}
`, replicas, w.namespace))
	w.awaitStateful(replicas)
}

// volume makes a volume of a storage class that is the namespace's own.
func (w *world) volume(i int32) {
	w.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.namespace, i)}}
	volume.Spec = corev1.PersistentVolumeSpec{
		StorageClassName: w.namespace, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/none"}},
	}
	suite.Create(w, volume)
	w.Cleanup(func() { _ = suite.Client.Delete(context.Background(), volume) })
}

func (w *world) awaitStateful(replicas int32) {
	w.Helper()
	testkit.Eventually(w, "the StatefulSet is ready", func() error {
		sts := &kappsv1.StatefulSet{}
		if err := suite.Client.Get(w.Context(), w.key(), sts); err != nil {
			return err
		}
		if s := &sts.Status; s.ObservedGeneration < sts.Generation || s.ReadyReplicas != replicas || s.CurrentRevision != s.UpdateRevision {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
}

func TestAStatefulSetIsTakenOverAndGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stateful(3)
	w.witness()
	claims := w.claims()

	w.must(w.take(suite.Client, migrate.StatefulSets))
	pm := w.expectManager(3)
	if pm.Spec.ServiceName != "web" || pm.Spec.PodManagementPolicy != "OrderedReady" {
		t.Errorf("serviceName %q, podManagementPolicy %q", pm.Spec.ServiceName, pm.Spec.PodManagementPolicy)
	}
	w.expectUntouched()
	w.expectClaims(claims)

	w.must(w.giveBack(suite.Client))
	w.awaitStateful(3)
	w.expectOwner("StatefulSet")
	w.expectUntouched()
	w.expectClaims(claims)
	w.expectNothingLeft()
}

// A pod that the PodManager replaced goes back, too.
func TestAStatefulSetGetsAPodBackThatWasReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stateful(2)
	w.must(w.take(suite.Client, migrate.StatefulSets))
	w.expectManager(2)
	fleet := suite.Fleet(t, w.namespace, "web")
	old := fleet.Pod("web-1")
	suite.Delete(t, old)
	fleet.ExpectSuccessor(old)
	fleet.ExpectReady(2)
	w.witness()
	w.must(w.giveBack(suite.Client))
	w.awaitStateful(2)
	w.expectOwner("StatefulSet")
	w.expectUntouched()
}

func (w *world) claims() map[string]string {
	w.Helper()
	var list corev1.PersistentVolumeClaimList
	w.must(suite.Client.List(w.Context(), &list, client.InNamespace(w.namespace)))
	uids := map[string]string{}
	for i := range list.Items {
		uids[list.Items[i].Name] = string(list.Items[i].UID)
	}
	return uids
}

func (w *world) expectClaims(want map[string]string) {
	w.Helper()
	if got := w.claims(); fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("the claims are %v, and were %v", got, want)
	}
}

// replicaSet makes a ReplicaSet of two pods and waits until nothing is under way.
func (w *world) replicaSet() {
	w.Helper()
	suite.Fleet(w, w.namespace, "web").ApplyYAML(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "nginx:1.27"}]}
`)
	testkit.Eventually(w, "the ReplicaSet has its pods", func() error {
		if n := len(w.live()); n != 2 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	testkit.Eventually(w, "nothing is under way", func() error {
		found, err := migrate.Find(w.Context(), suite.Client, migrate.ReplicaSets, w.key())
		if err != nil || found.Obstacle() == "" {
			return err
		}
		return fmt.Errorf("%s", found.Obstacle())
	})
}

func TestAReplicaSetIsTakenOverAndGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.replicaSet()
	w.witness()
	w.must(w.take(suite.Client, migrate.ReplicaSets))
	w.expectManager(2)
	w.must(w.giveBack(suite.Client))
	w.expectOwner("ReplicaSet")
	w.expectUntouched()
	w.expectNothingLeft()
}

// bare makes two pods without a controller, and takes them over.
func (w *world) bare() {
	w.Helper()
	for i := range 2 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("by-hand-%d", i), Labels: map[string]string{"app": "web"}}}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
		suite.Create(w, pod)
	}
	w.witness()
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	found, err := migrate.ReadBare(w.Context(), suite.Client, w.key(), selector)
	w.must(err)
	preview, err := migrate.Look(w.Context(), suite.Client, found)
	w.must(err)
	if n := len(preview.Restarting()); n > 0 {
		w.Fatalf("%d pods restart: %v", n, preview.Differences)
	}
	w.must(w.mover(suite.Client).TakeOver(w.Context(), migrate.BarePods, w.key(), found))
	w.expectManager(2)
	w.expectUntouched()
}

func TestPodsWithoutAControllerAreTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bare()
	w.must(w.giveBack(suite.Client))
	w.expectUntouched()
	for _, pod := range w.live() {
		if len(pod.OwnerReferences) > 0 {
			t.Errorf("pod %s has owners %v", pod.Name, pod.OwnerReferences)
		}
	}
	w.expectNothingLeft()
}

func TestPodsWithoutAControllerBecomeADeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bare()
	w.must(w.mover(suite.Client).Export(t.Context(), w.key(), migrate.Deployments))
	w.awaitDeployment(2)
	w.expectOwner("ReplicaSet")
	w.expectUntouched()
	w.expectNothingLeft()
}

func TestAPodManagerBecomesADeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fleet := suite.Fleet(t, w.namespace, "web")
	fleet.Create(fleet.Build().Replicas(2).Image("nginx:1.27"))
	fleet.ExpectReady(2)
	w.witness()
	w.must(w.mover(suite.Client).Export(t.Context(), w.key(), migrate.Deployments))
	w.awaitDeployment(2)
	w.expectOwner("ReplicaSet")
	w.expectUntouched()
	w.expectNothingLeft()
}

func TestAnExportFindsItsNameTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(1, "nginx:1.27")
	fleet := suite.Fleet(t, w.namespace, "web")
	fleet.Create(fleet.Build().Replicas(1).Image("nginx:1.27"))
	fleet.ExpectReady(1)
	err := w.mover(suite.Client).Export(t.Context(), w.key(), migrate.Deployments)
	if err == nil || !strings.Contains(err.Error(), "Deployment web exists already") {
		t.Errorf("error %v, want that the name is taken", err)
	}
	if !w.back() {
		t.Error("a record is left of an export that did not begin")
	}
}

// After the template was changed, the original would restart the pods, and an
// export does not.
func TestAChangedPodManagerIsExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.26")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	fleet := suite.Fleet(t, w.namespace, "web")
	suite.Kubectl(t, "patch", "-n", w.namespace, "pm/web", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:1.27"}]`)
	fleet.ExpectRolledOut(2)
	err := w.giveBack(suite.Client)
	if err == nil || !strings.Contains(err.Error(), "was changed since the migration") {
		t.Fatalf("error %v, want that the template was changed", err)
	}
	w.witness()
	w.must(w.mover(suite.Client).Export(t.Context(), w.key(), migrate.Deployments))
	w.awaitDeployment(2)
	w.expectOwner("ReplicaSet")
	w.expectUntouched()
	w.expectNothingLeft()
}

// A StatefulSet, too, is made of the PodManager as it is now. What it has no
// counterpart for is listed.
func TestAChangedStatefulSetIsExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stateful(2)
	claims := w.claims()
	w.must(w.take(suite.Client, migrate.StatefulSets))
	w.expectManager(2)
	w.setImage("nginx:1.28")
	w.fleet().Edit(func(pm *appsv1.PodManager) { pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst })
	w.fleet().ExpectRolledOut(2)
	w.fleet().ExpectImages(map[string]int{"nginx:1.28": 2})
	w.witness()
	var said []string
	mover := w.mover(suite.Client)
	mover.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	w.must(mover.Export(t.Context(), w.key(), migrate.StatefulSets))
	if text := strings.Join(said, "\n"); strings.Count(text, "spec.disruption.policy has no counterpart") != 1 || strings.Count(text, "no counterpart") != 1 {
		t.Errorf("it said\n%s", text)
	}
	w.awaitStateful(2)
	w.expectOwner("StatefulSet")
	w.expectUntouched()
	w.expectClaims(claims)
	w.expectNothingLeft()
	w.expectRevisions("StatefulSet", 2)
	sts := w.statefulSet()
	if got := sts.Spec.Template.Spec.Containers[0].Image; got != "nginx:1.28" || sts.Spec.UpdateStrategy.Type != "RollingUpdate" {
		t.Errorf("it asks for %s, strategy %s", got, sts.Spec.UpdateStrategy.Type)
	}
}

// OpenKruise is not there, only its CRD: no controller makes pods, and the garbage
// collector takes owner references off as it does for every kind.
func TestACloneSetIsTakenOver(t *testing.T) {
	testkit.Long(t, "the garbage collector looks for new kinds every 30 s")
	t.Parallel()
	w := newWorld(t)
	fleet := suite.Fleet(t, w.namespace, "web")
	fleet.ApplyYAML(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clonesets.apps.kruise.io}
spec:
  group: apps.kruise.io
  names: {kind: CloneSet, plural: clonesets}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
	suite.Kubectl(t, "wait", "--for=condition=Established", "crd/clonesets.apps.kruise.io")
	fleet.ApplyYAML(`
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "nginx:1.27"}]}
  updateStrategy: {type: InPlaceIfPossible}
`)
	suite.Kubectl(t, "patch", "-n", w.namespace, "clonesets/web", "--subresource=status", "--type=merge", "-p",
		`{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2}}`)
	uid := suite.Kubectl(t, "get", "-n", w.namespace, "clonesets/web", "-o", "jsonpath={.metadata.uid}")
	for i := range 2 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("web-clone%d", i), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web", UID: types.UID(uid), Controller: ptr.To(true),
			}},
		}}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
		suite.Create(t, pod)
	}
	w.witness()
	c, err := testkit.NewClient(suite.Cluster.RESTConfig()) // one that knows the new kind
	w.must(err)
	w.must(w.take(c, migrate.CloneSets))
	pm := w.expectManager(2)
	if pm.Spec.Update.Strategy != "InPlaceIfPossible" {
		t.Errorf("strategy %s", pm.Spec.Update.Strategy)
	}
	w.expectUntouched()
}
