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

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// auditPolicy writes each request down when it was answered; what an operator
// sends with its body, so that preconditions can be seen.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  users: ["` + testkit.OperatorUser + `"]
- level: Metadata
`

// auditTrail is what operators asked for.
type auditTrail struct {
	mu     sync.Mutex
	events []localkube.AuditEvent
}

// add takes over the operators' requests to a cluster.
func (a *auditTrail) add(cluster *localkube.Cluster) error {
	events, err := cluster.AuditEvents(0)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range events {
		if byOperator(&events[i]) {
			a.events = append(a.events, events[i])
		}
	}
	return nil
}

func byOperator(e *localkube.AuditEvent) bool { return e.User.Username == testkit.OperatorUser }

// right names what a request needs, as a role's rule does.
func right(group, resource, subresource, verb string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

// checkedElsewhere are rights that no request shows. The admission plugin
// OwnerReferencesPermissionEnforcement asks for them of the client that makes an object
// of these owners; TestOwnerReferencesNeedTheRightToFinalizers shows that it does.
func checkedElsewhere() []string {
	return []string{
		right("apps.mycompany.com", "podmanagers", "finalizers", "update"),
		right("batch.tutorial.kubebuilder.io", "imoocpods", "finalizers", "update"),
		right("test.jiaozi.com", "helloworlds", "finalizers", "update"),
	}
}

// checkRights holds what the operator asked for against what it may.
func (a *auditTrail) checkRights(granted sets.Set[string]) error {
	used, denied := sets.New[string](), sets.New[string]()
	for i := range a.events {
		e := &a.events[i]
		if e.ObjectRef.Resource == "" || ofOthers(e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.Verb) {
			continue // discovery, which every user may do, and what is tested elsewhere
		}
		r := right(e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource, e.Verb)
		used.Insert(r)
		if e.Verb == "watch" && onlyWatched(e.ObjectRef.APIGroup, e.ObjectRef.Resource) {
			used.Insert(right(e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource, "list"))
		}
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			denied.Insert(r)
		}
	}
	used.Insert(checkedElsewhere()...)
	var errs []error
	for title, list := range map[string]sets.Set[string]{
		"rights that were denied":                    denied,
		"rights that are granted and no test uses":   granted.Difference(used),
		"rights that were used and that no role has": used.Difference(granted),
	} {
		if len(list) > 0 {
			errs = append(errs, fmt.Errorf("%s:\n  %s", title, strings.Join(sets.List(list), "\n  ")))
		}
	}
	return errors.Join(errs...)
}

// onlyWatched are what the smaller kinds need. A watch streams the list, too, and
// only TestProgram has an API server that does not do that: its operator serves
// PodManagers.
func onlyWatched(group, resource string) bool {
	switch group {
	case "batch.tutorial.kubebuilder.io", "test.jiaozi.com", "collector.ip.mycompany.com":
		return true
	}
	return group == "apps" && resource != "controllerrevisions"
}

// ofOthers are the rights that the operator has for its webhooks, which test/webhooks
// looks after, and for the API of lifecycle.k8s.io, which test/lifecycle does.
func ofOthers(group, resource, verb string) bool {
	switch group {
	case "admissionregistration.k8s.io", "lifecycle.k8s.io":
		return true
	case "":
		return resource == "namespaces" || resource == "configmaps" || resource == "resourcequotas"
	case "apiextensions.k8s.io":
		return verb == "get" || verb == "patch"
	}
	return false
}

// grantedRights reads the rights of the operator's ServiceAccount off the roles
// that the cluster binds to it.
func grantedRights(ctx context.Context, c client.Client) (sets.Set[string], error) {
	rules, err := boundRules(ctx, c)
	if err != nil {
		return nil, err
	}
	granted := sets.New[string]()
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, sub, _ := strings.Cut(resource, "/")
				for _, verb := range rule.Verbs {
					if !ofOthers(group, name, verb) {
						granted.Insert(right(group, name, sub, verb))
					}
				}
			}
		}
	}
	if len(granted) == 0 {
		return nil, errors.New("no role is bound to the operator's ServiceAccount")
	}
	return granted, nil
}

func boundRules(ctx context.Context, c client.Client) ([]rbacv1.PolicyRule, error) {
	var clusterBindings rbacv1.ClusterRoleBindingList
	var bindings rbacv1.RoleBindingList
	if err := errors.Join(c.List(ctx, &clusterBindings), c.List(ctx, &bindings)); err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	for i := range clusterBindings.Items {
		b := &clusterBindings.Items[i]
		if !slices.ContainsFunc(b.Subjects, isOperator) {
			continue
		}
		var role rbacv1.ClusterRole
		if err := c.Get(ctx, client.ObjectKey{Name: b.RoleRef.Name}, &role); err != nil {
			return nil, err
		}
		rules = append(rules, role.Rules...)
	}
	for i := range bindings.Items {
		b := &bindings.Items[i]
		if !slices.ContainsFunc(b.Subjects, isOperator) {
			continue
		}
		var role rbacv1.Role
		if err := c.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.RoleRef.Name}, &role); err != nil {
			return nil, err
		}
		rules = append(rules, role.Rules...)
	}
	return rules, nil
}

func isOperator(s rbacv1.Subject) bool {
	return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == testkit.OperatorNamespace && s.Name == testkit.OperatorServiceAccount
}

// body is the part of a request that holds its preconditions.
type body struct {
	Preconditions struct {
		UID string `json:"uid"`
	} `json:"preconditions"`
	Metadata struct {
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// checkWrites checks every write of every operator against the safety rules:
// deletes of pods carry the UID, patches the UID or the resourceVersion, also
// those of a status, and no spec of a PodManager is edited.
func (a *auditTrail) checkWrites() error {
	var errs []error
	for i := range a.events {
		e := &a.events[i]
		if !e.Mutating() || len(errs) > 10 {
			continue
		}
		if err := checkWrite(e); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w: %s", e.Verb, e.RequestURI, err, e.RequestObject))
		}
	}
	return errors.Join(errs...)
}

func checkWrite(e *localkube.AuditEvent) error {
	kind := right(e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource, e.Verb)
	if e.Verb == "patch" && e.ObjectRef.Subresource == "status" && e.ObjectRef.Resource != "pods" {
		if !strings.Contains(string(e.RequestObject), `{"op":"test","path":"/metadata/uid"`) {
			return errors.New("the patch tests no UID")
		}
		return nil
	}
	if kind == "patch configmaps" {
		if !strings.HasPrefix(string(e.RequestObject), `[{"op":"add","path":"/metadata/resourceVersion","value":"`) {
			return errors.New("the patch has no resourceVersion")
		}
		return nil
	}
	var b body
	if len(e.RequestObject) > 0 {
		if err := json.Unmarshal(e.RequestObject, &b); err != nil {
			return err
		}
	}
	switch kind {
	case "delete pods":
		if b.Preconditions.UID == "" {
			return errors.New("the delete has no UID")
		}
	case "patch pods", "patch deployments.apps":
		if b.Metadata.UID == "" {
			return errors.New("the patch has no UID")
		}
	case "patch podmanagers.apps.mycompany.com":
		if b.Metadata.ResourceVersion == "" {
			return errors.New("the patch has no resourceVersion")
		}
		if len(b.Spec) > 0 || len(b.Status) > 0 {
			return errors.New("the operator edits more than metadata")
		}
	}
	return nil
}
