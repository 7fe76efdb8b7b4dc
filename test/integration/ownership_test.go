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
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// foreignPod is a pod that the operator did not make.
func foreignPod(namespace, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "busybox:1.37"}}},
	}
}

// TestPodsCarryOwnerAndLabels: the owner reference makes cascading deletion
// work, the labels lead from a pod to its owner, revision and slot.
func TestPodsCarryOwnerAndLabels(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(2))
	pm := f.ExpectReady(2)
	for i, pod := range f.Pods() {
		wantOwner := []metav1.OwnerReference{{
			APIVersion: "apps.mycompany.com/v1", Kind: "PodManager", Name: "web", UID: pm.UID,
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}}
		if diff := cmp.Diff(wantOwner, pod.OwnerReferences); diff != "" {
			t.Errorf("owner references of %s: %s", pod.Name, diff)
		}
		for key, want := range map[string]string{
			appsv1.LabelApp: "web", appsv1.LabelName: "web", appsv1.LabelUID: string(pm.UID),
			appsv1.LabelRevision: pm.Status.UpdateRevision, appsv1.LabelSlot: fmt.Sprint(i),
		} {
			if got := pod.Labels[key]; got != want {
				t.Errorf("label %s of %s is %q, not %q", key, pod.Name, got, want)
			}
		}
	}
}

// TestCascadeOrphanLeavesPodsAndASuccessorTakesThemIn: the pods never notice
// that their PodManager was exchanged.
func TestCascadeOrphanLeavesPodsAndASuccessorTakesThemIn(t *testing.T) {
	t.Parallel()
	for identity, build := range map[string]func(*testkit.PodManagerBuilder) *testkit.PodManagerBuilder{
		"Ordinal": func(b *testkit.PodManagerBuilder) *testkit.PodManagerBuilder { return b },
		"Random":  (*testkit.PodManagerBuilder).Random,
	} {
		t.Run(identity, func(t *testing.T) {
			t.Parallel()
			f := suite.NewFleet(t, "web")
			pm := build(f.Build()).Replicas(3).Obj()
			suite.Create(t, pm.DeepCopy())
			old := f.ExpectReady(3)
			before := f.Pods()

			f.Kubectl("delete", "pm", "web", "--cascade=orphan")
			suite.ExpectGone(t, old)
			left := f.Pods()
			if diff := cmp.Diff(testkit.UIDs(before), testkit.UIDs(left)); diff != "" {
				t.Fatalf("the pods changed: %s", diff)
			}
			for i := range left {
				if len(left[i].OwnerReferences) > 0 || left[i].DeletionTimestamp != nil {
					t.Errorf("pod %s: owners %v, deletion %v", left[i].Name, left[i].OwnerReferences, left[i].DeletionTimestamp)
				}
			}

			suite.Create(t, pm.DeepCopy())
			successor := f.ExpectReady(3)
			after := f.Pods()
			if diff := cmp.Diff(testkit.UIDs(before), testkit.UIDs(after)); diff != "" {
				t.Errorf("the pods were replaced: %s", diff)
			}
			for i := range after {
				if !metav1.IsControlledBy(&after[i], successor) || after[i].Labels[appsv1.LabelUID] != string(successor.UID) {
					t.Errorf("pod %s is not the successor's: %v, %v", after[i].Name, after[i].OwnerReferences, after[i].Labels)
				}
			}
			if successor.Status.UpdatedReplicas != 3 {
				t.Errorf("%d of 3 adopted pods count as made from the same template", successor.Status.UpdatedReplicas)
			}
			expectHistory(t, successor, appsv1.ReasonAdopted, before[0].Name, appsv1.WhyMatchingOrphan)
			if made, _ := f.Creates(); made != 3 {
				t.Errorf("%d pods were created for 3", made)
			}
		})
	}
}

// TestDeletionPolicyOrphanLetsPodsGoForGood: without owner and without the
// labels by which a successor would claim them.
func TestDeletionPolicyOrphanLetsPodsGoForGood(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "keepsake")
	f.Create(f.Build().Replicas(2).Orphan())
	pm := f.ExpectReady(2)
	before := f.UIDs()
	f.Kubectl("delete", "pm", "keepsake")
	suite.ExpectGone(t, pm)

	var left corev1.PodList
	if err := suite.Client.List(t.Context(), &left, client.InNamespace(f.Namespace)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, testkit.UIDs(left.Items)); diff != "" {
		t.Errorf("the pods changed: %s", diff)
	}
	for i := range left.Items {
		pod := &left.Items[i]
		if len(pod.OwnerReferences) > 0 || pod.DeletionTimestamp != nil {
			t.Errorf("pod %s: owners %v, deletion %v", pod.Name, pod.OwnerReferences, pod.DeletionTimestamp)
		}
		for _, key := range appsv1.ReservedLabels() {
			if value, ok := pod.Labels[key]; ok {
				t.Errorf("pod %s still has the label %s=%s", pod.Name, key, value)
			}
		}
		if pod.Labels["app"] != "keepsake" {
			t.Errorf("pod %s lost a label of its own: %v", pod.Name, pod.Labels)
		}
	}
	// They have the names of a new PodManager's slots and no owner.
	f.Create(f.Build().Replicas(2))
	f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonNameTaken)
}

// TestCascadeForegroundWinsOverThePolicyOrphan: the garbage collector deletes the pods
// of such an owner at once. The operator does the same, so that none is released by
// chance and left.
func TestCascadeForegroundWinsOverThePolicyOrphan(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "foreground")
	f.Create(f.Build().Replicas(12).Orphan())
	pm := f.ExpectReady(12)
	f.Kubectl("delete", "pm", "foreground", "--cascade=foreground")
	suite.ExpectGone(t, pm)
	var left corev1.PodList
	if err := suite.Client.List(t.Context(), &left, client.InNamespace(f.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(left.Items) > 0 {
		t.Errorf("%d of 12 pods are left, the first: %s", len(left.Items), left.Items[0].Name)
	}
}

// TestAnOrphanThatMatchesIsAdopted, and keeps the owners it has besides.
func TestAnOrphanThatMatchesIsAdopted(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	friend := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "friend"}}
	suite.Create(t, friend)
	orphan := foreignPod(f.Namespace, "web-1", map[string]string{appsv1.LabelName: "web"})
	orphan.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: friend.UID}}
	suite.Create(t, orphan)
	stranger := foreignPod(f.Namespace, "web-extra", map[string]string{appsv1.LabelName: "web"})
	suite.Create(t, stranger)

	fleet := f.Build().Replicas(3).Obj()
	fleet.Spec.Update.Strategy = appsv1.UpdateOnDelete // or the rollout would replace it
	suite.Create(t, fleet)
	pm := f.ExpectReady(3)
	adopted := f.Pod("web-1")
	if adopted.UID != orphan.UID || !metav1.IsControlledBy(adopted, pm) || len(adopted.OwnerReferences) != 2 {
		t.Errorf("web-1 was not adopted as it was: uid %s, owners %v", adopted.UID, adopted.OwnerReferences)
	}
	f.ExpectEvent(corev1.EventTypeNormal, appsv1.ReasonAdopted, "web-1")
	// It is not of the newest template, and its name is no reason to lose it.
	if pm.Status.UpdatedReplicas != 2 {
		t.Errorf("%d pods count as made from the template", pm.Status.UpdatedReplicas)
	}
	if got := f.Pod("web-extra"); got.UID != stranger.UID || len(got.OwnerReferences) > 0 {
		t.Errorf("a pod whose name is no ordinal was taken in: %v", got.OwnerReferences)
	}
	f.ExpectUntouched("web-extra")
}

// TestARelabelledPodIsReleased: it keeps running for a user who wants to look at
// it, and its slot stays empty until it goes.
func TestARelabelledPodIsReleased(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(2))
	f.ExpectReady(2)
	pod := f.Pod("web-1")
	f.Kubectl("label", "pod", "web-1", "podmanager-")

	pm, _ := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonNameTaken)
	expectHistory(t, pm, appsv1.ReasonReleased, "web-1", appsv1.WhyLabelsEdited)
	released := f.Pod("web-1")
	if released.UID != pod.UID || len(released.OwnerReferences) > 0 || released.DeletionTimestamp != nil {
		t.Errorf("web-1 was not simply let go: %v", released.ObjectMeta)
	}
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, "web-1") {
		t.Errorf("the condition does not name the pod: %s", c.Message)
	}
	suite.Delete(t, released)
	f.ExpectSuccessor(released)
	f.ExpectReady(2)
}

// TestARelabelledPodOfARandomFleetIsReplacedAtOnce: no successor needs its name.
func TestARelabelledPodOfARandomFleetIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "crowd")
	f.Create(f.Build().Random().Replicas(2))
	f.ExpectReady(2)
	pod := f.Pods()[0]
	f.Kubectl("label", "pod", pod.Name, "podmanager=none", "--overwrite")
	f.Expect("the pod is released", func(pm *appsv1.PodManager) error {
		if history(pm, appsv1.ReasonReleased, pod.Name) == nil {
			return errors.New("it is not in the history")
		}
		return testkit.Settled(pm, 2)
	})
	if got := f.Pod(pod.Name); got.UID != pod.UID || len(got.OwnerReferences) > 0 {
		t.Errorf("the pod was not simply let go: %v", got.ObjectMeta)
	}
}

// TestForeignPodsAreNeverTouched, whatever labels and names they have.
func TestForeignPodsAreNeverTouched(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "other"}}
	suite.Create(t, owner)
	labelled := foreignPod(f.Namespace, "labelled", map[string]string{appsv1.LabelName: "web", appsv1.LabelSlot: "0", appsv1.LabelDelete: "true"})
	named := foreignPod(f.Namespace, "web-1", map[string]string{appsv1.LabelName: "web"})
	for _, pod := range []*corev1.Pod{labelled, named} {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: owner.UID, Controller: ptr.To(true),
		}}
		suite.Create(t, pod)
	}

	f.Create(f.Build().Replicas(3))
	pm, _ := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonNameTaken)
	f.Expect("the other slots are filled", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d pods are ready", pm.Status.ReadyReplicas)
		}
		return nil
	})
	f.Scale(1)
	f.ExpectReady(1)
	suite.Delete(t, pm)
	suite.ExpectGone(t, pm)

	f.ExpectUntouched("labelled", "web-1")
	for _, pod := range []*corev1.Pod{labelled, named} {
		if got := f.Pod(pod.Name); got.UID != pod.UID || got.DeletionTimestamp != nil {
			t.Errorf("pod %s changed: %v", pod.Name, got.ObjectMeta)
		}
	}
}

// TestAFinalizerThatWasTakenOffIsPutBack, or a later delete would not wait.
func TestAFinalizerThatWasTakenOffIsPutBack(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(1))
	pm := f.ExpectReady(1)
	for range 2 {
		suite.Patch(t, pm, `{"metadata":{"finalizers":["example.com/theirs"]}}`)
		f.Expect("the finalizer is back", func(pm *appsv1.PodManager) error {
			if diff := cmp.Diff([]string{"example.com/theirs", appsv1.Finalizer}, pm.Finalizers); diff != "" {
				return errors.New(diff)
			}
			return nil
		})
	}
	suite.Delete(t, pm)
	f.Expect("ours goes and theirs stays", func(pm *appsv1.PodManager) error {
		if diff := cmp.Diff([]string{"example.com/theirs"}, pm.Finalizers); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	suite.Patch(t, pm, `{"metadata":{"finalizers":null}}`)
	suite.ExpectGone(t, pm)
}

// TestAnOwnerMadeAgainWhileItsPodsTerminate: its predecessor went without
// waiting, and the names are free only when the old pods are gone.
func TestAnOwnerMadeAgainWhileItsPodsTerminate(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(2).Obj()
	suite.Create(t, pm.DeepCopy())
	old := f.ExpectReady(2)
	before := f.Pods()
	for i := range before {
		suite.Patch(t, &before[i], `{"metadata":{"finalizers":["example.com/hold"]}}`)
	}
	suite.Delete(t, old)
	f.Expect("it waits for its pods", func(pm *appsv1.PodManager) error {
		if pm.Status.TerminatingReplicas != 2 {
			return fmt.Errorf("%d pods terminate", pm.Status.TerminatingReplicas)
		}
		return nil
	})
	suite.Patch(t, old, `{"metadata":{"finalizers":null}}`)
	suite.ExpectGone(t, old)

	suite.Create(t, pm.DeepCopy())
	f.Expect("it has looked and found the old pods", func(pm *appsv1.PodManager) error {
		if pm.Status.ObservedGeneration != pm.Generation {
			return fmt.Errorf("status is for generation %d of %d", pm.Status.ObservedGeneration, pm.Generation)
		}
		return nil
	})
	for i := range before {
		suite.Patch(t, &before[i], fmt.Sprintf(`{"metadata":{"uid":%q,"finalizers":null}}`, before[i].UID))
	}
	successor := f.ExpectReady(2)
	for _, pod := range f.Pods() {
		if !metav1.IsControlledBy(&pod, successor) || pod.UID == testkit.UIDs(before)[pod.Name] {
			t.Errorf("pod %s is not the successor's: %v", pod.Name, pod.OwnerReferences)
		}
	}
}

// TestDeletionWaitsForThePods: kubectl delete comes back when they are gone.
func TestDeletionWaitsForThePods(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(2))
	pm := f.ExpectReady(2)
	held := f.Pod("web-0")
	suite.Patch(t, held, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	suite.Delete(t, pm)
	f.Expect("it says what it waits for", func(pm *appsv1.PodManager) error {
		for _, c := range pm.Status.Conditions {
			if c.Type == appsv1.ConditionReconciling && c.Reason == appsv1.ReasonTerminating &&
				strings.Contains(c.Message, "waiting for 1 pod to be gone") {
				return nil
			}
		}
		return errors.New("it does not")
	})
	suite.Patch(t, held, `{"metadata":{"finalizers":null}}`)
	suite.ExpectGone(t, pm)
	if left := f.Pods(); len(left) > 0 {
		t.Errorf("pods are left: %s", strings.Join(testkit.Names(left), " "))
	}
}

// TestOwnerReferencesNeedTheRightToFinalizers: why the operator's role has it.
// The admission plugin leaves no trace in the audit log, so this stands in for
// one.
func TestOwnerReferencesNeedTheRightToFinalizers(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(0))
	pm := f.ExpectReady(0)
	pod := foreignPod(f.Namespace, "web-0", nil)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pm, appsv1.GroupVersion.WithKind("PodManager"))}

	f.Kubectl("create", "role", "pods", "--verb=create", "--resource=pods")
	f.Kubectl("create", "rolebinding", "pods", "--role=pods", "--user=person")
	config, err := suite.Cluster.RESTConfigFor("person")
	if err != nil {
		t.Fatal(err)
	}
	person, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	testkit.Eventually(t, "the role is in force", func() error {
		last = person.Create(t.Context(), pod.DeepCopy(), client.DryRunAll)
		if last != nil && strings.Contains(last.Error(), "cannot create resource") {
			return last
		}
		return nil
	})
	if last == nil || !strings.Contains(last.Error(), "cannot set blockOwnerDeletion") {
		t.Errorf("an owner reference without the right to the owner's finalizers: %v", last)
	}
}

// TestTheGarbageCollectorLetsGoOfRevisions: kubectl delete --cascade=orphan comes
// to an end while no operator runs. The garbage collector patches what the owner
// leaves, and a revision that the API server would encode differently is refused
// then. A ConfigMap stands for the owner, which no operator looks after.
func TestTheGarbageCollectorLetsGoOfRevisions(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "away"}}
	suite.Create(t, owner)
	encoded, err := podrender.Encode(podrender.Template("away", "nginx:1.27", &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "app", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}, Args: []string{"a<b"}}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	revision := podrender.Revision(podrender.Owner{
		GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: ns, Name: "away", UID: owner.UID,
	}, encoded, "away-1", 1)
	suite.Create(t, revision)
	if err := suite.Client.Delete(t.Context(), owner, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	suite.ExpectGone(t, owner)
	if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(revision), revision); err != nil || len(revision.OwnerReferences) > 0 {
		t.Errorf("the revision has the owners %v, %v", revision.OwnerReferences, err)
	}
}

// TestDeletionPolicyOrphanDoesNotWaitForTerminatingPods, which a finalizer may
// keep for ever.
func TestDeletionPolicyOrphanDoesNotWaitForTerminatingPods(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "keepsake")
	f.Create(f.Build().Replicas(2).Orphan())
	pm := f.ExpectReady(2)
	f.Kubectl("patch", "pod", "keepsake-1", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/slow"]}}`)
	t.Cleanup(func() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "keepsake-1"}}
		_ = suite.Client.Patch(context.Background(), pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	f.Kubectl("delete", "pod", "keepsake-1", "--wait=false")
	f.Kubectl("delete", "pm", "keepsake", "--wait=false")
	suite.ExpectGone(t, pm)
}

// TestAPodOfAnotherOwnerIsNotAdopted: a pod that was relabelled carries the UID
// of its living owner still.
func TestAPodOfAnotherOwnerIsNotAdopted(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	api, web := suite.Fleet(t, ns, "api"), suite.Fleet(t, ns, "web")
	api.Create(api.Build().Replicas(1))
	api.ExpectReady(1)
	web.Create(web.Build().Random().Replicas(1))
	web.ExpectReady(1)
	before := api.Pods()
	api.Kubectl("label", "pod", "api-0", "--overwrite", appsv1.LabelName+"=web")
	testkit.Eventually(t, "api lets its pod go", func() error {
		pod := &corev1.Pod{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "api-0"}, pod); err != nil {
			return err
		}
		if len(pod.OwnerReferences) > 0 {
			return fmt.Errorf("its owners are %v", pod.OwnerReferences)
		}
		return nil
	})
	api.Kubectl("scale", "pm", "web", "--replicas=2") // it looks at its pods
	web.ExpectReady(2)
	api.Kubectl("label", "pod", "api-0", "--overwrite", appsv1.LabelName+"=api")
	api.ExpectReady(1)
	if diff := cmp.Diff(testkit.UIDs(before), api.UIDs()); diff != "" {
		t.Errorf("the pod was replaced: %s", diff)
	}
}
