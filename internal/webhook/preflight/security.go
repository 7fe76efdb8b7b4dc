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

package preflight

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// CheckSecurity checks a pod against the levels of the Pod Security Standards
// that a namespace's labels enforce and warn about.
func (i *Inspector) CheckSecurity(ctx context.Context, namespace string, metadata *metav1.ObjectMeta, spec *corev1.PodSpec) []string {
	var ns corev1.Namespace
	if err := i.live.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
		return []string{fmt.Sprintf("the Pod Security level of namespace %s was not checked: %v", namespace, err)}
	}
	privileged := psa.LevelVersion{Level: psa.LevelPrivileged, Version: psa.LatestVersion()}
	// A label that cannot be read falls back to the strictest level, as it
	// does in the API server, which has warned the namespace's owner.
	levels, _ := psa.PolicyToEvaluate(ns.Labels, psa.Policy{Enforce: privileged, Audit: privileged, Warn: privileged})
	violation := func(level psa.LevelVersion) string {
		result := policy.AggregateCheckResults(i.security.EvaluatePod(level, metadata, spec))
		if result.Allowed {
			return ""
		}
		return result.ForbiddenDetail()
	}
	if detail := violation(levels.Enforce); detail != "" {
		return []string{fmt.Sprintf("namespace %s enforces the Pod Security level %q and will refuse the pods: %s",
			namespace, levels.Enforce.String(), detail)}
	}
	if detail := violation(levels.Warn); detail != "" {
		return []string{fmt.Sprintf("would violate PodSecurity %q: %s", levels.Warn.String(), detail)}
	}
	return nil
}
