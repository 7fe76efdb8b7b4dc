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
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

const scaleDown = "only ordinals 0 to 1 remain at 2 replicas"

// story asks why until the operator listens: it does so a moment after its
// caches are synced.
func (p plugin) story(t *testing.T, args ...string) string {
	t.Helper()
	var out string
	testkit.Eventually(t, "the recorder answers", func() (err error) {
		out, err = p.try(t, append([]string{"why"}, args...)...)
		if err == nil && strings.Contains(out, "could not be asked") {
			err = fmt.Errorf("%s", out)
		}
		return err
	})
	return out
}

func TestWhyExplainsAPodThatIsGoneAlsoAfterARestart(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 3)
	patch(t, namespace, `{"spec":{"replicas":2}}`)
	expectSettled(t, namespace)
	fresh := p.story(t, "pod/web-2")
	if !strings.Contains(fresh, scaleDown) || !strings.Contains(fresh, "changed by ada: spec.replicas") {
		t.Errorf("the recorder knows a pod that is gone:\n%s", fresh)
	}
	if strings.Count(fresh, "Deleted ") != 1 {
		t.Errorf("the deletion is told by more than the recorder:\n%s", fresh)
	}
	restart(t, func(*manager.Options) {})
	later := p.story(t, "pod/web-2")
	if !strings.Contains(later, scaleDown) || strings.Contains(later, "because") {
		t.Errorf("after a restart the history tells, and the recorder nothing:\n%s", later)
	}
	if whole := p.story(t, "web"); !strings.Contains(whole, scaleDown) {
		t.Errorf("after a restart the PodManager's story has forgotten the scale-down:\n%s", whole)
	}
}

func TestWithoutARecorderTheVerbsSaySoAndTellWhatTheyCan(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 3)
	restart(t, func(o *manager.Options) { o.Record, o.Explain = false, manager.Explain{} })
	patch(t, namespace, `{"spec":{"replicas":2}}`)
	expectSettled(t, namespace)

	out := p.must(t, "why", "web")
	if !strings.Contains(out, "The operator's recorder could not be asked") || !strings.Contains(out, scaleDown) {
		t.Error("why does not fall back to the history with a sentence")
	}
	if out := p.must(t, "why", "pod/web-2"); !strings.Contains(out, scaleDown) {
		t.Error("why of a pod that is gone does not fall back to the history")
	}
	if out := p.must(t, "top", "--once"); !strings.Contains(out, "from the PodManagers' history") || !strings.Contains(out, scaleDown) {
		t.Error("top does not fall back to the history")
	}
	if out := p.must(t, "doctor"); !strings.Contains(out, "note   recorder") {
		t.Error("doctor does not say that the recorder is off")
	}
	for _, verb := range [][]string{{"events", "web"}, {"reconcile", "web"}, {"replay", "web"}} {
		if _, err := p.try(t, verb...); kube.ExitCode(err) != kube.ExitFailed || !strings.Contains(err.Error(), "could not be") {
			t.Errorf("%s without a recorder: %v", verb[0], err)
		}
	}
}

func TestTheKubeconfigMaySayWhereTheOperatorAnswers(t *testing.T) {
	namespace := suite.Namespace(t)
	ada := as(t, namespace, "ada")
	fleet(t, namespace, 1)
	config, err := clientcmd.LoadFromFile(suite.Cluster.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	hint, err := json.Marshal(explain.Hint{URL: origin, Account: namespace + "/ada"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Extensions = map[string]runtime.Object{explain.Extension: &runtime.Unknown{Raw: hint, ContentType: runtime.ContentTypeJSON}}
	}
	p := plugin{namespace: namespace, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	// The owner of the cluster has a client certificate, and asks as ada.
	if out := p.story(t, "web"); !strings.Contains(out, "because  PodManager web was created") {
		t.Errorf("the recorder was not asked:\n%s", out)
	}
	if out := p.must(t, "reconcile", "web"); !strings.Contains(out, "Asked for as system:serviceaccount:"+namespace+":ada") {
		t.Error("it was not ada who asked")
	}
	// A user with a token of their own asks with that.
	if out := ada.must(t, "reconcile", "web"); !strings.Contains(out, ":ada.") {
		t.Error("ada did not ask with her own token")
	}
	if out, err := ada.with("--explain-url", origin, "--as", "grace").try(t, "why", "web"); err == nil && !strings.Contains(out, "leave --as out") {
		t.Errorf("a user who acts as another: %v\n%s", err, out)
	}
}

func TestAUserWithoutRightsIsRefused(t *testing.T) {
	mine, theirs := suite.Namespace(t), suite.Namespace(t)
	p := as(t, mine, "ada")
	fleet(t, theirs, 1)
	p.namespace = theirs
	if _, err := p.try(t, "reconcile", "web"); err == nil || !strings.Contains(err.Error(), "may not") {
		t.Errorf("reconcile in another's namespace: %v", err)
	}
	if _, err := p.try(t, "replay", "web"); err == nil || !strings.Contains(err.Error(), "may not get podmanagers") {
		t.Errorf("replay in another's namespace: %v", err)
	}
}

func TestAReplayShowsADecisionThatIsAnotherNow(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	file := filepath.Join(t.TempDir(), "web.jsonl")
	p.must(t, "replay", "web", "--save", file)
	// At a desk: no cluster, no kubeconfig.
	desk := plugin{namespace: namespace, kubeconfig: filepath.Join(t.TempDir(), "none")}
	if out := desk.must(t, "replay", "-v", "-f", file); !strings.Contains(out, "created web-0, web-1") || strings.Contains(out, "otherwise") {
		t.Error("the decisions of this very planner are not the same")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(raw), `"reason":"ScaleUp"`, `"reason":"Whim"`)
	if changed == string(raw) {
		t.Fatal("no record holds a scale-up")
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := desk.try(t, "replay", "-f", file)
	if kube.ExitCode(err) != kube.ExitNo || !strings.Contains(out, `-       "reason": "Whim"`) && !strings.Contains(out, `"reason": "Whim"`) {
		t.Errorf("a decision that was another: %v\n%s", err, out)
	}
}

// The files beside the plugin make "kubectl pm" and the tab key work.
func TestKubectlFindsThePluginItsAliasAndTheCompletion(t *testing.T) {
	namespace := suite.Namespace(t)
	as(t, namespace, "ada")
	fleet(t, namespace, 1)
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "kubectl-podmanager"), "./cmd/kubectl-podmanager")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	for _, name := range []string{"kubectl-pm", "kubectl_complete-pm", "kubectl_complete-podmanager"} {
		raw, err := os.ReadFile(filepath.Join(testkit.Root(), "cmd", "kubectl-podmanager", "path", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), raw, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	kubectl := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), "bin", "kubectl"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+suite.Cluster.KubeconfigPath(), "PATH="+folder+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for _, alias := range []string{"podmanager", "pm"} {
		if out := kubectl(alias, "-n", namespace, "status"); !strings.Contains(out, "web") {
			t.Errorf("kubectl %s status:\n%s", alias, out)
		}
		if out := kubectl(alias, "--version"); !strings.HasPrefix(out, "pod-operator ") {
			t.Errorf("kubectl %s --version: %s", alias, out)
		}
		// kubectl asks the file what the next word could be.
		if out := kubectl("__complete", alias, "-n", namespace, "status", ""); !strings.Contains(out, "\nweb\n") {
			t.Errorf("the tab key after kubectl %s status offers:\n%s", alias, out)
		}
	}
}
