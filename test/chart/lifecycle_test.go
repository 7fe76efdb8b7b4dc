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
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// size is how many pods the fleet has when it begins.
const size = 5

// nextRelease is a copy of the chart as a later version might be: its CRD has a
// field more. It returns the packaged chart.
func nextRelease(t *testing.T, h *helm) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pod-operator")
	if err := os.CopyFS(dir, os.DirFS(chartDir())); err != nil {
		t.Fatal(err)
	}
	const property = "revisionHistoryLimit:\n"
	path := filepath.Join(dir, "files", "crds", "apps.mycompany.com_podmanagers.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), property)
	if at < 0 {
		t.Fatalf("the CRD has no %q any more", property)
	}
	indent := string(text[strings.LastIndex(string(text[:at]), "\n")+1 : at])
	next := string(text[:at]) + "flavour:\n" + indent + "  type: string\n" + indent + string(text[at:])
	if err := os.WriteFile(path, []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	h.run("package", dir, "--version", "9.9.9", "--app-version", "9.9.9", "--destination", out)
	return filepath.Join(out, "pod-operator-9.9.9.tgz")
}

// fleet is a PodManager named web, and what its pods were when they were made.
type fleet struct {
	*cluster
	ns   string
	pods map[types.UID]string
	size int
}

func (f *fleet) create() {
	f.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.ns}}
	if err := f.client.Create(f.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		f.Fatal(err)
	}
	testkit.Eventually(f, "the default ServiceAccount exists", func() error {
		return f.client.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: "default"}, &corev1.ServiceAccount{})
	})
	f.size, f.pods = size, map[types.UID]string{}
	if err := f.client.Create(f.Context(), testkit.MakePodManager(f.ns, "web").Replicas(size).Image("nginx:1.27").Obj()); err != nil {
		f.Fatal(err)
	}
	f.expectReady()
	f.expectSame("after they were made")
}

// grow adds a pod, which takes an operator that works.
func (f *fleet) grow(when string) {
	f.Helper()
	f.size++
	f.kubectl("-n", f.ns, "scale", "pm", "web", fmt.Sprintf("--replicas=%d", f.size))
	f.expectReady()
	f.expectSame(when)
}

func (f *fleet) expectReady() {
	f.Helper()
	f.expectAvailable("web")
}

func (f *fleet) expectAvailable(name string) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("%d pods are available", f.size), func() error {
		var pm appsv1.PodManager
		if err := f.client.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: name}, &pm); err != nil {
			return err
		}
		s := &pm.Status
		if s.ObservedGeneration != pm.Generation || int(s.AvailableReplicas) != f.size || int(s.UpdatedReplicas) != f.size ||
			!meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReady) {
			return fmt.Errorf("%d are: %+v", s.AvailableReplicas, s.Conditions)
		}
		return nil
	})
}

// expectSame: every pod that was ever there is there, unchanged and never
// restarted, and there are no more than were asked for.
func (f *fleet) expectSame(when string) {
	f.Helper()
	var list corev1.PodList
	if err := f.client.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	now := map[types.UID]string{}
	for i := range list.Items {
		pod := &list.Items[i]
		restarts := int32(0)
		for j := range pod.Status.ContainerStatuses {
			restarts += pod.Status.ContainerStatuses[j].RestartCount
		}
		now[pod.UID] = fmt.Sprintf("%s of %s, restarted %d times, deleted %v", pod.Name, pod.Labels[appsv1.LabelRevision], restarts, pod.DeletionTimestamp)
	}
	for uid, was := range f.pods {
		if now[uid] != was {
			f.Errorf("%s: %s is %q now", when, was, now[uid])
		}
	}
	if len(now) != f.size {
		f.Errorf("%s: %d pods, want %d", when, len(now), f.size)
	}
	f.pods = now
}

// trusts is the CA bundle that the API server trusts for the conversion.
func (c *cluster) trusts() (string, error) {
	bundle := c.kubectl("get", "crd", "podmanagers.apps.mycompany.com", "-o", "jsonpath={.spec.conversion.webhook.clientConfig.caBundle}")
	if bundle == "" {
		return "", errors.New("the CRD has no caBundle")
	}
	return bundle, nil
}

// A fleet lives through install, upgrade to another version with another CRD and
// with shards in place of a leader, rollback, uninstall and install again: no pod
// is replaced or restarted, and the operator of each step does its work.
func TestAFleetLivesThroughARelease(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	next := nextRelease(t, c.helm)
	reader := "metrics: {readers: [{name: prometheus, namespace: " + namespace + "}]}"
	args := func(verb, chart, text string) []string {
		return slices.Concat([]string{verb, release, chart, "--namespace", namespace, "--wait", "--timeout", "3m"}, values(t, text))
	}
	c.helm.run(append(args("install", chartDir(), "{"+reader+", crds: {v1alpha1: true}}"), "--create-namespace")...)
	c.rollOut(namespace, "pod-operator-controller-manager")
	f := &fleet{cluster: c, ns: "shop"}
	f.create()
	// Webhooks are called through the Service: the conversion has to answer.
	old := func(when string) {
		t.Helper()
		if got := c.kubectl("-n", f.ns, "get", "podmanagers.v1alpha1.apps.mycompany.com", "web", "-o", "jsonpath={.spec.size}"); got != fmt.Sprint(f.size) {
			t.Errorf("%s: as v1alpha1 its size is %q, want %d", when, got, f.size)
		}
	}
	old("installed")
	c.exercise(f.ns)
	served := c.metrics()
	field := func() string {
		return c.kubectl("get", "crd", "podmanagers.apps.mycompany.com", "-o",
			`jsonpath={.spec.versions[?(@.name=="v1")].schema.openAPIV3Schema.properties.spec.properties.flavour.type}`)
	}
	before, err := c.trusts()
	if err != nil {
		t.Fatal(err)
	}

	c.helm.run(args("upgrade", next, "{shards: 4, replicas: 2, crds: {v1alpha1: true}, "+reader+"}")...)
	if got := field(); got != "string" {
		t.Errorf("the upgrade did not bring the CRD's new field: %q", got)
	}
	if after, err := c.trusts(); err != nil || after != before {
		t.Errorf("the upgrade took away what the API server trusts: %v", err)
	}
	f.expectSame("upgraded, the old operator")
	c.rollOut(namespace, "pod-operator-controller-manager")
	f.grow("upgraded")
	old("upgraded")
	served = append(served, c.metrics()...)

	c.helm.run("rollback", release, "1", "--namespace", namespace, "--wait", "--timeout", "3m")
	if got := field(); got != "" {
		t.Errorf("the rollback left the CRD's new field: %q", got)
	}
	c.rollOut(namespace, "pod-operator-controller-manager")
	f.grow("rolled back")
	old("rolled back")
	checkNames(t, served)

	c.helm.run("uninstall", release, "--namespace", namespace, "--wait", "--timeout", "3m")
	c.stopAll()
	f.expectReady() // the PodManager is there, as it was
	f.expectSame("uninstalled")
	if got := c.kubectl("get", "deployments,clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations,"+
		"validatingadmissionpolicies,validatingadmissionpolicybindings", "--all-namespaces", "-l", "app.kubernetes.io/instance="+release, "-o", "name"); got != "" && !strings.HasPrefix(got, "No resources") {
		t.Errorf("the uninstall left:\n%s", got)
	}

	c.helm.run(args("install", chartDir(), "{}")...)
	c.rollOut(namespace, "pod-operator-controller-manager")
	f.grow("installed again, without v1alpha1")
	if got := c.kubectl("get", "crd", "podmanagers.apps.mycompany.com", "-o", "jsonpath={.spec.versions[?(@.served==true)].name}"); got != "v1" {
		t.Errorf("installed again: the served versions are %q", got)
	}
	c.kubectl("-n", f.ns, "delete", "pm", "web", "--timeout=60s")
}

// everyState brings objects of all kinds into the states that they can be in: one
// whose pods no quota allows, one that is paused, and those of the other kinds.
func (c *cluster) everyState(ns string) {
	c.Helper()
	manifest := `apiVersion: v1
kind: ResourceQuota
metadata: {name: no-big-pods}
spec: {hard: {requests.nvidia.com/gpu: "0"}}
---
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: refused}
spec:
  replicas: 1
  template: {spec: {containers: [{name: app, image: "nginx:1.27", resources: {limits: {nvidia.com/gpu: "1"}}}]}}
---
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: paused}
spec: {replicas: 1, image: "nginx:1.27", paused: true}
---
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: imooc}
spec: {replicas: 2}
---
apiVersion: test.jiaozi.com/v1alpha1
kind: HelloWorld
metadata: {name: hello}
spec: {size: 1}
---
apiVersion: collector.ip.mycompany.com/v1
kind: Collector
metadata: {name: watch}
spec: {selector: {matchLabels: {app: hello}}}
`
	path := filepath.Join(c.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		c.Fatal(err)
	}
	c.kubectl("-n", ns, "apply", "-f", path)
}

// exercise has the operator create, change and delete pods, so that it counts
// each of that.
func (c *cluster) exercise(ns string) {
	c.Helper()
	g := &fleet{cluster: c, ns: ns, size: 1}
	if err := c.client.Create(c.Context(), testkit.MakePodManager(ns, "brief").Replicas(1).Image("nginx:1.27").Obj()); err != nil {
		c.Fatal(err)
	}
	g.expectAvailable("brief")
	c.kubectl("-n", ns, "patch", "pm", "brief", "--type=merge", "-p", `{"spec":{"image":"nginx:1.28"}}`)
	g.expectAvailable("brief")
	c.kubectl("-n", ns, "delete", "pm", "brief", "--timeout=60s")
}

// metrics are the names of what the operators serve.
func (c *cluster) metrics() []string {
	c.Helper()
	const account = "prometheus"
	err := c.client.Create(c.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.Fatal(err)
	}
	token := strings.TrimSpace(c.kubectl("-n", namespace, "create", "token", account))
	var names []string
	for _, o := range c.operators {
		var text string
		testkit.Eventually(c, "the reader may read", func() (err error) {
			text, err = c.scrape(o, token)
			return err
		})
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// An operator that is installed for one namespace keeps a fleet there with the
// rights that the chart gives it, and leaves others alone.
func TestAnOperatorForOneNamespace(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, name := range []string{"team", "other"} {
		if err := c.client.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	c.helm.run(slices.Concat([]string{"install", "tenant", chartDir(), "--namespace", "tenant", "--create-namespace", "--wait"},
		values(t, "{watchNamespaces: [team], webhooks: {enabled: false}, metrics: {enabled: false}}"))...)
	c.rollOut("tenant", "tenant-pod-operator-controller-manager")
	gitops := watchAsArgo(c)
	theirs := testkit.MakePodManager("other", "web").Replicas(size).Obj()
	if err := c.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	f := &fleet{cluster: c, ns: "team"}
	f.create()
	f.grow("scaled")
	f.kubectl("-n", f.ns, "patch", "pm", "web", "--type=merge", "-p", `{"spec":{"image":"nginx:1.28"}}`)
	f.expectReady()
	c.everyState("team")
	gitops.expect(t, "PodManager Healthy", "PodManager Progressing", "PodManager Degraded", "PodManager Suspended",
		"ImoocPod Healthy", "HelloWorld Healthy", "Collector Healthy")
	for i, o := range c.operators {
		if text, err := os.ReadFile(o.log); err != nil || strings.Contains(string(text), "is forbidden: User ") {
			t.Errorf("operator %d lacks a right: %v\n%s", i, err, text)
		}
	}
	var pods corev1.PodList
	if err := c.client.List(t.Context(), &pods, client.InNamespace("other")); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods in a namespace that is not its own: %v", len(pods.Items), err)
	}
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || len(theirs.Finalizers) > 0 {
		t.Errorf("a PodManager that is not its own has finalizers %v: %v", theirs.Finalizers, err)
	}
}
