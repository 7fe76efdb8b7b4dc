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
	"slices"
	"testing"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// history finds the newest decision about a pod.
func history(pm *appsv1.PodManager, action, pod string) *appsv1.Decision {
	for i := range pm.Status.History {
		if d := &pm.Status.History[i]; d.Action == action && slices.Contains(d.Pods, pod) {
			return d
		}
	}
	return nil
}

func expectHistory(t testing.TB, pm *appsv1.PodManager, action, pod, reason string) {
	t.Helper()
	if d := history(pm, action, pod); d == nil || d.Reason != reason {
		t.Errorf("history has no %s of %s with reason %s: %+v", action, pod, reason, pm.Status.History)
	}
}

// expectDecision waits until the history has a decision about a pod and n pods
// are available. Both in one status: one from before the decision, which is not
// written yet when its pod is there, says that all is well, too.
func expectDecision(f *testkit.Fleet, n int, action, pod, reason string) {
	f.Helper()
	f.Expect(fmt.Sprintf("its history has %s of %s for %s", action, pod, reason), func(pm *appsv1.PodManager) error {
		if d := history(pm, action, pod); d == nil || d.Reason != reason {
			return fmt.Errorf("the history is %+v", pm.Status.History)
		}
		return testkit.Settled(pm, n)
	})
}
