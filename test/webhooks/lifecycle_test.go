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
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestTheOperatorIsDown says who notices. docs/webhooks.md has it as a table.
func TestTheOperatorIsDown(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	s := own(t, localkube.Everything())
	options := webhookOptions(t)
	stop := serve(t, s, options)
	ns := s.Namespace(t)
	c, ctx := s.Client, t.Context()
	key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: ns, Name: name} }
	object := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	merge := func(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

	for _, name := range []string{"web", "mixed"} {
		if err := c.Create(ctx, testkit.MakePodManager(ns, name).Replicas(2).Obj()); err != nil {
			t.Fatal(err)
		}
	}
	// This one was once written as v1alpha1, and managedFields remember.
	if err := c.Patch(ctx, &v1alpha1.PodManager{ObjectMeta: object("mixed")}, merge(`{"metadata":{"labels":{"through":"v1alpha1"}},"spec":{"size":2}}`)); err != nil {
		t.Fatal(err)
	}
	pods := func() map[types.UID]bool {
		var list corev1.PodList
		if err := c.List(ctx, &list, client.InNamespace(ns)); err != nil {
			t.Fatalf("list pods: %v", err)
		}
		uids := map[types.UID]bool{}
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				uids[list.Items[i].UID] = true
			}
		}
		return uids
	}
	testkit.Eventually(t, "4 pods run", func() error {
		if n := len(pods()); n != 4 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	before := pods()
	stop()

	const unreachable = "connect: connection refused"
	broken := testkit.MakePodManager(ns, "broken").Replicas(0).Template(corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "app", Ports: []corev1.ContainerPort{{ContainerPort: 70000}}}},
	}}).Obj()
	for _, tt := range []struct {
		what string
		do   func() error
		// refused is a part of the error, or empty.
		refused string
	}{
		{"read as v1", func() error { return c.Get(ctx, key("web"), &appsv1.PodManager{}) }, ""},
		{"list as v1", func() error { return c.List(ctx, &appsv1.PodManagerList{}, client.InNamespace(ns)) }, ""},
		{"create as v1", func() error { return c.Create(ctx, testkit.MakePodManager(ns, "new").Obj()) }, ""},
		{"change as v1", func() error {
			return c.Patch(ctx, &appsv1.PodManager{ObjectMeta: object("web")}, merge(`{"spec":{"image":"nginx:1.28"}}`))
		}, ""},
		{"scale", func() error {
			return c.SubResource("scale").Patch(ctx, &appsv1.PodManager{ObjectMeta: object("web")}, merge(`{"spec":{"replicas":1}}`))
		}, ""},
		{"delete", func() error { return c.Delete(ctx, &appsv1.PodManager{ObjectMeta: object("new")}) }, ""},
		{
			"what the schema forbids", func() error { return c.Create(ctx, testkit.MakePodManager(ns, "bad").Replicas(-1).Obj()) },
			"spec.replicas in body should be greater than or equal to 0",
		},
		{"what only the trial finds", func() error { return c.Create(ctx, broken) }, ""},
		{"what is too large for v1alpha1", func() error { return c.Create(ctx, noisy(t, ns)) }, ""},
		{"read as v1alpha1", func() error { return c.Get(ctx, key("web"), &v1alpha1.PodManager{}) }, unreachable},
		{"list as v1alpha1", func() error { return c.List(ctx, &v1alpha1.PodManagerList{}, client.InNamespace(ns)) }, unreachable},
		{"create as v1alpha1", func() error {
			return c.Create(ctx, &v1alpha1.PodManager{ObjectMeta: object("old"), Spec: v1alpha1.PodManagerSpec{Size: ptr.To(int32(1)), Image: "nginx"}})
		}, unreachable},
		{"change as v1 what was once written as v1alpha1", func() error {
			return c.Patch(ctx, &appsv1.PodManager{ObjectMeta: object("mixed")}, merge(`{"spec":{"minReadySeconds":1}}`))
		}, ""},
		{"apply as v1, server-side, what was once written as v1alpha1", func() error {
			applied := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"image": "nginx:1.27", "paused": true}}}
			applied.SetGroupVersionKind(appsv1.GroupVersion.WithKind("PodManager"))
			applied.SetNamespace(ns)
			applied.SetName("mixed")
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("gitops"), client.ForceOwnership)
		}, unreachable},
		{"read as v1 what was once written as v1alpha1", func() error { return c.Get(ctx, key("mixed"), &appsv1.PodManager{}) }, ""},
	} {
		err := tt.do()
		if tt.refused == "" && err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
		if tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.refused)
		}
	}
	if after := pods(); len(after) != len(before) {
		t.Errorf("%d pods run, %d did before", len(after), len(before))
	} else {
		for uid := range after {
			if !before[uid] {
				t.Errorf("pod %s is new", uid)
			}
		}
	}

	// Back again, everything works, and what got in unseen says what is wrong.
	serve(t, s, options)
	if err := c.Get(ctx, key("web"), &v1alpha1.PodManager{}); err != nil {
		t.Errorf("read as v1alpha1 again: %v", err)
	}
	if err := c.Patch(ctx, &appsv1.PodManager{ObjectMeta: object("broken")}, merge(`{"spec":{"replicas":1}}`)); err != nil {
		t.Errorf("scale a template that got in unseen: %v", err)
	}
	expectMarked(t, c, key("noise"))
	testkit.Eventually(t, "the status says that the pods are refused", func() error {
		var pm appsv1.PodManager
		if err := c.Get(ctx, key("broken"), &pm); err != nil {
			return err
		}
		for _, condition := range pm.Status.Conditions {
			if condition.Type == appsv1.ConditionStalled && strings.Contains(condition.Message, "must be between 1 and 65535") {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", pm.Status.Conditions)
	})
}

// expectMarked: an object that is too large for v1alpha1 spoils no list. It can
// be read as v1alpha1, and written as v1 alone.
func expectMarked(t *testing.T, c client.Client, key client.ObjectKey) {
	t.Helper()
	var list v1alpha1.PodManagerList
	if err := c.List(t.Context(), &list, client.InNamespace(key.Namespace)); err != nil || len(list.Items) < 3 {
		t.Errorf("list as v1alpha1: %v, %d objects", err, len(list.Items))
	}
	var old v1alpha1.PodManager
	if err := c.Get(t.Context(), key, &old); err != nil || !v1alpha1.IsTooLarge(old.Labels) {
		t.Errorf("read as v1alpha1: %v, labels %v", err, old.Labels)
	}
	for what, err := range map[string]error{
		"an update":               c.Update(t.Context(), old.DeepCopy()),
		"a patch":                 c.Patch(t.Context(), old.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":1}}`))),
		"a patch of the label":    c.Patch(t.Context(), old.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))),
		"an update of the status": c.Status().Update(t.Context(), old.DeepCopy()),
	} {
		if err == nil || !strings.Contains(err.Error(), v1alpha1.ErrTooLarge.Error()) {
			t.Errorf("%s as v1alpha1: %v", what, err)
		}
	}
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := c.Patch(t.Context(), pm, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":true}}`))); err != nil {
		t.Errorf("a patch as v1: %v", err)
	}
	if err := c.Get(t.Context(), key, pm); err != nil || len(pm.Spec.Template.Spec.Containers[0].Env) != 250 || len(pm.Labels) != 0 {
		t.Errorf("as v1: %v, labels %v", err, pm.Labels)
	}
}

// TestACertificateThatCertManagerRenews is what an installation with
// cert-manager does: files that are replaced now and then, and a caBundle that
// the operator does not write.
func TestACertificateThatCertManagerRenews(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	s := own(t, localkube.APIOnly())
	dir := t.TempDir()
	first := issueFiles(t, dir)
	options := webhookOptions(t)
	address := options.Webhooks.Address
	trust(t, s, options.Webhooks.URL, first)
	options.Webhooks.URL, options.Webhooks.CertDir = "", dir
	serve(t, s, options)

	read := func() error {
		return s.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &v1alpha1.PodManager{})
	}
	if err := s.Client.Create(t.Context(), testkit.MakePodManager("default", "web").Replicas(0).Obj()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the conversion works", read)
	serial, err := handshake(address, first)
	if err != nil {
		t.Fatal(err)
	}

	second := issueFiles(t, dir)
	testkit.Eventually(t, "the new certificate is served", func() error {
		now, err := handshake(address, append(first, second...))
		if err == nil && now == serial {
			err = errors.New("still the old one")
		}
		return err
	})
	trust(t, s, "https://"+address, second)
	testkit.Eventually(t, "the conversion works", read)
	trusted, err := bundles(t.Context(), s.Client)
	if err != nil {
		t.Fatal(err)
	}
	for name, bundle := range trusted {
		want := second
		if name == published {
			want = nil // there is no certificate of its own to publish the CA of
		}
		if !bytes.Equal(bundle, want) {
			t.Errorf("the operator wrote the caBundle of %s", name)
		}
	}
}

// issueFiles writes tls.crt and tls.key into a folder and returns the CA.
func issueFiles(t *testing.T, dir string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "another"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyRaw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyRaw}), 0o600),
		os.WriteFile(filepath.Join(dir, "tls.crt"), ca, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// trust writes an address and a caBundle everywhere, as cert-manager's injector
// does.
func trust(t *testing.T, s *testkit.Suite, url string, ca []byte) {
	t.Helper()
	ctx, c := t.Context(), s.Client
	at := func(old *string) *string {
		_, rest, _ := strings.Cut(*old, "://")
		_, path, _ := strings.Cut(rest, "/")
		return ptr.To(url + "/" + path)
	}
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var crd apiextensionsv1.CustomResourceDefinition
	name := client.ObjectKey{Name: testkit.WebhookConfiguration}
	// The API server's own controllers write the CRD, too.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := errors.Join(c.Get(ctx, name, &mutating), c.Get(ctx, name, &validating),
			c.Get(ctx, client.ObjectKey{Name: "podmanagers.apps.mycompany.com"}, &crd)); err != nil {
			return err
		}
		for i := range mutating.Webhooks {
			config := &mutating.Webhooks[i].ClientConfig
			config.URL, config.CABundle = at(config.URL), ca
		}
		for i := range validating.Webhooks {
			config := &validating.Webhooks[i].ClientConfig
			config.URL, config.CABundle = at(config.URL), ca
		}
		config := crd.Spec.Conversion.Webhook.ClientConfig
		config.URL, config.CABundle = at(config.URL), ca
		return errors.Join(c.Update(ctx, &mutating), c.Update(ctx, &validating), c.Update(ctx, &crd))
	})
	if err != nil {
		t.Fatal(err)
	}
}
