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

package rollout

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/testkit"
)

func uids(t *testing.T, ns, name string) map[types.UID]string {
	t.Helper()
	set := map[types.UID]string{}
	for _, p := range podsOf(t, ns, name) {
		set[p.UID] = p.Spec.Containers[0].Image
	}
	return set
}

func expectImage(t *testing.T, ns, name, image string, n int) {
	t.Helper()
	testkit.Eventually(t, "all pods run "+image, func() error {
		pods := podsOf(t, ns, name)
		if len(pods) != n {
			return fmt.Errorf("%d pods: %s", len(pods), podNames(pods))
		}
		for _, p := range pods {
			if p.Spec.Containers[0].Image != image {
				return fmt.Errorf("%s runs %s", p.Name, p.Spec.Containers[0].Image)
			}
		}
		return ready(get(t, ns, name), n)
	})
}

func TestImageChangesInPlace(t *testing.T) {
	for _, random := range []bool{false, true} {
		t.Run(fmt.Sprintf("random=%v", random), func(t *testing.T) {
			ns := suite.Namespace(t)
			b := testkit.MakePodManager(ns, "web").Replicas(4)
			if random {
				b.Random()
			}
			create(t, b.Obj())
			expectReady(t, ns, "web", 4)
			before := uids(t, ns, "web")
			suite.Kubectl(t, "-n", ns, "patch", "pm", "web", "--type=merge", "-p", `{"spec":{"image":"nginx:1.28"}}`)
			expectImage(t, ns, "web", "nginx:1.28", 4)
			for uid := range uids(t, ns, "web") {
				if _, ok := before[uid]; !ok {
					t.Errorf("pod %s was replaced", uid)
				}
			}
			suite.Kubectl(t, "-n", ns, "patch", "pm", "web", "--type=merge", "-p",
				`{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":5,"containers":[{"name":"app","env":[{"name":"A","value":"1"}]}]}}}}`)
			testkit.Eventually(t, "all pods were recreated", func() error {
				for uid := range uids(t, ns, "web") {
					if _, ok := before[uid]; ok {
						return fmt.Errorf("pod %s is still there", uid)
					}
				}
				return ready(get(t, ns, "web"), 4)
			})
			t.Log(suite.Kubectl(t, "-n", ns, "get", "pm", "web", "-o", "jsonpath={.status}"))
			t.Log(suite.Kubectl(t, "-n", ns, "get", "events", "--sort-by=.metadata.creationTimestamp"))
		})
	}
}
