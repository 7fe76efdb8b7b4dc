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

package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/pod-operator/internal/install"
)

// account is how policies name the operator's account.
var account = regexp.MustCompile(`\['system:serviceaccount', '([^']*)', '([^']*)'\]`)

// A policy that names another account than the operator's would stop the
// operator, or confine none, so the names that kustomize gives go into the
// expressions.
func TestThePoliciesNameTheOperatorsAccount(t *testing.T) {
	for name, change := range map[string]*strings.Replacer{
		"as we ship it": strings.NewReplacer(),
		"elsewhere":     strings.NewReplacer("namespace: pod-operator-system", "namespace: elsewhere", "namePrefix: pod-operator-", "namePrefix: my-"),
	} {
		t.Run(name, func(t *testing.T) {
			objects := changed(t, change)
			operator := objects["ServiceAccount"][0]
			found := map[string]string{}
			for _, object := range objects["ValidatingAdmissionPolicy"] {
				for _, match := range account.FindAllStringSubmatch(expressions(t, object), -1) {
					found[policyName(object)] = match[1] + "/" + match[2]
				}
			}
			want := operator.GetNamespace() + "/" + operator.GetName()
			if diff := cmp.Diff(map[string]string{
				"only-the-operator-writes-revisions":    want,
				"the-operator-makes-only-its-own-pods":  want,
				"the-operator-only-renews-its-webhooks": want,
			}, found); diff != "" {
				t.Errorf("accounts (-want +got):\n%s", diff)
			}
			configuration := "'" + objects["ValidatingWebhookConfiguration"][0].GetName() + "'"
			for _, object := range objects["ValidatingAdmissionPolicy"] {
				if policyName(object) == "the-operator-only-renews-its-webhooks" && !strings.Contains(expressions(t, object), configuration) {
					t.Errorf("%s does not name %s", object.GetName(), configuration)
				}
			}
		})
	}
}

// policyName is a policy's name without the prefix.
func policyName(object *unstructured.Unstructured) string {
	name := object.GetName()
	for _, prefix := range []string{"pod-operator-", "my-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// expressions are those of a policy's match conditions and variables.
func expressions(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	policy := into[admissionv1.ValidatingAdmissionPolicy](t, object)
	var all []string
	for _, condition := range policy.Spec.MatchConditions {
		all = append(all, condition.Expression)
	}
	for _, variable := range policy.Spec.Variables {
		all = append(all, variable.Expression)
	}
	return strings.Join(all, "\n")
}

// changed renders config/default with another kustomization, by kind.
func changed(t *testing.T, change *strings.Replacer) map[string][]*unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(config)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "default", "kustomization.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := install.Render(filepath.Join(dir, "default"))
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string][]*unstructured.Unstructured{}
	for _, object := range objects {
		byKind[object.GetKind()] = append(byKind[object.GetKind()], object)
	}
	return byKind
}

// A policy without a binding does nothing.
func TestEveryPolicyIsBound(t *testing.T) {
	var policies, bound []string
	for _, object := range render(t, "default") {
		switch object.GetKind() {
		case "ValidatingAdmissionPolicy":
			policies = append(policies, object.GetName())
		case "ValidatingAdmissionPolicyBinding":
			binding := into[admissionv1.ValidatingAdmissionPolicyBinding](t, object)
			if slices.Contains(binding.Spec.ValidationActions, admissionv1.Deny) {
				bound = append(bound, binding.Spec.PolicyName)
			}
		}
	}
	slices.Sort(policies)
	slices.Sort(bound)
	if diff := cmp.Diff(policies, bound); diff != "" || len(policies) == 0 {
		t.Errorf("policies and what is bound (-policies +bound):\n%s", diff)
	}
}
