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
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/root"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// plugin runs verbs of the plugin as one person in one namespace.
type plugin struct {
	namespace  string
	kubeconfig string
	// flags come before the verb.
	flags []string
}

// as makes a person with the roles of those who work in a namespace, and the
// plugin as they use it.
func as(t testing.TB, namespace, name string) plugin {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	suite.Create(t, account)
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	})
	config, err := suite.Cluster.RESTConfigForServiceAccount(t.Context(), namespace, name, 3600)
	if err != nil {
		t.Fatalf("log %s/%s in: %v", namespace, name, err)
	}
	p := plugin{namespace: namespace, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), flags: []string{"--explain-url", origin}}
	if err := suite.Cluster.WriteKubeconfig(p.kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, name+" may work in "+namespace, func() error {
		_, err := p.try(t, "status")
		return err
	})
	return p
}

// admin is the plugin as the owner of the cluster uses it, with a client
// certificate.
func admin(namespace string) plugin {
	return plugin{namespace: namespace, kubeconfig: suite.Cluster.KubeconfigPath(), flags: []string{"--explain-url", origin}}
}

// connection are the flags that lead to the cluster.
func (p plugin) connection() []string {
	return []string{"--kubeconfig", p.kubeconfig, "-n", p.namespace}
}

// with is the same person with other flags before the verb.
func (p plugin) with(flags ...string) plugin {
	p.flags = flags
	return p
}

// try runs a verb and returns what it printed on both streams.
func (p plugin) try(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	session := kube.NewSession(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	cmd := root.New(session)
	if args[0] != "__complete" {
		args = slices.Concat(p.connection(), p.flags, args)
	}
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// must runs a verb that has to work.
func (p plugin) must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := p.try(t, args...)
	t.Logf("$ kubectl podmanager %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		t.Fatalf("kubectl podmanager %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// fleet makes a PodManager called web and waits for it.
func fleet(t testing.TB, namespace string, replicas int32) {
	t.Helper()
	suite.Create(t, testkit.MakePodManager(namespace, "web").Replicas(replicas).Obj())
	expectSettled(t, namespace)
}

// patch changes web as ada.
func patch(t testing.TB, namespace, body string) {
	t.Helper()
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	suite.Patch(t, pm, body, client.FieldOwner("ada"))
}

func podUIDs(t testing.TB, namespace string) map[string]types.UID {
	t.Helper()
	return testkit.UIDs(suite.Fleet(t, namespace, "web").Pods())
}

// expectSettled waits until web is at its goal for its latest spec.
func expectSettled(t testing.TB, namespace string) {
	t.Helper()
	suite.Fleet(t, namespace, "web").Expect("it is at its goal", func(pm *appsv1.PodManager) error {
		if !atRest(pm.Status.Conditions) {
			return errors.New("it is not at rest")
		}
		return testkit.RolledOut(pm, int(*pm.Spec.Replicas))
	})
}

// atRest: nothing is said but that the fleet is ready and available.
func atRest(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, appsv1.ConditionReady) && meta.IsStatusConditionTrue(conditions, appsv1.ConditionAvailable) &&
		len(conditions) == 2
}
