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
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/plan"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func TestStatusHasTheTablesOfKubectl(t *testing.T) {
	namespace := suite.Namespace(t)
	p := admin(namespace)
	fleet(t, namespace, 1)
	for words, test := range map[string]struct{ with, without string }{
		"status":                         {"web    1", "NAMESPACE"},
		"status -A":                      {"NAMESPACE", ""},
		"status -o wide":                 {"nginx:1.27", "NAMESPACE"},
		"status -o name":                 {"podmanager.apps.mycompany.com/web\n", "DESIRED"},
		"status web -o name":             {"podmanager.apps.mycompany.com/web\n", "desired"},
		"status web -o jsonpath={.live}": {"1\n", "web"},
	} {
		t.Run(words, func(t *testing.T) {
			out := p.must(t, strings.Fields(words)...)
			if !strings.Contains(out, test.with) || test.without != "" && strings.Contains(out, test.without) {
				t.Errorf("it has to say %q and not %q:\n%s", test.with, test.without, out)
			}
		})
	}
}

// No budget holds a rollout back that no operator has begun.
func TestWhyNotSaysThatNoOperatorHasSeenTheSpec(t *testing.T) {
	namespace := suite.Namespace(t)
	p := admin(namespace).with("--no-recorder")
	fleet(t, namespace, 3)
	if err := suite.Suspend(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := suite.Resume(context.Background(), suite.Operator); err != nil {
			t.Error(err)
		}
	})
	patch(t, namespace, `{"spec":{"image":"nginx:1.28"}}`)
	for _, words := range []string{"why-not web", "status web"} {
		out := p.must(t, strings.Fields(words)...)
		if !strings.Contains(out, "the operator has not seen generation 2 yet") || strings.Contains(out, "Budget") {
			t.Errorf("%s says\n%s", words, out)
		}
	}
}

// A rollout is stuck on a pod that no node takes; more pods of its kind are not there in a second.
func TestAPlanOfAStuckFleetPromisesNoTime(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	suite.Create(t, testkit.MakePodManager(namespace, "web").Replicas(4).Obj())
	expectSettled(t, namespace)
	patch(t, namespace, `{"spec":{"template":{"spec":{"nodeSelector":{"disk":"none"},"containers":[{"name":"app"}]}}}}`)
	testkit.Eventually(t, "web-3 cannot be scheduled", func() error {
		pod := &corev1.Pod{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web-3"}, pod); err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Reason == corev1.PodReasonUnschedulable {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", pod.Status.Conditions)
	})
	var report plan.Report
	if err := json.Unmarshal([]byte(p.must(t, "plan", "web", "--replicas", "5", "-o", "json")), &report); err != nil {
		t.Fatal(err)
	}
	if e := report.Items[0].Estimate; e == nil || e.Seconds != nil || !strings.Contains(e.Text, "duration unknown: web-3 is not available (cannot be scheduled") {
		t.Errorf("the estimate is %+v", e)
	}
}
