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

package tenants

import (
	"context"
	"fmt"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// plainClaim is a claim without a volume.
func plainClaim(namespace, name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

// ofAPodManager are the labels of a claim that the operator made.
func ofAPodManager() map[string]string {
	return map[string]string{podrender.LabelManagedBy: podrender.ManagedBy, appsv1.LabelName: "owner", appsv1.LabelUID: "1"}
}

// TestTheOperatorsAccountLeavesOtherClaimsAlone: a claim may be all that is left of
// its data. The operator may use one that it found, and may never delete it.
func TestTheOperatorsAccountLeavesOtherClaimsAlone(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	c := theOperator(t)
	const notOwn = "the operator writes only persistentvolumeclaims that its own kinds control"
	theirs, made, found := plainClaim(ns, "theirs", nil), plainClaim(ns, "made", ofAPodManager()), plainClaim(ns, "found", ofAPodManager())
	found.Annotations = map[string]string{appsv1.AnnotationFound: "true"}
	for _, claim := range []*corev1.PersistentVolumeClaim{theirs, made, found} {
		suite.Create(t, claim)
	}
	expectRefused(t, "create one without labels", c.Create(t.Context(), plainClaim(ns, "new", nil), client.DryRunAll), notOwn)
	expectAllowed(t, "create one of a PodManager", c.Create(t.Context(), plainClaim(ns, "new", ofAPodManager()), client.DryRunAll))
	expectRefused(t, "delete another's", c.Delete(t.Context(), theirs.DeepCopy(), client.DryRunAll), notOwn)
	expectRefused(t, "delete one that it found", c.Delete(t.Context(), found.DeepCopy(), client.DryRunAll), notOwn)
	expectAllowed(t, "delete one that it made", c.Delete(t.Context(), made.DeepCopy(), client.DryRunAll))

	label := edit("add", "/metadata/labels", ofAPodManager())
	marked := append(edit("add", "/metadata/annotations", map[string]string{appsv1.AnnotationFound: "true"}), label...)
	annotate := edit("add", "/metadata/annotations", map[string]string{"note": "mine"})
	expectRefused(t, "take in another's as if it had made it", c.Patch(t.Context(), theirs.DeepCopy(), label.patch(t), client.DryRunAll), notOwn)
	expectRefused(t, "annotate another's", c.Patch(t.Context(), theirs.DeepCopy(), annotate.patch(t), client.DryRunAll), notOwn)
	expectAllowed(t, "take in another's as found", c.Patch(t.Context(), theirs.DeepCopy(), marked.patch(t), client.DryRunAll))
	expectAllowed(t, "annotate one that it made", c.Patch(t.Context(), made.DeepCopy(), annotate.patch(t), client.DryRunAll))
	expectRefused(t, "take the mark off one that it found", c.Patch(t.Context(), found.DeepCopy(), annotate.patch(t), client.DryRunAll), notOwn)
}

// TestTheOperatorsAccountLeavesOtherRevisionsAlone: a StatefulSet makes pods from its
// current revision, so one that is put in its place runs any pod.
func TestTheOperatorsAccountLeavesOtherRevisionsAlone(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	c := theOperator(t)
	const notOwn = "the operator writes only controllerrevisions that its own kinds control"
	revision := func(name string, labels map[string]string, owners []metav1.OwnerReference) *kappsv1.ControllerRevision {
		return &kappsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels, OwnerReferences: owners},
			Data:       runtime.RawExtension{Raw: []byte(`{}`)}, Revision: 1,
		}
	}
	statefulSet, podManager := controlledBy("apps/v1", "StatefulSet"), controlledBy("apps.mycompany.com/v1", "PodManager")
	expectRefused(t, "create one of a StatefulSet", c.Create(t.Context(), revision("new", nil, statefulSet), client.DryRunAll), notOwn)
	expectRefused(t, "create one of a StatefulSet with a label", c.Create(t.Context(), revision("new", ofAPodManager(), statefulSet), client.DryRunAll), notOwn)
	expectRefused(t, "create one without an owner", c.Create(t.Context(), revision("new", nil, nil), client.DryRunAll), notOwn)
	expectAllowed(t, "create one of a PodManager", c.Create(t.Context(), revision("new", ofAPodManager(), podManager), client.DryRunAll))

	// The garbage collector would take the revisions of owners that are not there.
	set := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "set"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "set"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec = plainPod(ns, "", nil).Spec
	suite.Create(t, set)
	theirs := revision("theirs", nil, []metav1.OwnerReference{*metav1.NewControllerRef(set, kappsv1.SchemeGroupVersion.WithKind("StatefulSet"))})
	bare, left := revision("bare", nil, nil), revision("left", ofAPodManager(), nil)
	for _, r := range []*kappsv1.ControllerRevision{theirs, bare, left} {
		suite.Create(t, r)
	}
	number := edit("replace", "/revision", 99).patch(t)
	adopt := edit("add", "/metadata/ownerReferences", podManager).patch(t)
	for whose, r := range map[string]*kappsv1.ControllerRevision{"of a StatefulSet": theirs, "without an owner": bare} {
		expectRefused(t, "renumber one "+whose, c.Patch(t.Context(), r.DeepCopy(), number, client.DryRunAll), notOwn)
		expectRefused(t, "delete one "+whose, c.Delete(t.Context(), r.DeepCopy(), client.DryRunAll), notOwn)
	}
	expectRefused(t, "take in one of a StatefulSet", c.Patch(t.Context(), theirs.DeepCopy(), adopt, client.DryRunAll), notOwn)
	expectAllowed(t, "take in one without an owner", c.Patch(t.Context(), bare.DeepCopy(), adopt, client.DryRunAll))
	// The garbage collector takes the owner off before the operator has deleted it.
	expectAllowed(t, "delete its own that lost its owner", c.Delete(t.Context(), left.DeepCopy(), client.DryRunAll))
}

// TestTheOperatorsAccountStaysOutOfSystemNamespaces: not even what carries its labels is
// written there. A user who may write PodManagers there may write claims as well.
func TestTheOperatorsAccountStaysOutOfSystemNamespaces(t *testing.T) {
	t.Parallel()
	c := theOperator(t)
	for _, ns := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		claim := plainClaim(ns, "tenants-victim", ofAPodManager())
		suite.Create(t, claim)
		t.Cleanup(func() { _ = suite.Client.Delete(context.Background(), claim) })
		expectRefused(t, "delete a claim", c.Delete(t.Context(), claim.DeepCopy(), client.DryRunAll),
			"the operator writes no persistentvolumeclaims in "+ns)
		expectRefused(t, "create a claim", c.Create(t.Context(), plainClaim(ns, "new", ofAPodManager()), client.DryRunAll),
			"the operator writes no persistentvolumeclaims in "+ns)
		expectRefused(t, "create a pod", c.Create(t.Context(), plainPod(ns, "new", controlledBy("apps.mycompany.com/v1", "PodManager")), client.DryRunAll),
			"the operator writes no pods in "+ns)
		revision := &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "new", OwnerReferences: controlledBy("apps.mycompany.com/v1", "PodManager"),
		}, Data: runtime.RawExtension{Raw: []byte(`{}`)}}
		expectRefused(t, "create a revision", c.Create(t.Context(), revision, client.DryRunAll), "the operator writes no controllerrevisions in "+ns)
	}
}

// database is a PodManager whose claims go with it.
func database(namespace string) *appsv1.PodManager {
	pm := testkit.MakePodManager(namespace, "db").Replicas(1).Obj()
	claim := plainClaim("", "data", nil)
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim}
	pm.Spec.PersistentVolumeClaimRetentionPolicy = appsv1.ClaimRetention{WhenDeleted: appsv1.ClaimDelete, WhenScaled: appsv1.ClaimDelete}
	return pm
}

// TestTheDataOfAnotherWorkloadOutlivesAPodManager: a StatefulSet db is scaled to 0, and
// a PodManager of its name uses its claims. What the user may delete themselves does
// not matter: the claim is not the PodManager's.
func TestTheDataOfAnotherWorkloadOutlivesAPodManager(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	theirs := plainClaim(ns, "data-db-0", map[string]string{"app": "db"})
	suite.Create(t, theirs)
	pm := database(ns)
	suite.Create(t, pm)
	testkit.Eventually(t, "the claim is in use", func() error {
		testkit.Get(t, suite, ns, theirs.Name, theirs)
		if theirs.Labels[appsv1.LabelUID] != string(pm.UID) {
			return fmt.Errorf("labels %v", theirs.Labels)
		}
		return nil
	})
	if err := suite.Client.Delete(t.Context(), pm); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the PodManager is gone", func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(pm), pm.DeepCopy()); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	if testkit.Get(t, suite, ns, theirs.Name, theirs); theirs.DeletionTimestamp != nil {
		t.Errorf("the claim %s was deleted", theirs.Name)
	}
}

// TestUsersNeedTheRightToDeleteClaims: a PodManager takes over the claims of an earlier
// one of its name, and deletes them with the policy Delete.
func TestUsersNeedTheRightToDeleteClaims(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	rights := may("apps.mycompany.com", "podmanagers", "get", "create", "patch", "delete")
	c := tenant(t, ns, "mallory", rights, may("", "pods", "create"), may("", "persistentvolumeclaims", "create"))
	bob := tenant(t, ns, "bob", rights, may("", "pods", "create"), may("", "persistentvolumeclaims", "create", "delete"))
	kept := database(ns)
	kept.Spec.PersistentVolumeClaimRetentionPolicy = appsv1.ClaimRetention{}
	testkit.Eventually(t, "mallory's and bob's rights are known", func() error {
		if err := bob.Create(t.Context(), database(ns), client.DryRunAll); err != nil {
			return err
		}
		return c.Create(t.Context(), kept.DeepCopy(), client.DryRunAll)
	})
	const refused = "mallory may not delete persistentvolumeclaims in namespace"
	for _, when := range []string{"whenDeleted", "whenScaled"} {
		pm := database(ns)
		if when == "whenDeleted" {
			pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.ClaimRetain
		} else {
			pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted = appsv1.ClaimRetain
		}
		expectRefused(t, "mallory creates one with "+when, c.Create(t.Context(), pm, client.DryRunAll), refused)
	}
	suite.Create(t, kept)
	condemn := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}`))
	scale := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`))
	expectRefused(t, "mallory changes the policy", c.Patch(t.Context(), kept.DeepCopy(), condemn), refused)
	expectAllowed(t, "bob changes the policy", bob.Patch(t.Context(), kept.DeepCopy(), condemn))
	expectAllowed(t, "mallory scales", c.Patch(t.Context(), kept.DeepCopy(), scale))
}
