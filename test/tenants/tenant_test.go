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
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// may is a right in a namespace.
func may(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// tenant logs in as a user who has these rights in a namespace and no others.
func tenant(t testing.TB, namespace, user string, rights ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	suite.Create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, Rules: rights})
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
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

// theOperator logs in as the operator's account.
func theOperator(t testing.TB) client.Client {
	t.Helper()
	config, err := suite.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// errNotYet: what is waited for has not happened.
var errNotYet = errors.New("not yet")

// expectRefused: the API server said no, with this sentence in its answer.
func expectRefused(t testing.TB, what string, err error, sentence string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: allowed, want it refused: %s", what, sentence)
	case !strings.Contains(err.Error(), sentence):
		t.Errorf("%s: refused with\n%v\nwant\n%s", what, err, sentence)
	}
}

func expectAllowed(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: refused: %v", what, err)
	}
}
