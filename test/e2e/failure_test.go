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
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// impatient makes a rollout count as failed early. A pod needs less than this to
// start, also on a busy machine.
func impatient(action appsv1.FailureAction) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) {
		pm.Spec.Update.ProgressDeadlineSeconds = ptr.To[int32](40)
		pm.Spec.Update.OnFailure = action
	}
}

func TestCrashLoopStallsAndTheFixGoesThrough(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, impatient(appsv1.FailurePause))
	client := newTraffic(f)
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageCrash })
	stalled := f.waitStalled(appsv1.ReasonProgressDeadlineExceeded)
	t.Logf("Stalled: %s", stalled.Message)
	// It waits most of the time; but it may just have been started again.
	if !strings.Contains(stalled.Message, "1 of 3 pods is crashing: CrashLoopBackOff") && !strings.Contains(stalled.Message, "1 of 3 pods is crashing: Error") {
		t.Errorf("the message does not say why: %s", stalled.Message)
	}
	client.end(t, 2, "v1")
	if got := onImage(f, imageCrash); got != 1 {
		t.Errorf("%d pods got the broken image, want 1: the budget", got)
	}
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageV2 })
	f.waitReady()
	if diff := cmp.Diff([]string{"v2", "v2", "v2"}, f.versions()); diff != "" {
		t.Errorf("what the pods answer (-want +got):\n%s", diff)
	}
}

func TestCrashLoopRollsBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, impatient(appsv1.FailureRollback))
	before := f.lives()
	client := newTraffic(f)
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageCrash })
	stalled := f.waitStalled(appsv1.ReasonRolledBack)
	t.Logf("Stalled: %s", stalled.Message)
	f.eventually("all pods are back and available", func() error {
		status := f.get().Status
		if onImage(f, imageV1) != 3 || status.AvailableReplicas != 3 || status.Rollback == nil {
			return fmt.Errorf("status %+v", status)
		}
		return nil
	})
	client.end(t, 2, "v1")
	for name, l := range f.lives() {
		if l.UID != before[name].UID {
			t.Errorf("pod %s was replaced; both ways go in place", name)
		}
	}
	if diff := cmp.Diff([]string{"v1", "v1", "v1"}, f.versions()); diff != "" {
		t.Errorf("what the pods answer (-want +got):\n%s", diff)
	}
}

func onImage(f *fleet, image string) int {
	f.Helper()
	count := 0
	for _, p := range f.pods() {
		if p.Spec.Containers[0].Image == image {
			count++
		}
	}
	return count
}

// A crash of a program that worked is the kubelet's to repair: the operator does
// nothing.
func TestCrashIsRepairedByTheKubelet(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, nil)
	before := f.lives()
	_, _ = ask(t.Context(), f.pods()[0].Status.PodIP, "POST", "/crash") // it cannot answer
	f.eventually("the container has restarted", func() error { return want("restarts", restarts(f.pods()[0]), 1) })
	f.waitReady()
	if diff := cmp.Diff(inPlace(before, imageV1), f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
}
