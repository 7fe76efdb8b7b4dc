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

package binary

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// webhook installs a webhook that may refuse or change the pods that are created
// in the namespace. It returns when the webhook is in force.
func (p *plot) webhook(review func(*corev1.Pod) (refusal string, patch []map[string]any)) client.Object {
	p.t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, review)
	}))
	pki := filepath.Join(p.Cluster.Dir(), "pki")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "serving.crt"), filepath.Join(pki, "serving.key"))
	p.must(err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	p.t.Cleanup(server.Close)
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "foreign-" + p.namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "pods.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: p.Cluster.RESTConfig().CAData,
			},
			NamespaceSelector: p.onlyHere(), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	p.create(hook)
	p.t.Cleanup(func() { _ = p.Client.Delete(context.Background(), hook) })
	testkit.Eventually(p.t, "the webhook is in force", func() error {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "probe", Labels: map[string]string{"probe": "true"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "probe"}}},
		}
		err := p.Client.Create(p.t.Context(), probe, client.DryRunAll)
		if err == nil && len(probe.Spec.Containers) == 1 {
			return errors.New("no webhook refuses the pod")
		}
		return nil
	})
	return hook
}

// onlyHere selects the plot's namespace.
func (p *plot) onlyHere() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: p.namespace}}
}

func answer(w http.ResponseWriter, r *http.Request, review func(*corev1.Pod) (string, []map[string]any)) {
	var body admissionv1.AdmissionReview
	pod := &corev1.Pod{}
	err := json.NewDecoder(r.Body).Decode(&body)
	if err == nil {
		err = json.Unmarshal(body.Request.Object.Raw, pod)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refusal, patch := review(pod)
	response := &admissionv1.AdmissionResponse{UID: body.Request.UID, Allowed: refusal == ""}
	if refusal != "" {
		response.Result = &metav1.Status{Message: refusal, Code: http.StatusForbidden}
	}
	if patch != nil {
		response.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
		if response.Patch, err = json.Marshal(patch); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	body.Request, body.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the API server asks again
}
