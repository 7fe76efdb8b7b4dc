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

package chart

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// The chart and config/ are two ways to the same installation: with the values
// that ask for it, the chart renders every object of a kustomization, and apart
// from labels, and flags that say what is the default, the same object.
func TestTheChartSaysWhatConfigSays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		folders    []string
		components []string
		values     string
	}{
		"default":          {folders: []string{"default"}},
		"shards":           {folders: []string{"shards"}, values: "{shards: 32, replicas: 3}"},
		"cert-manager":     {folders: []string{"certmanager"}, values: "{webhooks: {certificates: cert-manager}}"},
		"v1alpha1":         {folders: []string{"default"}, components: []string{"v1alpha1"}, values: "{crds: {v1alpha1: true}}"},
		"explain":          {folders: []string{"default"}, components: []string{"explain"}, values: "{explain: {enabled: true}, networkPolicy: {enabled: true}}"},
		"production":       {folders: []string{"production"}, values: "{tutorialKinds: false}"},
		"a network policy": {folders: []string{"default"}, values: "{networkPolicy: {enabled: true}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours := map[string]*unstructured.Unstructured{}
			for _, object := range newHelm(t, "").template(test.values) {
				ours[object.GetKind()+" "+object.GetName()] = object
			}
			for _, theirs := range kustomization(t, test.folders, test.components) {
				key := theirs.GetKind() + " " + theirs.GetName()
				if theirs.GetKind() == "Namespace" {
					continue // helm install --create-namespace makes it
				}
				if ours[key] == nil {
					t.Errorf("the chart has no %s", key)
					continue
				}
				if diff := cmp.Diff(meaning(t, theirs), meaning(t, ours[key])); diff != "" {
					t.Errorf("%s (-config +chart):\n%s", key, diff)
				}
				delete(ours, key)
			}
			for key, object := range ours {
				// Network policies are an option of both.
				if object.GetKind() != "NetworkPolicy" {
					t.Errorf("only the chart has %s", key)
				}
			}
		})
	}
}

// Two operators are shipped, on two nodes where there are two, and no drain takes both: the
// webhook for evictions answers while the node of one of them is drained. That the chart
// ships the same is said above.
func TestADrainLeavesAnOperator(t *testing.T) {
	t.Parallel()
	shipped := kustomization(t, []string{"default"}, nil)
	const name = "pod-operator-controller-manager"
	operator, budget := &kappsv1.Deployment{}, &policyv1.PodDisruptionBudget{}
	for kind, typed := range map[string]any{"Deployment": operator, "PodDisruptionBudget": budget} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, shipped, kind, name).Object, typed); err != nil {
			t.Fatal(err)
		}
	}
	if n := ptr.Deref(operator.Spec.Replicas, 1); n < 2 {
		t.Errorf("%d operator is shipped", n)
	}
	pods := operator.Spec.Template
	if !slices.ContainsFunc(pods.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool { return c.TopologyKey == corev1.LabelHostname }) {
		t.Error("the operators may all be on one node")
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(labels.Set(pods.Labels)) || budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("the PodDisruptionBudget allows a drain to take all operators: %+v", budget.Spec)
	}
}

// What is an option of both: the folders are not part of config/default.
func TestTheChartsOptionsSayWhatConfigSays(t *testing.T) {
	t.Parallel()
	rendered := newHelm(t, "").template("{networkPolicy: {enabled: true}}")
	overlay := "namespace: pod-operator-system\nnamePrefix: pod-operator-\nresources: [%s/network-policy]\n"
	for _, theirs := range overlaid(t, overlay) {
		ours := find(t, rendered, theirs.GetKind(), theirs.GetName())
		if diff := cmp.Diff(meaning(t, theirs), meaning(t, ours)); diff != "" {
			t.Errorf("%s %s (-config +chart):\n%s", theirs.GetKind(), theirs.GetName(), diff)
		}
	}
}

// The ServiceMonitor names the certificate's CA, which is elsewhere with
// cert-manager.
func TestTheChartsServiceMonitorIsConfigs(t *testing.T) {
	t.Parallel()
	for folder, text := range map[string]string{
		"default":     "{metrics: {serviceMonitor: {enabled: true}}}",
		"certmanager": "{metrics: {serviceMonitor: {enabled: true}}, webhooks: {certificates: cert-manager}}",
	} {
		theirs := find(t, monitored(t, folder), "ServiceMonitor", "-metrics-monitor")
		ours := find(t, newHelm(t, "").template(text), "ServiceMonitor", "-metrics-monitor")
		if diff := cmp.Diff(meaning(t, theirs), meaning(t, ours)); diff != "" {
			t.Errorf("%s (-config +chart):\n%s", folder, diff)
		}
	}
}

// monitored renders a folder of config/ with the ServiceMonitor turned on.
func monitored(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(testkit.Root(), "config"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "default", "kustomization.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	turnedOn := strings.Replace(string(text), "# - ../prometheus", "- ../prometheus", 1)
	if err := os.WriteFile(path, []byte(turnedOn), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := install.Render(filepath.Join(dir, folder))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func kustomization(t *testing.T, folders, components []string) []*unstructured.Unstructured {
	t.Helper()
	text := "resources:\n"
	for _, folder := range folders {
		text += "- %[1]s/" + folder + "\n"
	}
	if len(components) > 0 {
		text += "components:\n"
	}
	for _, component := range components {
		text += "- %[1]s/" + component + "\n"
	}
	return overlaid(t, text)
}

// overlaid renders a kustomization in which %s is config/.
func overlaid(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	config, err := filepath.Rel(dir, filepath.Join(testkit.Root(), "config"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), fmt.Appendf(nil, text, config), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := install.Render(dir)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// meaning is an object without what says by whom it was installed.
func meaning(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	object = object.DeepCopy()
	strip(object.Object)
	if object.GetKind() == "Deployment" {
		flags(t, object)
	}
	// This kustomize takes them for namespaced; the API server knows better.
	if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
		object.SetNamespace("")
	}
	// kustomize leaves an empty one where it added and took away.
	if len(object.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
	}
	if len(object.GetLabels()) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", "labels")
	}
	return normal(object.Object).(map[string]any)
}

// strip takes off the labels that only one of the two ways sets, on objects,
// in templates and in selectors alike.
func strip(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, key := range []string{
			"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "app.kubernetes.io/name",
			"app.kubernetes.io/component", "helm.sh/chart", "helm.sh/resource-policy",
		} {
			delete(tree, key)
		}
		for _, value := range tree {
			strip(value)
		}
	case []any:
		for _, value := range tree {
			strip(value)
		}
	}
}

// normal makes numbers of one type of all numbers.
func normal(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for key := range tree {
			tree[key] = normal(tree[key])
		}
	case []any:
		for i := range tree {
			tree[i] = normal(tree[i])
		}
	case int:
		return float64(tree)
	case int64:
		return float64(tree)
	}
	return tree
}

// parsing is held because controller-runtime keeps its flag in a variable.
var parsing sync.Mutex

// parse reads flags as the operator does.
func parse(args []string) (manager.Options, error) {
	parsing.Lock()
	defer parsing.Unlock()
	return manager.ParseFlags(args, io.Discard)
}

// flags puts the meaning of the flags in the place of their text, and drops what
// is chosen at installation: the image and how it is pulled.
func flags(t *testing.T, deployment *unstructured.Unstructured) {
	t.Helper()
	var typed kappsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(deployment.Object, &typed, true); err != nil {
		t.Fatalf("Deployment: %v", err)
	}
	options, err := parse(typed.Spec.Template.Spec.Containers[0].Args)
	if err != nil {
		t.Fatalf("the operator refuses its flags: %v", err)
	}
	options.Zap.Level, options.Zap.Encoder, options.Zap.NewEncoder = nil, nil, nil // functions; info and JSON are the defaults
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	manage, _ := containers[0].(map[string]any)
	manage["args"] = fmt.Sprintf("%+v", options)
	delete(manage, "image")
	delete(manage, "imagePullPolicy")
	if err := unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
}

// The chart's copies of config/ are the originals; make chart copies them again.
func TestTheCopiesAreUpToDate(t *testing.T) {
	t.Parallel()
	files := filepath.Join(chartDir(), "files")
	for folder, from := range map[string]string{
		"crds": "crd/bases", "rbac": "rbac", "rbac/people": "rbac", "webhooks": "webhook", "admission-policy": "admission-policy",
	} {
		copies, err := filepath.Glob(filepath.Join(files, folder, "*.yaml"))
		if err != nil || len(copies) == 0 {
			t.Fatalf("files/%s is empty: %v", folder, err)
		}
		for _, path := range copies {
			want, err := os.ReadFile(filepath.Join(testkit.Root(), "config", from, filepath.Base(path)))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || !slices.Equal(got, want) {
				t.Errorf("files/%s/%s is not that of config/: make chart (%v)", folder, filepath.Base(path), err)
			}
		}
	}
}
