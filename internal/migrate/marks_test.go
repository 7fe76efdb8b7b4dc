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
	"maps"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// What a fleet marked on a claim says nothing of another owner's: to be found, to stand in
// for others, to go with its pod.
func TestAClaimThatIsHandedOverHasNoMarks(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-3", UID: "claim"}}
	claim.Labels = map[string]string{appsv1.LabelName: "web", podrender.LabelManagedBy: podrender.ManagedBy}
	claim.Annotations = map[string]string{
		appsv1.AnnotationFound: "true", appsv1.AnnotationSurge: "true", appsv1.AnnotationCondemnedBy: "pm", "team": "shop",
	}
	c := fakeClient(t, claim)
	r := &run{Mover: &Mover{Client: c}, Workload: &Workload{Kind: StatefulSets, Namespace: "shop", Name: "web"}}
	top := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	top.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	r.Parts = []Part{partOf(top, StatefulSets)}
	if err := r.unlabel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"team": "shop"}; !maps.Equal(claim.Annotations, want) {
		t.Errorf("its annotations are %v, want %v", claim.Annotations, want)
	}
}

// A pod that had stood in for another kept the note of that in a Deployment, and after the next
// migration the PodManager could delete it as a stand-in.
func TestAPodThatIsHandedOverHasNoMarks(t *testing.T) {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "pm"}}
	for name, hand := range map[string]func(*run, *corev1.Pod) error{
		"there": func(r *run, pod *corev1.Pod) error { return r.labelAll(t.Context(), pm, []client.Object{pod}) },
		"back":  func(r *run, _ *corev1.Pod) error { return r.unlabel(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			pod := freePod("web-a", corev1.PodRunning)
			pod.Annotations = map[string]string{appsv1.AnnotationSurge: "true", appsv1.AnnotationReplaces: "DisruptionSurge", "team": "shop"}
			c := fakeClient(t, pod)
			if err := hand(returning(t, c), pod); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || len(pod.Annotations) != 1 {
				t.Errorf("%v, the pod has the annotations %v", err, pod.Annotations)
			}
		})
	}
}
