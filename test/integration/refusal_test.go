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
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// quota limits the pods of a namespace and waits until that is in force.
func quota(t *testing.T, namespace string, pods int64) *corev1.ResourceQuota {
	t.Helper()
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"}}
	q.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}
	create(t, q)
	expectQuota(t, q)
	return q
}

func expectQuota(t *testing.T, q *corev1.ResourceQuota) {
	t.Helper()
	testkit.Eventually(t, "the quota is in force", func() error {
		fresh := &corev1.ResourceQuota{}
		getObject(t, q.Namespace, q.Name, fresh)
		if fresh.Status.Hard.Pods().Cmp(*q.Spec.Hard.Pods()) != 0 {
			return fmt.Errorf("status says %v", fresh.Status.Hard)
		}
		return nil
	})
}

// TestAQuotaStallsAFleetUntilItIsRaised: it says so, warns once however often
// it tries again, and goes on by itself.
func TestAQuotaStallsAFleetUntilItIsRaised(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	q := quota(t, ns, 2)
	create(t, testkit.MakePodManager(ns, "web").Replicas(8).Obj())
	pm := expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded)
	expectKstatus(t, pm, status.FailedStatus)
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, "exceeded quota: few") {
		t.Errorf("the message does not name the quota: %s", c.Message)
	}
	if pm.Status.CurrentReplicas != 2 {
		t.Errorf("%d pods live under a quota of 2", pm.Status.CurrentReplicas)
	}
	testkit.Eventually(t, "it tries again and again", func() error {
		if _, refused := creates(t, ns); refused < 4 {
			return fmt.Errorf("%d creates were refused", refused)
		}
		return nil
	})
	if n := countWarnings(t, ns, "web"); n != 1 {
		t.Errorf("it warned %d times", n)
	}

	patch(t, q, `{"spec":{"hard":{"pods":"20"}}}`)
	expectReady(t, ns, "web", 8)
	// A second time is a second warning.
	patch(t, q, `{"spec":{"hard":{"pods":"8"}}}`)
	expectQuota(t, q)
	scale(t, ns, "web", 9)
	expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded)
	testkit.Eventually(t, "the second warning is told", func() error {
		if n := countWarnings(t, ns, "web"); n != 2 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	expectWarningCount(t, ns, "web", 2)
	// Asking for less is a way out, too.
	scale(t, ns, "web", 8)
	expectReady(t, ns, "web", 8)
}

// countWarnings counts the warnings, in one event or in many.
func countWarnings(t *testing.T, namespace, name string) int {
	t.Helper()
	n := 0
	for _, e := range warningsOf(t, namespace, name) {
		if n++; e.Series != nil {
			n += int(e.Series.Count) - 1
		}
	}
	return n
}

func warningsOf(t *testing.T, namespace, name string) []eventsv1.Event {
	t.Helper()
	var warnings []eventsv1.Event
	for _, e := range eventsOf(t, namespace, name) {
		if e.Type == corev1.EventTypeWarning {
			warnings = append(warnings, e)
		}
	}
	return warnings
}

// TestARefusedTemplateIsNotSentForEveryPod: slow start, so a template that the API
// server refuses is not sent once for every pod; and the fix does not wait.
func TestARefusedTemplateIsNotSentForEveryPod(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(50).PodSpec(func(s *corev1.PodSpec) {
		s.Containers = []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "nowhere", MountPath: "/data"}}}}
	}).Obj()
	create(t, pm)
	got := expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonPodsRefused)
	expectKstatus(t, got, status.FailedStatus)
	if c := meta.FindStatusCondition(got.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, `Not found: "nowhere"`) {
		t.Errorf("the message does not say what is wrong: %s", c.Message)
	}
	expectEvent(t, ns, "web", corev1.EventTypeWarning, appsv1.ReasonFailed, appsv1.ReasonPodsRefused)
	var made, refused int
	testkit.Eventually(t, "the refusal is in the audit log", func() error {
		if made, refused = creates(t, ns); refused == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	// A pass gives up after four refusals in a row, because a policy may refuse
	// one pod and not the next. There are two passes: the finalizer that the first
	// one adds is a change of the owner, and that is a reason to look again.
	if made != 0 || refused > 8 {
		t.Errorf("%d creates went through and %d were refused", made, refused)
	}
	edit(t, ns, "web", func(pm *appsv1.PodManager) {
		pm.Spec.Template.Spec.Containers[0].VolumeMounts = nil
		pm.Spec.Replicas = new(int32)
		*pm.Spec.Replicas = 3
	})
	expectReady(t, ns, "web", 3)
}

// TestAnAdmissionPolicyRefusesPods: the status reports what a cluster's owner
// forbids in the policy's own words.
func TestAnAdmissionPolicyRefusesPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	forbidImages(t, ns)
	create(t, testkit.MakePodManager(ns, "web").Replicas(3).Image("forbidden:1").Obj())
	pm := expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonPodsRefused)
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, "images of this name are not for you") {
		t.Errorf("the message is not the policy's: %s", c.Message)
	}
	edit(t, ns, "web", func(pm *appsv1.PodManager) { pm.Spec.Image = "allowed:1" })
	expectReady(t, ns, "web", 3)
}

func forbidImages(t *testing.T, namespace string) {
	t.Helper()
	forbid(t, namespace, "images",
		admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		`object.spec.containers.all(c, !c.image.startsWith("forbidden"))`, "images of this name are not for you")
	testkit.Eventually(t, "the policy is in force", func() error {
		canary := foreignPod(namespace, "canary", nil)
		canary.Spec.Containers[0].Image = "forbidden:1"
		if err := suite.Client.Create(t.Context(), canary, client.DryRunAll); err == nil {
			return errors.New("a forbidden image passes")
		}
		return nil
	})
}

// forbid makes an admission policy for one namespace and returns how to lift
// it.
func forbid(t *testing.T, namespace, name string, rule admissionv1.Rule, expression, message string) (lift func()) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + namespace}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}, Rule: rule,
			}}},
		},
		Validations: []admissionv1.Validation{{Expression: expression, Message: message}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}}
	binding.Spec.PolicyName = policy.Name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	create(t, policy)
	create(t, binding)
	lift = func() {
		_ = suite.Client.Delete(context.Background(), binding)
		_ = suite.Client.Delete(context.Background(), policy)
	}
	t.Cleanup(lift)
	return lift
}

// TestAStatusThatCannotBeWritten: the fleet is kept all the same, nothing is
// done twice, and repeated warnings are one event with a count.
func TestAStatusThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	canary := testkit.MakePodManager(ns, "canary").Replicas(0).Obj()
	create(t, canary)
	expectReady(t, ns, "canary", 0)
	lift := forbid(t, ns, "status",
		admissionv1.Rule{APIGroups: []string{"apps.mycompany.com"}, APIVersions: []string{"*"}, Resources: []string{"podmanagers/status"}},
		"false", "no client writes a status here")
	testkit.Eventually(t, "the policy is in force", func() error {
		body := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"replicas":7}}`))
		if err := suite.Client.Status().Patch(t.Context(), canary.DeepCopy(), body, client.DryRunAll); err == nil {
			return errors.New("a status can be written")
		}
		return nil
	})
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).Obj())
	for warnings := range 2 {
		pod := &corev1.Pod{}
		testkit.Eventually(t, "web-0 is the fleet's", func() error {
			err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web-0"}, pod)
			if err == nil && pod.Labels[appsv1.LabelName] == "" {
				err = errors.New("it is still the old one")
			}
			return err
		})
		kubectl(ns).run(t, "label", "pod", "web-0", appsv1.LabelName+"-")
		testkit.Eventually(t, "the warning is told", func() error {
			if n := countWarnings(t, ns, "web"); n != warnings+1 {
				return fmt.Errorf("there are %d", n)
			}
			return nil
		})
		if warnings == 0 {
			remove(t, pod)
		}
	}
	if w := warningsOf(t, ns, "web"); len(w) != 1 {
		t.Errorf("the same warning is told in %d events", len(w))
	}
	if made, refused := creates(t, ns); made != 3 || refused != 0 {
		t.Errorf("%d creates went through and %d were refused for 2 slots and 1 successor", made, refused)
	}
	lift()
	expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonNameTaken)
}

// TestANamespaceThatIsDeletedTakesItsFleetAlong: no pod is created in it any
// more, and nothing keeps it from going.
func TestANamespaceThatIsDeletedTakesItsFleetAlong(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).Obj())
	expectReady(t, ns, "web", 2)
	// A namespace's pods go before everything else in it, and a pod that
	// cannot go keeps the PodManager alive meanwhile.
	holder := foreignPod(ns, "holder", nil)
	holder.Finalizers = []string{"example.com/hold"}
	create(t, holder)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	getObject(t, "", ns, namespace)
	remove(t, namespace)
	pm := expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonNamespaceTerminating)
	expectKstatus(t, pm, status.FailedStatus)
	patch(t, holder, `{"metadata":{"finalizers":null}}`)
	expectGone(t, pm)
	expectGone(t, namespace)
}

// TestAPolicyTakesOurLabelOffClaims when we mark them: the cache never shows such a
// claim again, so the API server is asked, and the fleet goes on.
func TestAPolicyTakesOurLabelOffClaims(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "strip-" + ns}}
	policy.Spec = admissionv1.MutatingAdmissionPolicySpec{
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"persistentvolumeclaims"}},
			}}},
		},
		Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{
			Expression: `'app.kubernetes.io/managed-by' in object.metadata.labels ? [JSONPatch{op: "remove", path: "/metadata/labels/app.kubernetes.io~1managed-by"}] : []`,
		}}},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}}
	binding.Spec.PolicyName = policy.Name
	create(t, policy)
	create(t, binding)
	t.Cleanup(func() {
		_ = suite.Client.Delete(context.Background(), binding)
		_ = suite.Client.Delete(context.Background(), policy)
	})
	probe := claimOf(ns, "probe")
	probe.Labels = map[string]string{podrender.LabelManagedBy: podrender.ManagedBy}
	create(t, probe)
	testkit.Eventually(t, "the policy is in force", func() error {
		tried := probe.DeepCopy()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"probed": "true"}}}`))
		if err := suite.Client.Patch(t.Context(), tried, patch, client.DryRunAll); err != nil {
			return err
		}
		if len(tried.Labels) > 0 {
			return errors.New("the label stays")
		}
		return nil
	})

	pm := testkit.MakePodManager(ns, "db").Replicas(2).Obj()
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claimOf("", "data")}
	pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.ClaimDelete
	create(t, pm)
	exists := func(pod string) func() error {
		return func() error {
			return suite.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: pod}, &corev1.Pod{})
		}
	}
	testkit.Eventually(t, "pod db-1 exists", exists("db-1"))
	scale(t, ns, "db", 1)
	testkit.Eventually(t, "the claim of db-1 has lost its label", func() error {
		claim := claimOf(ns, "data-db-1")
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Labels[podrender.LabelManagedBy] != "" {
			return errors.New("it has it")
		}
		return nil
	})
	scale(t, ns, "db", 3)
	testkit.Eventually(t, "pod db-2 exists", exists("db-2"))
}

func claimOf(namespace, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}
