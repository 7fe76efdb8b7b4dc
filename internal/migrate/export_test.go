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
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A manifest that is applied to the PodManager has no defaults written out, and the Deployment's
// template has. An export had two ReplicaSets of one template, of which the Deployment would have
// taken the older, without pods.
func TestAnExportHasOneReplicaSetOfATemplate(t *testing.T) {
	stored := plainest()
	stored.Spec.RestartPolicy, stored.Spec.DNSPolicy, stored.Spec.SchedulerName = "Always", "ClusterFirst", "default-scheduler"
	stored.Spec.TerminationGracePeriodSeconds, stored.Spec.SecurityContext = ptr.To[int64](30), &corev1.PodSecurityContext{}
	c := &stored.Spec.Containers[0]
	c.ImagePullPolicy, c.TerminationMessagePath, c.TerminationMessagePolicy = "IfNotPresent", "/dev/termination-log", "File"
	earlier := *stored.DeepCopy()
	earlier.Spec.Containers[0].Image = "nginx:1.26"

	d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	d.Spec.Selector, d.Spec.Template = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, stored
	record := &Record{Target: Target{Resource: Deployments.id(), Name: "web", Selector: "app=web"}}
	record.Parts = []unstructured.Unstructured{*partOf(d, Deployments).Unstructured}
	for name, template := range map[string]corev1.PodTemplateSpec{"web-now": stored, "web-earlier": earlier} {
		rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: kappsv1.ReplicaSetSpec{Template: template}}
		record.Parts = append(record.Parts, *partOf(rs, ReplicaSets).Unstructured)
	}
	for image, want := range map[string]int{"nginx:1.27": 0, "nginx:1.26": 3, "nginx:1.28": 4} { // none: the original comes back
		applied := plainest()
		applied.Spec.Containers[0].Image = image
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		pm.Spec.Template, pm.Spec.Replicas = &applied, ptr.To[int32](3)
		target, err := record.export(pm, Deployments)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if target != nil {
			got = len(target.Parts)
		}
		if got != want {
			t.Errorf("with %s: %d parts, want %d", image, got, want)
		}
	}
}
