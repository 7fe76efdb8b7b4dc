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
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/testkit/specs"
)

// drawingTenant draws what accounts of one namespace write through the API server.
type drawingTenant struct {
	judge     *judge
	namespace string
	// edit are the rights of the role edit, one verb on one resource each.
	edit []rbacv1.PolicyRule
	// clients log in as accounts with all rights of edit, and with some of them.
	clients []client.Client
	// token is the one of the account with all rights.
	token          string
	fields         map[schema.GroupVersionKind][]field
	kinds          []schema.GroupVersionKind
	names          int
	thrown, stored int
	log            drawLog
}

func newDrawingTenant(t *testing.T, j *judge) *drawingTenant {
	t.Helper()
	f := &drawingTenant{judge: j, fields: fieldsOf(t)}
	f.kinds = slices.SortedFunc(maps.Keys(f.fields), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.Kind, b.Kind) })
	testkit.Eventually(t, "the role edit has our kinds", func() error {
		role := testkit.Get(t, suite, "", "edit", &rbacv1.ClusterRole{})
		f.edit = single(role.Rules)
		if !slices.ContainsFunc(f.edit, func(r rbacv1.PolicyRule) bool { return r.Resources[0] == "podmanagers" && r.Verbs[0] == "create" }) {
			return errNotYet
		}
		return nil
	})
	f.enter(t)
	return f
}

// single takes rules apart.
func single(rules []rbacv1.PolicyRule) (list []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					list = append(list, may(group, resource, verb))
				}
			}
		}
	}
	return list
}

// enter makes the namespace, with a quota as tenants have one.
func (f *drawingTenant) enter(t *testing.T) {
	t.Helper()
	f.namespace = suite.Namespace(t)
	f.judge.involve(f.namespace)
	suite.Create(t, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "tenant"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(quota), corev1.ResourcePersistentVolumeClaims: resource.MustParse(quota)}},
	})
	f.clients = nil
	f.account(t, "editor", f.edit)
}

// account adds a service account with rights in the namespace.
func (f *drawingTenant) account(t *testing.T, name string, rights []rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: f.namespace, Name: name}
	suite.Create(t, &corev1.ServiceAccount{ObjectMeta: meta})
	suite.Create(t, &rbacv1.Role{ObjectMeta: meta, Rules: rights})
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: name}},
	})
	config, err := suite.Cluster.RESTConfigForServiceAccount(t.Context(), f.namespace, name, 24*3600)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	if f.clients = append(f.clients, c); name == "editor" {
		f.token = config.BearerToken
	}
}

// newRights draws an account with some of the rights of edit.
func (f *drawingTenant) newRights(t *testing.T, rng *rand.Rand) {
	t.Helper()
	var some []rbacv1.PolicyRule
	share := rng.Float64()
	for _, right := range f.edit {
		if rng.Float64() < share {
			some = append(some, right)
		}
	}
	f.clients = f.clients[:1]
	f.names++
	f.account(t, fmt.Sprintf("drawn-%d", f.names), some)
}

// leave deletes all that the tenant made, at once, and has the operator let go of it.
func (f *drawingTenant) leave(t *testing.T) {
	t.Helper()
	for _, gvk := range f.kinds {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		if err := suite.Client.DeleteAllOf(t.Context(), object, client.InNamespace(f.namespace)); err != nil {
			t.Errorf("delete all %s: %v", gvk.Kind, err)
		}
	}
	testkit.EventuallyEvery(t, time.Second, "all that the attacker made is gone", func() error {
		left := 0
		for _, gvk := range f.kinds {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(gvk)
			if err := suite.Client.List(t.Context(), list, client.InNamespace(f.namespace)); err != nil {
				return err
			}
			left += len(list.Items)
		}
		if left > 0 {
			return fmt.Errorf("%d objects are left", left)
		}
		return nil
	})
	if err := suite.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}); err != nil {
		t.Error(err)
	}
	f.enter(t)
}

// attack draws n times. A client waits for an answer, and most answers are refusals.
func (f *drawingTenant) attack(ctx context.Context, rng *rand.Rand, n int) {
	for range n {
		c := f.clients[rng.IntN(len(f.clients))]
		switch draw := rng.IntN(20); {
		case draw < 7:
			f.throwField(ctx, c, rng)
		case draw < 11:
			f.throwSpec(ctx, c, rng)
		case draw < 13:
			f.throwLarge(ctx, c, rng)
		case draw < 14:
			f.throwCrowd(ctx, c, rng)
		case draw < 17:
			f.meddle(ctx, c, rng)
		case draw < 19:
			f.throwOther(ctx, c, rng)
		default:
			f.throwOld(ctx, c, rng)
		}
	}
}

// count notes an attempt.
func (f *drawingTenant) count(err error, format string, args ...any) {
	f.thrown++
	if err == nil {
		f.stored++
	}
	f.log.add("%s: %v", fmt.Sprintf(format, args...), err)
}

// throwField creates, changes or deletes an object of any of our kinds with any
// values in any fields, whether the schema admits them or not; at times its status.
func (f *drawingTenant) throwField(ctx context.Context, c client.Client, rng *rand.Rand) {
	gvk := f.kinds[rng.IntN(len(f.kinds))]
	object := &unstructured.Unstructured{Object: map[string]any{"spec": base(gvk.Kind)}}
	for range 1 + rng.IntN(3) {
		at := f.fields[gvk][rng.IntN(len(f.fields[gvk]))]
		put(object.Object, at.path, thrown[rng.IntN(len(thrown))])
	}
	if gvk.Kind == "Collector" && rng.IntN(2) == 0 {
		put(object.Object, []string{"spec", "namespaces"}, []any{f.judge.bystander})
	}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(f.namespace)
	object.SetName(fmt.Sprintf("thrown-%d", rng.IntN(8)))
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	patch := client.RawPatch(types.MergePatchType, raw)
	switch rng.IntN(6) {
	case 0:
		err = c.Delete(ctx, object)
	case 1:
		err = c.Status().Patch(ctx, object, patch)
	case 2:
		err = c.Patch(ctx, object, patch)
	default:
		err = c.Create(ctx, object)
	}
	f.count(err, "%s", raw)
}

// throwSpec creates or replaces a PodManager with a valid spec.
func (f *drawingTenant) throwSpec(ctx context.Context, c client.Client, rng *rand.Rand) {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("valid-%d", rng.IntN(8))}}
	pm.Spec = specs.Draw(func(_ string, n int) int { return rng.IntN(n) })
	if rng.IntN(4) == 0 {
		pm.Spec.Replicas = ptr.To(rng.Int32N(100_001))
	}
	f.count(f.createOrReplace(ctx, c, pm), "a valid spec for %s", pm.Name)
}

func (f *drawingTenant) createOrReplace(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
	err := c.Create(ctx, pm.DeepCopy())
	if err == nil {
		return nil
	}
	raw, merr := json.Marshal(map[string]any{"spec": pm.Spec})
	if merr != nil {
		panic(merr)
	}
	return c.Patch(ctx, pm, client.RawPatch(types.MergePatchType, raw))
}

// throwLarge creates PodManagers with templates up to what etcd takes, several with
// one size, and runs few pods of them or none.
func (f *drawingTenant) throwLarge(ctx context.Context, c client.Client, rng *rand.Rand) {
	size, many := 1+rng.IntN([]int{256 << 10, 1400 << 10}[rng.IntN(2)]), 1 // those that are admitted, and all that etcd would take
	if *fuzzTime > 0 && rng.IntN(4) == 0 {
		many = 1 + rng.IntN(100)
	}
	for range many {
		f.names++
		pm := testkit.MakePodManager(f.namespace, fmt.Sprintf("large-%d", f.names)).Replicas(rng.Int32N(2)).PodSpec(func(spec *corev1.PodSpec) {
			spec.Containers = []corev1.Container{{Name: appsv1.AppContainer, Image: "nginx:1.27", Args: []string{strings.Repeat("a", size)}}}
		}).Obj()
		f.count(c.Create(ctx, pm), "a template of %d KiB", size>>10)
	}
}

// throwCrowd creates many small PodManagers that ask for many more pods than the
// quota allows.
func (f *drawingTenant) throwCrowd(ctx context.Context, c client.Client, rng *rand.Rand) {
	many := 1 + rng.IntN(10)
	if *fuzzTime > 0 {
		many = 1 + rng.IntN(200)
	}
	replicas := rng.Int32N(1001)
	for range many {
		f.names++
		f.count(c.Create(ctx, testkit.MakePodManager(f.namespace, fmt.Sprintf("crowd-%d", f.names)).Replicas(replicas).Obj()), "one of %d", many)
	}
}

// reserved are words that mean something to the operator.
var reserved = []string{
	appsv1.LabelName, appsv1.LabelUID, appsv1.LabelRevision, appsv1.LabelSlot, appsv1.LabelDelete,
	appsv1.AnnotationEvictionRequested, appsv1.AnnotationEvictedBy, appsv1.AnnotationSurge, appsv1.AnnotationTakeOver,
}

// meddle changes, deletes or evicts a pod that the operator keeps, and scales.
func (f *drawingTenant) meddle(ctx context.Context, c client.Client, rng *rand.Rand) {
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(f.namespace)); err != nil || len(pods.Items) == 0 {
		pm := testkit.MakePodManager(f.namespace, fmt.Sprintf("valid-%d", rng.IntN(8))).Obj()
		patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: "x"}}, "spec": {"disruption": {"policy": "SurgeFirst"}}}`, reserved[rng.IntN(len(reserved))])
		f.count(c.Patch(ctx, pm, client.RawPatch(types.MergePatchType, []byte(patch))), "%s", patch)
		return
	}
	pod := &pods.Items[rng.IntN(len(pods.Items))]
	word, value := reserved[rng.IntN(len(reserved))], []any{nil, "", "true", "x", "2026-01-01T00:00:00Z", f.judge.bystander}[rng.IntN(6)]
	patch := map[string]any{"metadata": map[string]any{[]string{"labels", "annotations"}[rng.IntN(2)]: map[string]any{word: value}}}
	if rng.IntN(4) == 0 {
		patch["metadata"] = map[string]any{"ownerReferences": controlledBy("apps.mycompany.com/v1", "PodManager")}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		panic(err)
	}
	switch rng.IntN(4) {
	case 0:
		err = c.Delete(ctx, pod)
	case 1:
		err = c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	default:
		err = c.Patch(ctx, pod, client.RawPatch(types.MergePatchType, raw))
	}
	f.count(err, "pod %s: %s", pod.Name, raw)
}

// throwOther creates objects that the operator reads or keeps, in its words.
func (f *drawingTenant) throwOther(ctx context.Context, c client.Client, rng *rand.Rand) {
	meta := metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("valid-%d-%d", rng.IntN(8), rng.IntN(3)), Labels: map[string]string{}}
	for range rng.IntN(4) {
		meta.Labels[reserved[rng.IntN(5)]] = fmt.Sprintf("valid-%d", rng.IntN(8))
	}
	if rng.IntN(2) == 0 {
		meta.OwnerReferences = controlledBy("apps.mycompany.com/v1", "PodManager")
	}
	pod := plainPod(meta.Namespace, meta.Name, nil)
	pod.ObjectMeta = meta
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	object := []client.Object{
		pod, claim,
		&kappsv1.ControllerRevision{ObjectMeta: meta, Revision: rng.Int64(), Data: runtime.RawExtension{Raw: []byte(`{"spec": {}}`)}},
		&corev1.ConfigMap{ObjectMeta: meta},
	}[rng.IntN(4)]
	f.count(c.Create(ctx, object), "a %T %s with %v", object, meta.Name, meta.Labels)
}

// throwOld writes v1alpha1, whose conversion unpacks an annotation.
func (f *drawingTenant) throwOld(ctx context.Context, c client.Client, rng *rand.Rand) {
	object := oldPodManager(f.namespace, fmt.Sprintf("old-%d", rng.IntN(4)), rng)
	var options []client.CreateOption
	if rng.IntN(2) == 0 {
		options = append(options, client.DryRunAll)
	}
	f.count(c.Create(ctx, object, options...), "v1alpha1")
}
