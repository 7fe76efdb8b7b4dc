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

package kinds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := suite.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// read reads an object into obj, which names it.
func read[O client.Object](t testing.TB, obj O) O {
	t.Helper()
	if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatalf("get %T %s: %v", obj, obj.GetName(), err)
	}
	return obj
}

// patch sends a merge patch.
func patch(t testing.TB, obj client.Object, body string, args ...any) {
	t.Helper()
	raw := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, body, args...))
	if err := suite.Client.Patch(t.Context(), obj.DeepCopyObject().(client.Object), raw); err != nil {
		t.Fatalf("patch %T %s: %v", obj, obj.GetName(), err)
	}
}

func podsOf(t testing.TB, namespace string, labels client.MatchingLabels) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace), labels); err != nil {
		t.Fatalf("list pods: %v", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// live are the pods that are not terminating.
func live(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

func names(pods []corev1.Pod) []string {
	list := []string{}
	for _, p := range pods {
		list = append(list, p.Name)
	}
	return list
}

// settled: the conditions are of this generation, Ready is True and nothing is
// under way.
func settled(obj client.Object, observed int64, conditions []metav1.Condition) error {
	if observed != obj.GetGeneration() {
		return fmt.Errorf("status is for generation %d of %d", observed, obj.GetGeneration())
	}
	for _, c := range conditions {
		if c.Type != "Ready" && c.Type != "Available" {
			return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	if !meta.IsStatusConditionTrue(conditions, "Ready") {
		return fmt.Errorf("not ready: %+v", conditions)
	}
	return nil
}

// stalled: kstatus and the conditions agree that nothing moves without help.
func stalled(obj client.Object, conditions []metav1.Condition, reason string) error {
	c := meta.FindStatusCondition(conditions, "Stalled")
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || c.ObservedGeneration != obj.GetGeneration() {
		return fmt.Errorf("Stalled is %+v, not %s", c, reason)
	}
	if meta.IsStatusConditionTrue(conditions, "Ready") {
		return errors.New("stalled and ready at once")
	}
	return nil
}

// expectKstatus asks kstatus what Flux and Helm take an object for.
func expectKstatus(t testing.TB, obj client.Object, want status.Status) {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatalf("kstatus of %T %s: %v", obj, obj.GetName(), err)
	}
	if result.Status != want {
		t.Errorf("kstatus takes %T %s for %s (%s), not %s", obj, obj.GetName(), result.Status, result.Message, want)
	}
}

// expectEvent waits for an event of an object.
func expectEvent(t testing.TB, obj client.Object, reason, note string) {
	t.Helper()
	testkit.Eventually(t, "there is an event "+reason+": "+note, func() error {
		var list eventsv1.EventList
		if err := suite.Client.List(t.Context(), &list, client.InNamespace(obj.GetNamespace())); err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			if e.Regarding.Name != obj.GetName() {
				continue
			}
			if e.Reason == reason && strings.Contains(e.Note, note) {
				return nil
			}
			seen = append(seen, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("the events are:\n%s", strings.Join(seen, "\n"))
	})
}

// expectRest waits until the operator comes to rest: for a while it writes
// nothing in a namespace. What it wrote last may not be in the audit log yet
// when the test sees it, and the built-in controllers may have more to tell.
func expectRest(t testing.TB, namespace string, quiet time.Duration) {
	t.Helper()
	mark, since := auditMark(t), time.Now()
	testkit.Eventually(t, "the operator writes nothing for "+quiet.String(), func() error {
		if writes := writesIn(t, namespace, mark); len(writes) > 0 {
			mark, since = auditMark(t), time.Now()
			return errors.New("it wrote:\n" + strings.Join(writes, "\n"))
		}
		if time.Since(since) < quiet {
			return errors.New("it has just written something")
		}
		return nil
	})
}

func auditMark(t testing.TB) localkube.AuditMark {
	t.Helper()
	mark, err := suite.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// writesIn are the operator's writes in a namespace after a mark, events aside:
// those are sent by themselves, and late on a slow machine.
func writesIn(t testing.TB, namespace string, mark localkube.AuditMark) (writes []string) {
	t.Helper()
	events, err := suite.Cluster.AuditEvents(mark)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := &events[i]
		if e.User.Username == testkit.OperatorUser && e.Mutating() && e.ObjectRef.Namespace == namespace && e.ObjectRef.Resource != "events" {
			writes = append(writes, e.Verb+" "+e.RequestURI)
		}
	}
	return writes
}

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

// checkRights holds the operator's requests against its role: nothing was
// denied, and every rule that is there for these kinds was needed. The rest of
// the role is PodManager's; its own suite looks after that.
func checkRights(ctx context.Context) error {
	events, err := suite.Cluster.AuditEvents(0)
	if err != nil {
		return err
	}
	used, denied := sets.New[string](), sets.New[string]()
	for i := range events {
		e := &events[i]
		if e.User.Username != testkit.OperatorUser || e.ObjectRef.Resource == "" {
			continue
		}
		r := right(e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource, e.Verb)
		used.Insert(r)
		if e.Verb == "watch" {
			// The watch streams the list, too. Where the API server does not
			// do that, the list is asked for.
			used.Insert(right(e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource, "list"))
		}
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			denied.Insert(r)
		}
	}
	var role rbacv1.ClusterRole
	if err := suite.Client.Get(ctx, client.ObjectKey{Name: "pod-operator-manager-role"}, &role); err != nil {
		return err
	}
	granted := sets.New[string]()
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, sub, _ := strings.Cut(resource, "/")
				// Admission asks for this right, so no request shows it.
				if !forTheseKinds(group, name) || sub == "finalizers" {
					continue
				}
				for _, verb := range rule.Verbs {
					granted.Insert(right(group, name, sub, verb))
				}
			}
		}
	}
	if len(granted) == 0 {
		return errors.New("the operator's role has no rule for these kinds")
	}
	var errs []error
	if len(denied) > 0 {
		errs = append(errs, fmt.Errorf("rights that were denied: %v", sets.List(denied)))
	}
	if idle := granted.Difference(used); len(idle) > 0 {
		errs = append(errs, fmt.Errorf("rights that are granted and no test uses: %v", sets.List(idle)))
	}
	return errors.Join(errs...)
}

func forTheseKinds(group, resource string) bool {
	switch group {
	case "batch.tutorial.kubebuilder.io", "test.jiaozi.com", "collector.ip.mycompany.com", "authorization.k8s.io":
		return true
	case "apps":
		return resource != "controllerrevisions"
	}
	return false
}
