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

// Package shards tests operators that are all active at once, on the real API
// server: real processes of the real binary, each with a login of its own, so
// that the audit log tells who did what.
package shards

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

// group is whose members have the operator's rights.
const group = "operators"

func TestMain(m *testing.M) {
	testkit.Main(m, &suite, testkit.Setup{WithoutOperator: true, Before: grant, Cluster: localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
		Nodes: localkube.NodeOptions{Count: 4, Pods: 1000, CPU: "64"},
	}})
}

// grant gives the group what config/rbac and config/shards give the operator's
// ServiceAccount, and the right to stand in for it: the admission policies let
// no other account write revisions.
func grant(ctx context.Context, s *testkit.Suite) error {
	subject := rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}
	var objects []client.Object
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), "config", "shards", "role.yaml"))
	if err != nil {
		return err
	}
	for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			return err
		}
		var obj client.Object
		switch kind.Kind {
		case "Role":
			obj = &rbacv1.Role{}
		case "ClusterRole":
			obj = &rbacv1.ClusterRole{}
		default:
			continue // bindings are made below
		}
		if err := yaml.UnmarshalStrict(doc, obj); err != nil {
			return err
		}
		objects = append(objects, obj)
	}
	for _, name := range []string{"pod-operator-manager-role", "pod-operator-shards-claims-role"} {
		objects = append(objects, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "test-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{subject},
		})
	}
	objects = append(objects, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-shards", Namespace: testkit.OperatorNamespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pod-operator-shards-role"},
		Subjects:   []rbacv1.Subject{subject},
	}, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-leader", Namespace: testkit.OperatorNamespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pod-operator-leader-election-role"},
		Subjects:   []rbacv1.Subject{subject},
	}, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "test-stand-in", Namespace: testkit.OperatorNamespace},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{testkit.OperatorServiceAccount}, Verbs: []string{"impersonate"},
		}},
	}, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "test-stand-in", Namespace: testkit.OperatorNamespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "test-stand-in"},
		Subjects:   []rbacv1.Subject{subject},
	})
	for _, obj := range objects {
		if err := s.Client.Create(ctx, obj); err != nil {
			return fmt.Errorf("create %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}
