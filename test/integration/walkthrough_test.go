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
	"path/filepath"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestWalkThrough is the README's tour, by kubectl.
func TestWalkThrough(t *testing.T) {
	ns := suite.Namespace(t)
	kubectl := func(args ...string) string { return suite.Kubectl(t, append([]string{"-n", ns}, args...)...) }
	sample := filepath.Join(testkit.Root(), "config", "samples", "apps_v1_podmanager.yaml")

	kubectl("apply", "-f", sample)
	kubectl("wait", "--for=condition=Ready", "pm/my-pod-manager", "--timeout=60s")
	t.Log(kubectl("get", "podmanager", "-o", "wide"))
	t.Log(kubectl("describe", "pm", "my-pod-manager"))
	if out := kubectl("get", "pods", "-l", "app=my-app", "-o", "name"); strings.Count(out, "pod/") != 3 {
		t.Errorf("pods of the sample:\n%s", out)
	}
	for _, n := range []string{"5", "1", "0", "3"} {
		kubectl("scale", "pm/my-pod-manager", "--replicas="+n)
		expectReady(t, ns, "my-pod-manager", int(n[0]-'0'))
	}
}
