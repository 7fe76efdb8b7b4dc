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
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/plan"
	"github.com/mycompany/pod-operator/internal/cli/rollout"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/view"
)

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

func changedFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(changedYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPlanForeseesExactlyWhatThenHappens(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 3)
	file := changedFile(t)
	out, err := p.try(t, "plan", "-f", file, "-o", "json")
	if !errors.Is(err, plan.ErrDisruptive) {
		t.Fatalf("plan of a recreating change: %v, want ErrDisruptive", err)
	}
	var report plan.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Items) != 1 {
		t.Fatalf("read the plan: %v, %d items", err, len(report.Items))
	}
	var foreseen []string
	for _, step := range report.Items[0].Steps {
		if step.What == view.Recreate {
			foreseen = append(foreseen, step.Pod)
		}
	}
	before := podUIDs(t, namespace)
	suite.Kubectl(t, "-n", namespace, "apply", "--server-side", "--force-conflicts", "-f", file)
	expectSettled(t, namespace)
	after := podUIDs(t, namespace)
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

func TestRolloutUndoGoesBackAndCanBeCleared(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	patch(t, namespace, `{"spec":{"image":"nginx:1.28"}}`)
	expectSettled(t, namespace)
	image := func() string {
		pod := &corev1.Pod{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web-0"}, pod); err != nil {
			return err.Error()
		}
		return pod.Spec.Containers[0].Image
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
	if _, err := p.try(t, "rollout", "undo", "web", "--to-revision=17"); err == nil || !strings.Contains(err.Error(), "no such revision") {
		t.Errorf("a revision that does not exist: %v", err)
	}
}

// A pin is said by every verb that is asked; the next template ends one that
// undo made, and not one that stays.
func TestAPinIsSaidByEveryVerbAndEndsWithTheNextTemplate(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	images := func(want string) {
		t.Helper()
		testkit.Eventually(t, "the pods run "+want, func() error {
			for _, name := range []string{"web-0", "web-1"} {
				pod := &corev1.Pod{}
				if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
					return err
				}
				if got := pod.Spec.Containers[0].Image; got != want {
					return fmt.Errorf("%s runs %s", name, got)
				}
			}
			return nil
		})
	}
	expectPinned := func() {
		t.Helper()
		out := ""
		testkit.Eventually(t, "rollout status says that the pin holds the template back", func() (err error) {
			if out, err = p.try(t, "rollout", "status", "web"); !errors.Is(err, rollout.ErrNotRolledOut) {
				return fmt.Errorf("it says %s and ends with %w", out, err)
			}
			return nil
		})
		said := map[string]string{"rollout status web": out}
		for _, words := range []string{"why-not web", "status web", "status", "plan web", "rollout history web", "top --once"} {
			said[words] = p.must(t, strings.Fields(words)...)
		}
		for words, out := range said {
			if !strings.Contains(strings.ToLower(out), "pinned") {
				t.Errorf("%s does not mention the pin:\n%s", words, out)
			}
		}
	}
	patch(t, namespace, `{"spec":{"image":"nginx:1.28"}}`)
	expectSettled(t, namespace)
	if out := p.must(t, "rollout", "undo", "web"); !strings.Contains(out, "until its template changes") || !strings.Contains(out, "rollout undo web --clear") {
		t.Errorf("undo does not say how it ends: %s", out)
	}
	images("nginx:1.27")
	expectPinned()

	patch(t, namespace, `{"spec":{"image":"nginx:1.29"}}`)
	images("nginx:1.29")
	expectSettled(t, namespace)
	if out := p.must(t, "rollout", "status", "web"); !strings.Contains(out, "is rolled out") {
		t.Errorf("after the pin: %s", out)
	}
	if out := p.must(t, "why-not", "web"); !strings.Contains(out, "Nothing is held back") {
		t.Errorf("after the pin: %s", out)
	}

	p.must(t, "rollout", "undo", "web", "--to-revision=1", "--stay")
	images("nginx:1.27")
	patch(t, namespace, `{"spec":{"image":"nginx:1.30"}}`)
	testkit.Eventually(t, "the edit was looked at", func() error {
		pm := &appsv1.PodManager{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
			return err
		}
		if pm.Status.ObservedGeneration != pm.Generation {
			return errors.New("not yet")
		}
		return nil
	})
	expectPinned()
	images("nginx:1.27")
	p.must(t, "rollout", "undo", "web", "--clear")
	images("nginx:1.30")
}

func TestDeletePodReplacesOnePod(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	before := podUIDs(t, namespace)
	p.must(t, "delete-pod", "web-1")
	testkit.Eventually(t, "web-1 is another pod", func() error {
		if uid := podUIDs(t, namespace)["web-1"]; uid == "" || uid == before["web-1"] {
			return fmt.Errorf("web-1 has uid %q", uid)
		}
		return nil
	})
	if podUIDs(t, namespace)["web-0"] != before["web-0"] {
		t.Error("web-0 was touched too")
	}
}

func TestTheTabKeyOffersWhatThereIs(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	for name, c := range map[string]struct {
		typed []string
		want  []string
	}{
		"PodManagers by name":            {[]string{"status", ""}, []string{"web"}},
		"PodManagers that begin so":      {[]string{"status", "x"}, nil},
		"PodManagers and pods for a why": {[]string{"why", ""}, []string{"pod/web-0", "pod/web-1", "web"}},
		"pods to delete":                 {[]string{"delete-pod", "web-"}, []string{"web-0", "web-1"}},
		"revisions to go back to":        {[]string{"rollout", "undo", "web", "--to-revision", ""}, []string{"1"}},
		"formats":                        {[]string{"plan", "web", "-o", ""}, []string{"json", "yaml", "jsonpath="}},
		"nodes to drain":                 {[]string{"plan", "drain", ""}, []string{"node-1", "node-2", "node-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := p
			if slices.Contains(c.typed, "drain") {
				p = admin(namespace) // who works in a namespace may not list nodes
			}
			out, err := p.try(t, append([]string{"__complete"}, append(p.connection(), c.typed...)...)...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "Completion ended") {
					got = append(got, line)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("offered %q, want %q", got, c.want)
			}
		})
	}
}
