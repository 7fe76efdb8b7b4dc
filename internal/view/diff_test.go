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

package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestATemplateDiffShowsOnlyWhatChanges(t *testing.T) {
	template := func(image, memory string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: image,
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}},
		}}}}
	}
	for name, c := range map[string]struct {
		from, to *corev1.PodTemplateSpec
		want     string
	}{
		"nothing":                        {template("nginx:1", "1Gi"), template("nginx:1", "1Gi"), ""},
		"the same amount in other words": {template("nginx:1", "1Gi"), template("nginx:1", "1024Mi"), ""},
		"an image": {template("nginx:1", "1Gi"), template("nginx:2", "1Gi"), `--- template
+++ template of the plan
@@ -2,5 +2,5 @@
 spec:
   containers:
-  - image: nginx:1
+  - image: nginx:2
     name: app
     resources:
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := TemplateDiff(c.from, c.to)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
