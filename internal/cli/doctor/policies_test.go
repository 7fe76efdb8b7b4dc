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
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// doctor knows every policy that config/ ships, by the name of its file.
func TestThePoliciesThatAreShipped(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(project.Root(), "config", "admission-policy", "*_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies found: %v", err)
	}
	var want, got []string
	for _, file := range files {
		want = append(want, strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_", "-"))
	}
	for _, p := range shipped() {
		got = append(got, p.name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies (-config +doctor):\n%s", diff)
	}
}

// installed are all policies under a prefix, each with its binding.
func installed(prefix string) ([]admissionv1.ValidatingAdmissionPolicy, []admissionv1.ValidatingAdmissionPolicyBinding) {
	var policies []admissionv1.ValidatingAdmissionPolicy
	var bindings []admissionv1.ValidatingAdmissionPolicyBinding
	for _, s := range shipped() {
		policy, binding := admissionv1.ValidatingAdmissionPolicy{}, admissionv1.ValidatingAdmissionPolicyBinding{}
		policy.Name, binding.Name = prefix+s.name, prefix+s.name
		binding.Spec.PolicyName = policy.Name
		binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
		policies, bindings = append(policies, policy), append(bindings, binding)
	}
	return policies, bindings
}

func TestPoliciesThatHold(t *testing.T) {
	for name, prefix := range map[string]string{"as kustomize names them": "pod-operator-", "as a release does": "shop-pod-operator-", "plain": ""} {
		t.Run(name, func(t *testing.T) {
			got := policyFindings(installed(prefix))
			if len(got) != 1 {
				t.Fatalf("%+v, want one line", got)
			}
			expect(t, got[0], OK, "all 6 admission policies hold")
		})
	}
}

func TestPoliciesThatDoNotHold(t *testing.T) {
	policies, bindings := installed("pod-operator-")
	auditing := slices.Clone(bindings)
	auditing[3].Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit}
	for name, c := range map[string]struct {
		policies []admissionv1.ValidatingAdmissionPolicy
		bindings []admissionv1.ValidatingAdmissionPolicyBinding
		want     []string
	}{
		"none of the revisions": {slices.Delete(slices.Clone(policies), 3, 4), bindings, []string{"only-the-operator-writes-revisions is not installed: users who may write ControllerRevisions can forge one"}},
		"one without a binding": {policies, slices.Delete(slices.Clone(bindings), 0, 1), []string{"may-create-pods has no binding that denies"}},
		"one that only audits":  {policies, auditing, []string{"only-the-operator-writes-revisions has no binding that denies"}},
		"one of another name":   {append(slices.Clone(policies[1:]), admissionv1.ValidatingAdmissionPolicy{}), bindings, []string{"may-create-pods is not installed"}},
		"none at all": {nil, nil, []string{
			"may-create-pods", "may-create-deployments", "may-read-pods", "only-the-operator-writes-revisions",
			"the-operator-makes-only-its-own-pods", "the-operator-only-renews-its-webhooks",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := policyFindings(c.policies, c.bindings)
			if len(got) != len(c.want) {
				t.Fatalf("%+v, want %d lines", got, len(c.want))
			}
			for i, f := range got {
				if f.Level != Note || f.Advice == "" || !strings.Contains(f.Text, c.want[i]) {
					t.Errorf("%+v, want a note with %q, and advice", f, c.want[i])
				}
			}
		})
	}
}

func TestPoliciesThatMayNotBeListed(t *testing.T) {
	c := &checkup{client: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewForbidden(admissionv1.Resource("validatingadmissionpolicies"), "", nil)
		},
	}).Build()}
	got := c.policies(t.Context())
	if len(got) != 1 {
		t.Fatalf("%+v, want one line", got)
	}
	expect(t, got[0], Note, "you may not list the admission policies")
}
