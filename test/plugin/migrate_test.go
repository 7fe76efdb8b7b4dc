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

package plugin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// deployment makes a Deployment and waits until its pods are there.
func deployment(t testing.TB, namespace string, annotations map[string]string) {
	t.Helper()
	labels := map[string]string{"app": "shop"}
	replicas := int32(2)
	suite.Create(t, &kappsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop", Annotations: annotations},
		Spec: kappsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
			},
		},
	})
	testkit.Eventually(t, "the Deployment is there", func() error {
		d := &kappsv1.Deployment{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shop"}, d); err != nil {
			return err
		}
		if d.Status.AvailableReplicas != replicas {
			return fmt.Errorf("%d pods are available", d.Status.AvailableReplicas)
		}
		return nil
	})
}

// The role edit is enough, there and back.
func TestAnEditorMigrates(t *testing.T) {
	t.Parallel()
	namespace := suite.Namespace(t)
	deployment(t, namespace, nil)
	before := testkit.UIDs(suite.Pods(t, namespace, nil))
	p := as(t, namespace, "editor")

	preview := p.must(t, "migrate", "deployment/shop", "--dry-run")
	for _, line := range []string{"deployment/shop becomes podmanager/shop: identity Random, 2 replicas, 2 pods", "0 of 2 pods restart"} {
		if !strings.Contains(preview, line+"\n") {
			t.Errorf("no %q in\n%s", line, preview)
		}
	}
	if out, err := suite.TryKubectl(t, "get", "pm", "shop", "-n", namespace); err == nil {
		t.Errorf("a dry run made a PodManager: %s", out)
	}
	var pm appsv1.PodManager
	if err := yaml.UnmarshalStrict([]byte(p.must(t, "migrate", "deploy", "shop", "-o", "yaml")), &pm); err != nil || pm.Name != "shop" {
		t.Errorf("-o yaml printed %+v: %v", pm, err)
	}
	out := p.must(t, "migrate", "deployment/shop")
	if !strings.Contains(out, "took over 2 pods: 0 restarted, 0 gone\n") {
		t.Errorf("printed\n%s", out)
	}
	if _, err := p.try(t, "migrate", "--undo", "statefulset/shop"); err == nil || !strings.Contains(err.Error(), "was taken over from deployment/shop") {
		t.Errorf("an undo of another type: %v", err)
	}
	out = p.must(t, "migrate", "--undo", "deployment/shop")
	if !strings.Contains(out, "deployment/shop manages its pods again\n") {
		t.Errorf("printed\n%s", out)
	}
	after := testkit.UIDs(suite.Pods(t, namespace, nil))
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the pods are %v, and were %v", after, before)
	}
}

// A namespace is migrated one workload after the other, up to the first that is
// refused, and given back.
func TestANamespaceIsMigratedAndGivenBack(t *testing.T) {
	t.Parallel()
	namespace := suite.Namespace(t)
	for _, name := range []string{"cart", "shop", "zoo"} {
		labels := "{app: " + name + "}"
		if name == "zoo" {
			labels = "{app: zoo, podmanager: mine}"
		}
		suite.Fleet(t, namespace, name).ApplyYAML(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template: {metadata: {labels: %[2]s}, spec: {containers: [{name: app, image: "nginx:1.27"}]}}
`, name, labels))
		suite.Kubectl(t, "rollout", "status", "-n", namespace, "deployment/"+name, "--timeout=60s")
	}
	before := testkit.UIDs(suite.Pods(t, namespace, nil))
	p := as(t, namespace, "editor")
	table := p.must(t, "migrate", "--all", "--dry-run")
	want := `WORKLOAD          PODS   WHAT HAPPENS
deployment/cart   1      becomes podmanager/cart, 0 of 1 pods restart
deployment/shop   1      becomes podmanager/shop, 0 of 1 pods restart
deployment/zoo    1      refused: spec.template.metadata.labels[podmanager] is a label of the operator's own: take it off first
`
	if table != want {
		t.Errorf("printed\n%s\nwant\n%s", table, want)
	}
	_, err := p.try(t, "migrate", "--all")
	if err == nil || !strings.Contains(err.Error(), "stopped at deployment/zoo, after 2 of 3: spec.template.metadata.labels[podmanager]") {
		t.Fatalf("error %v, want that it stopped at zoo", err)
	}
	if got := suite.Kubectl(t, "get", "pm,deployments", "-n", namespace, "-o", "name"); got !=
		"podmanager.apps.mycompany.com/cart\npodmanager.apps.mycompany.com/shop\ndeployment.apps/zoo\n" {
		t.Errorf("there are\n%s", got)
	}
	table = p.must(t, "migrate", "--undo", "--all", "--dry-run")
	if !strings.Contains(table, "podmanager/cart   1      its pods go back to deployment/cart\n") {
		t.Errorf("printed\n%s", table)
	}
	finalizers := func(list string) {
		suite.Kubectl(t, "patch", "pm", "shop", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":["apps.mycompany.com/podmanager"`+list+`]}}`)
	}
	finalizers(`,"example.com/dns"`)
	table = p.must(t, "migrate", "--undo", "--all", "--dry-run")
	if !strings.Contains(table, "podmanager/shop   1      refused: PodManager shop has the finalizer example.com/dns") {
		t.Errorf("printed\n%s", table)
	}
	_, err = p.try(t, "migrate", "--undo", "--all")
	if err == nil || !strings.Contains(err.Error(), "stopped at podmanager/shop, after 1 of 2: PodManager shop has the finalizer") {
		t.Fatalf("error %v, want that it stopped at shop", err)
	}
	finalizers("")
	p.must(t, "migrate", "--undo", "--all")
	if got := suite.Kubectl(t, "get", "pm,deployments", "-n", namespace, "-o", "name"); strings.Contains(got, "podmanager") ||
		strings.Count(got, "deployment") != 3 {
		t.Errorf("there are\n%s", got)
	}
	if after := testkit.UIDs(suite.Pods(t, namespace, nil)); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the pods are %v, and were %v", after, before)
	}
}

// What the verb prints at its end works as it is printed.
func TestBarePodsAreMigratedAndGivenBack(t *testing.T) {
	t.Parallel()
	namespace := suite.Namespace(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "by-hand", Labels: map[string]string{"app": "worker"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
	suite.Create(t, pod)
	p := admin(namespace)
	for range 2 { // the second time nothing is left to do
		out := p.must(t, "migrate", "--selector", "app=worker", "worker")
		if !strings.Contains(out, "kubectl podmanager migrate --undo pods/worker") {
			t.Errorf("printed\n%s", out)
		}
	}
	p.must(t, "migrate", "--undo", "pods/worker")
	if got := testkit.Read(t, suite, pod.DeepCopy()); got.UID != pod.UID || len(got.OwnerReferences) > 0 {
		t.Errorf("pod %s has owners %v, and was %s", got.UID, got.OwnerReferences, pod.UID)
	}
}

func TestAMigrationThatIsNotPossibleSaysWhy(t *testing.T) {
	t.Parallel()
	namespace := suite.Namespace(t)
	deployment(t, namespace, map[string]string{"argocd.argoproj.io/tracking-id": "apps:apps/Deployment:x/shop"})
	p := admin(namespace)
	tests := map[string]struct {
		args []string
		want string
	}{
		"no such object":   {[]string{"migrate", "deployment/other"}, "there is no deployment other in namespace " + namespace},
		"no workload":      {[]string{"migrate", "job/shop"}, "a job cannot be taken over: give deployment"},
		"no type":          {[]string{"migrate", "shop"}, "give TYPE/NAME, for example deployment/shop"},
		"no CRD":           {[]string{"migrate", "cloneset/shop"}, "its CRD is not installed"},
		"nothing to undo":  {[]string{"migrate", "--undo", "deployment/shop"}, "there is nothing to undo"},
		"a tool keeps it":  {[]string{"migrate", "deployment/shop"}, "is managed by Argo CD (application apps)"},
		"another export":   {[]string{"export", "job", "shop"}, "cannot become a job"},
		"a type and a -l":  {[]string{"migrate", "-l", "app=shop", "deployment/shop"}, "give only the name"},
		"pods with owners": {[]string{"migrate", "-l", "app=shop", "shop"}, "migrate that instead"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := p.try(t, test.args...)
			if err == nil || errors.Is(err, kube.ErrNo) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q; printed\n%s", err, test.want, out)
			}
		})
	}
	out := p.must(t, "migrate", "deployment/shop", "--gitops")
	var pm appsv1.PodManager
	if err := yaml.UnmarshalStrict([]byte(out), &pm); err != nil || pm.Name != "shop" || len(pm.Annotations) > 0 {
		t.Errorf("--gitops printed a PodManager %+v: %v", pm.ObjectMeta, err)
	}
	if !strings.Contains(out, "# 3. kubectl podmanager migrate deployment/shop --suspended\n") {
		t.Errorf("--gitops does not say what to do:\n%s", out)
	}
	if out := p.must(t, "migrate", "deployment/shop", "--suspended"); !strings.Contains(out, "took over 2 pods: 0 restarted") {
		t.Errorf("printed\n%s", out)
	}
}
