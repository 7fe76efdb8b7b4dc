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
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

// "rolled out" is said only of what is rolled out: not of what is under way, is
// held back, or has not been looked at.
func TestVerdict(t *testing.T) {
	type conditions []metav1.Condition
	ready := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: appsv1.ConditionReady, Status: status, Reason: reason, Message: message}
	}
	for name, test := range map[string]struct {
		observed   int64
		conditions conditions
		told       string
		waits      bool
		code       int
	}{
		"never reconciled":              {observed: -1, waits: true},
		"nor at its last edit":          {observed: 1, conditions: conditions{ready(metav1.ConditionTrue, "Available", "")}, waits: true},
		"it is under way":               {observed: 2, conditions: conditions{ready(metav1.ConditionFalse, "RollingOut", "1 of 2"), {Type: appsv1.ConditionReconciling, Message: "1 of 2"}}, told: "waiting: 1 of 2", waits: true},
		"it waits for help":             {observed: 2, conditions: conditions{ready(metav1.ConditionFalse, "QuotaExceeded", "no"), {Type: appsv1.ConditionStalled, Reason: "QuotaExceeded", Message: "no"}}, code: kube.ExitFailed},
		"it is done":                    {observed: 2, conditions: conditions{ready(metav1.ConditionTrue, "Available", "")}, told: "podmanager web is rolled out: 2 of 2 pods are on web-new"},
		"a pause holds its pods back":   {observed: 2, conditions: conditions{ready(metav1.ConditionFalse, "Paused", "2 pods are held back")}, told: "podmanager web is not rolled out: Paused: 2 pods are held back", code: kube.ExitNo},
		"a pin keeps the template away": {observed: 2, conditions: conditions{ready(metav1.ConditionFalse, "Pinned", "pinned to web-old")}, told: "podmanager web is not rolled out: Pinned: pinned to web-old", code: kube.ExitNo},
	} {
		t.Run(name, func(t *testing.T) {
			pm := &appsv1.PodManager{}
			pm.Name, pm.Generation = "web", 2
			pm.Status = appsv1.PodManagerStatus{ObservedGeneration: test.observed, Conditions: test.conditions, Replicas: 2, UpdatedReplicas: 2, UpdateRevision: "web-new"}
			told, waits, err := Verdict(pm)
			if told != test.told || waits != test.waits || kube.ExitCode(err) != test.code {
				t.Errorf("it says %q, waits: %t, exit code %d (%v); want %q, %t, %d", told, waits, kube.ExitCode(err), err, test.told, test.waits, test.code)
			}
			if errors.Is(err, kube.ErrNo) && told == "" {
				t.Error("it ends with an answer that it does not print")
			}
		})
	}
}

func TestPauseRefusesWhatIsSoAlready(t *testing.T) {
	for name, test := range map[string]struct {
		is, asked bool
		refused   string
	}{
		"a pause":         {asked: true},
		"a second pause":  {is: true, asked: true, refused: "podmanager web is already paused"},
		"a resume":        {is: true},
		"a second resume": {refused: "podmanager web is not paused"},
	} {
		t.Run(name, func(t *testing.T) {
			pm := &appsv1.PodManager{}
			pm.Name, pm.Spec.Paused = "web", test.is
			patch, err := pause(pm, test.asked)
			if got := fmt.Sprint(err); err != nil && got != test.refused || (err == nil) != (test.refused == "") {
				t.Errorf("got %v, want %q", err, test.refused)
			}
			if (patch == nil) != (err != nil) {
				t.Errorf("it patches %s with the error %v", patch, err)
			}
		})
	}
}
