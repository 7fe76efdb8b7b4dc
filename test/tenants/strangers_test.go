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
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// stranger calls the webhooks as any pod of the cluster can: it reaches their port
// and has no credentials.
type stranger struct{ client http.Client }

func newStranger() *stranger {
	return &stranger{client: http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}}
}

// post sends a review and returns the answer.
func (s *stranger) post(t *testing.T, path string, review []byte) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+suite.Operator.Webhooks.Address+path, bytes.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return response.StatusCode, string(raw)
}

// reviewsOf are what an attacker would send to learn of a fleet, or to have its pods
// evicted: by the name of the webhook, with the eviction for all others.
func reviewsOf(namespace, fleet string) map[string][]byte {
	review := func(operation, subresource, group, version, resource, name string, object, old any) []byte {
		request := map[string]any{
			"uid": "1", "operation": operation, "namespace": namespace, "name": name, "subResource": subresource,
			"kind":     map[string]any{"group": group, "version": version, "kind": "Any"},
			"resource": map[string]any{"group": group, "version": version, "resource": resource},
			"userInfo": map[string]any{"username": "mallory"}, "object": object,
		}
		if old != nil {
			request["oldObject"] = old
		}
		raw, _ := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
		return raw
	}
	scale := func(replicas int) any {
		return map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale",
			"metadata": map[string]any{"namespace": namespace, "name": fleet}, "spec": map[string]any{"replicas": replicas},
		}
	}
	overlapping := testkit.MakePodManager(namespace, "spy").Obj()
	overlapping.TypeMeta = metav1.TypeMeta{APIVersion: "apps.mycompany.com/v1", Kind: "PodManager"}
	convert, _ := json.Marshal(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": map[string]any{
		"uid": "1", "desiredAPIVersion": "apps.mycompany.com/v1alpha1", "objects": []any{overlapping},
	}})
	return map[string][]byte{
		paths.Conversion: convert,
		paths.Evictions: review("CREATE", "eviction", "", "v1", "pods", fleet+"-0", policyv1.Eviction{
			TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fleet + "-0"},
		}, nil),
		"validate.scale.mycompany.com":              review("UPDATE", "scale", "apps.mycompany.com", "v1", "podmanagers", fleet, scale(0), scale(2)),
		"validate.v1.podmanager.apps.mycompany.com": review("CREATE", "", "apps.mycompany.com", "v1", "podmanagers", "spy", overlapping, nil),
	}
}

// A caller without credentials, at whatever path, has nothing written and learns
// nothing; and the API server is answered all the same.
func TestStrangersCauseAndLearnNothing(t *testing.T) {
	namespace := suite.Namespace(t)
	const fleet = "victim"
	pm := testkit.MakePodManager(namespace, fleet).Replicas(2).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	suite.Create(t, pm)
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: namespace, Name: fleet + "-0"}
	testkit.Eventually(t, "the victim serves", func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(pm), pm); err != nil {
			return err
		}
		if pm.Status.ReadyReplicas != 2 {
			return errNotYet
		}
		return nil
	})
	s, reviews := newStranger(), reviewsOf(namespace, fleet)
	guessed := "/" + strings.Repeat("0", 32)
	for name, path := range paths.All() {
		review, ok := reviews[name]
		if !ok {
			review = reviews[paths.Evictions]
		}
		for _, path := range []string{path, path + "/", path + guessed, guessed + path, path + guessed + guessed} {
			code, body := s.post(t, path, review)
			if code != http.StatusNotFound || strings.Contains(body, "allowed") || strings.Contains(body, fleet) || strings.Contains(body, "uid") {
				t.Errorf("%s: a stranger is answered %d: %.300s", path, code, body)
			}
		}
		if err := suite.Client.Get(t.Context(), key, pod); err != nil {
			t.Fatal(err)
		}
		if at, written := pod.Annotations[appsv1.AnnotationEvictionRequested]; written {
			t.Fatalf("%s: a stranger had the operator write %s=%s onto a pod", path, appsv1.AnnotationEvictionRequested, at)
		}
	}
	testkit.Eventually(t, "the API server has the operator hold an eviction", func() error {
		err := suite.Client.SubResource("eviction").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: key.Name}},
			&policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{}})
		if apierrors.IsTooManyRequests(err) {
			return nil
		}
		return fmt.Errorf("the eviction: %w", err)
	})
}

// A client that knows where the API server calls could call in its place: only
// administrators may read that.
func TestOnlyAdministratorsReadWhereTheWebhooksAre(t *testing.T) {
	namespace := suite.Namespace(t)
	c := tenant(t, namespace, "reader-of-all", may("*", "*", "*"))
	for _, object := range []client.Object{&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}} {
		if err := c.Get(t.Context(), client.ObjectKey{Name: testkit.WebhookConfiguration}, object); !apierrors.IsForbidden(err) {
			t.Errorf("a tenant reads %T: %v", object, err)
		}
	}
	// What the plugin knows the operator by, it may.
	var identity admissionregistrationv1.ValidatingWebhookConfiguration
	testkit.Eventually(t, "the operator's identity is published", func() error {
		if err := c.Get(t.Context(), client.ObjectKey{Name: "pod-operator-identity"}, &identity); err != nil {
			return err
		}
		if len(identity.Webhooks) != 1 || len(identity.Webhooks[0].ClientConfig.CABundle) == 0 {
			return fmt.Errorf("identity: %w", errNotYet)
		}
		return nil
	})
	raw, err := json.Marshal(identity)
	if err != nil {
		t.Fatal(err)
	}
	var secret admissionregistrationv1.ValidatingWebhookConfiguration
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Name: testkit.WebhookConfiguration}, &secret); err != nil {
		t.Fatal(err)
	}
	for _, w := range secret.Webhooks {
		called := *w.ClientConfig.URL
		if parts := strings.Split(called, "/"); len(parts[len(parts)-1]) != 32 || bytes.Contains(raw, []byte(parts[len(parts)-1])) {
			t.Errorf("%s is called at %s, and published is %s", w.Name, called, raw)
		}
	}
}
