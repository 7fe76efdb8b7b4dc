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

package integration

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestADeploymentIsTakenOver by hand, as kubectl podmanager migrate does it: the
// same pods run before and after, and none is created or deleted.
func TestADeploymentIsTakenOver(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.ApplyYAML(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "nginx:1.27"}]}`)
	before := expectRunning(t, f, map[string]string{"app": "web"}, 3)
	since := suite.AuditMark(t)

	successor := f.Build().Random().Replicas(3).Image("nginx:1.27").Obj()
	successor.Annotations = map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}
	suite.Create(t, successor)
	pm, _ := f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonTakingOver)
	if pm.Status.UpdateRevision == "" || pm.Status.CurrentReplicas != 0 {
		t.Errorf("revision %q, %d replicas, want a revision and no pod", pm.Status.UpdateRevision, pm.Status.CurrentReplicas)
	}
	for _, name := range testkit.Names(before) {
		f.Kubectl("label", "pod", name, appsv1.LabelName+"=web", appsv1.LabelRevision+"="+pm.Status.UpdateRevision)
	}
	f.Scale(1) // a scale in the middle is harmless
	f.Kubectl("delete", "deployment", "web", "--cascade=orphan")
	f.Kubectl("delete", "replicaset", "-l", "app=web", "--cascade=orphan")
	f.Expect("all pods are adopted", func(pm *appsv1.PodManager) error {
		if pm.Status.CurrentReplicas != 3 {
			return fmt.Errorf("%d pods are adopted", pm.Status.CurrentReplicas)
		}
		return nil
	})
	f.Scale(3)
	f.Kubectl("annotate", "pm", "web", appsv1.AnnotationTakeOver+"-")
	owner := f.ExpectReady(3)
	after := f.Pods()
	if diff := cmp.Diff(testkit.UIDs(before), testkit.UIDs(after)); diff != "" {
		t.Errorf("the pods changed (-before +after):\n%s", diff)
	}
	for i := range after {
		if !metav1.IsControlledBy(&after[i], owner) || after[i].Labels[appsv1.LabelRevision] != pm.Status.UpdateRevision {
			t.Errorf("pod %s: owners %v, labels %v", after[i].Name, after[i].OwnerReferences, after[i].Labels)
		}
	}
	for _, e := range podRequests(t, f, since) {
		if e.Verb != "patch" {
			t.Errorf("the operator sent %s of pod %s", e.Verb, e.ObjectRef.Name)
		}
	}
}

// podRequests are the operator's writes of pods of a fleet.
func podRequests(t *testing.T, f *testkit.Fleet, since localkube.AuditMark) []localkube.AuditEvent {
	t.Helper()
	return suite.Requests(t, since, func(e *localkube.AuditEvent) bool {
		return e.Mutating() && e.ObjectRef.Namespace == f.Namespace && e.ObjectRef.Resource == "pods"
	})
}

// expectRunning waits until so many pods with these labels are ready.
func expectRunning(t *testing.T, f *testkit.Fleet, labels map[string]string, n int) (pods []corev1.Pod) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d pods run", n), func() error {
		pods = suite.Pods(t, f.Namespace, labels)
		for i := range pods {
			if !testkit.IsReady(&pods[i]) {
				return errors.New(pods[i].Name + " is not ready")
			}
		}
		if len(pods) != n {
			return fmt.Errorf("%d pods are there", len(pods))
		}
		return nil
	})
	return pods
}

func dataClaim() corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// TestAServiceNameGivesPodsTheirDNSNames, a claim that a StatefulSet left is used,
// and a change of the name recreates pods.
func TestAServiceNameGivesPodsTheirDNSNames(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "db")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "data-db-0", Labels: map[string]string{"app": "db"}}}
	claim.Spec = dataClaim().Spec
	suite.Create(t, claim)
	pm := f.Build().Replicas(2).Obj()
	pm.Spec.ServiceName = "peers"
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{dataClaim()}
	suite.Create(t, pm)
	f.Expect("both pods are there", func(*appsv1.PodManager) error {
		if n := len(f.Pods()); n != 2 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	for _, pod := range f.Pods() {
		if pod.Spec.Hostname != pod.Name || pod.Spec.Subdomain != "peers" {
			t.Errorf("pod %s has hostname %q and subdomain %q", pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain)
		}
	}
	left := testkit.Read(t, suite, claim.DeepCopy())
	if left.UID != claim.UID || left.Labels[appsv1.LabelName] != "db" || left.Labels["app"] != "db" {
		t.Errorf("the claim has uid %s, labels %v", left.UID, left.Labels)
	}
	before := f.UIDs()
	f.Patch(`{"serviceName":"others"}`)
	f.Expect("the pods follow", func(*appsv1.PodManager) error {
		if n := len(f.Live()); n != 2 {
			return fmt.Errorf("%d pods", n)
		}
		for _, pod := range f.Live() {
			if pod.Spec.Subdomain != "others" || pod.UID == before[pod.Name] {
				return fmt.Errorf("pod %s has subdomain %s", pod.Name, pod.Spec.Subdomain)
			}
		}
		return nil
	})
}

// TestPodsStartAndGoInOrder with podManagementPolicy OrderedReady.
func TestPodsStartAndGoInOrder(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "db")
	f.Apply(3, "image: nginx:1.27\npodManagementPolicy: OrderedReady")
	f.ExpectReady(3)
	var ready metav1.Time
	for i, pod := range f.Pods() {
		if pod.Name != fmt.Sprintf("db-%d", i) || pod.CreationTimestamp.Time.Before(ready.Time) {
			t.Errorf("pod %s was created at %s, and the one before was ready at %s", pod.Name, pod.CreationTimestamp, ready)
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				ready = c.LastTransitionTime
			}
		}
	}
	since := suite.AuditMark(t)
	f.Scale(0)
	f.Expect("all pods are gone", func(*appsv1.PodManager) error {
		if n := len(f.Pods()); n > 0 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	var deleted []string
	for _, e := range podRequests(t, f, since) {
		if e.Verb == "delete" {
			deleted = append(deleted, e.ObjectRef.Name)
		}
	}
	if diff := cmp.Diff([]string{"db-2", "db-1", "db-0"}, deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}
