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
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A PodManager was deleted that another program kept or made again, and pods lost labels by which a
// Service found them.
func TestAPodManagerThatCannotGoIsNotGivenBack(t *testing.T) {
	of := metav1.ObjectMeta{Namespace: "shop", Name: "x"}
	app, managed := map[string]string{"app": "web"}, map[string]string{"podmanager": "web"}
	service := func(selector map[string]string) client.Object {
		return &corev1.Service{ObjectMeta: of, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: of}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: managed}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: of}
	policy.Spec.PodSelector.MatchLabels = managed
	argo := func(pm *appsv1.PodManager) {
		pm.Annotations = map[string]string{argoTracking: "shop:apps.mycompany.com/PodManager:shop/web"}
	}
	for name, test := range map[string]struct {
		change    func(*appsv1.PodManager)
		other     client.Object
		suspended bool
		want      string
	}{
		"as it was made": {},
		"its owner": {change: func(pm *appsv1.PodManager) {
			pm.OwnerReferences = []metav1.OwnerReference{{Kind: "Shop", Name: "s", Controller: ptr.To(true)}}
		}, want: "belongs to Shop s, which would make it again"},
		"a finalizer of others":      {change: func(pm *appsv1.PodManager) { pm.Finalizers = append(pm.Finalizers, "example.com/dns") }, want: "has the finalizer example.com/dns"},
		"Argo CD":                    {change: argo, want: "is managed by Argo CD (application shop), which would make it again: argocd app set"},
		"Argo CD, suspended":         {change: argo, suspended: true},
		"labels of the Deployment's": {change: func(pm *appsv1.PodManager) { pm.Labels = map[string]string{"argocd.argoproj.io/instance": "shop"} }},
		"Helm": {change: func(pm *appsv1.PodManager) {
			pm.Annotations = map[string]string{"meta.helm.sh/release-name": "shop"}
			pm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "helm", Operation: metav1.ManagedFieldsOperationApply}}
		}, want: "is managed by Helm (release shop)"},
		"a Service of the pods":         {other: service(app)},
		"a Service by the operator's":   {other: service(managed), want: "Service x selects by the label podmanager, which the pods lose"},
		"a Service of another":          {other: service(map[string]string{"podmanager": "other"})},
		"a Service without a selector":  {other: service(nil)},
		"a budget by the operator's":    {other: budget, want: "PodDisruptionBudget x selects"},
		"a policy by the operator's":    {other: policy, want: "NetworkPolicy x selects"},
		"a policy for all of the space": {other: &networkingv1.NetworkPolicy{ObjectMeta: of}},
	} {
		t.Run(name, func(t *testing.T) {
			template := plainest()
			pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "pm", Finalizers: []string{appsv1.Finalizer}}}
			pm.Spec.Template = &template
			if test.change != nil {
				test.change(pm)
			}
			c := fakeClient(t)
			if test.other != nil {
				c = fakeClient(t, test.other)
			}
			w := &Workload{Kind: Deployments, Namespace: "shop", Name: "web"}
			err := (&run{Mover: &Mover{Client: c, Suspended: test.suspended}, Workload: w}).leavable(t.Context(), pm)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
