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
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// These tests have stolen the operator's token. What they do is tried as a dry
// run, so that the operator that runs beside them is not disturbed.

const onlyRenews = "the operator changes nothing but the clientConfig of its own webhooks"

// change is a JSON patch.
type change []map[string]any

func edit(op, path string, value any) change {
	return change{{"op": op, "path": path, "value": value}}
}

func (c change) patch(t testing.TB) client.Patch {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return client.RawPatch(types.JSONPatchType, raw)
}

func named(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	object.SetName(name)
	return object
}

// TestTheOperatorsAccountOnlyRenewsItsWebhooks: with webhooks that match every
// request, an attacker with the account would read and change everything.
func TestTheOperatorsAccountOnlyRenewsItsWebhooks(t *testing.T) {
	t.Parallel()
	c := theOperator(t)
	everything := []map[string]any{{"apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "operations": []string{"*"}, "resources": []string{"*/*"}}}
	another := map[string]any{
		"name": "another.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"}, "rules": everything,
		"clientConfig": map[string]any{"url": "https://evil.example.com"},
	}
	refused := map[string]change{
		"match everything":         edit("replace", "/webhooks/0/rules", everything),
		"add a webhook":            edit("add", "/webhooks/-", another),
		"replace a webhook":        edit("replace", "/webhooks/0", another),
		"take one off":             edit("remove", "/webhooks/0", nil),
		"call it in every case":    edit("remove", "/webhooks/0/matchConditions", nil),
		"call it in another case":  edit("replace", "/webhooks/0/matchConditions/0/expression", "true"),
		"fail in another way":      edit("replace", "/webhooks/0/failurePolicy", "Ignore"),
		"wait longer":              edit("replace", "/webhooks/0/timeoutSeconds", 30),
		"match other namespaces":   edit("add", "/webhooks/0/namespaceSelector", map[string]any{"matchLabels": map[string]string{"a": "b"}}),
		"match other objects":      edit("add", "/webhooks/0/objectSelector", map[string]any{"matchLabels": map[string]string{"a": "b"}}),
		"match other versions":     edit("replace", "/webhooks/0/matchPolicy", "Equivalent"),
		"have cert-manager inject": edit("add", "/metadata/annotations", map[string]string{"cert-manager.io/inject-ca-from": "evil/ca"}),
		"take another label":       edit("add", "/metadata/labels/owner", "evil"),
	}
	allowed := map[string]change{
		"renew the caBundle":   edit("add", "/webhooks/0/clientConfig/caBundle", []byte("-----BEGIN")),
		"call another address": edit("replace", "/webhooks/0/clientConfig/url", "https://127.0.0.1:9444/elsewhere"),
		"call by Service": edit("replace", "/webhooks/0/clientConfig", map[string]any{
			"service": map[string]any{"name": "s", "namespace": "n", "path": "/p"},
		}),
	}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		object := named(admissionv1.SchemeGroupVersion.WithKind(kind), testkit.WebhookConfiguration)
		for what, change := range refused {
			err := c.Patch(t.Context(), object.DeepCopy(), change.patch(t), client.DryRunAll)
			expectRefused(t, kind+": "+what, err, onlyRenews)
		}
		for what, change := range allowed {
			expectAllowed(t, kind+": "+what, c.Patch(t.Context(), object.DeepCopy(), change.patch(t), client.DryRunAll))
		}
	}
}

// TestTheOperatorsAccountKeepsTheCRD: its schema and its versions are no
// certificate.
func TestTheOperatorsAccountKeepsTheCRD(t *testing.T) {
	t.Parallel()
	c := theOperator(t)
	crd := named(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "podmanagers.apps.mycompany.com")
	for what, change := range map[string]change{
		"drop the rules":       edit("remove", "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations", nil),
		"serve no v1":          edit("replace", "/spec/versions/0/served", false),
		"convert nothing":      edit("replace", "/spec/conversion", map[string]any{"strategy": "None"}),
		"convert to versions":  edit("replace", "/spec/conversion/webhook/conversionReviewVersions", []string{"v1", "v1beta1"}),
		"take a short name":    edit("add", "/spec/names/shortNames/-", "pods"),
		"take the labels off":  edit("replace", "/metadata/labels", map[string]string{}),
		"have a finalizer":     edit("add", "/metadata/finalizers", []string{"evil.example.com/stay"}),
		"ask for an injection": edit("add", "/metadata/annotations/cert-manager.io~1inject-ca-from", "evil/ca"),
	} {
		expectRefused(t, what, c.Patch(t.Context(), crd.DeepCopy(), change.patch(t), client.DryRunAll), onlyRenews)
	}
	for what, change := range map[string]change{
		"call another address": edit("replace", "/spec/conversion/webhook/clientConfig/url", "https://127.0.0.1:9444/convert"),
		"call by Service": edit("replace", "/spec/conversion/webhook/clientConfig", map[string]any{
			"service": map[string]any{"name": "s", "namespace": "n", "path": "/p"},
		}),
	} {
		expectAllowed(t, what, c.Patch(t.Context(), crd.DeepCopy(), change.patch(t), client.DryRunAll))
	}
}

// controlledBy is a reference to an owner that need not exist.
func controlledBy(apiVersion, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "1", Controller: ptr.To(true)}}
}

func plainPod(namespace, name string, owners []metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}

// TestTheOperatorsAccountMakesOnlyItsOwnPods: the right to create pods is worth
// what they may be. Their owner need not exist, but in kube-system there are
// none at all.
func TestTheOperatorsAccountMakesOnlyItsOwnPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	c := theOperator(t)
	podManager, imoocPod := controlledBy("apps.mycompany.com/v1", "PodManager"), controlledBy("batch.tutorial.kubebuilder.io/v1alpha1", "ImoocPod")
	onlyOwned := controlledBy("apps.mycompany.com/v1", "PodManager")
	onlyOwned[0].Controller = nil
	const notOwn, notThere = "the operator writes only pods that its own kinds control", "the operator writes no pods in kube-system"
	for what, test := range map[string]struct {
		namespace string
		owners    []metav1.OwnerReference
		refused   string
	}{
		"without an owner":           {namespace: ns, refused: notOwn},
		"of a ReplicaSet":            {namespace: ns, owners: controlledBy("apps/v1", "ReplicaSet"), refused: notOwn},
		"of another's PodManager":    {namespace: ns, owners: controlledBy("apps.mycompany.com.evil.com/v1", "PodManager"), refused: notOwn},
		"of a HelloWorld":            {namespace: ns, owners: controlledBy("test.jiaozi.com/v1alpha1", "HelloWorld"), refused: notOwn},
		"owned and not controlled":   {namespace: ns, owners: onlyOwned, refused: notOwn},
		"of a PodManager":            {namespace: ns, owners: podManager},
		"of an ImoocPod":             {namespace: ns, owners: imoocPod},
		"of a PodManager, in system": {namespace: metav1.NamespaceSystem, owners: podManager, refused: notThere},
	} {
		err := c.Create(t.Context(), plainPod(test.namespace, "made", test.owners), client.DryRunAll)
		if test.refused == "" {
			expectAllowed(t, what, err)
		} else {
			expectRefused(t, what, err, test.refused)
		}
	}
}

// TestTheOperatorsAccountLeavesOtherPodsAlone: a new image in a privileged pod
// is as good as a new pod.
func TestTheOperatorsAccountLeavesOtherPodsAlone(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	c := theOperator(t)
	const notOwn = "the operator writes only pods that its own kinds control"
	// The garbage collector would take the pods of owners that are not there.
	replicaSet := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "theirs"}}
	replicaSet.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}}
	replicaSet.Spec.Replicas = ptr.To[int32](1)
	replicaSet.Spec.Template.Labels = replicaSet.Spec.Selector.MatchLabels
	replicaSet.Spec.Template.Spec = plainPod(ns, "", nil).Spec
	suite.Create(t, replicaSet)
	theirs := &corev1.PodList{}
	testkit.Eventually(t, "the ReplicaSet has a pod", func() error {
		if err := suite.Client.List(t.Context(), theirs, client.InNamespace(ns), client.MatchingLabels{"app": "theirs"}); err != nil {
			return err
		}
		if len(theirs.Items) == 0 {
			return errNotYet
		}
		return nil
	})
	bare := plainPod(ns, "bare", nil)
	suite.Create(t, bare)
	for whose, pod := range map[string]*corev1.Pod{"of a ReplicaSet": &theirs.Items[0], "without a controller": bare} {
		image := edit("replace", "/spec/containers/0/image", "evil").patch(t)
		expectRefused(t, "change the image of a pod "+whose, c.Patch(t.Context(), pod.DeepCopy(), image, client.DryRunAll), notOwn)
		status := edit("add", "/status/conditions", []map[string]any{{"type": "Ready", "status": "False"}}).patch(t)
		expectRefused(t, "change the status of a pod "+whose, c.Status().Patch(t.Context(), pod.DeepCopy(), status, client.DryRunAll), notOwn)
		expectRefused(t, "delete a pod "+whose, c.Delete(t.Context(), pod.DeepCopy(), client.DryRunAll), notOwn)
	}
	label := edit("add", "/metadata/labels/a", "b").patch(t)
	adopt := edit("add", "/metadata/ownerReferences", controlledBy("apps.mycompany.com/v1", "PodManager")).patch(t)
	other := edit("add", "/metadata/ownerReferences", controlledBy("apps/v1", "ReplicaSet")).patch(t)
	expectRefused(t, "label a pod of a ReplicaSet", c.Patch(t.Context(), &theirs.Items[0], label, client.DryRunAll), notOwn)
	expectAllowed(t, "label a pod without a controller", c.Patch(t.Context(), bare.DeepCopy(), label, client.DryRunAll))
	expectAllowed(t, "take in a pod without a controller", c.Patch(t.Context(), bare.DeepCopy(), adopt, client.DryRunAll))
	expectRefused(t, "give it to another", c.Patch(t.Context(), bare.DeepCopy(), other, client.DryRunAll), notOwn)
}

// TestTheOperatorsAccountStaysOutOfKubeSystem: evictions name no owner.
func TestTheOperatorsAccountStaysOutOfKubeSystem(t *testing.T) {
	t.Parallel()
	c := theOperator(t)
	pod := plainPod(metav1.NamespaceSystem, "tenants-victim", nil)
	suite.Create(t, pod)
	t.Cleanup(func() { _ = suite.Client.Delete(context.Background(), pod, client.GracePeriodSeconds(0)) })
	const notThere = "the operator writes no pods in kube-system"
	label := edit("add", "/metadata/labels/a", "b").patch(t)
	expectRefused(t, "label", c.Patch(t.Context(), pod.DeepCopy(), label, client.DryRunAll), notThere)
	expectRefused(t, "delete", c.Delete(t.Context(), pod.DeepCopy(), client.DryRunAll), notThere)
	err := c.SubResource("eviction").Create(t.Context(), pod.DeepCopy(), &policyv1.Eviction{}, client.DryRunAll)
	expectRefused(t, "evict", err, notThere)
	expectRefused(t, "create a Deployment", c.Create(t.Context(), plainDeployment(pod.Namespace, nil), client.DryRunAll),
		"the operator writes no deployments in kube-system")
}

// TestAPodManagerInKubeSystemIsStalled: the policy's sentence is in its status.
func TestAPodManagerInKubeSystemIsStalled(t *testing.T) {
	t.Parallel()
	pm := testkit.MakePodManager(metav1.NamespaceSystem, "tenants-stalled").Replicas(1).Obj()
	suite.Create(t, pm)
	t.Cleanup(func() { _ = suite.Client.Delete(context.Background(), pm) })
	testkit.Eventually(t, "the status says why there are no pods", func() error {
		testkit.Get(t, suite, pm.Namespace, pm.Name, pm)
		stalled := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled)
		if stalled == nil || !strings.Contains(stalled.Message, "in kube-system: use another namespace") {
			return fmt.Errorf("conditions %+v", pm.Status.Conditions)
		}
		return nil
	})
}

func plainDeployment(namespace string, owners []metav1.OwnerReference) *kappsv1.Deployment {
	d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs", OwnerReferences: owners}}
	d.Spec.Replicas = ptr.To[int32](0)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}}
	d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
	d.Spec.Template.Spec = plainPod(namespace, "", nil).Spec
	return d
}

// TestTheOperatorsAccountMakesOnlyItsOwnDeployments: a Deployment makes pods, so
// it is confined as pods are.
func TestTheOperatorsAccountMakesOnlyItsOwnDeployments(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	c := theOperator(t)
	const notOwn = "the operator writes only deployments that its own kinds control"
	helloWorld := controlledBy("test.jiaozi.com/v1alpha1", "HelloWorld")
	expectAllowed(t, "create one of a HelloWorld", c.Create(t.Context(), plainDeployment(ns, helloWorld), client.DryRunAll))
	expectRefused(t, "create one without an owner", c.Create(t.Context(), plainDeployment(ns, nil), client.DryRunAll), notOwn)
	expectRefused(t, "create one of a PodManager",
		c.Create(t.Context(), plainDeployment(ns, controlledBy("apps.mycompany.com/v1", "PodManager")), client.DryRunAll), notOwn)
	theirs := plainDeployment(ns, nil)
	suite.Create(t, theirs)
	image := edit("replace", "/spec/template/spec/containers/0/image", "evil").patch(t)
	expectRefused(t, "change another's", c.Patch(t.Context(), theirs.DeepCopy(), image, client.DryRunAll), notOwn)
	adopt := edit("add", "/metadata/ownerReferences", helloWorld).patch(t)
	expectRefused(t, "take in another's", c.Patch(t.Context(), theirs.DeepCopy(), adopt, client.DryRunAll), notOwn)
}
