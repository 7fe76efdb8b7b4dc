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

package doctor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// certificate is valid from and until so many hours from noon.
func certificate(t *testing.T, from, until int) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: noon.Add(time.Duration(from) * time.Hour), NotAfter: noon.Add(time.Duration(until) * time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func expect(t *testing.T, got Finding, level Level, text string) {
	t.Helper()
	if got.Level != level || !strings.Contains(got.Text, text) || (got.Level == ToDo) != (got.Advice != "") {
		t.Errorf("%+v, want %s with %q, and advice only where there is something to do", got, level, text)
	}
}

func TestCertificatesAreJudgedByTheirDates(t *testing.T) {
	for name, c := range map[string]struct {
		bundle []byte
		level  Level
		text   string
	}{
		"none":              {nil, ToDo, "trusts no certificate"},
		"not one":           {[]byte("nonsense"), ToDo, "trusts no certificate"},
		"in its prime":      {certificate(t, -10, 90), OK, "valid for 3d18h"},
		"near its end":      {certificate(t, -99, 1), ToDo, "expires in 60m and was not renewed"},
		"expired":           {certificate(t, -100, -2), ToDo, "expired 120m ago"},
		"of tomorrow":       {certificate(t, 24, 90), ToDo, "valid only in 24h"},
		"one old, one new":  {append(certificate(t, -100, -2), certificate(t, -1, 99)...), OK, "valid for"},
		"new before an old": {append(certificate(t, -1, 99), certificate(t, -100, -2)...), OK, "valid for"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, bundleFinding("webhooks", c.bundle, noon), c.level, c.text) })
	}
}

func TestClocksThatDisagree(t *testing.T) {
	for name, c := range map[string]struct {
		there time.Time
		level Level
		text  string
	}{
		"the same second":  {noon, OK, "agree"},
		"a little behind":  {noon.Add(-4 * time.Second), OK, "agree"},
		"a minute behind":  {noon.Add(-61 * time.Second), ToDo, "is 1m0s behind this machine's"},
		"ten seconds fast": {noon.Add(11 * time.Second), ToDo, "10s ahead of this machine's"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, clockFinding("the API server's", c.there, noon, noon.Add(time.Second)), c.level, c.text)
		})
	}
}

func TestWhoLeads(t *testing.T) {
	held := func(by string, ago time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(by), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(noon.Add(-ago))),
		}}
	}
	expect(t, leaseFinding(held("pod-a_1", 5*time.Second), noon), OK, "pod-a leads")
	expect(t, leaseFinding(held("pod-a_1", time.Hour), noon), ToDo, "has not renewed its lease for 60m")
	expect(t, leaseFinding(held("pod-a_1", -time.Minute), noon), ToDo, "ahead of this machine")
	expect(t, leaseFinding(held("", 0), noon), ToDo, "no operator holds the lease")
}

func TestTheOperatorsDeployment(t *testing.T) {
	d := &kappsv1.Deployment{}
	expect(t, deploymentFinding(d), ToDo, "no replica")
	d.Status.AvailableReplicas = 1
	expect(t, deploymentFinding(d), OK, "1 of 1 replicas")
}

func crd(stored []string, versions ...apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
	c := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: versions}}
	c.Status.StoredVersions = stored
	c.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	return c
}

func TestTheCRD(t *testing.T) {
	v1 := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true, Storage: true}
	old := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1alpha1", Served: true}
	expect(t, crdFindings(&apiextensionsv1.CustomResourceDefinition{}, noon)[0], ToDo, "not established")
	expect(t, crdFindings(crd([]string{"v1"}, v1, old), noon)[0], OK, "served as v1 and v1alpha1, stored as v1")
	expect(t, crdFindings(crd([]string{"v1alpha1", "v1"}, v1), noon)[1], Note, "may still be stored as v1alpha1")
	expect(t, crdFindings(crd(nil, old), noon)[0], ToDo, "does not serve and store v1")
}

func TestPodManagersThatNoOperatorReconciles(t *testing.T) {
	pm := appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 2, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	pm.Status.ObservedGeneration = 1
	expect(t, workFindings([]appsv1.PodManager{pm}, noon)[0], ToDo, "shop/web")
	pm.ManagedFields = []metav1.ManagedFieldsEntry{{Time: ptr.To(metav1.NewTime(noon.Add(-time.Second)))}}
	expect(t, workFindings([]appsv1.PodManager{pm}, noon)[0], OK, "1 PodManager")
	pm.Status.Conditions = []metav1.Condition{{Type: appsv1.ConditionStalled, Reason: appsv1.ReasonQuotaExceeded}}
	expect(t, workFindings([]appsv1.PodManager{pm}, noon)[1], ToDo, "stalled: shop/web (QuotaExceeded)")
	pm.Status.Conditions[0].Reason = appsv1.ReasonNamespaceTerminating
	if got := workFindings([]appsv1.PodManager{pm}, noon); len(got) != 1 {
		t.Errorf("one that goes with its namespace: %+v", got)
	}
}

func TestFindingsOnATerminal(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, kube.NewPaint(true), []Finding{ok("a", "fine"), note("b", "hm"), todo("c", "bad", "mend it")}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[32mok    \x1b[0m a            fine", "-> mend it", "1 thing to do."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%q", want, &out)
		}
	}
}

// A webhook that is called at another path does not answer, and doctor says so.
func TestWhereWebhooksAreCalled(t *testing.T) {
	const name = "validate.v1.podmanager.apps.mycompany.com"
	right := paths.All()[name]
	secret := right + "/" + strings.Repeat("0a", 16)
	for what, test := range map[string]struct {
		config admissionv1.WebhookClientConfig
		name   string
		want   int
	}{
		"by Service, at the right path": {admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Path: &secret}}, name, 0},
		"by URL, at the right path":     {admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1" + secret)}, name, 0},
		"by Service, at another":        {admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Path: ptr.To("/gone")}}, name, 1},
		"by Service, at none":           {admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{}}, name, 1},
		"by URL, at another":            {admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/gone")}, name, 1},
		"one of another operator":       {admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/gone")}, "other", 0},
	} {
		t.Run(what, func(t *testing.T) {
			got := pathFindings("webhooks", map[string]admissionv1.WebhookClientConfig{test.name: test.config})
			if len(got) != test.want {
				t.Fatalf("the findings are %v", got)
			}
			if test.want > 0 {
				expect(t, got[0], ToDo, "is served at "+right)
			}
		})
	}
	open := pathFindings("webhooks", map[string]admissionv1.WebhookClientConfig{name: {Service: &admissionv1.ServiceReference{Path: &right}}})
	if len(open) != 1 {
		t.Fatalf("without a secret the findings are %v", open)
	}
	expect(t, open[0], ToDo, "called at a path without a secret")
	// A finding is pasted into chats: no secret is in it.
	elsewhere := pathFindings("webhooks", map[string]admissionv1.WebhookClientConfig{paths.Evictions: {Service: &admissionv1.ServiceReference{Path: &secret}}})
	if len(elsewhere) != 1 || strings.Contains(fmt.Sprint(elsewhere), "0a0a") {
		t.Errorf("the findings are %v", elsewhere)
	}
}

// A configuration that was deleted is to be made again, except where the
// installation has no webhooks.
func TestAMissingConfiguration(t *testing.T) {
	expect(t, missingConfiguration("ValidatingWebhookConfiguration", "pod-operator-admission", true), ToDo, "there is no ValidatingWebhookConfiguration")
	expect(t, missingConfiguration("ValidatingWebhookConfiguration", "pod-operator-admission", false), Note, "there is no ValidatingWebhookConfiguration")
}

// TestAMissingConfigurationIsNoticedHoweverItWasInstalled: also where the CRD has no
// conversion, as the chart installs it by default.
func TestAMissingConfigurationIsNoticedHoweverItWasInstalled(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	deployment := func(args ...string) *kappsv1.Deployment {
		d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: deploymentName}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "proxy"}, {Name: "manager", Args: args}}
		return d
	}
	crd := func(bundle []byte) *apiextensionsv1.CustomResourceDefinition {
		d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: podManagers}}
		if bundle != nil {
			d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: bundle},
			}}
		}
		return d
	}
	for name, test := range map[string]struct {
		objects []client.Object
		want    Level
	}{
		"a Deployment that serves them":        {[]client.Object{crd(nil), deployment("--webhook-bind-address=:9443")}, ToDo},
		"a Deployment that says nothing":       {[]client.Object{crd(nil), deployment()}, ToDo},
		"a CRD with a conversion":              {[]client.Object{crd([]byte("x"))}, ToDo},
		"a Deployment without them":            {[]client.Object{crd(nil), deployment("--webhook-bind-address=0")}, Note},
		"an operator of which nothing is seen": {[]client.Object{crd(nil)}, Note},
	} {
		c := &checkup{
			client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.objects...).Build(),
			operator: "ops", configuration: "pod-operator-admission", now: time.Now,
		}
		if findings := c.webhooks(t.Context()); !has(findings, test.want, "there is no ValidatingWebhookConfiguration") {
			t.Errorf("%s: %+v, want %s", name, findings, test.want)
		}
	}
}

// A deadline that the operator cuts is a surprise for those who wrote it.
func TestDeadlinesThatTheOperatorCutsAreNoticed(t *testing.T) {
	deployment := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: deploymentName}}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Args: []string{"--max-eviction-hold=20m"}}}
	fleet := func(policy appsv1.DisruptionPolicy, seconds int32) []appsv1.PodManager {
		pm := appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		pm.Spec.Disruption = appsv1.Disruption{Policy: policy, DeadlineSeconds: &seconds}
		return []appsv1.PodManager{pm}
	}
	for name, test := range map[string]struct {
		objects  []client.Object
		managers []appsv1.PodManager
		want     string
	}{
		"longer than its flag":             {[]client.Object{deployment}, fleet(appsv1.DisruptionSurgeFirst, 1201), "longer than 20m0s, the operator's --max-eviction-hold in its Deployment"},
		"as long as its flag":              {[]client.Object{deployment}, fleet(appsv1.DisruptionSurgeFirst, 1200), ""},
		"evictions do not wait":            {[]client.Object{deployment}, fleet(appsv1.DisruptionAllow, 86400), ""},
		"its flags cannot be read":         {nil, fleet(appsv1.DisruptionSurgeFirst, 86400), "longer than 1h0m0s, the operator's --max-eviction-hold by default"},
		"no more than the default, unread": {nil, fleet(appsv1.DisruptionSurgeFirst, 3600), ""},
	} {
		c := &checkup{client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(test.objects...).Build(), operator: "ops"}
		got := c.cutDeadlines(t.Context(), test.managers)
		if test.want == "" && len(got) > 0 || test.want != "" && !has(got, Note, test.want) {
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
	}
}
