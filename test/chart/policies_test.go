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

package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// The policies that name the operator's account name that of the release,
// whatever it is called: another would stop the operator, or confine none.
func TestThePoliciesNameTheReleasesAccount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ values, account, configuration string }{
		"the release's own":  {"{}", "shop-pod-operator-controller-manager", "shop-pod-operator-admission"},
		"another prefix":     {"{fullnameOverride: fleet}", "fleet-controller-manager", "fleet-admission"},
		"an account of ours": {"{serviceAccount: {create: false, name: theirs}}", "theirs", "shop-pod-operator-admission"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, "")
			args := []string{"template", "shop", chartDir(), "--namespace", "elsewhere", "--kube-version", "1.37.1"}
			account := fmt.Sprintf("['system:serviceaccount', 'elsewhere', '%s']", test.account)
			naming := 0
			for _, object := range decode(t, h.run(slices.Concat(args, values(t, test.values))...)) {
				if object.GetKind() != "ValidatingAdmissionPolicy" {
					continue
				}
				all := policyExpressions(into[admissionregistrationv1.ValidatingAdmissionPolicy](t, object))
				if strings.Contains(all, account) {
					naming++
				}
				if strings.Contains(all, "'pod-operator-") {
					t.Errorf("%s names an object of another installation:\n%s", object.GetName(), all)
				}
				if strings.HasSuffix(object.GetName(), "renews-its-webhooks") && !strings.Contains(all, "'"+test.configuration+"'") {
					t.Errorf("%s does not name %s:\n%s", object.GetName(), test.configuration, all)
				}
			}
			if naming != 3 {
				t.Errorf("%d policies name %s, want 3", naming, account)
			}
		})
	}
}

// policyExpressions are those of a policy's match conditions and variables.
func policyExpressions(policy admissionregistrationv1.ValidatingAdmissionPolicy) string {
	var all []string
	for _, condition := range policy.Spec.MatchConditions {
		all = append(all, condition.Expression)
	}
	for _, variable := range policy.Spec.Variables {
		all = append(all, variable.Expression)
	}
	return strings.Join(all, "\n")
}
