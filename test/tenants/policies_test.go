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
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/testkit"
)

const onlyTheOperator = "pods are made from it, so only the operator (" + testkit.OperatorUser + ") writes it"

// mallory may use PodManagers and write ControllerRevisions, and may not create
// pods.
func mallory(t testing.TB, namespace string) client.Client {
	t.Helper()
	c := tenant(t, namespace, "mallory",
		may("apps.mycompany.com", "podmanagers", "get", "list", "patch"),
		may("apps", "controllerrevisions", "get", "list", "create", "update", "patch", "delete"))
	testkit.Eventually(t, "mallory's rights are known", func() error {
		return c.List(t.Context(), &kappsv1.ControllerRevisionList{}, client.InNamespace(namespace))
	})
	return c
}

// forged is a revision of an owner with a template that takes over a node.
func forged(t testing.TB, owner *appsv1.PodManager) *kappsv1.ControllerRevision {
	t.Helper()
	raw, err := podrender.Encode(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "app", Image: "evil", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
			VolumeMounts: []corev1.VolumeMount{{Name: "node", MountPath: "/node"}},
		}},
		Volumes: []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := &kappsv1.ControllerRevision{Revision: 99}
	r.Namespace, r.Name = owner.Namespace, owner.Name+"-forged"
	r.Labels = map[string]string{podrender.LabelManagedBy: podrender.ManagedBy, appsv1.LabelName: owner.Name, appsv1.LabelUID: string(owner.UID)}
	r.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.GroupVersion.WithKind("PodManager"))}
	r.Data.Raw = raw
	return r
}

func pin(revision string) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, appsv1.AnnotationPin, revision))
}

// TestAForgedRevisionRunsNoPod: mallory stores a template of their own as a
// revision, pins the fleet to it and scales up.
func TestAForgedRevisionRunsNoPod(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(1).Image("app:1").Obj())
	web := suite.Fleet(t, ns, "web").ExpectReady(1)
	c := mallory(t, ns)

	expectRefused(t, "forge a revision", c.Create(t.Context(), forged(t, web)), onlyTheOperator)
	expectRefused(t, "pin it", c.Patch(t.Context(), web.DeepCopy(), pin("web-forged")), "mallory may not create pods in namespace "+ns)
	scale := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`))
	expectAllowed(t, "scale", c.Patch(t.Context(), web.DeepCopy(), scale))

	suite.Fleet(t, ns, "web").ExpectReady(2)
	for _, pod := range podsOf(t, ns, "web") {
		if image := pod.Spec.Containers[0].Image; image != "app:1" {
			t.Errorf("pod %s runs %s", pod.Name, image)
		}
	}
}

func podsOf(t testing.TB, namespace, name string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := suite.Client.List(t.Context(), &pods, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: name}); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

func revisionOf(t testing.TB, pm *appsv1.PodManager) *kappsv1.ControllerRevision {
	t.Helper()
	return testkit.Get(t, suite, pm.Namespace, pm.Status.UpdateRevision, &kappsv1.ControllerRevision{})
}

// TestARevisionIsNotForgedInSteps: what the operator believes has its label and
// a controller of its kinds. Neither can be had by another way.
func TestARevisionIsNotForgedInSteps(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	for _, name := range []string{"web", "rich"} {
		suite.Create(t, testkit.MakePodManager(ns, name).Replicas(0).Image(name).Obj())
	}
	web, rich := suite.Fleet(t, ns, "web").ExpectReady(0), suite.Fleet(t, ns, "rich").ExpectReady(0)
	c := mallory(t, ns)

	for name, forge := range map[string]func(*kappsv1.ControllerRevision){
		"without a controller": func(r *kappsv1.ControllerRevision) { r.OwnerReferences = nil },
		"without the label":    func(r *kappsv1.ControllerRevision) { r.Labels = nil },
		"of an ImoocPod": func(r *kappsv1.ControllerRevision) {
			r.Labels = nil
			r.OwnerReferences[0].APIVersion, r.OwnerReferences[0].Kind = "batch.tutorial.kubebuilder.io/v1alpha1", "ImoocPod"
		},
	} {
		r := forged(t, web)
		forge(r)
		expectRefused(t, "create one "+name, c.Create(t.Context(), r, client.DryRunAll), onlyTheOperator)
	}

	plain := forged(t, web)
	full := plain.DeepCopy()
	plain.Labels, plain.OwnerReferences = nil, nil
	if err := c.Create(t.Context(), plain); err != nil {
		t.Fatalf("a revision that is nothing to the operator: %v", err)
	}
	for name, change := range map[string]func(*kappsv1.ControllerRevision){
		"the label":    func(r *kappsv1.ControllerRevision) { r.Labels = full.Labels },
		"a controller": func(r *kappsv1.ControllerRevision) { r.OwnerReferences = full.OwnerReferences },
		"both":         func(r *kappsv1.ControllerRevision) { r.Labels, r.OwnerReferences = full.Labels, full.OwnerReferences },
	} {
		changed := plain.DeepCopy()
		change(changed)
		expectRefused(t, "add "+name, c.Update(t.Context(), changed, client.DryRunAll), onlyTheOperator)
	}

	for name, change := range map[string]func(*kappsv1.ControllerRevision){
		"renumber it":       func(r *kappsv1.ControllerRevision) { r.Revision = 99 },
		"give it to web":    func(r *kappsv1.ControllerRevision) { r.OwnerReferences = full.OwnerReferences },
		"make web an owner": func(r *kappsv1.ControllerRevision) { r.OwnerReferences = append(r.OwnerReferences, ownedBy(web)) },
	} {
		genuine := revisionOf(t, rich)
		change(genuine)
		expectRefused(t, name, c.Update(t.Context(), genuine, client.DryRunAll), onlyTheOperator)
	}
}

// ownedBy is a reference that is no controller's.
func ownedBy(pm *appsv1.PodManager) metav1.OwnerReference {
	ref := *metav1.NewControllerRef(pm, appsv1.GroupVersion.WithKind("PodManager"))
	ref.Controller = nil
	return ref
}

// TestRevisionsCanBeTakenAway: what takes away harms only what the tenant may
// delete anyway, and the garbage collector has to.
func TestRevisionsCanBeTakenAway(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	for _, name := range []string{"web", "left"} {
		suite.Create(t, testkit.MakePodManager(ns, name).Replicas(1).Obj())
	}
	revision := revisionOf(t, suite.Fleet(t, ns, "web").ExpectReady(1))
	left := suite.Fleet(t, ns, "left").ExpectReady(1)
	c := mallory(t, ns)

	annotated, orphaned, unlabelled := revision.DeepCopy(), revision.DeepCopy(), revision.DeepCopy()
	annotated.Annotations = map[string]string{"note": "mine"}
	orphaned.OwnerReferences = nil
	delete(unlabelled.Labels, podrender.LabelManagedBy)
	expectAllowed(t, "annotate it", c.Update(t.Context(), annotated, client.DryRunAll))
	expectAllowed(t, "orphan it", c.Update(t.Context(), orphaned, client.DryRunAll))
	expectAllowed(t, "take the label off", c.Update(t.Context(), unlabelled, client.DryRunAll))
	expectAllowed(t, "delete it", c.Delete(t.Context(), revision))

	// The garbage collector takes the owner off what it leaves behind.
	kept := revisionOf(t, left).Name
	suite.Kubectl(t, "delete", "podmanager", "left", "-n", ns, "--cascade=orphan")
	testkit.Eventually(t, "the PodManager is gone", func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(left), left); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	if pods := podsOf(t, ns, "left"); len(pods) != 0 && metav1.GetControllerOf(&pods[0]) != nil {
		t.Errorf("pod %s still has an owner", pods[0].Name)
	}
	// A cluster's administrator may act as the operator, and restores a backup.
	restored := forged(t, left)
	restored.Name = kept
	expectAllowed(t, "restore a revision as an administrator", suite.Client.Create(t.Context(), restored, client.DryRunAll))
}

// TestAPinIsAnotherTemplate: a fleet that is sent back to a stored revision gets
// other pods, so that needs the right to create them.
func TestAPinIsAnotherTemplate(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(0).Obj()
	suite.Create(t, pm)
	first := suite.Fleet(t, ns, "web").ExpectReady(0).Status.UpdateRevision
	c := mallory(t, ns)
	bob := tenant(t, ns, "bob", may("apps.mycompany.com", "podmanagers", "get", "patch"), may("", "pods", "create"))
	const refused = "mallory may not create pods in namespace"

	testkit.Eventually(t, "bob's rights are known", func() error {
		return bob.Patch(t.Context(), pm.DeepCopy(), pin(first), client.DryRunAll)
	})
	expectRefused(t, "mallory pins", c.Patch(t.Context(), pm.DeepCopy(), pin(first)), refused)
	old := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	expectRefused(t, "mallory pins through v1alpha1", c.Patch(t.Context(), old, pin(first)), refused)
	expectAllowed(t, "bob pins", bob.Patch(t.Context(), pm.DeepCopy(), pin(first)))
	expectRefused(t, "mallory changes the pin", c.Patch(t.Context(), pm.DeepCopy(), pin("1")), refused)
	off := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, appsv1.AnnotationPin))
	expectRefused(t, "mallory takes it off", c.Patch(t.Context(), pm.DeepCopy(), off), refused)
	other := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"note":"mine"}},"spec":{"replicas":1}}`))
	expectAllowed(t, "mallory annotates and scales what is pinned", c.Patch(t.Context(), pm.DeepCopy(), other))
}

// TestAServiceNameIsPartOfTheTemplate: another service name replaces every pod, so it
// needs the right to create pods. Claim templates cannot be changed at all.
func TestAServiceNameIsPartOfTheTemplate(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(0).Obj()
	suite.Create(t, pm)
	suite.Fleet(t, ns, "web").ExpectReady(0)
	c := tenant(t, ns, "mallory", may("apps.mycompany.com", "podmanagers", "get", "patch"), may("", "persistentvolumeclaims", "create"))
	merge := func(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }
	testkit.Eventually(t, "mallory's rights are known", func() error {
		return c.Patch(t.Context(), pm.DeepCopy(), merge(`{"metadata":{"annotations":{"note":"mine"}}}`), client.DryRunAll)
	})
	expectRefused(t, "mallory sets a service name", c.Patch(t.Context(), pm.DeepCopy(), merge(`{"spec":{"serviceName":"other"}}`)),
		"mallory may not create pods in namespace")
}

// TestThePoliciesFitTheirKinds: the API server checks the expressions against
// the types that they are for. One that does not fit would fail when it is
// needed.
func TestThePoliciesFitTheirKinds(t *testing.T) {
	t.Parallel()
	var policies admissionv1.ValidatingAdmissionPolicyList
	testkit.Eventually(t, "all policies are checked", func() error {
		if err := suite.Client.List(t.Context(), &policies, client.MatchingLabels{"app.kubernetes.io/name": "pod-operator"}); err != nil {
			return err
		}
		for i := range policies.Items {
			if p := &policies.Items[i]; p.Status.TypeChecking == nil || p.Status.ObservedGeneration != p.Generation {
				return fmt.Errorf("%s is not", p.Name)
			}
		}
		return nil
	})
	if len(policies.Items) != 6 {
		t.Errorf("%d policies, want 6", len(policies.Items))
	}
	for i := range policies.Items {
		for _, warning := range policies.Items[i].Status.TypeChecking.ExpressionWarnings {
			t.Errorf("%s: %s: %s", policies.Items[i].Name, warning.FieldRef, warning.Warning)
		}
	}
}
