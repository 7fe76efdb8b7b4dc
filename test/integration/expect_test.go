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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// podsOf lists the pods that carry a PodManager's name.
func podsOf(t testing.TB, namespace, name string) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: name})
	if err != nil {
		t.Fatalf("list pods: %v", err)
	}
	return list.Items
}

func names(pods []corev1.Pod) string {
	var list []string
	for i := range pods {
		list = append(list, pods[i].Name)
	}
	return strings.Join(list, " ")
}

// uids reports whether pods are the very pods they were.
func uids(pods []corev1.Pod) map[string]types.UID {
	m := map[string]types.UID{}
	for i := range pods {
		m[pods[i].Name] = pods[i].UID
	}
	return m
}

func get(t testing.TB, namespace, name string) *appsv1.PodManager {
	t.Helper()
	pm := &appsv1.PodManager{}
	getObject(t, namespace, name, pm)
	return pm
}

func getPod(t testing.TB, namespace, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	getObject(t, namespace, name, pod)
	return pod
}

func getObject(t testing.TB, namespace, name string, obj client.Object) {
	t.Helper()
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
		t.Fatalf("get %T %s: %v", obj, name, err)
	}
}

func create(t testing.TB, obj client.Object) {
	t.Helper()
	if err := suite.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

func remove(t testing.TB, obj client.Object, options ...client.DeleteOption) {
	t.Helper()
	if err := suite.Client.Delete(t.Context(), obj, options...); err != nil {
		t.Fatalf("delete %T %s: %v", obj, obj.GetName(), err)
	}
}

// edit changes a PodManager as a user would, who tries again when another
// writer was faster.
func edit(t testing.TB, namespace, name string, change func(*appsv1.PodManager)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pm := get(t, namespace, name)
		change(pm)
		return suite.Client.Update(t.Context(), pm)
	})
	if err != nil {
		t.Fatalf("edit PodManager %s: %v", name, err)
	}
}

func scale(t testing.TB, namespace, name string, replicas int32) {
	t.Helper()
	edit(t, namespace, name, func(pm *appsv1.PodManager) { pm.Spec.Replicas = &replicas })
}

// patch sends a merge patch, as kubectl label and kubectl patch do.
func patch(t testing.TB, obj client.Object, body string) {
	t.Helper()
	if err := suite.Client.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		t.Fatalf("patch %T %s with %s: %v", obj, obj.GetName(), body, err)
	}
}

// setPodStatus writes a pod's status, as its kubelet does.
func setPodStatus(t testing.TB, namespace, name string, change func(*corev1.PodStatus)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod := getPod(t, namespace, name)
		change(&pod.Status)
		return suite.Client.Status().Update(t.Context(), pod)
	})
	if err != nil {
		t.Fatalf("write the status of pod %s: %v", name, err)
	}
}

// failPod ends a pod the way a kubelet does: phase, reason, and when.
func failPod(t testing.TB, namespace, name, reason string) {
	t.Helper()
	setPodStatus(t, namespace, name, func(s *corev1.PodStatus) {
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

// expectReady waits until a PodManager says that n pods are available, for its
// latest spec, and that nothing is under way.
func expectReady(t testing.TB, namespace, name string, n int) *appsv1.PodManager {
	t.Helper()
	return expect(t, namespace, name, fmt.Sprintf("it has %d available pods", n), func(pm *appsv1.PodManager) error {
		return ready(pm, n)
	})
}

func ready(pm *appsv1.PodManager, n int) error {
	s := pm.Status
	if s.ObservedGeneration != pm.Generation {
		return fmt.Errorf("status is for generation %d of %d", s.ObservedGeneration, pm.Generation)
	}
	if int(s.AvailableReplicas) != n || int(s.CurrentReplicas) != n || s.TerminatingReplicas != 0 {
		return fmt.Errorf("%d available, %d live, %d terminating", s.AvailableReplicas, s.CurrentReplicas, s.TerminatingReplicas)
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.ConditionReconciling || c.Type == appsv1.ConditionStalled {
			return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return nil
}

// expect waits until a PodManager is as it should be.
func expect(t testing.TB, namespace, name, what string, check func(*appsv1.PodManager) error) *appsv1.PodManager {
	t.Helper()
	var pm *appsv1.PodManager
	testkit.Eventually(t, name+": "+what, func() error {
		pm = get(t, namespace, name)
		if err := check(pm); err != nil {
			return fmt.Errorf("%w; conditions: %+v", err, pm.Status.Conditions)
		}
		return nil
	})
	return pm
}

// expectCondition waits until a condition is True with a reason.
func expectCondition(t testing.TB, namespace, name, kind, reason string) *appsv1.PodManager {
	t.Helper()
	return expect(t, namespace, name, kind+" says "+reason, func(pm *appsv1.PodManager) error {
		c := meta.FindStatusCondition(pm.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || c.ObservedGeneration != pm.Generation {
			return fmt.Errorf("%s is %+v", kind, c)
		}
		return nil
	})
}

// expectGone waits until an object no longer exists.
func expectGone(t testing.TB, obj client.Object) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%T %s is gone", obj, obj.GetName()), func() error {
		fresh := obj.DeepCopyObject().(client.Object)
		err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), fresh)
		switch {
		case apierrors.IsNotFound(err) || err == nil && fresh.GetUID() != obj.GetUID():
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is there, finalizers %v", fresh.GetFinalizers())
	})
}

// expectSuccessor waits until another pod lives under a pod's name.
func expectSuccessor(t testing.TB, old *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	testkit.Eventually(t, "pod "+old.Name+" has a successor", func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(old), pod); err != nil {
			return err
		}
		if pod.UID == old.UID {
			return fmt.Errorf("it is still the old one, phase %s", pod.Status.Phase)
		}
		return nil
	})
	return pod
}

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
func expectDecision(t testing.TB, namespace, name string, n int, action, pod, reason string) {
	t.Helper()
	expect(t, namespace, name, fmt.Sprintf("its history has %s of %s for %s", action, pod, reason), func(pm *appsv1.PodManager) error {
		if d := history(pm, action, pod); d == nil || d.Reason != reason {
			return fmt.Errorf("the history is %+v", pm.Status.History)
		}
		return ready(pm, n)
	})
}

// eventsOf lists the events about a PodManager.
func eventsOf(t testing.TB, namespace, name string) []eventsv1.Event {
	t.Helper()
	var list eventsv1.EventList
	if err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatalf("list events: %v", err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Kind != "PodManager" || e.Regarding.Name != name
	})
}

// expectEvent waits for an event whose note contains a text.
func expectEvent(t testing.TB, namespace, name, kind, reason, text string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s has a %s event %s with %q", name, kind, reason, text), func() error {
		events := eventsOf(t, namespace, name)
		for i := range events {
			if e := &events[i]; e.Type == kind && e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(events))
	})
}

// revisionsOf lists a PodManager's revisions, oldest first.
func revisionsOf(t testing.TB, namespace, name string) []kappsv1.ControllerRevision {
	t.Helper()
	var list kappsv1.ControllerRevisionList
	err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: name})
	if err != nil {
		t.Fatalf("list revisions: %v", err)
	}
	slices.SortFunc(list.Items, func(a, b kappsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

// kubectl runs kubectl in a namespace.
type kubectl string

func (ns kubectl) run(t testing.TB, args ...string) string {
	t.Helper()
	return suite.Kubectl(t, append([]string{"-n", string(ns)}, args...)...)
}

func wantNone(n int, what string) error {
	if n > 0 {
		return fmt.Errorf("there are %d %s", n, what)
	}
	return nil
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

// writeManifest puts a manifest where kubectl can read it.
func writeManifest(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
