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
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// rightsOf are the rights of the operator's account in a folder, and the roles that
// grant each.
func rightsOf(t *testing.T, folder string) map[string][]string {
	t.Helper()
	objects := render(t, folder)
	bound := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() != "RoleBinding" && object.GetKind() != "ClusterRoleBinding" {
			continue
		}
		binding := into[rbacv1.ClusterRoleBinding](t, object) // a RoleBinding has the same fields
		if slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Name == testkit.OperatorServiceAccount }) {
			bound[binding.RoleRef.Kind+" "+binding.RoleRef.Name] = true
		}
	}
	rights := map[string][]string{}
	for _, object := range objects {
		name := object.GetKind() + " " + object.GetName()
		if !bound[name] {
			continue
		}
		for _, rule := range into[rbacv1.ClusterRole](t, object).Rules {
			for _, right := range spelled(rule) {
				rights[right] = append(rights[right], name)
			}
		}
	}
	if len(rights) < 20 {
		t.Fatalf("%s: only %d rights were found", folder, len(rights))
	}
	return rights
}

// spelled are the rights of a rule, one by one.
func spelled(rule rbacv1.PolicyRule) (rights []string) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range rule.Verbs {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					rights = append(rights, fmt.Sprintf("%s %s.%s %s", verb, resource, group, name))
				}
			}
		}
	}
	return rights
}

// Each role belongs to a part of the operator that can be left out alone, so these
// rights are granted by two; no other is.
var grantedTwice = map[string]string{
	"create subjectaccessreviews.authorization.k8s.io ": "Collectors, and metrics with the page",
	"create events. ": "what happens to objects, and who leads: where the operator serves some namespaces only, its own is none of them",
	"get customresourcedefinitions.apiextensions.k8s.io podmanagers.apps.mycompany.com": "v1alpha1's fields, and the webhooks' certificate",
}

func TestNoRightIsGrantedTwice(t *testing.T) {
	rights := rightsOf(t, "default")
	for right, roles := range rights {
		if len(roles) > 1 && grantedTwice[right] == "" {
			t.Errorf("%s: granted by %s", right, strings.Join(roles, ", "))
		}
	}
	for right := range grantedTwice {
		if len(rights[right]) < 2 {
			t.Errorf("%s: granted by %v only", right, rights[right])
		}
	}
}

// Without shards the operator may use its own Lease and no other.
func TestOnlyShardsHoldLeasesOfAnyName(t *testing.T) {
	const leases = " leases.coordination.k8s.io "
	for _, folder := range []string{"default", "certmanager"} {
		for right := range rightsOf(t, folder) {
			verb, name, about := strings.Cut(right, leases)
			if about && verb != "create" && name != "pod-operator.mycompany.com" { // a create has no name yet
				t.Errorf("%s grants %s", folder, right)
			}
		}
	}
	for _, verb := range []string{"get", "list", "watch", "create", "update", "delete"} {
		if rightsOf(t, "shards")[verb+leases] == nil {
			t.Errorf("shards cannot %s Leases", verb)
		}
	}
}

// Without the kinds of tutorials, the rights that only they need are left out.
func TestProductionHasNoRightsForTutorials(t *testing.T) {
	all, production := rightsOf(t, "default"), rightsOf(t, "production")
	var gone []string
	for right := range all {
		if production[right] == nil {
			gone = append(gone, right)
		}
	}
	for right := range production {
		if all[right] == nil {
			t.Errorf("%s: only in production", right)
		}
	}
	slices.Sort(gone)
	want := []string{
		"create deployments.apps ",
		"list collectors.collector.ip.mycompany.com ",
		"list daemonsets.apps ",
		"list deployments.apps ",
		"list helloworlds.test.jiaozi.com ",
		"list imoocpods.batch.tutorial.kubebuilder.io ",
		"list replicasets.apps ",
		"list statefulsets.apps ",
		"get imoocpods.batch.tutorial.kubebuilder.io ",
		"patch collectors/status.collector.ip.mycompany.com ",
		"patch deployments.apps ",
		"patch helloworlds/status.test.jiaozi.com ",
		"patch imoocpods/status.batch.tutorial.kubebuilder.io ",
		"update helloworlds/finalizers.test.jiaozi.com ",
		"update imoocpods/finalizers.batch.tutorial.kubebuilder.io ",
		"watch collectors.collector.ip.mycompany.com ",
		"watch daemonsets.apps ",
		"watch deployments.apps ",
		"watch helloworlds.test.jiaozi.com ",
		"watch imoocpods.batch.tutorial.kubebuilder.io ",
		"watch replicasets.apps ",
		"watch statefulsets.apps ",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, gone); diff != "" {
		t.Errorf("rights that production lacks (-want +got):\n%s", diff)
	}
	for _, object := range render(t, "production") {
		if name := object.GetName(); object.GetKind() == "CustomResourceDefinition" && name != "podmanagers.apps.mycompany.com" {
			t.Errorf("production installs %s", name)
		}
	}
}
