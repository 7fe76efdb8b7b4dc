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

// Package manifests checks what config/ ships, without a cluster: that it
// renders, that it grants no more than it says, and that it fits the code.
package manifests

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	appsv1alpha1 "github.com/mycompany/pod-operator/api/apps/v1alpha1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/manager"
)

const config = "../../config"

func render(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := install.Render(filepath.Join(config, folder))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// overlaid renders config/default with a component.
func overlaid(t *testing.T, component string) []*unstructured.Unstructured {
	t.Helper()
	overlay := t.TempDir()
	shipped, err := filepath.Abs(config)
	if err != nil {
		t.Fatal(err)
	}
	if shipped, err = filepath.Rel(overlay, shipped); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s/default]\ncomponents: [%s/%s]\n", shipped, shipped, component)
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := install.Render(overlay)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func into[T any](t *testing.T, object *unstructured.Unstructured) T {
	t.Helper()
	var typed T
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true)
	if err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

func names(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, object := range objects {
		all = append(all, object.GetKind()+" "+object.GetName())
	}
	slices.Sort(all)
	return all
}

func TestEveryFolderRenders(t *testing.T) {
	folders, err := filepath.Glob(config + "/*/kustomization.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no kustomization found: %v", err)
	}
	for _, path := range folders {
		folder := filepath.Base(filepath.Dir(path))
		t.Run(folder, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\nkind: Component\n") {
				overlaid(t, folder)
			} else if len(render(t, folder)) == 0 {
				t.Error("it renders nothing")
			}
		})
	}
}

// A subject that may read secrets, or give rights that it does not have, owns
// the cluster; a star also grants what is added later.
func TestNoRoleIsAKeyToTheCluster(t *testing.T) {
	kinds := 0
	for _, object := range render(t, "default") {
		if object.GetKind() != "ClusterRole" && object.GetKind() != "Role" {
			continue
		}
		kinds++
		role := into[rbacv1.ClusterRole](t, object) // a Role has the same rules
		if role.AggregationRule != nil {
			t.Errorf("%s: its rules are not to be seen here", role.Name)
		}
		for _, rule := range role.Rules {
			if key := keyTo(rule); key != "" {
				t.Errorf("%s %s grants %s", object.GetKind(), role.Name, key)
			}
		}
	}
	if kinds == 0 {
		t.Error("no role found")
	}
}

func keyTo(rule rbacv1.PolicyRule) string {
	granted := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs)
	for _, key := range []string{"*", "*/*", "/*", "secrets", "escalate", "bind", "impersonate", "serviceaccounts/token", "pods/exec"} {
		if slices.Contains(granted, key) {
			return key
		}
	}
	return ""
}

func TestThePlaygroundLacksOnlyWhatRunsTheOperator(t *testing.T) {
	var missing []string
	installed := names(render(t, "playground"))
	for _, name := range names(render(t, "default")) {
		if !slices.Contains(installed, name) {
			missing = append(missing, name)
		}
	}
	want := []string{
		"Deployment pod-operator-controller-manager",
		"PodDisruptionBudget pod-operator-controller-manager",
		"Service pod-operator-controller-manager-metrics-service",
		"Service pod-operator-webhook-service",
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("of default, the playground lacks (-want +got):\n%s", diff)
	}
}

// The evictions of a node's pods wait while an operator answers: a drain must not take
// the only one first.
func TestADrainLeavesAnOperator(t *testing.T) {
	for _, folder := range []string{"default", "certmanager", "shards"} {
		var budget *policyv1.PodDisruptionBudget
		var deployment kappsv1.Deployment
		for _, object := range render(t, folder) {
			switch object.GetKind() {
			case "Deployment":
				deployment = into[kappsv1.Deployment](t, object)
			case "PodDisruptionBudget":
				b := into[policyv1.PodDisruptionBudget](t, object)
				budget = &b
			}
		}
		spec := deployment.Spec
		if *spec.Replicas < 2 {
			t.Errorf("%s: %d operators", folder, *spec.Replicas)
		}
		if spread := spec.Template.Spec.TopologySpreadConstraints; len(spread) != 1 || spread[0].TopologyKey != corev1.LabelHostname {
			t.Errorf("%s: the operators are spread by %v", folder, spread)
		}
		if budget == nil || budget.Namespace != deployment.Namespace || budget.Spec.MaxUnavailable.IntValue() != 1 ||
			!cmp.Equal(budget.Spec.Selector, spec.Selector) {
			t.Errorf("%s: no budget keeps an operator: %v", folder, budget)
		}
	}
}

func TestTheDeploymentFitsTheProgram(t *testing.T) {
	for _, object := range render(t, "default") {
		if object.GetKind() != "Deployment" {
			continue
		}
		container := into[kappsv1.Deployment](t, object).Spec.Template.Spec.Containers[0]
		options, err := manager.ParseFlags(container.Args, io.Discard)
		if err != nil {
			t.Fatalf("the manager refuses its own flags: %v", err)
		}
		if !options.LeaderElection {
			t.Error("a rollout of the operator runs two of them for a moment: it needs leader election")
		}
		ports := map[string]string{}
		for _, port := range container.Ports {
			ports[port.Name] = fmt.Sprintf(":%d", port.ContainerPort)
		}
		want := map[string]string{
			"metrics": options.MetricsAddress, "health": options.ProbeAddress, "webhook": options.Webhooks.Address,
		}
		if diff := cmp.Diff(want, ports); diff != "" {
			t.Errorf("ports (-flags +container):\n%s", diff)
		}
		return
	}
	t.Fatal("no Deployment found")
}

// kubectl keeps the whole object in an annotation, and annotations hold 256 KiB.
func TestTheCRDsFitAClientSideApply(t *testing.T) {
	for _, object := range render(t, "crd") {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if limit := 256*1024 - 1024; len(raw) > limit {
			t.Errorf("%s: %d bytes, more than %d", object.GetName(), len(raw), limit)
		}
	}
}

// Strictly decoded, so that a misspelt or outdated field is found.
func TestTheSamplesAreWrittenInOurTypes(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, appsv1alpha1.AddToScheme, batchv1alpha1.AddToScheme, collectorv1.AddToScheme, testv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	samples := render(t, "samples")
	for _, sample := range samples {
		raw, err := json.Marshal(sample)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := decoder.Decode(raw, nil, nil); err != nil {
			t.Errorf("%s %s: %v", sample.GetKind(), sample.GetName(), err)
		}
	}

	files, err := filepath.Glob(config + "/samples/*_*.yaml")
	if err != nil || len(files) != len(samples) {
		t.Errorf("%d files but %d samples: config/samples/Kustomization has to list each (%v)", len(files), len(samples), err)
	}
}
