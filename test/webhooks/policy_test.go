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

package webhooks

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// grant lets a user do everything with our kinds in a namespace, and create
// what is named besides.
func grant(t testing.TB, ns, user string, creates ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	suite.Create(t, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: user},
		Rules: append(creates, rbacv1.PolicyRule{
			APIGroups: []string{"apps.mycompany.com", "batch.tutorial.kubebuilder.io", "test.jiaozi.com"},
			Resources: []string{"*"}, Verbs: []string{"*"},
		}),
	})
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	config, err := suite.Cluster.RESTConfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	c, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mayCreate(group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"create"}}
}

// expectAnswer reports whether a user got the answer that is right for them.
func expectAnswer(t testing.TB, what string, err error, refused string) {
	t.Helper()
	switch {
	case refused == "" && err != nil:
		t.Errorf("%s was refused: %v", what, err)
	case refused != "" && err == nil:
		t.Errorf("%s was allowed, want %q", what, refused)
	case refused != "" && !strings.HasSuffix(err.Error(), refused):
		t.Errorf("%s was refused with\n%v\nwant\n%s", what, err, refused)
	}
}

// TestUsersNeedTheRightToCreatePods asks with two users: alice may use our
// kinds and nothing else, bob may create what they create, too.
func TestUsersNeedTheRightToCreatePods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	users := map[string]client.Client{
		"alice": grant(t, ns, "alice"),
		"bob":   grant(t, ns, "bob", mayCreate("", "pods"), mayCreate("apps", "deployments")),
	}
	no := func(user, what, kind string) string {
		if user == "bob" {
			return ""
		}
		return user + " may not create " + what + " in namespace " + ns + ", and this " + kind + " would create them: get the right to create pods there first"
	}
	// RBAC is cached by the API server for a moment.
	testkit.Eventually(t, "bob's rights are known", func() error {
		return users["bob"].Create(t.Context(), testkit.MakePodManager(ns, "probe").Replicas(0).Obj(), client.DryRunAll)
	})
	for user, c := range users {
		pm := testkit.MakePodManager(ns, "v1-"+user).Replicas(0).Obj()
		expectAnswer(t, user+" creates a PodManager", c.Create(t.Context(), pm), no(user, "pods", "PodManager"))
		old := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old-" + user}, Spec: v1alpha1.PodManagerSpec{Size: ptr.To(int32(0)), Image: "nginx"}}
		expectAnswer(t, user+" creates one as v1alpha1", c.Create(t.Context(), old), no(user, "pods", "PodManager"))
		ip := &batchv1alpha1.ImoocPod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: user}, Spec: batchv1alpha1.ImoocPodSpec{Replicas: ptr.To(int32(0))}}
		expectAnswer(t, user+" creates an ImoocPod", c.Create(t.Context(), ip), no(user, "pods", "ImoocPod"))
		hw := &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: user}, Spec: testv1alpha1.HelloWorldSpec{Size: ptr.To(int32(0))}}
		refused := ""
		if user == "alice" {
			refused = "alice may not create deployments in namespace " + ns + ", and this HelloWorld would create one: get the right to create deployments there first"
		}
		expectAnswer(t, user+" creates a HelloWorld", c.Create(t.Context(), hw), refused)
	}

	// An object of another user: alice may scale it, and not change its pods.
	suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(0).Obj())
	edit := func(c client.Client, obj client.Object, body string) error {
		obj.SetNamespace(ns)
		obj.SetName("web")
		return c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
	for user, c := range users {
		refused := no(user, "pods", "PodManager")
		expectAnswer(t, user+" scales", edit(c, &appsv1.PodManager{}, `{"spec":{"replicas":2}}`), "")
		expectAnswer(t, user+" scales through v1alpha1", edit(c, &v1alpha1.PodManager{}, `{"spec":{"size":2}}`), "")
		expectAnswer(t, user+" labels", edit(c, &appsv1.PodManager{}, `{"metadata":{"labels":{"a":"b"}}}`), "")
		expectAnswer(t, user+" pauses", edit(c, &appsv1.PodManager{}, `{"spec":{"paused":true}}`), "")
		expectAnswer(t, user+" changes the image", edit(c, &appsv1.PodManager{}, `{"spec":{"image":"evil"}}`), refused)
		expectAnswer(t, user+" changes the image through v1alpha1", edit(c, &v1alpha1.PodManager{}, `{"spec":{"image":"evil"}}`), refused)
		expectAnswer(t, user+" adds a template", edit(c, &appsv1.PodManager{},
			`{"spec":{"template":{"spec":{"serviceAccountName":"powerful","containers":[{"name":"app"}]}}}}`), refused)
	}
}

// TestUsersNeedTheRightToCreateClaims is the same for volume claims.
func TestUsersNeedTheRightToCreateClaims(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	for user, tt := range map[string]struct {
		rules   []rbacv1.PolicyRule
		refused string
	}{
		"carol": {
			rules: []rbacv1.PolicyRule{mayCreate("", "pods")},
			refused: "carol may not create persistentvolumeclaims in namespace " + ns +
				", and this PodManager would create them: get the right to create them there first",
		},
		"dave": {rules: []rbacv1.PolicyRule{mayCreate("", "pods"), mayCreate("", "persistentvolumeclaims")}},
	} {
		c := grant(t, ns, user, tt.rules...)
		testkit.Eventually(t, user+"'s rights are known", func() error {
			return c.Create(t.Context(), testkit.MakePodManager(ns, "probe").Replicas(0).Obj(), client.DryRunAll)
		})
		pm := testkit.MakePodManager(ns, user).Replicas(0).Obj()
		pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
		expectAnswer(t, user+" creates a PodManager with claims", c.Create(t.Context(), pm), tt.refused)
	}
}
