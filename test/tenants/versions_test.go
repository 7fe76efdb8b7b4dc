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
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

const podManagers = "podmanagers.apps.mycompany.com"

// The raw CRD, which tutorials tell people to apply, serves only what is stored:
// nothing converts there, and as v1alpha1 a size of 5 became 3 replicas.
func TestTheRawCRDServesOnlyWhatIsStored(t *testing.T) {
	raw := filepath.Join(testkit.Root(), "config", "crd", "bases", "apps.mycompany.com_podmanagers.yaml")
	served := suite.Kubectl(t, "create", "--dry-run=client", "-f", raw, "-o", "jsonpath={.spec.versions[?(@.served==true)].name}")
	if served != "v1" {
		t.Errorf("it serves %q", served)
	}
}

// Where v1alpha1 is served and nothing converts it, the operator does not work: it
// would make three pods of a size of 5. It says so, and goes on when the
// conversion is back.
func TestVersionsThatLoseFieldsAreNotWorkedOn(t *testing.T) {
	namespace := suite.Namespace(t)
	crd := testkit.Get(t, suite, "", podManagers, &apiextensionsv1.CustomResourceDefinition{})
	conversion := crd.Spec.Conversion.DeepCopy()
	setConversion(t, &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter})
	defer setConversion(t, conversion)
	testkit.Eventually(t, "readyz says which check fails", func() error {
		if text := readyz(t); !strings.Contains(text, "[-]versions failed") {
			return errNotYet
		}
		return nil
	})

	pm := &appsv1.PodManager{}
	suite.Create(t, testkit.MakePodManager(namespace, "web").Replicas(1).Obj())
	setConversion(t, conversion)
	suite.Fleet(t, namespace, "web").ExpectReady(1)
	if testkit.Get(t, suite, namespace, "web", pm); pm.Status.ObservedGeneration != pm.Generation {
		t.Errorf("%+v", pm.Status)
	}
	testkit.Eventually(t, "the operator is ready again", func() error {
		if ready(t, suite.Operator.ProbeAddress) != http.StatusOK {
			return errNotYet
		}
		return nil
	})
}

func setConversion(t testing.TB, conversion *apiextensionsv1.CustomResourceConversion) {
	t.Helper()
	testkit.Eventually(t, "the CRD is changed", func() error {
		crd := testkit.Get(t, suite, "", podManagers, &apiextensionsv1.CustomResourceDefinition{})
		crd.Spec.Conversion = conversion.DeepCopy()
		return suite.Client.Update(t.Context(), crd)
	})
}

// readyz is what the probe says.
func readyz(t testing.TB) string {
	t.Helper()
	response, err := http.Get("http://" + suite.Operator.ProbeAddress + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
