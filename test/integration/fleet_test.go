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
	"maps"
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
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(1).Obj()
	suite.Create(t, pm)
	expectKstatus(t, pm, status.InProgressStatus) // as the create was answered
	expectKstatus(t, f.ExpectReady(1), status.CurrentStatus)
	var fresh *appsv1.PodManager
	f.Edit(func(pm *appsv1.PodManager) {
		*pm.Spec.Replicas = 2
		fresh = pm
	})
	expectKstatus(t, fresh, status.InProgressStatus) // as the update was answered
	expectKstatus(t, f.ExpectReady(2), status.CurrentStatus)
}

// TestMinReadySeconds: ready is not available yet, and no event tells when it
// is.
func TestMinReadySeconds(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	// Long enough for a slow machine to report both pods before the first is
	// available.
	const wait = 15 * time.Second
	f.Create(f.Build().Replicas(2).MinReady(int32(wait / time.Second)))
	pm := f.Expect("its pods are ready", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d are", pm.Status.ReadyReplicas)
		}
		return nil
	})
	if pm.Status.AvailableReplicas != 0 {
		t.Errorf("%d pods are available at once", pm.Status.AvailableReplicas)
	}
	expectKstatus(t, pm, status.InProgressStatus)
	pm = f.ExpectReady(2)
	since := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionReady).LastTransitionTime
	for _, pod := range f.Pods() {
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
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(2).PodSpec(func(s *corev1.PodSpec) {
		s.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/open"}}
	}))
	f.Expect("its pods live", func(pm *appsv1.PodManager) error { return live(pm, 2) })
	open := func(pod string, value corev1.ConditionStatus) {
		t.Helper()
		setPodStatus(f, pod, func(s *corev1.PodStatus) {
			s.Conditions = slices.DeleteFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == "example.com/open" })
			s.Conditions = append(s.Conditions, corev1.PodCondition{Type: "example.com/open", Status: value, LastTransitionTime: metav1.Now()})
		})
	}
	open("web-0", corev1.ConditionTrue)
	open("web-1", corev1.ConditionTrue)
	f.ExpectReady(2)
	before := f.UIDs()
	open("web-1", corev1.ConditionFalse)
	pm, _ := f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonWaitingForPods)
	if pm.Status.ReadyReplicas != 1 || pm.Status.AvailableReplicas != 1 || pm.Status.CurrentReplicas != 2 {
		t.Errorf("status: %+v", pm.Status)
	}
	open("web-1", corev1.ConditionTrue)
	f.ExpectReady(2)
	f.ExpectSamePods(before)
}

// TestStatusNamesThePods: status.nodes are the live pods, sorted.
func TestStatusNamesThePods(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(11))
	pm := f.ExpectReady(11)
	if diff := cmp.Diff(testkit.Names(f.Pods()), pm.Status.Nodes); diff != "" {
		t.Errorf("status.nodes (-pods +status): %s", diff)
	}
	f.Scale(1)
	pm = f.ExpectReady(1)
	if diff := cmp.Diff([]string{"web-0"}, pm.Status.Nodes); diff != "" {
		t.Error(diff)
	}
}

// TestOrdinalsGoHighestFirst, one decision for all of them.
func TestOrdinalsGoHighestFirst(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(5))
	f.ExpectReady(5)
	before := f.UIDs()
	f.Scale(2)
	pm := f.ExpectReady(2)
	if diff := cmp.Diff([]string{"web-0", "web-1"}, testkit.Names(f.Pods())); diff != "" {
		t.Error(diff)
	}
	for _, pod := range f.Pods() {
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
	f := suite.NewFleet(t, "crowd")
	f.Create(f.Build().Random().Replicas(5))
	f.ExpectReady(5)
	pods := f.Pods()
	cheap, sick := pods[0].Name, pods[3].Name
	for i := range pods {
		cost := "5"
		if pods[i].Name == cheap {
			cost = "-100"
		}
		f.Kubectl("annotate", "pod", pods[i].Name, corev1.PodDeletionCost+"="+cost)
	}
	setPodStatus(f, sick, func(s *corev1.PodStatus) { setReady(s, corev1.ConditionFalse) })
	f.Expect("one pod is not ready", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != 4 {
			return fmt.Errorf("%d are ready", pm.Status.ReadyReplicas)
		}
		return nil
	})

	f.Scale(4)
	pm := f.ExpectReady(4)
	expectLeft(f, pods, sick)
	if d := pm.Status.History[0]; !strings.HasSuffix(d.Message, "chosen because it is not ready") {
		t.Errorf("history does not tell why: %+v", d)
	}
	f.Scale(3)
	pm = f.ExpectReady(3)
	expectLeft(f, pods, sick, cheap)
	if d := pm.Status.History[0]; !strings.HasSuffix(d.Message, "chosen because its deletion cost is lower") {
		t.Errorf("history does not tell why: %+v", d)
	}
}

// expectLeft fails unless exactly these pods of before are gone.
func expectLeft(f *testkit.Fleet, before []corev1.Pod, gone ...string) {
	f.Helper()
	want := slices.DeleteFunc(slices.Clone(before), func(p corev1.Pod) bool { return slices.Contains(gone, p.Name) })
	if diff := cmp.Diff(testkit.UIDs(want), testkit.UIDs(f.Pods())); diff != "" {
		f.Errorf("the wrong pods are left: %s", diff)
	}
}

// TestTheDeleteLabel: a pod with it is replaced.
func TestTheDeleteLabel(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	web, crowd := suite.Fleet(t, ns, "web"), suite.Fleet(t, ns, "crowd")
	web.Create(web.Build().Replicas(3))
	crowd.Create(crowd.Build().Random().Replicas(2))
	web.ExpectReady(3)
	crowd.ExpectReady(2)
	old := web.Pod("web-1")
	one := crowd.Pods()[0]
	web.Kubectl("label", "pod", "web-1", one.Name, appsv1.LabelDelete+"=true")

	successor := web.ExpectSuccessor(old)
	if _, ok := successor.Labels[appsv1.LabelDelete]; ok {
		t.Error("the successor has the label, too")
	}
	expectDecision(web, 3, appsv1.ReasonDeleted, "web-1", appsv1.WhyRequested)
	suite.ExpectGone(t, &one)
	crowd.ExpectReady(2)
}

// TestRevisions: a changed template is a new revision, an equal older one is
// used again under a new number, and unused ones go.
func TestRevisions(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(0).Image("app:1").History(2))
	pm := f.ExpectReady(0)
	first := pm.Status.UpdateRevision
	image := func(tag string) *appsv1.PodManager {
		t.Helper()
		f.Edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:" + tag })
		return f.ExpectReady(0)
	}
	second := image("2").Status.UpdateRevision
	expectNumbers(f, map[string]int64{first: 1, second: 2})
	if got := image("1").Status.UpdateRevision; got != first {
		t.Errorf("the first template has revision %s, not %s again", got, first)
	}
	expectNumbers(f, map[string]int64{second: 2, first: 3})
	third := image("3").Status.UpdateRevision
	fourth := image("4").Status.UpdateRevision
	// Two old ones are kept beside the one in use; the second is the oldest.
	expectNumbers(f, map[string]int64{first: 3, third: 4, fourth: 5})

	// The same meaning in other words is no new revision.
	f.Edit(func(pm *appsv1.PodManager) {
		pm.Spec.Image = ""
		pm.Spec.Template = &corev1.PodTemplateSpec{}
		pm.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:4"}}
	})
	if got := f.ExpectReady(0).Status.UpdateRevision; got != fourth {
		t.Errorf("the same template in other words has revision %s, not %s", got, fourth)
	}
}

// expectNumbers waits until a PodManager has exactly these revisions.
func expectNumbers(f *testkit.Fleet, want map[string]int64) {
	f.Helper()
	testkit.Eventually(f, "the revisions are right", func() error {
		got := map[string]int64{}
		for _, r := range f.Revisions() {
			got[r.Name] = r.Revision
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// TestARevisionLeftByAPredecessorIsTakenOver: it has the name that ours would
// get, and means the same. It was never here: the operator would delete what an owner
// leaves that it still sees.
func TestARevisionLeftByAPredecessorIsTakenOver(t *testing.T) {
	t.Parallel()
	elsewhere := suite.NewFleet(t, "web")
	suite.Create(t, elsewhere.Build().Replicas(1).Obj())
	elsewhere.ExpectReady(1)
	left := elsewhere.Revisions()[0]
	f := suite.NewFleet(t, "web")
	labels := maps.Clone(left.Labels)
	labels[appsv1.LabelUID] = "00000000-0000-4000-8000-000000000000"
	copied := &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: left.Name, Labels: labels},
		Data:       left.Data, Revision: 7,
	}
	suite.Create(t, copied)

	suite.Create(t, f.Build().Replicas(1).Obj())
	successor := f.ExpectReady(1)
	taken := f.Revisions()
	if len(taken) != 1 || taken[0].UID != copied.UID || !metav1.IsControlledBy(&taken[0], successor) {
		t.Errorf("the revision was not taken over: %+v", taken)
	}
}

// TestOnDelete: a changed template applies to new pods, and status tells how
// many have it.
func TestOnDelete(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(3).Image("app:1").Obj()
	pm.Spec.Update.Strategy = appsv1.UpdateOnDelete
	suite.Create(t, pm)
	first := f.ExpectReady(3).Status.UpdateRevision
	before := f.UIDs()
	f.Edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:2" })
	got := f.Expect("it has a new revision", func(pm *appsv1.PodManager) error {
		if pm.Status.UpdateRevision == first || pm.Status.UpdatedReplicas != 0 {
			return fmt.Errorf("revision %s, %d updated", pm.Status.UpdateRevision, pm.Status.UpdatedReplicas)
		}
		return nil
	})
	if got.Status.CurrentRevision != first {
		t.Errorf("currentRevision is %s before any pod has moved", got.Status.CurrentRevision)
	}
	old := f.Pod("web-2")
	suite.Delete(t, old)
	if pod := f.ExpectSuccessor(old); pod.Spec.Containers[0].Image != "app:2" {
		t.Errorf("the successor has image %s", pod.Spec.Containers[0].Image)
	}
	f.Expect("one pod is updated", func(pm *appsv1.PodManager) error {
		if pm.Status.UpdatedReplicas != 1 || pm.Status.AvailableReplicas != 3 {
			return fmt.Errorf("%d updated, %d available", pm.Status.UpdatedReplicas, pm.Status.AvailableReplicas)
		}
		return nil
	})
	for _, pod := range f.Pods() {
		if pod.Name != "web-2" && (pod.UID != before[pod.Name] || pod.Spec.Containers[0].Image != "app:1") {
			t.Errorf("pod %s changed", pod.Name)
		}
	}
}
