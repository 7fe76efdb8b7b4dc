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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// setPodStatus writes a pod's status, as its kubelet does.
func setPodStatus(f *testkit.Fleet, name string, change func(*corev1.PodStatus)) {
	f.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod := f.Pod(name)
		change(&pod.Status)
		return suite.Client.Status().Update(f.Context(), pod)
	})
	if err != nil {
		f.Fatalf("write the status of pod %s: %v", name, err)
	}
}

// failPod ends a pod the way a kubelet does: phase, reason, and when.
func failPod(f *testkit.Fleet, name, reason string) {
	f.Helper()
	setPodStatus(f, name, func(s *corev1.PodStatus) {
		s.Phase, s.Reason = corev1.PodFailed, reason
		setReady(s, corev1.ConditionFalse)
	})
}

// setReady sets both conditions that a kubelet keeps alike.
func setReady(s *corev1.PodStatus, value corev1.ConditionStatus) {
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		s.Conditions = slices.DeleteFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: metav1.Now()})
	}
}

// age waits until the clock has moved past a time, in the seconds in which the
// API keeps times: what happens afterwards is later than what happened before.
func age(t testing.TB, past time.Time) {
	t.Helper()
	testkit.Eventually(t, "a second has passed", func() error {
		if now := time.Now().Truncate(time.Second); !now.After(past) {
			return fmt.Errorf("it is still %s", now)
		}
		return nil
	})
}
