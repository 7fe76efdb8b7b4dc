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

package tutorial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// guestbook are the flags that name the kind, as in kubebuilder's quick start.
var guestbook = []string{"--group=webapp", "--version=v1", "--kind=Guestbook"}

// calling is what a reader adds to config/webhook/validating.yaml: kubebuilder cannot,
// because that file is written by hand. It fails closed, so that a Guestbook is
// created only if the operator serves the webhook.
const calling = `- name: validate.v1.guestbook.webapp.mycompany.com
  rules:
  - apiGroups: [webapp.mycompany.com]
    apiVersions: [v1]
    operations: [CREATE, UPDATE]
    resources: [guestbooks]
    scope: Namespaced
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig:
    service:
      name: webhook-service
      namespace: system
      path: /validate-webapp-mycompany-com-v1-guestbook
`

// reconciled is the metric of a Guestbook that was reconciled.
var reconciled = regexp.MustCompile(`(?m)^controller_runtime_reconcile_total\{controller="webapp-guestbook",result="success"\} [1-9]`)

// kubebuilder adds a kind with a controller and a webhook to a copy of this project, and
// the operator that is built from the copy serves it beside our own kinds.
func TestKubebuilderAddsAKind(t *testing.T) {
	if os.Getenv("TUTORIAL") != "full" {
		t.Skip("it compiles the operator once more: make tutorial runs it")
	}
	ctrl.SetLogger(logr.Discard()) // the program has a log of its own
	c := copyOfTheProject(t)
	c.run(t, "bin/kubebuilder", slices.Concat([]string{"create", "api", "--resource", "--controller"}, guestbook)...)
	c.run(t, "bin/kubebuilder", slices.Concat([]string{"create", "webhook", "--defaulting", "--programmatic-validation", "--make=false"}, guestbook)...)
	c.append(t, "config/webhook/validating.yaml", calling)
	c.run(t, "make", "manifests")

	c.expectInPROJECT(t)
	c.expectAdopted(t)
	manager := filepath.Join(t.TempDir(), "manager")
	c.run(t, "go", "build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", manager, "./cmd/manager")
	c.expectReconciled(t, manager)
	c.run(t, "env", "KUBEBUILDER_ASSETS="+filepath.Join(testkit.Root(), "bin"), "go", "test", "./internal/controller/webapp/")
}

// projectCopy is the folder of a copy.
type projectCopy string

// copyOfTheProject copies what git tracks, and links bin/ for the tools. The folder is
// the same each time, because the build cache knows packages by their folder. Files
// keep their times, so that make does not build the tools again.
func copyOfTheProject(t *testing.T) projectCopy {
	t.Helper()
	root := testkit.Root()
	for _, tool := range []string{"kubebuilder", "controller-gen", "applyconfiguration-gen", "client-gen", "informer-gen", "lister-gen"} {
		if _, err := os.Stat(filepath.Join(root, "bin", tool)); err != nil {
			t.Fatalf("make bin/%s builds it: %v", tool, err)
		}
	}
	listed, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("this is no checkout: %v", err)
	}
	dir := filepath.Join(root, "test-output", "create-api")
	remove := func() error { return os.RemoveAll(dir) }
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remove() })
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		err := copyFile(filepath.Join(root, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // deleted, and not committed yet
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "bin"), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	return projectCopy(dir)
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, content, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

func (c projectCopy) path(name string) string {
	return filepath.Join(string(c), filepath.FromSlash(name))
}

func (c projectCopy) run(t *testing.T, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = string(c), environment(t)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, lastLines(string(out), 60))
	}
}

func (c projectCopy) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(c.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func (c projectCopy) append(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(c.path(name), []byte(c.read(t, name)+text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// expectInPROJECT: the new kind is the last one, and the others are still there.
func (c projectCopy) expectInPROJECT(t *testing.T) {
	t.Helper()
	type project struct {
		Resources []struct {
			Group, Version, Kind string
			Controller           bool
			Webhooks             struct{ Defaulting, Validation bool }
		}
	}
	var before, after project
	ours, err := os.ReadFile(filepath.Join(testkit.Root(), "PROJECT"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(yaml.Unmarshal(ours, &before), yaml.Unmarshal([]byte(c.read(t, "PROJECT")), &after)); err != nil {
		t.Fatal(err)
	}
	want := before
	want.Resources = slices.Clone(before.Resources)
	want.Resources = append(want.Resources, before.Resources[0])
	added := &want.Resources[len(before.Resources)]
	added.Group, added.Version, added.Kind, added.Controller = "webapp", "v1", "Guestbook", true
	added.Webhooks.Defaulting, added.Webhooks.Validation = true, true
	if !slices.Equal(want.Resources, after.Resources) {
		t.Errorf("PROJECT lists %+v, want %+v", after.Resources, want.Resources)
	}
}

// expectAdopted: the samples can still be rendered with the new one among them, and
// nothing is left of what kubebuilder wrote for another layout.
func (c projectCopy) expectAdopted(t *testing.T) {
	t.Helper()
	samples, err := install.Render(c.path("config/samples"))
	if err != nil {
		t.Fatal(err)
	}
	isNew := func(o *unstructured.Unstructured) bool { return o.GetKind() == "Guestbook" }
	if !slices.ContainsFunc(samples, isNew) {
		t.Error("config/samples/Kustomization does not list the Guestbook")
	}
	for _, folder := range []string{"config/default", "config/certmanager"} {
		before, err := os.ReadDir(filepath.Join(testkit.Root(), folder))
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadDir(c.path(folder))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(before, after, func(a, b os.DirEntry) bool { return a.Name() == b.Name() }) {
			t.Errorf("%s has %v, want %v", folder, after, before)
		}
	}
}

// expectReconciled runs the copy's operator with the rights that its config/ grants, on a
// cluster with its CRDs.
func (c projectCopy) expectReconciled(t *testing.T, manager string) {
	t.Helper()
	manifests, err := install.Render(c.path("config/playground"))
	if err != nil {
		t.Fatal(err)
	}
	install.CallByURL(manifests, "https://127.0.0.1:9443")
	cluster := kubetest.Start(t, localkube.Options{OnAPIReady: func(ctx context.Context, admin *rest.Config) error {
		return install.Apply(ctx, admin, manifests)
	}})
	admin, err := testkit.NewClient(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	metrics := start(t, cluster, manager)

	book := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "webapp.mycompany.com/v1", "kind": "Guestbook",
		"metadata": map[string]any{"namespace": "default", "name": "visitors"}, "spec": map[string]any{"foo": "bar"},
	}}
	testkit.Eventually(t, "the operator admits a Guestbook", func() error {
		return client.IgnoreAlreadyExists(admin.Create(t.Context(), book.DeepCopy()))
	})
	testkit.Eventually(t, "the operator reconciles the Guestbook", func() error {
		return expectMetric(t, metrics, reconciled)
	})
	pm := testkit.MakePodManager("default", "beside").Replicas(1).Obj()
	testkit.Eventually(t, "the operator admits a PodManager", func() error {
		return client.IgnoreAlreadyExists(admin.Create(t.Context(), pm.DeepCopy()))
	})
	testkit.Eventually(t, "the operator makes the PodManager's pod", func() error {
		var pods corev1.PodList
		err := admin.List(t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels{appsv1.LabelName: "beside"})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("%d pods", len(pods.Items))
		}
		return err
	})
}

// start starts the operator and returns the address of its metrics.
func start(t *testing.T, cluster *localkube.Cluster, manager string) (metrics string) {
	t.Helper()
	login, err := cluster.RESTConfigForServiceAccount(t.Context(), testkit.OperatorNamespace, testkit.OperatorServiceAccount, 7200)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, login); err != nil {
		t.Fatal(err)
	}
	metrics, err = testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	webhooks, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(manager, "--kubeconfig="+kubeconfig, "--leader-election-namespace="+testkit.OperatorNamespace,
		"--metrics-bind-address="+metrics, "--metrics-secure=false", "--health-probe-bind-address=0",
		"--webhook-bind-address="+webhooks, "--webhook-url=https://"+webhooks)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the operator printed:\n%s", lastLines(out.String(), 30))
		}
	})
	return metrics
}

// expectMetric reports as an error that the metrics have no line like this.
func expectMetric(t *testing.T, address string, like *regexp.Regexp) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && !like.Match(body) {
		err = fmt.Errorf("no line like %s", like)
	}
	return err
}
