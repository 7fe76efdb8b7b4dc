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

// Package plugin runs the kubectl plugin against a real API server with the
// operator on it.
package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/plan"
	"github.com/mycompany/pod-operator/internal/cli/root"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/view"
)

// plugin runs verbs of the plugin in one namespace.
type plugin struct {
	suite     *testkit.Suite
	namespace string
}

func (p plugin) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	session := kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	cmd := root.New(session)
	cmd.SetArgs(append([]string{"--kubeconfig", p.suite.Cluster.KubeconfigPath(), "-n", p.namespace}, args...))
	err := cmd.ExecuteContext(t.Context())
	t.Logf("kubectl podmanager %s\n%s", strings.Join(args, " "), out.String())
	return out.String(), err
}

// must runs a verb that has to work.
func (p plugin) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.run(t, args...)
	if err != nil {
		t.Fatalf("kubectl podmanager %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (p plugin) pods(t *testing.T) map[string]types.UID {
	t.Helper()
	var list corev1.PodList
	err := p.suite.Client.List(t.Context(), &list, client.InNamespace(p.namespace), client.MatchingLabels{appsv1.LabelName: "web"})
	if err != nil {
		t.Fatalf("list pods: %v", err)
	}
	uids := map[string]types.UID{}
	for _, pod := range list.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// expectSettled waits until the PodManager is at its goal for its latest spec.
func (p plugin) expectSettled(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "web is at its goal", func() error {
		pm := &appsv1.PodManager{}
		if err := p.suite.Client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web"}, pm); err != nil {
			return err
		}
		if pm.Status.ObservedGeneration != pm.Generation || len(pm.Status.Conditions) != 1 ||
			pm.Status.AvailableReplicas != *pm.Spec.Replicas || pm.Status.UpdatedReplicas != *pm.Spec.Replicas ||
			pm.Status.CurrentRevision != pm.Status.UpdateRevision {
			return fmt.Errorf("status %+v", pm.Status)
		}
		return nil
	})
}

func newPlugin(t *testing.T) plugin {
	t.Helper()
	suite, err := testkit.NewSuite(t.Context(), localkube.Options{})
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() { _ = suite.Cluster.Stop() })
	stop, err := suite.StartOperator(t.Context(), testkit.OperatorOptions())
	if err != nil {
		t.Fatalf("start the operator: %v", err)
	}
	t.Cleanup(func() { _ = stop() })
	return plugin{suite: suite, namespace: suite.Namespace(t)}
}

const changedYAML = `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec:
  replicas: 3
  image: nginx:1.28
  template:
    spec:
      containers:
      - name: app
        env: [{name: COLOUR, value: blue}]
`

func TestThePlugin(t *testing.T) {
	log.SetLogger(logr.Discard())
	p := newPlugin(t)
	if err := p.suite.Client.Create(t.Context(), testkit.MakePodManager(p.namespace, "web").Replicas(3).Obj()); err != nil {
		t.Fatal(err)
	}
	p.expectSettled(t)

	t.Run("plan foresees exactly what then happens", func(t *testing.T) { planThenApply(t, p) })
	t.Run("status shows the tree", func(t *testing.T) {
		out := p.must(t, "status", "web")
		for _, want := range []string{"PodManager " + p.namespace + "/web", "web-0", "web-2", "(current)", "ready"} {
			if !strings.Contains(out, want) {
				t.Errorf("status lacks %q", want)
			}
		}
	})
	t.Run("why tells of a pod that is gone", func(t *testing.T) {
		p.suite.Kubectl(t, "-n", p.namespace, "scale", "pm/web", "--replicas=2")
		p.expectSettled(t)
		if out := p.must(t, "why", "pod/web-2"); !strings.Contains(out, "ordinal 2 is not below replicas 2") {
			t.Error("the scale-down is not told")
		}
	})
	t.Run("rollout undo goes back and can be cleared", func(t *testing.T) { undo(t, p) })
	t.Run("delete-pod replaces one pod", func(t *testing.T) {
		before := p.pods(t)
		p.must(t, "delete-pod", "web-1")
		testkit.Eventually(t, "web-1 is another pod", func() error {
			if uid := p.pods(t)["web-1"]; uid == "" || uid == before["web-1"] {
				return fmt.Errorf("web-1 has uid %q", uid)
			}
			return nil
		})
		if p.pods(t)["web-0"] != before["web-0"] {
			t.Error("web-0 was touched too")
		}
	})
}

func planThenApply(t *testing.T, p plugin) {
	if out := p.must(t, "plan", "web", "--set-image", "nginx:1.28"); !strings.Contains(out, "3 pods changed in place.") {
		t.Error("an image change is not foreseen in place")
	}
	if out := p.must(t, "plan", "web", "--replicas", "5"); !strings.Contains(out, "2 pods created.") {
		t.Error("a scale-up is not foreseen")
	}
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(changedYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := p.run(t, "plan", "-f", file, "-o", "json")
	if !errors.Is(err, plan.ErrDisruptive) {
		t.Fatalf("plan of a recreating change: %v, want ErrDisruptive", err)
	}
	var preview view.Preview
	if err := json.Unmarshal([]byte(out), &preview); err != nil {
		t.Fatalf("read the plan: %v", err)
	}
	var foreseen []string
	for _, step := range preview.Steps {
		if step.What == view.Recreate {
			foreseen = append(foreseen, step.Pod)
		}
	}
	before := p.pods(t)
	p.suite.Kubectl(t, "-n", p.namespace, "apply", "--server-side", "--force-conflicts", "-f", file)
	p.expectSettled(t)
	after := p.pods(t)
	var recreated []string
	for name, uid := range before {
		if after[name] != uid {
			recreated = append(recreated, name)
		}
	}
	slices.Sort(foreseen)
	slices.Sort(recreated)
	if !slices.Equal(foreseen, recreated) || len(after) != len(before) {
		t.Errorf("foreseen to be recreated: %v; recreated: %v; pods now: %v", foreseen, recreated, slices.Sorted(maps.Keys(after)))
	}
}

func undo(t *testing.T, p plugin) {
	image := func() string {
		pod := &corev1.Pod{}
		if err := p.suite.Client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web-0"}, pod); err != nil {
			return err.Error()
		}
		return pod.Spec.Containers[0].Image
	}
	if out := p.must(t, "rollout", "history", "web"); !strings.Contains(out, "nginx:1.27") {
		t.Error("the first revision is not listed")
	}
	for _, step := range []struct{ flag, want string }{{"--to-revision=1", "nginx:1.27"}, {"--clear", "nginx:1.28"}} {
		p.must(t, "rollout", "undo", "web", step.flag)
		testkit.Eventually(t, "the pods run "+step.want, func() error {
			if got := image(); got != step.want {
				return fmt.Errorf("web-0 runs %s", got)
			}
			return nil
		})
	}
	p.expectSettled(t)
}
