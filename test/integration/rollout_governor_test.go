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

package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// rejected are pods that every node turns away as soon as they come.
const rejected = `
image: nginx:1.27
failedPods: {limit: 2, backoff: {initial: 1s, max: 8s}}
template: {metadata: {annotations: {localkube.mycompany.com/reject: OutOfcpu}}, spec: {containers: [{name: app}]}}
`

// Pods that the kubelet rejects are replaced with a growing wait; no more
// corpses are kept than the limit says, beside those that wait for their
// successor; the condition names the cause, one warning reports it, and a
// template that works does not wait.
func TestPodsThatTheKubeletRejects(t *testing.T) {
	t.Parallel()
	for _, identity := range []string{"Ordinal", "Random"} {
		t.Run(identity, func(t *testing.T) {
			t.Parallel()
			f := emptyFleet(t)
			began := time.Now()
			f.Apply(2, "identity: "+identity+rejected)
			w := f.watch(func(pods map[string]*corev1.Pod) string {
				corpses := 0
				for _, p := range pods {
					if p.Status.Phase == corev1.PodFailed && p.DeletionTimestamp == nil {
						corpses++
					}
				}
				if corpses > 4 { // the limit, and one for each replica that waits
					return fmt.Sprintf("%d failed pods are kept", corpses)
				}
				return ""
			})
			f.Expect("they failed again and again", func(pm *appsv1.PodManager) error {
				if r := pm.Status.Failures; r == nil || r.Count < 4 {
					return fmt.Errorf("failures are %+v", r)
				}
				return nil
			})
			if _, message := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonPodsFailing); !strings.Contains(message, "OutOfcpu") {
				t.Errorf("Stalled does not name the cause: %s", message)
			}
			f.ExpectWarnings(1)
			w.hear(f)
			// In four failures, of which the second waits 1 s and the third 2 s,
			// not many pods were made; from then on two every 4 s or later. The
			// longest wait is longer, because two failures that lie more than
			// twice that apart are no row, and machines are slow.
			n := f.Count("create", "pods", "")
			if took := time.Since(began); n > 12+2*int(took/(4*time.Second)) {
				t.Errorf("%d pods were created in %s", n, took)
			}
			f.Patch(`{"template":{"metadata":{"annotations":{"localkube.mycompany.com/reject":null}}}}`)
			f.ExpectRolledOut(2)
			f.ExpectWarnings(1)
		})
	}
}

// A full quota is reported once and tried again until there is room.
func TestAQuotaThatIsFull(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, "update: {maxUnavailable: 0, maxSurge: 1}"+plain)
	f.ApplyYAML("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: 2}}")
	testkit.Eventually(t, "the quota is counted", func() error {
		if used := f.Kubectl("get", "quota", "few", "-o", "jsonpath={.status.used.pods}"); used != "2" {
			return fmt.Errorf("it says %q", used)
		}
		return nil
	})
	// The rollout needs one more pod than the quota allows: it says so and
	// touches no pod meanwhile.
	before := f.UIDs()
	f.Patch(env("1"))
	if _, message := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded); !strings.Contains(message, "few") {
		t.Errorf("Stalled does not name the quota: %s", message)
	}
	testkit.Eventually(t, "it is tried again", func() error {
		if n := f.Count("create", "pods", ""); n < 4 {
			return fmt.Errorf("%d pods were asked for", n)
		}
		return nil
	})
	f.ExpectSamePods(before)
	f.ExpectWarnings(1)
	f.Kubectl("delete", "quota", "few")
	f.ExpectRolledOut(2)
	f.ExpectNewPods(before)
}

// refuser is an admission webhook that says no to the pods of a namespace.
func (f *fleet) refuser(words string) (stop func()) {
	f.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: false, Result: &metav1.Status{Message: words, Code: http.StatusForbidden},
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "refuser-" + f.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "refuser.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL), CABundle: ca},
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	if err := suite.Client.Create(f.Context(), hook); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		server.Close()
		_ = suite.Client.Delete(context.Background(), hook)
	})
	testkit.Eventually(f, "the webhook is in force", func() error {
		if _, err := suite.TryKubectl(f, "-n", f.Namespace, "run", "canary", "--image=x", "--dry-run=server"); err == nil {
			return errors.New("a pod passes")
		}
		return nil
	})
	return server.Close
}

// The refusal of an admission webhook is reported in its own words, once. A
// webhook that no longer answers is reported by its name. When it is gone the
// pods come.
func TestAnAdmissionWebhookRefusesPods(t *testing.T) {
	t.Parallel()
	f := emptyFleet(t)
	stop := f.refuser("not on a Sunday")
	f.Apply(2, plain)
	if _, message := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonPodsRefused); !strings.Contains(message, "not on a Sunday") {
		t.Errorf("Stalled does not say what the webhook said: %s", message)
	}
	f.ExpectWarnings(1)
	stop()
	f.Kubectl("scale", "pm", "web", "--replicas=3")
	f.Expect("the condition names the webhook that does not answer", func(pm *appsv1.PodManager) error {
		for _, c := range pm.Status.Conditions {
			if c.Type == appsv1.ConditionStalled && strings.Contains(c.Message, `failed calling webhook "refuser.example.com"`) {
				return nil
			}
		}
		return fmt.Errorf("it does not: %+v", pm.Status.Conditions)
	})
	f.Kubectl("delete", "validatingwebhookconfiguration", "refuser-"+f.Namespace)
	f.ExpectRolledOut(3)
	f.ExpectWarnings(1)
}
