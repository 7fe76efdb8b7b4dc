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

package labv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelWeb is on every pod of a Web and has its name.
const LabelWeb = "web"

// NewPod is a pod as a Web asks for it. Its name and its owner are up to the reconciler.
func NewPod(w *Web) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Labels: map[string]string{LabelWeb: w.Name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: w.Spec.Image}}},
	}
}
