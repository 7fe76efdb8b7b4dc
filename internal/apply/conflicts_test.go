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

package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestWhatAConflictMeans: the object changed, and the next look waits for that; or
// it did not, and a webhook answers so.
func TestWhatAConflictMeans(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		// read is the version that was read; the pod has 999.
		read   string
		uid    string
		pod    *corev1.Pod
		want   plan.Result
		cause  string
		ledger []string
	}{
		"the pod got a hold since it was read": {"5", "uid-web-0", pod("web-0", controlledBy(me)), plan.Outdated, "", []string{"wrote web-0"}},
		"the pod is another's by now":          {"5", "uid-web-0", pod("web-0", controlledBy("another")), plan.Outdated, "", nil},
		"the pod has a successor":              {"5", "uid-of-the-first", pod("web-0", controlledBy(me)), plan.Outdated, "", nil},
		"the pod is gone":                      {"5", "uid-web-0", pod("web-1"), plan.Outdated, "", nil},
		"a webhook answers with a conflict":    {"999", "uid-web-0", pod("web-0", controlledBy(me)), plan.Refused, appsv1.ReasonChangesRefused, nil},
	} {
		for _, verb := range []plan.Verb{plan.DeletePod, plan.EvictPod, plan.UpdatePod, plan.TellHolder, plan.OpenGate} {
			t.Run(name+" "+string(verb), func(t *testing.T) {
				w := newWorld(t, test.pod)
				w.answer = func(string) error { return apierrors.NewConflict(pods, "web-0", errors.New("changed")) }
				action := move(verb)
				action.UID, action.ResourceVersion = types.UID(test.uid), test.read
				outcomes, err := w.apply(t, action)
				if err != nil || outcomes[0].Result != test.want || outcomes[0].Cause != test.cause {
					t.Errorf("the outcome is %+v, the error %v", outcomes[0], err)
				}
				if diff := cmp.Diff(test.ledger, w.ledger.list); diff != "" {
					t.Errorf("the ledger (-want +got):\n%s", diff)
				}
			})
		}
	}
}
