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
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// policy is an admission policy that an installation comes with.
type policy struct {
	// name is without the installation's prefix.
	name string
	// without is what is possible where it does not hold.
	without string
}

// shipped are the policies of config/admission-policy.
func shipped() []policy {
	return []policy{
		{"may-create-pods", "users who may write PodManagers or ImoocPods have pods of any kind made, also where they may not create pods"},
		{"may-create-deployments", "users who may create HelloWorlds have Deployments made, also where they may not create them"},
		{"may-read-pods", "users who may write Collectors read about the pods of that namespace, also where they may not list pods"},
		{"only-the-operator-writes-revisions", "users who may write ControllerRevisions can forge one, and the operator makes pods from it"},
		{"the-operator-makes-only-its-own-pods", "a stolen token of the operator writes any pod, Deployment, volume claim and ControllerRevision, in kube-system too"},
		{"the-operator-only-renews-its-webhooks", "a stolen token of the operator has its webhooks called for every request of the cluster"},
	}
}

const policyAdvice = "kubectl apply -k config/admission-policy; where the operator's account has another name, put it into the policies first (docs/webhooks.md)"

// policies looks at the admission policies.
func (c *checkup) policies(ctx context.Context) []Finding {
	var policies admissionv1.ValidatingAdmissionPolicyList
	var bindings admissionv1.ValidatingAdmissionPolicyBindingList
	err := c.client.List(ctx, &policies)
	if err == nil {
		err = c.client.List(ctx, &bindings)
	}
	switch {
	case apierrors.IsForbidden(err):
		return []Finding{note("policies", "you may not list the admission policies, so it is not known whether they are installed")}
	case err != nil:
		return []Finding{note("policies", "the admission policies could not be listed: %v", cause(err))}
	}
	return policyFindings(policies.Items, bindings.Items)
}

// policyFindings says which policies do not hold, and what that means. That is a
// note: a cluster may have other means.
func policyFindings(policies []admissionv1.ValidatingAdmissionPolicy, bindings []admissionv1.ValidatingAdmissionPolicyBinding) []Finding {
	var findings []Finding
	for _, p := range shipped() {
		installed := slices.DeleteFunc(slices.Clone(policies), func(found admissionv1.ValidatingAdmissionPolicy) bool { return !p.is(found.Name) })
		switch {
		case len(installed) == 0:
			findings = append(findings, p.missing("is not installed"))
		case !slices.ContainsFunc(installed, func(found admissionv1.ValidatingAdmissionPolicy) bool { return denies(found.Name, bindings) }):
			findings = append(findings, p.missing("has no binding that denies"))
		}
	}
	if len(findings) == 0 {
		findings = append(findings, ok("policies", "all %d admission policies hold", len(shipped())))
	}
	return findings
}

// is: an installation may have put a prefix before the name.
func (p policy) is(name string) bool { return name == p.name || strings.HasSuffix(name, "-"+p.name) }

func (p policy) missing(how string) Finding {
	f := note("policies", "admission policy %s %s: %s", p.name, how, p.without)
	f.Advice = policyAdvice
	return f
}

// denies: a policy does what its bindings say, and nothing without one.
func denies(name string, bindings []admissionv1.ValidatingAdmissionPolicyBinding) bool {
	return slices.ContainsFunc(bindings, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	})
}
