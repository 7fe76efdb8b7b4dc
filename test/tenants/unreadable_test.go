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
	"fmt"
	"net/http"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// unreadable is a PodManager that the schema admits and no typed client can
// decode: for a string with a format the API server takes an empty list.
func unreadable(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name, "finalizers": []any{appsv1.Finalizer}},
		"spec": map[string]any{
			"image": "nginx:1.27", "replicas": int64(1),
			"volumeClaimTemplates": []any{map[string]any{
				"metadata": map[string]any{"name": "data"},
				"spec": map[string]any{
					"accessModes": []any{"ReadWriteOnce"},
					"resources":   map[string]any{"requests": map[string]any{"storage": "1Gi"}},
				},
				"status": map[string]any{"conditions": []any{
					map[string]any{"type": "x", "status": "True", "lastProbeTime": []any{}},
				}},
			}},
		},
	}}
	object.SetGroupVersionKind(appsv1.GroupVersion.WithKind("PodManager"))
	return object
}

// What the decoder cannot hold is refused where a schema can say so. It was
// stored, and then no PodManager of the cluster was kept any more.
func TestPoisonIsRefused(t *testing.T) {
	namespace := suite.Namespace(t)
	for field, spec := range map[string]string{
		"maxSurge":        `{"image": "a", "update": {"maxSurge": 9999999999}}`,
		"maxSurge below":  `{"image": "a", "update": {"maxSurge": 2147483647}}`,
		"timeout":         `{"image": "a", "terminating": {"timeout": "9999999999h"}}`,
		"probe port":      `{"template": {"spec": {"containers": [{"name": "app", "image": "a", "livenessProbe": {"tcpSocket": {"port": 99999999999}}}]}}}`,
		"host port":       `{"template": {"spec": {"containers": [{"name": "app", "image": "a", "ports": [{"containerPort": 99999999999}]}]}}}`,
		"cpu":             `{"template": {"spec": {"containers": [{"name": "app", "image": "a", "resources": {"requests": {"cpu": "1e1.5"}}}]}}}`,
		"cpu for hours":   `{"template": {"spec": {"containers": [{"name": "app", "image": "a", "resources": {"requests": {"cpu": "1e-999999999"}}}]}}}`,
		"reserveOrdinals": `{"image": "a", "reserveOrdinals": [99999999999]}`,
	} {
		object := &unstructured.Unstructured{}
		text := fmt.Sprintf(`{"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager", "metadata": {"namespace": %q, "name": "poison"}, "spec": %s}`, namespace, spec)
		if err := object.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := suite.Client.Create(t.Context(), object); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v, want it refused by the schema", field, err)
		}
	}
}

// One object that cannot be decoded is set aside and named, and the pods of all
// others are kept. It can be repaired, and it can be deleted.
func TestAnObjectThatCannotBeReadIsSetAside(t *testing.T) {
	namespace, victim := suite.Namespace(t), suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(victim, "before").Replicas(1).Obj())
	suite.Fleet(t, victim, "before").ExpectReady(1)

	withoutOperator(t, func() { // its webhook would refuse what it cannot read
		suite.Create(t, unreadable(namespace, "poison"))
		suite.Create(t, unreadable(namespace, "doomed"))
	})
	typed := &appsv1.PodManager{}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "poison"}, typed); err == nil {
		t.Fatal("the object can be decoded: the test cannot fail")
	}
	expectEvent(t, namespace, "poison", "Unreadable")
	scaleTo(t, victim, "before", 3)
	suite.Fleet(t, victim, "before").ExpectReady(3)

	doomed := unreadable(namespace, "doomed")
	if err := suite.Client.Delete(t.Context(), doomed); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the unreadable object is gone", func() error {
		err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(doomed), doomed)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errNotYet, err)
	})
	mend := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "remove", "path": "/spec/volumeClaimTemplates/0/status"}]`))
	if err := suite.Client.Patch(t.Context(), unreadable(namespace, "poison"), mend); err != nil {
		t.Fatalf("it cannot be mended: %v", err)
	}
	// Its pod waits for a volume, which no storage here makes.
	testkit.Eventually(t, "the mended object has its pod", func() error {
		if n := len(suite.Fleet(t, namespace, "poison").Live()); n != 1 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
}

// The same through the status, which no webhook guards, while the operator runs.
func TestAStatusThatCannotBeReadIsSetAside(t *testing.T) {
	namespace, victim := suite.Namespace(t), suite.Namespace(t)
	for _, ns := range []string{namespace, victim} {
		suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(1).Obj())
		suite.Fleet(t, ns, "web").ExpectReady(1)
	}
	patchStatus(t, namespace, "web", `{"status": {"rollback": {"from": "a", "to": "b", "time": []}}}`)
	expectEvent(t, namespace, "web", "Unreadable")
	suite.Create(t, testkit.MakePodManager(victim, "after").Replicas(2).Obj())
	suite.Fleet(t, victim, "after").ExpectReady(2)
	scaleTo(t, victim, "web", 3)
	suite.Fleet(t, victim, "web").ExpectReady(3)
	if code := ready(t, suite.Operator.ProbeAddress); code != http.StatusOK {
		t.Errorf("readyz answers %d", code)
	}

	patchStatus(t, namespace, "web", `{"status": {"rollback": null}}`)
	scaleTo(t, namespace, "web", 2)
	suite.Fleet(t, namespace, "web").ExpectReady(2)
}

func patchStatus(t testing.TB, namespace, name, patch string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(appsv1.GroupVersion.WithKind("PodManager"))
	object.SetNamespace(namespace)
	object.SetName(name)
	if err := suite.Client.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func scaleTo(t testing.TB, namespace, name string, n int32) {
	t.Helper()
	pm := &appsv1.PodManager{}
	pm.Namespace, pm.Name = namespace, name
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, n))
	if err := suite.Client.Patch(t.Context(), pm, patch); err != nil {
		t.Fatal(err)
	}
}

func expectEvent(t testing.TB, namespace, about, reason string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("an event %s is about %s", reason, about), func() error {
		var list eventsv1.EventList
		if err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == reason && e.Regarding.Name == about && strings.Contains(e.Note, about) {
				return nil
			}
		}
		return errNotYet
	})
}

// ready asks an operator's readiness probe.
func ready(t testing.TB, address string) int {
	t.Helper()
	response, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
