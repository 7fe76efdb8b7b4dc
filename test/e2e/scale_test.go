//go:build linux

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

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestScale(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, nil)
	if diff := cmp.Diff([]string{"v1", "v1", "v1"}, f.versions()); diff != "" {
		t.Errorf("what the pods answer (-want +got):\n%s", diff)
	}
	before := f.lives()
	for _, replicas := range []string{"5", "1", "3"} {
		suite.Kubectl(t, "scale", "-n", f.namespace, "pm/"+f.name, "--replicas="+replicas)
		f.waitReady()
	}
	if got, want := f.lives()["web-0"], before["web-0"]; got != want {
		t.Errorf("web-0 did not live through it: %v, want %v", got, want)
	}
}

func TestReadinessFollowsTheServer(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	second := f.pods()[1]
	f.order(second, "/ready/false")
	f.eventually("one pod is not ready", func() error { return want("readyReplicas", f.get().Status.ReadyReplicas, 1) })
	f.order(second, "/ready/true")
	f.waitReady()
	if got := f.lives()[second.Name]; got.UID != string(second.UID) || got.Restarts != 0 {
		t.Errorf("the pod was touched: %+v", got)
	}
}

// The webhooks are called at the operator's pod: nothing else can convert or warn.
func TestWebhooksAnswerFromThePod(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, nil)
	old := suite.Kubectl(t, "get", "podmanagers.v1alpha1.apps.mycompany.com", f.name, "-n", f.namespace, "-o", "jsonpath={.apiVersion} {.spec.size}")
	if old != "apps.mycompany.com/v1alpha1 1" {
		t.Errorf("as v1alpha1 it reads %q", old)
	}
	out := suite.Kubectl(t, "patch", "pm", f.name, "-n", f.namespace, "--type=merge", "--dry-run=server", "-p", `{"spec":{"image":"`+imageV2+`"}}`)
	if want := "1 pod will be changed in place: image of app"; !strings.Contains(out, want) {
		t.Errorf("kubectl patch said %q, not %q", out, want)
	}
	out, err := suite.TryKubectl(t, "patch", "pm", f.name, "-n", f.namespace, "--type=merge", "-p",
		`{"spec":{"template":{"spec":{"containers":[{"name":"app","ports":[{"containerPort":70000}]}]}}}}`)
	if want := "must be between 1 and 65535"; err == nil || !strings.Contains(out, want) {
		t.Errorf("a bad port got %q, %v, want it refused", out, err)
	}
}

// What the operator's pod is: its own image, not root, nothing it may write to.
func TestOperatorPod(t *testing.T) {
	t.Parallel()
	p := operatorPod(t)
	c := p.Spec.Containers[0]
	if c.Image != operatorImage || p.Spec.NodeName != nodeA {
		t.Errorf("image %s on %s, want %s on %s", c.Image, p.Spec.NodeName, operatorImage, nodeA)
	}
	if sc := c.SecurityContext; sc == nil || sc.ReadOnlyRootFilesystem == nil || !*sc.ReadOnlyRootFilesystem {
		t.Errorf("security context %+v, want a root file system that is read only", sc)
	}
	if limit, err := nodes[nodeA].Cgroup().MemoryLimit(containerID(p)); err != nil || limit != "536870912" {
		t.Errorf("the limit of its memory is %s, %v, want 512Mi", limit, err)
	}
	out, err := kubectl(t.Context(), "get", "--raw", "/api/v1/namespaces/"+p.Namespace+"/pods/https:"+p.Name+":8443/proxy/metrics")
	if err == nil || !strings.Contains(out, "logged in") {
		t.Errorf("its metrics told a stranger %q, %v", out, err)
	}
}

// containerID without the runtime's name, as the cgroup is called.
func containerID(p corev1.Pod) string {
	_, id, _ := strings.Cut(p.Status.ContainerStatuses[0].ContainerID, "://")
	return id
}
