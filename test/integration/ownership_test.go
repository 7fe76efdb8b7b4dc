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
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).Obj())
	pm := expectReady(t, ns, "web", 2)
	for i, pod := range podsOf(t, ns, "web") {
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
			ns := suite.Namespace(t)
			pm := build(testkit.MakePodManager(ns, "web")).Replicas(3).Obj()
			create(t, pm.DeepCopy())
			old := expectReady(t, ns, "web", 3)
			before := podsOf(t, ns, "web")

			kubectl(ns).run(t, "delete", "pm", "web", "--cascade=orphan")
			expectGone(t, old)
			left := podsOf(t, ns, "web")
			if diff := cmp.Diff(uids(before), uids(left)); diff != "" {
				t.Fatalf("the pods changed: %s", diff)
			}
			for i := range left {
				if len(left[i].OwnerReferences) > 0 || left[i].DeletionTimestamp != nil {
					t.Errorf("pod %s: owners %v, deletion %v", left[i].Name, left[i].OwnerReferences, left[i].DeletionTimestamp)
				}
			}

			create(t, pm.DeepCopy())
			successor := expectReady(t, ns, "web", 3)
			after := podsOf(t, ns, "web")
			if diff := cmp.Diff(uids(before), uids(after)); diff != "" {
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
			if made, _ := creates(t, ns); made != 3 {
				t.Errorf("%d pods were created for 3", made)
			}
		})
	}
}

// TestDeletionPolicyOrphanLetsPodsGoForGood: without owner and without the
// labels by which a successor would claim them.
func TestDeletionPolicyOrphanLetsPodsGoForGood(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "keepsake").Replicas(2).Orphan().Obj())
	pm := expectReady(t, ns, "keepsake", 2)
	before := uids(podsOf(t, ns, "keepsake"))
	kubectl(ns).run(t, "delete", "pm", "keepsake")
	expectGone(t, pm)

	var left corev1.PodList
	if err := suite.Client.List(t.Context(), &left, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, uids(left.Items)); diff != "" {
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
	create(t, testkit.MakePodManager(ns, "keepsake").Replicas(2).Obj())
	expectCondition(t, ns, "keepsake", appsv1.ConditionStalled, appsv1.ReasonNameTaken)
}

// TestAnOrphanThatMatchesIsAdopted, and keeps the owners it has besides.
func TestAnOrphanThatMatchesIsAdopted(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	friend := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "friend"}}
	create(t, friend)
	orphan := foreignPod(ns, "web-1", map[string]string{appsv1.LabelName: "web"})
	orphan.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: friend.UID}}
	create(t, orphan)
	stranger := foreignPod(ns, "web-extra", map[string]string{appsv1.LabelName: "web"})
	create(t, stranger)

	fleet := testkit.MakePodManager(ns, "web").Replicas(3).Obj()
	fleet.Spec.Update.Strategy = appsv1.UpdateOnDelete // or the rollout would replace it
	create(t, fleet)
	pm := expectReady(t, ns, "web", 3)
	adopted := getPod(t, ns, "web-1")
	if adopted.UID != orphan.UID || !metav1.IsControlledBy(adopted, pm) || len(adopted.OwnerReferences) != 2 {
		t.Errorf("web-1 was not adopted as it was: uid %s, owners %v", adopted.UID, adopted.OwnerReferences)
	}
	expectEvent(t, ns, "web", corev1.EventTypeNormal, appsv1.ReasonAdopted, "web-1")
	// It is not of the newest template, and its name is no reason to lose it.
	if pm.Status.UpdatedReplicas != 2 {
		t.Errorf("%d pods count as made from the template", pm.Status.UpdatedReplicas)
	}
	if got := getPod(t, ns, "web-extra"); got.UID != stranger.UID || len(got.OwnerReferences) > 0 {
		t.Errorf("a pod whose name is no ordinal was taken in: %v", got.OwnerReferences)
	}
	expectUntouched(t, ns, "web-extra")
}

// TestARelabelledPodIsReleased: it keeps running for a user who wants to look at
// it, and its slot stays empty until it goes.
func TestARelabelledPodIsReleased(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).Obj())
	expectReady(t, ns, "web", 2)
	pod := getPod(t, ns, "web-1")
	kubectl(ns).run(t, "label", "pod", "web-1", "podmanager-")

	pm := expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonNameTaken)
	expectHistory(t, pm, appsv1.ReasonReleased, "web-1", appsv1.WhyLabelsEdited)
	released := getPod(t, ns, "web-1")
	if released.UID != pod.UID || len(released.OwnerReferences) > 0 || released.DeletionTimestamp != nil {
		t.Errorf("web-1 was not simply let go: %v", released.ObjectMeta)
	}
	if c := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled); !strings.Contains(c.Message, "web-1") {
		t.Errorf("the condition does not name the pod: %s", c.Message)
	}
	remove(t, released)
	expectSuccessor(t, released)
	expectReady(t, ns, "web", 2)
}

// TestARelabelledPodOfARandomFleetIsReplacedAtOnce: no successor needs its name.
func TestARelabelledPodOfARandomFleetIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "crowd").Random().Replicas(2).Obj())
	expectReady(t, ns, "crowd", 2)
	pod := podsOf(t, ns, "crowd")[0]
	kubectl(ns).run(t, "label", "pod", pod.Name, "podmanager=none", "--overwrite")
	expect(t, ns, "crowd", "the pod is released", func(pm *appsv1.PodManager) error {
		if history(pm, appsv1.ReasonReleased, pod.Name) == nil {
			return errors.New("it is not in the history")
		}
		return ready(pm, 2)
	})
	if got := getPod(t, ns, pod.Name); got.UID != pod.UID || len(got.OwnerReferences) > 0 {
		t.Errorf("the pod was not simply let go: %v", got.ObjectMeta)
	}
}

// TestForeignPodsAreNeverTouched, whatever labels and names they have.
func TestForeignPodsAreNeverTouched(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "other"}}
	create(t, owner)
	labelled := foreignPod(ns, "labelled", map[string]string{appsv1.LabelName: "web", appsv1.LabelSlot: "0", appsv1.LabelDelete: "true"})
	named := foreignPod(ns, "web-1", map[string]string{appsv1.LabelName: "web"})
	for _, pod := range []*corev1.Pod{labelled, named} {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: owner.UID, Controller: ptr.To(true),
		}}
		create(t, pod)
	}

	create(t, testkit.MakePodManager(ns, "web").Replicas(3).Obj())
	pm := expectCondition(t, ns, "web", appsv1.ConditionStalled, appsv1.ReasonNameTaken)
	expect(t, ns, "web", "the other slots are filled", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d pods are ready", pm.Status.ReadyReplicas)
		}
		return nil
	})
	scale(t, ns, "web", 1)
	expectReady(t, ns, "web", 1)
	remove(t, pm)
	expectGone(t, pm)

	expectUntouched(t, ns, "labelled", "web-1")
	for _, pod := range []*corev1.Pod{labelled, named} {
		if got := getPod(t, ns, pod.Name); got.UID != pod.UID || got.DeletionTimestamp != nil {
			t.Errorf("pod %s changed: %v", pod.Name, got.ObjectMeta)
		}
	}
}

// TestAFinalizerThatWasTakenOffIsPutBack, or a later delete would not wait.
func TestAFinalizerThatWasTakenOffIsPutBack(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(1).Obj())
	pm := expectReady(t, ns, "web", 1)
	for range 2 {
		patch(t, pm, `{"metadata":{"finalizers":["example.com/theirs"]}}`)
		expect(t, ns, "web", "the finalizer is back", func(pm *appsv1.PodManager) error {
			if diff := cmp.Diff([]string{"example.com/theirs", appsv1.Finalizer}, pm.Finalizers); diff != "" {
				return errors.New(diff)
			}
			return nil
		})
	}
	remove(t, pm)
	expect(t, ns, "web", "ours goes and theirs stays", func(pm *appsv1.PodManager) error {
		if diff := cmp.Diff([]string{"example.com/theirs"}, pm.Finalizers); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	patch(t, pm, `{"metadata":{"finalizers":null}}`)
	expectGone(t, pm)
}

// TestAnOwnerMadeAgainWhileItsPodsTerminate: its predecessor went without
// waiting, and the names are free only when the old pods are gone.
func TestAnOwnerMadeAgainWhileItsPodsTerminate(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(2).Obj()
	create(t, pm.DeepCopy())
	old := expectReady(t, ns, "web", 2)
	before := podsOf(t, ns, "web")
	for i := range before {
		patch(t, &before[i], `{"metadata":{"finalizers":["example.com/hold"]}}`)
	}
	remove(t, old)
	expect(t, ns, "web", "it waits for its pods", func(pm *appsv1.PodManager) error {
		if pm.Status.TerminatingReplicas != 2 {
			return fmt.Errorf("%d pods terminate", pm.Status.TerminatingReplicas)
		}
		return nil
	})
	patch(t, old, `{"metadata":{"finalizers":null}}`)
	expectGone(t, old)

	create(t, pm.DeepCopy())
	expect(t, ns, "web", "it has looked and found the old pods", func(pm *appsv1.PodManager) error {
		if pm.Status.ObservedGeneration != pm.Generation {
			return fmt.Errorf("status is for generation %d of %d", pm.Status.ObservedGeneration, pm.Generation)
		}
		return nil
	})
	for i := range before {
		patch(t, &before[i], fmt.Sprintf(`{"metadata":{"uid":%q,"finalizers":null}}`, before[i].UID))
	}
	successor := expectReady(t, ns, "web", 2)
	for _, pod := range podsOf(t, ns, "web") {
		if !metav1.IsControlledBy(&pod, successor) || pod.UID == uids(before)[pod.Name] {
			t.Errorf("pod %s is not the successor's: %v", pod.Name, pod.OwnerReferences)
		}
	}
}

// TestDeletionWaitsForThePods: kubectl delete comes back when they are gone.
func TestDeletionWaitsForThePods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).Obj())
	pm := expectReady(t, ns, "web", 2)
	held := getPod(t, ns, "web-0")
	patch(t, held, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	remove(t, pm)
	expect(t, ns, "web", "it says what it waits for", func(pm *appsv1.PodManager) error {
		for _, c := range pm.Status.Conditions {
			if c.Type == appsv1.ConditionReconciling && c.Reason == appsv1.ReasonTerminating &&
				strings.Contains(c.Message, "waiting for 1 pod to be gone") {
				return nil
			}
		}
		return errors.New("it does not")
	})
	patch(t, held, `{"metadata":{"finalizers":null}}`)
	expectGone(t, pm)
	if left := podsOf(t, ns, "web"); len(left) > 0 {
		t.Errorf("pods are left: %s", names(left))
	}
}

// TestOwnerReferencesNeedTheRightToFinalizers: why the operator's role has it.
// The admission plugin leaves no trace in the audit log, so this stands in for
// one.
func TestOwnerReferencesNeedTheRightToFinalizers(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(0).Obj())
	pm := expectReady(t, ns, "web", 0)
	pod := foreignPod(ns, "web-0", nil)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pm, appsv1.GroupVersion.WithKind("PodManager"))}

	suite.Kubectl(t, "-n", ns, "create", "role", "pods", "--verb=create", "--resource=pods")
	suite.Kubectl(t, "-n", ns, "create", "rolebinding", "pods", "--role=pods", "--user=person")
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
	create(t, owner)
	encoded, err := podrender.Encode(podrender.Template("away", "nginx:1.27", &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "app", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}, Args: []string{"a<b"}}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	revision := podrender.Revision(podrender.Owner{
		GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: ns, Name: "away", UID: owner.UID,
	}, encoded, "away-1", 1)
	create(t, revision)
	if err := suite.Client.Delete(t.Context(), owner, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	expectGone(t, owner)
	if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(revision), revision); err != nil || len(revision.OwnerReferences) > 0 {
		t.Errorf("the revision has the owners %v, %v", revision.OwnerReferences, err)
	}
}

// TestDeletionPolicyOrphanDoesNotWaitForTerminatingPods, which a finalizer may
// keep for ever.
func TestDeletionPolicyOrphanDoesNotWaitForTerminatingPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "keepsake").Replicas(2).Orphan().Obj())
	pm := expectReady(t, ns, "keepsake", 2)
	kubectl(ns).run(t, "patch", "pod", "keepsake-1", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/slow"]}}`)
	t.Cleanup(func() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keepsake-1"}}
		_ = suite.Client.Patch(context.Background(), pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	kubectl(ns).run(t, "delete", "pod", "keepsake-1", "--wait=false")
	kubectl(ns).run(t, "delete", "pm", "keepsake", "--wait=false")
	expectGone(t, pm)
}

// TestAPodOfAnotherOwnerIsNotAdopted: a pod that was relabelled carries the UID
// of its living owner still.
func TestAPodOfAnotherOwnerIsNotAdopted(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "api").Replicas(1).Obj())
	expectReady(t, ns, "api", 1)
	create(t, testkit.MakePodManager(ns, "web").Random().Replicas(1).Obj())
	expectReady(t, ns, "web", 1)
	before := podsOf(t, ns, "api")
	kubectl(ns).run(t, "label", "pod", "api-0", "--overwrite", appsv1.LabelName+"=web")
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
	kubectl(ns).run(t, "scale", "pm", "web", "--replicas=2") // it looks at its pods
	expectReady(t, ns, "web", 2)
	kubectl(ns).run(t, "label", "pod", "api-0", "--overwrite", appsv1.LabelName+"=api")
	expectReady(t, ns, "api", 1)
	if diff := cmp.Diff(uids(before), uids(podsOf(t, ns, "api"))); diff != "" {
		t.Errorf("the pod was replaced: %s", diff)
	}
}
