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

package plugin

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestOtherKindsOfOursAnswer: status, why and why-not take an ImoocPod and a
// HelloWorld, and a Deployment beside them.
func TestOtherKindsOfOursAnswer(t *testing.T) {
	namespace := suite.Namespace(t)
	two := int32(2)
	suite.Create(t, &batchv1alpha1.ImoocPod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "im"}, Spec: batchv1alpha1.ImoocPodSpec{Replicas: &two}})
	suite.Create(t, &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello"}, Spec: testv1alpha1.HelloWorldSpec{Size: &two}})
	p := admin(namespace).with("--no-recorder")
	for words, want := range map[string]string{
		"status imoocpod/im":       "desired 2   live 2   ready 2",
		"status helloworld/hello":  "HelloWorld " + namespace + "/hello",
		"why imoocpod/im":          "reated ",
		"why helloworld/hello":     "Deployment created by ",
		"why deployment/hello":     "Deployment created by ",
		"why-not imoocpod/im":      "Nothing is held back.",
		"why-not helloworld/hello": "Nothing is held back.",
		"why-not deployment/hello": "Nothing is held back.",
	} {
		t.Run(words, func(t *testing.T) {
			testkit.Eventually(t, "it says "+want, func() error {
				out, err := p.try(t, strings.Fields(words)...)
				if err != nil || !strings.Contains(out, want) {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
			t.Logf("$ kubectl podmanager %s\n%s", words, p.must(t, strings.Fields(words)...))
		})
	}
	pod := suite.Kubectl(t, "-n", namespace, "get", "pods", "-l", batchv1alpha1.LabelName+"=im", "-o", "jsonpath={.items[0].metadata.name}")
	for words, want := range map[string]string{
		"status pod/" + pod: "ImoocPod " + namespace + "/im", "why-not pod/" + pod: "Nothing is held back.", "why pod/" + pod: pod,
	} {
		if out := p.must(t, strings.Fields(words)...); !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", words, want, out)
		}
	}
}

// TestWhatIsNotThereIsAnError: a script learns it from the exit code.
func TestWhatIsNotThereIsAnError(t *testing.T) {
	p := admin(suite.Namespace(t)).with("--no-recorder")
	for _, words := range []string{
		"why nope", "why pm/nope", "why pod/nope", "why imoocpod/nope", "why helloworld/nope", "why deployment/nope",
		"why-not nope", "why-not node/nope", "why-not pod/nope", "why-not imoocpod/nope", "why-not deployment/nope",
		"status imoocpod/nope", "status helloworld/nope",
	} {
		if out, err := p.try(t, strings.Fields(words)...); kube.ExitCode(err) != kube.ExitFailed {
			t.Errorf("%s ends with %v:\n%s", words, err, out)
		}
	}
}

// TestWhyAnswersWithoutRightsToReadEvents: the history is in the object.
func TestWhyAnswersWithoutRightsToReadEvents(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, 2)
	p := as(t, namespace, "ada").with("--no-recorder")
	leaveOnly(t, namespace, "ada", rbacv1.PolicyRule{APIGroups: []string{"apps.mycompany.com"}, Resources: []string{"podmanagers"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}})
	for _, words := range []string{"why web", "why pod/web-0"} {
		testkit.Eventually(t, words+" answers with the history", func() error {
			out, err := p.try(t, strings.Fields(words)...)
			if err != nil || !strings.Contains(out, "Created 2 pods: web-0, web-1") || !strings.Contains(out, "Could not be read: events (forbidden)") {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
}

// leaveOnly leaves a person these rights and no others.
func leaveOnly(t *testing.T, namespace, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	suite.Create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "narrow"}, Rules: rules})
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil {
		t.Fatal(err)
	}
	if err := suite.Client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "narrow"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "narrow"}, Subjects: binding.Subjects,
	})
}

// TestStatusNamesTheObjectThatMayNotBeRead: the controller lists pods by a UID, which says
// nothing to a person.
func TestStatusNamesTheObjectThatMayNotBeRead(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, 1)
	p := as(t, namespace, "ada")
	leaveOnly(t, namespace, "ada", rbacv1.PolicyRule{APIGroups: []string{"apps.mycompany.com"}, Resources: []string{"podmanagers"}, Verbs: []string{"get", "list"}})
	for _, words := range []string{"status web", "why-not web", "plan web --replicas 2"} {
		want := "look at PodManager " + namespace + "/web: pods is forbidden"
		if strings.HasPrefix(words, "plan") {
			want = "" // who may not change it learns no more
		}
		testkit.Eventually(t, words+" names the object", func() error {
			out, err := p.try(t, strings.Fields(words)...)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "forbidden") {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
}
