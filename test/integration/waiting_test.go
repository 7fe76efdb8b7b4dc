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
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TestPodsThatCannotBeScheduled: the condition says so in the scheduler's words, with
// the number of pods, and stops saying so when they can.
func TestPodsThatCannotBeScheduled(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(3).PodSpec(func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"example.com/kind": "none"}
	}))
	f.Expect("names the cause", func(pm *appsv1.PodManager) error {
		c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionReconciling)
		if c == nil || !strings.HasPrefix(c.Message, "3 of 3 pods cannot be scheduled: 0/") {
			return fmt.Errorf("the condition is %v", c)
		}
		return nil
	})
	out := f.Kubectl("get", "pm", "web")
	if head, row, _ := strings.Cut(out, "\n"); !strings.HasSuffix(strings.TrimSpace(head), "STATUS") || !strings.Contains(row, "3 of 3 pods cannot be scheduled: 0/") {
		t.Errorf("kubectl get does not say why:\n%s", out)
	}
	f.Edit(func(pm *appsv1.PodManager) { pm.Spec.Template.Spec.NodeSelector = nil })
	f.ExpectReady(3)
}
