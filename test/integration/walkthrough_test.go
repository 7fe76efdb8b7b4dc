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

package integration

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func sample(name string) string { return filepath.Join(testkit.Root(), "config", "samples", name) }

// TestWalkThrough is the walk of docs/start.md, by kubectl.
func TestWalkThrough(t *testing.T) {
	t.Parallel()
	const name = "my-pod-manager"
	f := suite.NewFleet(t, name)
	f.Kubectl("apply", "-f", sample("apps_v1_podmanager.yaml"))
	f.Kubectl("wait", "--for=condition=Ready", "pm/"+name, "--timeout=60s")
	expectKstatus(t, f.ExpectReady(3), status.CurrentStatus)

	t.Run("get shows the columns", func(t *testing.T) {
		expectRow(t, f.Kubectl("get", "podmanager"),
			"NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE AGE STATUS", name+` 3 3 3 3 3 \d+s 3 of 3 pods are available`)
		expectRow(t, f.Kubectl("get", "pm", "-o", "wide"), "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE AGE IMAGE .*REVISION STATUS",
			name+` 3 3 3 3 3 \d+s nginx:1.27 .*`+name+`-\w{10} 3 of 3 pods are available`)
		if out := f.Kubectl("get", "all"); !strings.Contains(out, "podmanager.apps.mycompany.com/"+name) {
			t.Errorf("kubectl get all does not show it:\n%s", out)
		}
	})
	t.Run("describe shows status and events", func(t *testing.T) {
		f.ExpectEvent(corev1.EventTypeNormal, appsv1.ReasonCreated, "Created 3 pods")
		out := f.Kubectl("describe", "pm", name)
		for _, want := range []string{
			`Available Replicas: +3`, `Message: +3 of 3 pods are available`, `Type: +Ready`,
			`Normal +Created .* podmanager +Created 3 pods: my-pod-manager-0, my-pod-manager-1, my-pod-manager-2`,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("describe does not show %q:\n%s", want, out)
			}
		}
	})
	t.Run("pods are found by the template's label", func(t *testing.T) {
		out := f.Kubectl("get", "pods", "-l", "app=my-app", "-o", "name")
		if diff := cmp.Diff("pod/my-pod-manager-0\npod/my-pod-manager-1\npod/my-pod-manager-2\n", out); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("scale", func(t *testing.T) {
		for _, n := range []string{"5", "1", "0", "3"} {
			f.Kubectl("scale", "pm/"+name, "--replicas="+n)
			f.ExpectReady(int(n[0] - '0'))
			if out := f.Kubectl("get", "pods", "-o", "name"); strings.Count(out, "pod/") != int(n[0]-'0') {
				t.Errorf("after the scale to %s there are\n%s", n, out)
			}
		}
	})
	t.Run("a deleted pod is replaced under its name", func(t *testing.T) {
		before := f.Pod(name + "-1")
		others := f.UIDs()
		f.Kubectl("delete", "pod", name+"-1")
		f.ExpectSuccessor(before)
		expectDecision(f, 3, appsv1.ReasonCreated, name+"-1", appsv1.WhyMissing)
		after := f.UIDs()
		delete(others, name+"-1")
		delete(after, name+"-1")
		if diff := cmp.Diff(others, after); diff != "" {
			t.Errorf("other pods changed: %s", diff)
		}
	})
	t.Run("deleting the PodManager takes the pods along", func(t *testing.T) {
		f.Kubectl("delete", "pm", name)
		if out := f.Kubectl("get", "pods", "-o", "name"); out != "" {
			t.Errorf("pods are left:\n%s", out)
		}
		testkit.Eventually(t, "the revisions are gone", func() error {
			if n := len(f.Revisions()); n > 0 {
				return fmt.Errorf("there are %d", n)
			}
			return nil
		})
	})
}

// expectRow compares a table's header and first row, blanks squeezed; the row
// is a pattern.
func expectRow(t *testing.T, table, header, row string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	want := []string{header, row}
	for i, pattern := range want {
		if i >= len(lines) || !regexp.MustCompile("^"+pattern+"$").MatchString(lines[i]) {
			t.Errorf("line %d of the table does not match %q:\n%s", i, pattern, table)
		}
	}
}

// TestEverySampleBecomesReady: what config/samples shows works as written.
func TestEverySampleBecomesReady(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct {
		name     string
		replicas int
	}{
		"apps_v1_podmanager_template.yaml": {"web", 2},
		"apps_v1_podmanager_orphan.yaml":   {"keepsake", 2},
		"apps_v1_podmanager_random.yaml":   {"crowd", 4},
	} {
		t.Run(want.name, func(t *testing.T) {
			t.Parallel()
			f := suite.NewFleet(t, want.name)
			f.Kubectl("apply", "-f", sample(file))
			f.ExpectReady(want.replicas)
		})
	}
}
