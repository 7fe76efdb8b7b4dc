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
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func crdFile() string {
	return filepath.Join(testkit.Root(), "config", "crd", "bases", "apps.mycompany.com_podmanagers.yaml")
}

// TestCRDFitsAPlainApply: client-side apply keeps the whole object in an
// annotation, and annotations hold 256 KB. The first apply creates, the second
// has to compare with what the first one kept.
func TestCRDFitsAPlainApply(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(crdFile())
	if err != nil {
		t.Fatal(err)
	}
	// The same CRD under another group, because this one is in use.
	copied := filepath.Join(t.TempDir(), "crd.yaml")
	renamed := strings.NewReplacer("apps.mycompany.com", "copy.mycompany.com", "- all\n", "- copies\n", "- pm\n", "- pmcopy\n").Replace(string(raw))
	if err := os.WriteFile(copied, []byte(renamed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"created", "unchanged"} {
		if out := suite.Kubectl(t, "apply", "-f", copied); !strings.Contains(out, "podmanagers.copy.mycompany.com "+want) {
			t.Errorf("kubectl apply says %q, not %s", out, want)
		}
	}
	suite.Kubectl(t, "delete", "-f", copied)
}

// TestExplainHasASentenceForEveryField of ours: what is below the template is
// the pod's own and told by kubectl explain pod.
func TestExplainHasASentenceForEveryField(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(crdFile())
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, version := range crd.Spec.Versions {
		for _, root := range []string{"spec", "status"} {
			schema := version.Schema.OpenAPIV3Schema.Properties[root]
			fields += checkSentences(t, version.Name+" "+root, schema)
		}
	}
	if fields < 40 {
		t.Errorf("only %d fields were found", fields)
	}

	squeeze := regexp.MustCompile(`\s+`)
	out := squeeze.ReplaceAllString(suite.Kubectl(t, "explain", "pm.spec"), " ")
	stored := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	for name, field := range crd.Spec.Versions[stored].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
		if want := squeeze.ReplaceAllString(field.Description, " "); !strings.Contains(out, want) {
			t.Errorf("kubectl explain pm.spec does not say of %s: %s", name, want)
		}
	}
}

// podShaped are the fields whose inside is Kubernetes' own.
func podShaped(path string) bool {
	return strings.HasSuffix(path, ".template") || strings.HasSuffix(path, ".volumeClaimTemplates") ||
		strings.HasSuffix(path, ".conditions")
}

func checkSentences(t *testing.T, path string, schema apiextensionsv1.JSONSchemaProps) int {
	t.Helper()
	fields := 0
	if schema.Items != nil && schema.Items.Schema != nil {
		fields += checkSentences(t, path, *schema.Items.Schema)
	}
	for name, field := range schema.Properties {
		at := path + "." + name
		fields++
		if d := strings.TrimSpace(field.Description); !strings.HasSuffix(d, ".") || strings.HasPrefix(d, "TODO") {
			t.Errorf("%s has no sentence, but %q", at, d)
		}
		if !podShaped(at) {
			fields += checkSentences(t, at, field)
		}
	}
	return fields
}

// TestTemplateMetadataSurvives: a CRD drops what its schema does not name, and
// a plain embedded metadata names nothing.
func TestTemplateMetadataSurvives(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(1).Annotate("example.com/note", "kept").Obj()
	pm.Spec.Template.Labels = map[string]string{"tier": "front", "app": "shop"}
	suite.Create(t, pm)
	stored := f.ExpectReady(1)
	if diff := cmp.Diff(map[string]string{"tier": "front", "app": "shop"}, stored.Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the stored template: %s", diff)
	}
	pod := f.Pod("web-0")
	if pod.Labels["tier"] != "front" || pod.Labels["app"] != "shop" || pod.Annotations["example.com/note"] != "kept" {
		t.Errorf("the pod has labels %v and annotations %v", pod.Labels, pod.Annotations)
	}
}

// TestTwoManagersApplyOneTemplate: lists with keys merge by key, so a manager
// that injects a sidecar and the one that owns the app do not conflict.
func TestTwoManagersApplyOneTemplate(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	apply := func(manager, container, image string) {
		t.Helper()
		object := &unstructured.Unstructured{}
		manifest := fmt.Sprintf(`{"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager",
			"metadata": {"namespace": %q, "name": "web"},
			"spec": {"template": {"spec": {"containers": [{"name": %q, "image": %q}]}}}}`, f.Namespace, container, image)
		if err := object.UnmarshalJSON([]byte(manifest)); err != nil {
			t.Fatal(err)
		}
		err := suite.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager))
		if err != nil {
			t.Fatalf("%s applies %s: %v", manager, container, err)
		}
	}
	images := func() map[string]string {
		m := map[string]string{}
		for _, c := range f.Get().Spec.Template.Spec.Containers {
			m[c.Name] = c.Image
		}
		return m
	}
	apply("team", "app", "nginx:1.27")
	apply("mesh", "proxy", "envoy:1")
	apply("team", "app", "nginx:1.28")
	if diff := cmp.Diff(map[string]string{"app": "nginx:1.28", "proxy": "envoy:1"}, images()); diff != "" {
		t.Errorf("containers: %s", diff)
	}
}

// TestAForeignConditionSurvives: conditions merge by type, and the operator
// writes only its own.
func TestAForeignConditionSurvives(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(1))
	f.ExpectReady(1)
	object := &unstructured.Unstructured{}
	manifest := fmt.Sprintf(`{"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager",
		"metadata": {"namespace": %q, "name": "web"},
		"status": {"conditions": [{"type": "example.com/Audited", "status": "True", "reason": "Signed", "message": "",
			"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}]}}`, f.Namespace)
	if err := object.UnmarshalJSON([]byte(manifest)); err != nil {
		t.Fatal(err)
	}
	err := suite.Client.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("auditor"))
	if err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(f.Get().Status.Conditions, appsv1.ConditionReady); c == nil {
		t.Fatal("the auditor's apply took Ready away")
	}
	f.Scale(2)
	pm := f.ExpectReady(2)
	if !meta.IsStatusConditionTrue(pm.Status.Conditions, "example.com/Audited") {
		t.Errorf("the operator took the auditor's condition away: %+v", pm.Status.Conditions)
	}
}

// TestDefaults: what a user leaves out is filled in where the user can see it.
func TestDefaults(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := &unstructured.Unstructured{}
	err := pm.UnmarshalJSON([]byte(fmt.Sprintf(`{"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager",
		"metadata": {"namespace": %q, "name": "web"}, "spec": {"image": "nginx:1.27"}}`, ns)))
	if err != nil {
		t.Fatal(err)
	}
	if err := suite.Client.Create(t.Context(), pm, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	spec := pm.Object["spec"].(map[string]any)
	for field, want := range map[string]any{
		"replicas": int64(3), "identity": "Ordinal", "minReadySeconds": int64(0), "revisionHistoryLimit": int64(10),
		"failedPods": map[string]any{"limit": int64(1), "backoff": map[string]any{"initial": "10s", "max": "5m0s"}},
		"deletion":   map[string]any{"policy": "Delete"},
	} {
		if diff := cmp.Diff(want, spec[field]); diff != "" {
			t.Errorf("spec.%s: %s", field, diff)
		}
	}
	// The operator has not looked yet, and kstatus must not take silence for success.
	seen, _, _ := unstructured.NestedInt64(pm.Object, "status", "observedGeneration")
	if seen != -1 {
		t.Errorf("status.observedGeneration of a new object is %d", seen)
	}
}

// TestScaleSubresource: what kubectl scale and a HorizontalPodAutoscaler use.
func TestScaleSubresource(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(2))
	pm := f.ExpectReady(2)
	out := suite.Kubectl(t, "get", "--raw", "/apis/apps.mycompany.com/v1/namespaces/"+f.Namespace+"/podmanagers/web/scale")
	var scaled struct {
		Spec   struct{ Replicas int }
		Status struct {
			Replicas int
			Selector string
		}
	}
	if err := yaml.Unmarshal([]byte(out), &scaled); err != nil {
		t.Fatal(err)
	}
	if scaled.Spec.Replicas != 2 || scaled.Status.Replicas != 2 || scaled.Status.Selector != "podmanager=web" {
		t.Errorf("scale says %+v", scaled)
	}

	// An autoscaler raises a fleet below its minimum without any metric.
	f.Kubectl("autoscale", "pm/web", "--min=4", "--max=5", "--cpu=50%")
	f.ExpectReady(4)
	if got := f.Get(); got.UID != pm.UID {
		t.Errorf("another object: %v", got.ObjectMeta)
	}
}

// TestKubectlWaitsForTheRollout: right after a change of the image, with default
// budgets, kubectl wait returns when every pod runs it, and not before. Meanwhile
// the fleet is available.
func TestKubectlWaitsForTheRollout(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(3).Image("nginx:1.27"))
	f.ExpectReady(3)
	for _, change := range []string{
		`{"spec":{"image":"nginx:1.28"}}`, // in place
		`{"spec":{"template":{"spec":{"containers":[{"name":"app","command":["nginx"]}]}}}}`, // recreates
	} {
		f.Kubectl("patch", "pm", "web", "--type=merge", "-p", change)
		f.Kubectl("wait", "--for=condition=Ready", "pm/web", "--timeout=60s")
		pm := f.Get()
		for _, pod := range f.Pods() {
			if got := pod.Labels[appsv1.LabelRevision]; got != pm.Status.UpdateRevision {
				t.Errorf("after %s kubectl wait has returned, and %s is on %s, not on %s", change, pod.Name, got, pm.Status.UpdateRevision)
			}
		}
		if pm.Status.UpdatedReplicas != 3 || pm.Status.CurrentRevision != pm.Status.UpdateRevision {
			t.Errorf("after %s kubectl wait has returned with status %+v", change, pm.Status)
		}
	}
	f.Edit(func(pm *appsv1.PodManager) { pm.Spec.Paused, pm.Spec.Image = true, "nginx:1.29" })
	f.ExpectCondition(appsv1.ConditionPaused, appsv1.ReasonPaused)
	if out, err := suite.TryKubectl(t, "-n", f.Namespace, "wait", "--for=condition=Ready", "pm/web", "--timeout=1s"); err == nil {
		t.Errorf("kubectl wait takes a paused rollout for done: %s", out)
	}
	f.Kubectl("wait", "--for=condition=Available", "pm/web", "--timeout=10s")
}

// TestKubectlWaitsForTheRightThing: conditions for people with kubectl.
func TestKubectlWaitsForTheRightThing(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(1).Image("broken.invalid/app:1"))
	f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonScalingUp)
	if out, err := suite.TryKubectl(t, "-n", f.Namespace, "wait", "--for=condition=Ready", "pm/web", "--timeout=1s"); err == nil {
		t.Errorf("kubectl wait takes a fleet without a ready pod for ready: %s", out)
	}
	f.Edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
	pm, _ := f.ExpectCondition(appsv1.ConditionPaused, appsv1.ReasonPaused)
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionReady); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("Ready is %+v", c)
	}
	// Paused stops rollouts; scaling goes on.
	f.Scale(2)
	testkit.Eventually(t, "a paused fleet is scaled", func() error {
		pods := f.Pods()
		if len(pods) != 2 {
			return fmt.Errorf("there are %s", strings.Join(testkit.Names(pods), " "))
		}
		for i := range pods {
			// What is written below lasts only when the node has written its status.
			if pods[i].Status.ObservedGeneration != pods[i].Generation {
				return fmt.Errorf("the node of %s has not written its status", pods[i].Name)
			}
		}
		return nil
	})
	for _, pod := range []string{"web-0", "web-1"} {
		setPodStatus(f, pod, func(s *corev1.PodStatus) {
			s.Phase = corev1.PodRunning
			setReady(s, corev1.ConditionTrue)
		})
	}
	f.ExpectReady(2)
	f.Edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = false })
	f.Expect("Paused is gone, not False", func(pm *appsv1.PodManager) error {
		if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionPaused); c != nil {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}
