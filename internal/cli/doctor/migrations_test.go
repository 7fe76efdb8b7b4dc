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

package doctor

import (
	"context"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// What an abandoned migration holds is named, with the command that lets it go.
func TestAnAbandonedMigrationIsNamed(t *testing.T) {
	held := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-5d9f", Finalizers: []string{"apps.mycompany.com/migrating"},
	}}
	other := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}}
	// whole is false for a user who may list only in their namespace.
	for name, whole := range map[string]bool{"of the cluster": true, "of one namespace": false} {
		t.Run(name, func(t *testing.T) {
			base := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(held.DeepCopy(), other.DeepCopy())
			c := &checkup{user: "shop", client: base.WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if o := (&client.ListOptions{}).ApplyOptions(options); o.Namespace == "" && !whole {
						return forbidden("replicasets")
					}
					return c.List(ctx, list, options...)
				},
			}).Build()}
			findings := c.migrations(t.Context())
			if len(findings) != 1 || !has(findings, ToDo, "replicaset/web-5d9f in namespace shop") {
				t.Fatalf("findings %v, want one about web-5d9f", findings)
			}
			if want := "kubectl podmanager migrate --undo replicaset/web-5d9f -n shop"; findings[0].Advice != want {
				t.Errorf("advice %q, want %q", findings[0].Advice, want)
			}
		})
	}
}

// A migration that has a record and did not end is named, too; one that did is not.
func TestAnInterruptedMigrationIsNamed(t *testing.T) {
	record := func(name, record string) client.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "kubectl-podmanager"}},
			Data:       map[string]string{"record.json": record},
		}
	}
	c := &checkup{client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(
		record("web-migration", `{"resource":"deployments.apps","name":"web","stage":"Taken"}`),
		record("mail-migration", `{"resource":"deployments.apps","name":"mail","stage":"Releasing"}`),
		record("new-migration", `{"stage":"Returning","export":{"resource":"deployments.apps","name":"new"}}`),
	).Build()}
	findings := c.migrations(t.Context())
	if len(findings) != 2 || !has(findings, ToDo, "podmanager/mail in namespace shop") || !has(findings, ToDo, "podmanager/new in namespace shop") {
		t.Fatalf("findings %v, want those about mail and new", findings)
	}
	if want := "kubectl podmanager migrate --undo podmanager/mail -n shop"; findings[0].Advice != want {
		t.Errorf("advice %q, want %q", findings[0].Advice, want)
	}
}
