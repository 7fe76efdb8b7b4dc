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
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestANewPodManagerIsNotCurrent: the operator has not looked at it yet.
func TestANewPodManagerIsNotCurrent(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(1).Obj()
	create(t, pm)
	expectKstatus(t, pm, status.InProgressStatus) // as the create was answered
	expectKstatus(t, expectReady(t, ns, "web", 1), status.CurrentStatus)
	var fresh *appsv1.PodManager
	edit(t, ns, "web", func(pm *appsv1.PodManager) {
		*pm.Spec.Replicas = 2
		fresh = pm
	})
	expectKstatus(t, fresh, status.InProgressStatus) // as the update was answered
	expectKstatus(t, expectReady(t, ns, "web", 2), status.CurrentStatus)
}

// TestMinReadySeconds: ready is not available yet, and no event tells when it
// is.
func TestMinReadySeconds(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	// Long enough for a slow machine to report both pods before the first is
	// available.
	const wait = 15 * time.Second
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).MinReady(int32(wait/time.Second)).Obj())
	pm := expect(t, ns, "web", "its pods are ready", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d are", pm.Status.ReadyReplicas)
		}
		return nil
	})
	if pm.Status.AvailableReplicas != 0 {
		t.Errorf("%d pods are available at once", pm.Status.AvailableReplicas)
	}
	expectKstatus(t, pm, status.InProgressStatus)
	pm = expectReady(t, ns, "web", 2)
	since := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionReady).LastTransitionTime
	for _, pod := range podsOf(t, ns, "web") {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && since.Sub(c.LastTransitionTime.Time) < wait {
				t.Errorf("available at %s, but %s was ready at %s", since, pod.Name, c.LastTransitionTime)
			}
		}
	}
}

// TestAPodThatIsNotReadyAnyMore makes the fleet wait, not replace.
func TestAPodThatIsNotReadyAnyMore(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).PodSpec(func(s *corev1.PodSpec) {
		s.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/open"}}
	}).Obj())
	expect(t, ns, "web", "its pods live", func(pm *appsv1.PodManager) error { return live(pm, 2) })
	open := func(pod string, value corev1.ConditionStatus) {
		t.Helper()
		setPodStatus(t, ns, pod, func(s *corev1.PodStatus) {
			s.Conditions = slices.DeleteFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == "example.com/open" })
			s.Conditions = append(s.Conditions, corev1.PodCondition{Type: "example.com/open", Status: value, LastTransitionTime: metav1.Now()})
		})
	}
	open("web-0", corev1.ConditionTrue)
	open("web-1", corev1.ConditionTrue)
	expectReady(t, ns, "web", 2)
	before := uids(podsOf(t, ns, "web"))
	open("web-1", corev1.ConditionFalse)
	pm := expectCondition(t, ns, "web", appsv1.ConditionReconciling, appsv1.ReasonWaitingForPods)
	if pm.Status.ReadyReplicas != 1 || pm.Status.AvailableReplicas != 1 || pm.Status.CurrentReplicas != 2 {
		t.Errorf("status: %+v", pm.Status)
	}
	open("web-1", corev1.ConditionTrue)
	expectReady(t, ns, "web", 2)
	if diff := cmp.Diff(before, uids(podsOf(t, ns, "web"))); diff != "" {
		t.Errorf("pods were replaced: %s", diff)
	}
}

// TestStatusNamesThePods: status.nodes are the live pods, sorted.
func TestStatusNamesThePods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(11).Obj())
	pm := expectReady(t, ns, "web", 11)
	if got := names(podsOf(t, ns, "web")); strings.Join(pm.Status.Nodes, " ") != got {
		t.Errorf("status.nodes is %v, the pods are %s", pm.Status.Nodes, got)
	}
	scale(t, ns, "web", 1)
	pm = expectReady(t, ns, "web", 1)
	if diff := cmp.Diff([]string{"web-0"}, pm.Status.Nodes); diff != "" {
		t.Error(diff)
	}
}

// TestOrdinalsGoHighestFirst, one decision for all of them.
func TestOrdinalsGoHighestFirst(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(5).Obj())
	expectReady(t, ns, "web", 5)
	before := uids(podsOf(t, ns, "web"))
	scale(t, ns, "web", 2)
	pm := expectReady(t, ns, "web", 2)
	if got := names(podsOf(t, ns, "web")); got != "web-0 web-1" {
		t.Errorf("the pods are %s", got)
	}
	for _, pod := range podsOf(t, ns, "web") {
		if pod.UID != before[pod.Name] {
			t.Errorf("pod %s was replaced", pod.Name)
		}
	}
	d := pm.Status.History[0]
	if d.Action != appsv1.ReasonDeleted || d.Count != 3 || d.Reason != appsv1.WhyScaleDown ||
		!cmp.Equal(d.Pods, []string{"web-4", "web-3", "web-2"}) {
		t.Errorf("history: %+v", d)
	}
}

// TestVictimsOfARandomFleet: a pod that is not ready goes before a cheap one,
// and a cheap one before the others.
func TestVictimsOfARandomFleet(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "crowd").Random().Replicas(5).Obj())
	expectReady(t, ns, "crowd", 5)
	pods := podsOf(t, ns, "crowd")
	cheap, sick := pods[0].Name, pods[3].Name
	for i := range pods {
		cost := "5"
		if pods[i].Name == cheap {
			cost = "-100"
		}
		kubectl(ns).run(t, "annotate", "pod", pods[i].Name, corev1.PodDeletionCost+"="+cost)
	}
	setPodStatus(t, ns, sick, func(s *corev1.PodStatus) { setReady(s, corev1.ConditionFalse) })
	expect(t, ns, "crowd", "one pod is not ready", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != 4 {
			return fmt.Errorf("%d are ready", pm.Status.ReadyReplicas)
		}
		return nil
	})

	scale(t, ns, "crowd", 4)
	pm := expectReady(t, ns, "crowd", 4)
	expectLeft(t, ns, "crowd", pods, sick)
	if d := pm.Status.History[0]; !strings.HasSuffix(d.Message, "chosen because it is not ready") {
		t.Errorf("history does not tell why: %+v", d)
	}
	scale(t, ns, "crowd", 3)
	pm = expectReady(t, ns, "crowd", 3)
	expectLeft(t, ns, "crowd", pods, sick, cheap)
	if d := pm.Status.History[0]; !strings.HasSuffix(d.Message, "chosen because its deletion cost is lower") {
		t.Errorf("history does not tell why: %+v", d)
	}
}

// expectLeft fails unless exactly these pods of before are gone.
func expectLeft(t *testing.T, namespace, name string, before []corev1.Pod, gone ...string) {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(before), func(p corev1.Pod) bool { return slices.Contains(gone, p.Name) })
	if diff := cmp.Diff(uids(want), uids(podsOf(t, namespace, name))); diff != "" {
		t.Errorf("the wrong pods are left: %s", diff)
	}
}

// TestTheDeleteLabel: a pod with it is replaced.
func TestTheDeleteLabel(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(3).Obj())
	create(t, testkit.MakePodManager(ns, "crowd").Random().Replicas(2).Obj())
	expectReady(t, ns, "web", 3)
	expectReady(t, ns, "crowd", 2)
	old := getPod(t, ns, "web-1")
	one := podsOf(t, ns, "crowd")[0]
	kubectl(ns).run(t, "label", "pod", "web-1", one.Name, appsv1.LabelDelete+"=true")

	successor := expectSuccessor(t, old)
	if _, ok := successor.Labels[appsv1.LabelDelete]; ok {
		t.Error("the successor has the label, too")
	}
	expectDecision(t, ns, "web", 3, appsv1.ReasonDeleted, "web-1", appsv1.WhyRequested)
	expectGone(t, &one)
	expectReady(t, ns, "crowd", 2)
}

// TestRevisions: a changed template is a new revision, an equal older one is
// used again under a new number, and unused ones go.
func TestRevisions(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(0).Image("app:1").History(2).Obj())
	pm := expectReady(t, ns, "web", 0)
	first := pm.Status.UpdateRevision
	image := func(tag string) *appsv1.PodManager {
		t.Helper()
		edit(t, ns, "web", func(pm *appsv1.PodManager) { pm.Spec.Image = "app:" + tag })
		return expectReady(t, ns, "web", 0)
	}
	second := image("2").Status.UpdateRevision
	expectNumbers(t, ns, "web", map[string]int64{first: 1, second: 2})
	if got := image("1").Status.UpdateRevision; got != first {
		t.Errorf("the first template has revision %s, not %s again", got, first)
	}
	expectNumbers(t, ns, "web", map[string]int64{second: 2, first: 3})
	third := image("3").Status.UpdateRevision
	fourth := image("4").Status.UpdateRevision
	// Two old ones are kept beside the one in use; the second is the oldest.
	expectNumbers(t, ns, "web", map[string]int64{first: 3, third: 4, fourth: 5})

	// The same meaning in other words is no new revision.
	edit(t, ns, "web", func(pm *appsv1.PodManager) {
		pm.Spec.Image = ""
		pm.Spec.Template = &corev1.PodTemplateSpec{}
		pm.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:4"}}
	})
	if got := expectReady(t, ns, "web", 0).Status.UpdateRevision; got != fourth {
		t.Errorf("the same template in other words has revision %s, not %s", got, fourth)
	}
}

// expectNumbers waits until a PodManager has exactly these revisions.
func expectNumbers(t *testing.T, namespace, name string, want map[string]int64) {
	t.Helper()
	testkit.Eventually(t, "the revisions are right", func() error {
		got := map[string]int64{}
		for _, r := range revisionsOf(t, namespace, name) {
			got[r.Name] = r.Revision
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// TestARevisionLeftByAPredecessorIsTakenOver: it has the name that ours would
// get, and means the same.
func TestARevisionLeftByAPredecessorIsTakenOver(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(1).Obj()
	create(t, pm.DeepCopy())
	old := expectReady(t, ns, "web", 1)
	left := revisionsOf(t, ns, "web")[0]
	remove(t, old)
	expectGone(t, old)
	expectGone(t, &left)
	copied := &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: left.Name, Labels: left.Labels},
		Data:       left.Data, Revision: 7,
	}
	create(t, copied)

	create(t, pm.DeepCopy())
	successor := expectReady(t, ns, "web", 1)
	taken := revisionsOf(t, ns, "web")
	if len(taken) != 1 || taken[0].UID != copied.UID || !metav1.IsControlledBy(&taken[0], successor) {
		t.Errorf("the revision was not taken over: %+v", taken)
	}
}

// TestOnDelete: a changed template applies to new pods, and status tells how
// many have it.
func TestOnDelete(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(3).Image("app:1").Obj()
	pm.Spec.Update.Strategy = appsv1.UpdateOnDelete
	create(t, pm)
	first := expectReady(t, ns, "web", 3).Status.UpdateRevision
	before := uids(podsOf(t, ns, "web"))
	edit(t, ns, "web", func(pm *appsv1.PodManager) { pm.Spec.Image = "app:2" })
	got := expect(t, ns, "web", "it has a new revision", func(pm *appsv1.PodManager) error {
		if pm.Status.UpdateRevision == first || pm.Status.UpdatedReplicas != 0 {
			return fmt.Errorf("revision %s, %d updated", pm.Status.UpdateRevision, pm.Status.UpdatedReplicas)
		}
		return nil
	})
	if got.Status.CurrentRevision != first {
		t.Errorf("currentRevision is %s before any pod has moved", got.Status.CurrentRevision)
	}
	old := getPod(t, ns, "web-2")
	remove(t, old)
	if pod := expectSuccessor(t, old); pod.Spec.Containers[0].Image != "app:2" {
		t.Errorf("the successor has image %s", pod.Spec.Containers[0].Image)
	}
	expect(t, ns, "web", "one pod is updated", func(pm *appsv1.PodManager) error {
		if pm.Status.UpdatedReplicas != 1 || pm.Status.AvailableReplicas != 3 {
			return fmt.Errorf("%d updated, %d available", pm.Status.UpdatedReplicas, pm.Status.AvailableReplicas)
		}
		return nil
	})
	for _, pod := range podsOf(t, ns, "web") {
		if pod.Name != "web-2" && (pod.UID != before[pod.Name] || pod.Spec.Containers[0].Image != "app:1") {
			t.Errorf("pod %s changed", pod.Name)
		}
	}
}
