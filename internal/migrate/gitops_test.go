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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFindTool(t *testing.T) {
	tests := map[string]struct {
		labels, annotations map[string]string
		manager             string
		name, owner         string
	}{
		"not kept by any": {labels: map[string]string{"app.kubernetes.io/instance": "web"}},
		"Argo CD, by annotation": {
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:default/web"},
			name:        "Argo CD", owner: "application shop",
		},
		"Argo CD, by label":   {labels: map[string]string{"argocd.argoproj.io/instance": "shop"}, name: "Argo CD", owner: "application shop"},
		"Argo CD, by manager": {manager: "argocd-controller", name: "Argo CD", owner: "application APPLICATION"},
		"Flux, kustomization": {
			labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
			name:   "Flux", owner: "kustomization apps",
		},
		"Flux, release, which is Helm's, too": {
			labels:      map[string]string{"helm.toolkit.fluxcd.io/name": "web"},
			annotations: map[string]string{"meta.helm.sh/release-name": "web"},
			name:        "Flux", owner: "helmrelease web",
		},
		"Helm": {annotations: map[string]string{"meta.helm.sh/release-name": "web"}, name: "Helm", owner: "release web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: test.labels, Annotations: test.annotations}}
			if test.manager != "" {
				d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: test.manager}}
			}
			tool := FindTool(d)
			if tool == nil {
				tool = &Tool{}
			}
			if tool.Name != test.name || tool.Owner != test.owner {
				t.Errorf("%+v, want %s, %s", tool, test.name, test.owner)
			}
			if test.name != "" && (tool.Suspend == "" || tool.Resume == "") {
				t.Errorf("%+v does not say how to suspend it", tool)
			}
		})
	}
}
