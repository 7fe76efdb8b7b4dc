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

package tenants

import (
	"testing"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// manyValues is a little more than a review may have: the API server takes seconds
// to compare many.
const manyValues = 205_000

// While the webhooks are away, everything that the schema takes can be stored: here a
// template with more values than a review may have. All others still read v1alpha1.
func TestAnObjectOfTooManyValuesHidesNoOther(t *testing.T) {
	tenant, victim := suite.Namespace(t), suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(victim, "web").Replicas(1).Obj())
	withoutOperator(t, func() {
		dense := large(tenant, "dense", 0, 0)
		dense.Spec.Template.Spec.Containers[0].Args = make([]string, manyValues)
		suite.Create(t, dense)
	})
	defer suite.Fleet(t, tenant, "dense").Delete()

	var all v1alpha1.PodManagerList
	testkit.Eventually(t, "PodManagers of all namespaces are read as v1alpha1", func() error {
		return suite.Client.List(t.Context(), &all)
	})
	shown := map[client.ObjectKey]*v1alpha1.PodManager{}
	for i := range all.Items {
		shown[client.ObjectKeyFromObject(&all.Items[i])] = &all.Items[i]
	}
	if web := shown[client.ObjectKey{Namespace: victim, Name: "web"}]; web == nil || *web.Spec.Size != 1 || v1alpha1.IsTooLarge(web.Labels) {
		t.Errorf("the other tenant's is shown as %+v", web)
	}
	dense := shown[client.ObjectKey{Namespace: tenant, Name: "dense"}]
	if dense == nil || *dense.Spec.Size != 0 || dense.Spec.Image != "nginx:1.27" || !v1alpha1.IsTooLarge(dense.Labels) {
		t.Fatalf("the large one is shown as %+v", dense)
	}
	dense.Spec.Image = "nginx:1.28"
	expectRefused(t, "a write of the large one as v1alpha1", suite.Client.Update(t.Context(), dense), v1alpha1.ErrTooLarge.Error())
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pm := suite.Fleet(t, tenant, "dense").Get()
		pm.Spec.Template.Spec.Containers[0].Image = "nginx:1.28"
		return suite.Client.Update(t.Context(), pm)
	})
	expectRefused(t, "a change of the large one as v1", err, "200,000 JSON values")
	if stored := testkit.Get(t, suite, tenant, "dense", &appsv1.PodManager{}); len(stored.Spec.Template.Spec.Containers[0].Args) != manyValues {
		t.Errorf("%d arguments are left", len(stored.Spec.Template.Spec.Containers[0].Args))
	}
}
