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

package root

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/mycompany/pod-operator/internal/cli/kube"
)

// run runs the plugin without a cluster.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := New(kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}))
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestAWrongVerbIsAnErrorThatNamesTheRightOne(t *testing.T) {
	for words, want := range map[string][]string{
		"plam":                    {`unknown command "plam" for "kubectl podmanager"`, "plan"},
		"rollout stauts":          {`unknown command "stauts" for "kubectl podmanager rollout"`, "Did you mean status?"},
		"rollout x web":           {`unknown command "x" for "kubectl podmanager rollout"`},
		"help plam":               {`unknown command "plam"`, "plan"},
		"help rollout x":          {`unknown command "x" for "kubectl podmanager rollout"`},
		"options x":               {`unknown command "x"`},
		"status --nope":           {"unknown flag: --nope"},
		"rollout undo":            {"give the name of a PodManager"},
		"why job/web":             {"give NAME, pm/NAME, pod/NAME", "or replicaset/NAME"},
		"drain node-1 --force":    {"kubectl podmanager plan drain NODE"},
		"rollout pause pod/web-0": {`"pod/web-0" is of another type: give NAME or pm/NAME`},
	} {
		t.Run(words, func(t *testing.T) {
			t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
			out, err := run(t, append([]string{"--server", "https://127.0.0.1:1"}, strings.Fields(words)...)...)
			if kube.ExitCode(err) != kube.ExitFailed {
				t.Fatalf("the error is %v, want exit code 1:\n%s", err, out)
			}
			for _, text := range want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error is %q, want %q in it", err, text)
				}
			}
		})
	}
}

func TestPlanAndWhyWithoutACluster(t *testing.T) {
	for _, words := range []string{"plan deployment/web --restart", "plan configmap/settings", "plan deployment/web --exit-code", "why deployment/web", "why pod/web-0", "why-not deployment/web"} {
		t.Run(words, func(t *testing.T) {
			out, err := run(t, append([]string{"--server", "https://127.0.0.1:1"}, strings.Fields(words)...)...)
			if kube.ExitCode(err) != kube.ExitFailed || !strings.Contains(err.Error(), "connection refused") || strings.Contains(out, "Nothing") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestHelpShowsTheFlagsOfAVerbAndOptionsTheOthers(t *testing.T) {
	for words, c := range map[string]struct{ with, without string }{
		"plan --help":          {"--set-image", "--kubeconfig"},
		"help rollout history": {"--revision", "--kubeconfig"},
		"rollout":              {"history", "--kubeconfig"},
		"--help":               {"plan", "--kubeconfig"},
		"options":              {"--kubeconfig", "--set-image"},
	} {
		t.Run(words, func(t *testing.T) {
			out, err := run(t, strings.Fields(words)...)
			if err != nil || !strings.Contains(out, c.with) || strings.Contains(out, c.without) {
				t.Errorf("%v; want %s and not %s in:\n%s", err, c.with, c.without, out)
			}
			if words != "options" && !strings.Contains(out, `Use "kubectl podmanager options"`) {
				t.Errorf("it does not say where the other flags are:\n%s", out)
			}
		})
	}
}

func TestTheClientsVersionIsPrintedWithoutAServer(t *testing.T) {
	out, err := run(t, "version", "--server", "https://127.0.0.1:1")
	if err == nil || !strings.HasPrefix(out, "Client: pod-operator ") || strings.Contains(out, "Operator") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheClientsVersionNeedsNoCluster(t *testing.T) {
	out, err := run(t, "version", "--client", "-o", "json")
	var answer struct {
		Client struct{ GoVersion string }
	}
	if err != nil || json.Unmarshal([]byte(out), &answer) != nil || !strings.HasPrefix(answer.Client.GoVersion, "go") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run(t, "version", "--client"); err != nil || !strings.HasPrefix(out, "Client: pod-operator ") {
		t.Errorf("%v: %s", err, out)
	}
}
