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
	suite.Create(t, q)
	expectQuota(t, q)
	return q
}

func expectQuota(t *testing.T, q *corev1.ResourceQuota) {
	t.Helper()
	testkit.Eventually(t, "the quota is in force", func() error {
		fresh := &corev1.ResourceQuota{}
		fresh.Namespace, fresh.Name = q.Namespace, q.Name
		testkit.Read(t, suite, fresh)
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
	f := suite.NewFleet(t, "web")
	q := quota(t, f.Namespace, 2)
	f.Create(f.Build().Replicas(8))
	pm, _ := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded)
	expectKstatus(t, pm, status.FailedStatus)
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, "exceeded quota: few") {
		t.Errorf("the message does not name the quota: %s", c.Message)
	}
	if pm.Status.CurrentReplicas != 2 {
		t.Errorf("%d pods live under a quota of 2", pm.Status.CurrentReplicas)
	}
	testkit.Eventually(t, "it tries again and again", func() error {
		if _, refused := f.Creates(); refused < 4 {
			return fmt.Errorf("%d creates were refused", refused)
		}
		return nil
	})
	if n := f.CountWarnings(); n != 1 {
		t.Errorf("it warned %d times", n)
	}

	suite.Patch(t, q, `{"spec":{"hard":{"pods":"20"}}}`)
	f.ExpectReady(8)
	// A second time is a second warning.
	suite.Patch(t, q, `{"spec":{"hard":{"pods":"8"}}}`)
	expectQuota(t, q)
	f.Scale(9)
	f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded)
	f.ExpectWarnings(2)
	expectWarningCount(f, 2)
	// Asking for less is a way out, too.
	f.Scale(8)
	f.ExpectReady(8)
}

// TestARefusedTemplateIsNotSentForEveryPod: slow start, so a template that the API
// server refuses is not sent once for every pod; and the fix does not wait.
func TestARefusedTemplateIsNotSentForEveryPod(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(50).PodSpec(func(s *corev1.PodSpec) {
		s.Containers = []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "nowhere", MountPath: "/data"}}}}
	}).Obj()
	suite.Create(t, pm)
	got, _ := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonPodsRefused)
	expectKstatus(t, got, status.FailedStatus)
	if c := meta.FindStatusCondition(got.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, `Not found: "nowhere"`) {
		t.Errorf("the message does not say what is wrong: %s", c.Message)
	}
	f.ExpectEvent(corev1.EventTypeWarning, appsv1.ReasonFailed, appsv1.ReasonPodsRefused)
	var made, refused int
	testkit.Eventually(t, "the refusal is in the audit log", func() error {
		if made, refused = f.Creates(); refused == 0 {
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
	f.Edit(func(pm *appsv1.PodManager) {
		pm.Spec.Template.Spec.Containers[0].VolumeMounts = nil
		pm.Spec.Replicas = new(int32)
		*pm.Spec.Replicas = 3
	})
	f.ExpectReady(3)
}

// TestAnAdmissionPolicyRefusesPods: the status reports what a cluster's owner
// forbids in the policy's own words.
func TestAnAdmissionPolicyRefusesPods(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	forbidImages(t, f.Namespace)
	f.Create(f.Build().Replicas(3).Image("forbidden:1"))
	pm, _ := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonPodsRefused)
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, "images of this name are not for you") {
		t.Errorf("the message is not the policy's: %s", c.Message)
	}
	f.Edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "allowed:1" })
	f.ExpectReady(3)
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
	suite.Create(t, policy)
	suite.Create(t, binding)
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
	canary, web := suite.Fleet(t, ns, "canary"), suite.Fleet(t, ns, "web")
	canary.Create(canary.Build().Replicas(0))
	untouched := canary.ExpectReady(0)
	lift := forbid(t, ns, "status",
		admissionv1.Rule{APIGroups: []string{"apps.mycompany.com"}, APIVersions: []string{"*"}, Resources: []string{"podmanagers/status"}},
		"false", "no client writes a status here")
	testkit.Eventually(t, "the policy is in force", func() error {
		body := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"replicas":7}}`))
		if err := suite.Client.Status().Patch(t.Context(), untouched.DeepCopy(), body, client.DryRunAll); err == nil {
			return errors.New("a status can be written")
		}
		return nil
	})
	web.Create(web.Build().Replicas(2))
	for warnings := range 2 {
		pod := &corev1.Pod{}
		testkit.Eventually(t, "web-0 is the fleet's", func() error {
			err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web-0"}, pod)
			if err == nil && pod.Labels[appsv1.LabelName] == "" {
				err = errors.New("it is still the old one")
			}
			return err
		})
		web.Kubectl("label", "pod", "web-0", appsv1.LabelName+"-")
		web.ExpectWarnings(warnings + 1)
		if warnings == 0 {
			suite.Delete(t, pod)
		}
	}
	if w := web.Warnings(); len(w) != 1 {
		t.Errorf("the same warning is told in %d events", len(w))
	}
	if made, refused := web.Creates(); made != 3 || refused != 0 {
		t.Errorf("%d creates went through and %d were refused for 2 slots and 1 successor", made, refused)
	}
	lift()
	web.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonNameTaken)
}

// TestANamespaceThatIsDeletedTakesItsFleetAlong: no pod is created in it any
// more, and nothing keeps it from going.
func TestANamespaceThatIsDeletedTakesItsFleetAlong(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(2))
	f.ExpectReady(2)
	// A namespace's pods go before everything else in it, and a pod that
	// cannot go keeps the PodManager alive meanwhile.
	holder := foreignPod(f.Namespace, "holder", nil)
	holder.Finalizers = []string{"example.com/hold"}
	suite.Create(t, holder)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.Namespace}}
	testkit.Read(t, suite, namespace)
	suite.Delete(t, namespace)
	pm, _ := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonNamespaceTerminating)
	expectKstatus(t, pm, status.FailedStatus)
	suite.Patch(t, holder, `{"metadata":{"finalizers":null}}`)
	suite.ExpectGone(t, pm)
	suite.ExpectGone(t, namespace)
}

// TestAPolicyTakesOurLabelOffClaims when we mark them: the cache never shows such a
// claim again, so the API server is asked, and the fleet goes on.
func TestAPolicyTakesOurLabelOffClaims(t *testing.T) {
	t.Parallel()
	kind := admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy")
	if _, err := suite.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		t.Skipf("Kubernetes before 1.36 has no such policies: %v", err)
	}
	f := suite.NewFleet(t, "db")
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "strip-" + f.Namespace}}
	policy.Spec = admissionv1.MutatingAdmissionPolicySpec{
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.Namespace}},
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
	suite.Create(t, policy)
	suite.Create(t, binding)
	t.Cleanup(func() {
		_ = suite.Client.Delete(context.Background(), binding)
		_ = suite.Client.Delete(context.Background(), policy)
	})
	probe := claimOf(f.Namespace, "probe")
	probe.Labels = map[string]string{podrender.LabelManagedBy: podrender.ManagedBy}
	suite.Create(t, probe)
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

	pm := f.Build().Replicas(2).Obj()
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claimOf("", "data")}
	pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.ClaimDelete
	suite.Create(t, pm)
	exists := func(pod string) func() error {
		return func() error {
			return suite.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: pod}, &corev1.Pod{})
		}
	}
	testkit.Eventually(t, "pod db-1 exists", exists("db-1"))
	f.Scale(1)
	testkit.Eventually(t, "the claim of db-1 has lost its label", func() error {
		claim := claimOf(f.Namespace, "data-db-1")
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Labels[podrender.LabelManagedBy] != "" {
			return errors.New("it has it")
		}
		return nil
	})
	f.Scale(3)
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
