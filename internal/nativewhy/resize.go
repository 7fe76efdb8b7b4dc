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

package nativewhy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// resizes are changes of the resources of a running pod, which go through a
// subresource of their own.
func resizes(f *Facts) []Answer {
	var answers []Answer
	for i := range f.Pods {
		p := &f.Pods[i]
		for _, w := range writers(&p.ObjectMeta) {
			if w.subresource != "resize" {
				continue
			}
			a := Answer{
				Time: w.at, Pods: []string{p.Name}, Cause: Resized, Certainty: Sure, Text: "resized in place by " + w.name,
				Evidence: fmt.Sprintf("%s wrote the subresource resize of the pod at %s", w.name, stamp(w.at)),
			}
			if c := resizing(p); c != nil {
				a.Text += "; not done: " + c.Reason + " " + c.Message
				a.Evidence += "; condition " + string(c.Type)
			}
			answers = append(answers, a)
		}
	}
	return answers
}

// resizing is the condition of a resize that is not done; nil where there is none.
func resizing(p *corev1.Pod) *corev1.PodCondition {
	for _, kind := range []corev1.PodConditionType{corev1.PodResizePending, corev1.PodResizeInProgress} {
		if c := podCondition(p, kind); c != nil && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
