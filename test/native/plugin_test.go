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

package native

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/root"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/testkit/project"
	"github.com/mycompany/pod-operator/test/native/judge"
)

var update = flag.Bool("update", false, "write the transcripts of docs/any-workload.md anew")

// shop is a namespace with workloads that run.
const shop = "shop"

// plugin runs a verb, and returns what it printed and its exit code.
func plugin(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	cmd := root.New(kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}))
	cmd.SetArgs(append([]string{"--kubeconfig", cluster.KubeconfigPath(), "-n", shop}, args...))
	err := cmd.ExecuteContext(t.Context())
	code := kube.ExitCode(err)
	if code == kube.ExitFailed {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	if code != 0 {
		fmt.Fprintf(&out, "(exit code %d)\n", code)
	}
	return out.String(), code
}

func labelled(name string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{judge.Label: name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{
				Name: "app", Image: "nginx:1.28",
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			}},
		},
	}
}

// opened: the workloads of the shop are there. Both tests use them.
var opened sync.Once

// open makes the workloads of the shop and waits for their pods.
func open(t *testing.T) {
	t.Helper()
	opened.Do(func() { furnishShop(t) })
}

func furnishShop(t *testing.T) {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: shop, Name: name} }
	selector := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{judge.Label: name}}
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}},
		&corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"colour": "blue"}},
		&kappsv1.Deployment{ObjectMeta: meta("web"), Spec: kappsv1.DeploymentSpec{Replicas: ptr.To[int32](4), Selector: selector("web"), Template: labelled("web")}},
		&kappsv1.StatefulSet{ObjectMeta: meta("db"), Spec: kappsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), ServiceName: "db", Selector: selector("db"), Template: labelled("db")}},
		&kappsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: kappsv1.DaemonSetSpec{Selector: selector("agent"), Template: labelled("agent")}},
	}
	cases := []*judge.Case{world.Add("web"), world.Add("db"), world.Add("agent")}
	for _, obj := range objects {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		n := 0
		for _, c := range cases {
			for _, pod := range c.Pods() {
				n += one(readyNow(pod))
			}
		}
		return n == 4+3+len(nodes)-1, nil // the last node has a taint
	})
	if err != nil {
		t.Fatalf("wait for the pods: %v", err)
	}
}

// moving is what no two runs have in common.
var moving = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`web-[0-9a-z]{8,10}-[0-9a-z]{5}`), "web-POD"},
	{regexp.MustCompile(`ReplicaSet/web-[0-9a-z]{8,10}`), "ReplicaSet/web-HASH"},
	{regexp.MustCompile(`in about \S+: pods were ready \S+ after`), "in about TIME: pods were ready TIME after"},
	{regexp.MustCompile(`restartedAt: .*`), "restartedAt: TIME"},
	{regexp.MustCompile(` +`), " "},
}

func normal(text string) string {
	for _, m := range moving {
		text = m.pattern.ReplaceAllString(text, m.stands)
	}
	return text
}

// The page shows what the plugin prints, on a cluster that never saw our CRDs.
func TestThePageShowsWhatThePluginPrints(t *testing.T) {
	open(t)
	file := filepath.Join(project.Root(), "docs", "any-workload.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	files := regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```").FindAllStringSubmatch(page, -1)
	t.Chdir(t.TempDir())
	for _, f := range files {
		if err := os.WriteFile(f[1], []byte(f[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blocks := regexp.MustCompile("(?s)```console\n\\$ kubectl podmanager (plan [^\n]*)\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) < 4 {
		t.Fatalf("the page has %d transcripts", len(blocks))
	}
	for _, block := range blocks {
		got, _ := plugin(t, strings.Fields(block[1])...)
		got = regexp.MustCompile(`(?m) +$`).ReplaceAllString(got, "")
		if diff := cmp.Diff(normal(block[2]), normal(got)); diff != "" && !*update {
			t.Errorf("%s (-page +plugin); go test ./test/native -run Page -update writes it anew:\n%s", block[1], diff)
		}
		page = strings.Replace(page, block[1]+"\n"+block[2]+"```", block[1]+"\n"+got+"```", 1)
	}
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A person who may read one namespace, and neither nodes nor autoscalers, gets a plan that
// names what could not be read.
func TestPlanWithFewRights(t *testing.T) {
	open(t)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "few"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps"}, Resources: []string{"pods", "replicasets", "deployments", "daemonsets", "controllerrevisions"}, Verbs: []string{"get", "list", "patch"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "few"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "few"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "few"}},
	}
	if err := errors.Join(admin.Create(t.Context(), role), admin.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	out, code := "", 0
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		out, code = plugin(t, "--as", "few", "plan", "deployment/web", "--set-image", "nginx:1.29")
		return code == kube.ExitNo, nil
	})
	for _, want := range []string{
		"you may not list horizontalpodautoscalers", "you may not list resourcequotas", "4 pods will be created, 4 pods will be deleted", "4 pods replaced; as a PodManager 4 changed in place.",
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: it does not say %q: %s", err, want, out)
		}
	}
	out, code = plugin(t, "--as", "few", "plan", "daemonset/agent", "--set-image", "nginx:1.29")
	if want := "the nodes could not be read: you may not list nodes"; code != kube.ExitNo || !strings.Contains(out, want) {
		t.Errorf("exit code %d, want 2 and %q: %s", code, want, out)
	}
	out, code = plugin(t, "--as", "few", "plan", "statefulset/db", "--restart")
	if code != kube.ExitFailed || !strings.Contains(out, "forbidden") {
		t.Errorf("exit code %d for a workload that may not be read: %s", code, out)
	}
	out, code = plugin(t, "--as", "few", "plan", "deployment/web", "-n", "default", "--restart")
	if code != kube.ExitFailed || !strings.Contains(out, "forbidden") {
		t.Errorf("exit code %d in another namespace: %s", code, out)
	}
}

// By name, with a file and without: who reads a ConfigMap or a Secret.
func TestPlanOfAConfigMapByName(t *testing.T) {
	open(t)
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "key"}, Data: map[string][]byte{"a": []byte("1")}}
	if err := admin.Create(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("colour", []byte("green"), 0o600); err != nil {
		t.Fatal(err)
	}
	for words, c := range map[string]struct {
		code int
		want string
	}{
		"configmap/settings":                       {0, "3 pods of StatefulSet/db, by environment: a change arrives when the container restarts."},
		"cm/settings --from-file colour":           {0, "Keys that change: colour\nRead by 5 pods of DaemonSet/agent, by environment: it arrives when the container restarts."},
		"cm/settings --from-file new=colour":       {0, "Keys that change: new\n"},
		"secret/key --from-file a=colour":          {0, "Keys that change: a\nNo pod reads them.\n"},
		"secret/key":                               {0, "No pod reads it.\n"},
		"configmap/nope":                           {kube.ExitFailed, `"nope" not found`},
		"configmap/settings --replicas 3":          {kube.ExitFailed, "ConfigMap settings has no number of replicas to set"},
		"deployment/web --from-file colour":        {kube.ExitFailed, "Deployment web has no keys to set"},
		"configmap/settings --from-file no-colour": {kube.ExitFailed, "no such file"},
	} {
		out, code := plugin(t, append([]string{"plan"}, strings.Fields(words)...)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("plan %s ends with %d, want %d and %q:\n%s", words, code, c.code, c.want, out)
		}
	}
}

// The whole command, from its start to its end, for a Deployment of 1,000 pods.
func TestPlanOfAThousandPods(t *testing.T) {
	testkit.Long(t, "it makes 1,000 pods")
	open(t)
	const many = 1000
	d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "many"}, Spec: kappsv1.DeploymentSpec{
		Replicas: ptr.To[int32](many), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{judge.Label: "many"}}, Template: labelled("many"),
	}}
	pods := world.Add("many")
	if err := admin.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, 5*patience, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(d), d)
		return d.Status.AvailableReplicas == many && d.Status.ObservedGeneration == d.Generation, err
	})
	if err != nil {
		t.Fatalf("%d of %d pods are available: %v", d.Status.AvailableReplicas, len(pods.Pods()), err)
	}
	binary := filepath.Join(t.TempDir(), "kubectl-podmanager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/kubectl-podmanager")
	build.Dir = project.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, more := range []string{"", "--no-compare"} {
		for range 3 {
			args := strings.Fields("--kubeconfig " + cluster.KubeconfigPath() + " -n " + shop + " plan deployment/many --set-image nginx:1.29 " + more)
			began := time.Now()
			cmd := exec.CommandContext(t.Context(), binary, args...)
			out, _ := cmd.Output()
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			t.Logf("plan of %d pods %s: %s, of which the plugin's CPU %s", many, more, time.Since(began).Round(time.Millisecond), used)
			compared := strings.Contains(string(out), "1000 pods replaced; as a PodManager 1000 changed in place.")
			if !strings.Contains(string(out), "1000 pods will be created, 1000 pods will be deleted.") || compared == (more != "") {
				t.Fatalf("it says %s", out)
			}
		}
	}
	if err := admin.Delete(t.Context(), d, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Error(err)
	}
}
