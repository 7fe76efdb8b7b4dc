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
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/certs"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// own starts a cluster for one test, because it does things to the operator.
func own(t *testing.T, components []localkube.Component) *testkit.Suite {
	t.Helper()
	s, err := testkit.NewWebhookSuite(t.Context(), localkube.Options{Components: components})
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve runs an operator on a cluster until stop is called or the test ends.
func serve(t *testing.T, s *testkit.Suite, options manager.Options) (stop func()) {
	t.Helper()
	// The test's context ends before its cleanups.
	end, err := s.StartOperator(context.WithoutCancel(t.Context()), options)
	if err != nil {
		t.Fatalf("start the operator: %v", err)
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			if err := end(); err != nil {
				t.Errorf("the operator ended with %v", err)
			}
		})
	}
	t.Cleanup(stop)
	if err := testkit.WaitServing(t.Context(), options); err != nil {
		t.Fatalf("the operator does not get ready: %v", err)
	}
	// On a busy machine the API server may take its time to notice.
	testkit.Eventually(t, "the API server trusts the conversion", func() error {
		return s.Client.List(t.Context(), &v1alpha1.PodManagerList{})
	})
	return stop
}

// webhookOptions are an operator's, with webhooks.
func webhookOptions(t *testing.T) manager.Options {
	t.Helper()
	options, err := testkit.WebhookOptions()
	if err != nil {
		t.Fatal(err)
	}
	return options
}

// published names the ConfigMap among the bundles.
const published = "the ConfigMap"

// bundles are what the API server trusts, everywhere it was told, and what other
// clients are told.
func bundles(ctx context.Context, c client.Client) (map[string][]byte, error) {
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var crd apiextensionsv1.CustomResourceDefinition
	var configMap corev1.ConfigMap
	err := errors.Join(
		c.Get(ctx, client.ObjectKey{Namespace: testkit.OperatorNamespace, Name: testkit.ServingCA}, &configMap),
		c.Get(ctx, client.ObjectKey{Name: testkit.WebhookConfiguration}, &mutating),
		c.Get(ctx, client.ObjectKey{Name: testkit.WebhookConfiguration}, &validating),
		c.Get(ctx, client.ObjectKey{Name: "podmanagers.apps.mycompany.com"}, &crd),
	)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{
		"the conversion": crd.Spec.Conversion.Webhook.ClientConfig.CABundle, published: []byte(configMap.Data[certs.CAKey]),
	}
	for _, w := range mutating.Webhooks {
		all[w.Name] = w.ClientConfig.CABundle
	}
	for _, w := range validating.Webhooks {
		all[w.Name] = w.ClientConfig.CABundle
	}
	return all, nil
}

// handshake verifies what the webhook server serves against a bundle.
func handshake(address string, bundle []byte) (serial string, err error) {
	served, err := peer(address)
	if err != nil {
		return "", err
	}
	return served.SerialNumber.String(), verify(served, bundle, time.Now())
}

// requester sends what fails as soon as one webhook is not reached.
type requester struct {
	sent atomic.Int64
	mu   sync.Mutex
	errs []error
}

func (r *requester) count(err error) {
	r.sent.Add(1)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
}

// run sends requests of all sorts until the context ends.
func (r *requester) run(ctx context.Context, t *testing.T, c listener) {
	broken := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "app", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 70000}}},
	}}}
	key := client.ObjectKey{Namespace: "default", Name: "web"}
	for ctx.Err() == nil {
		// The conversion.
		r.count(c.Get(t.Context(), key, &v1alpha1.PodManager{}))
		// The conversion, and the webhook that fails closed.
		old := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		r.count(c.Patch(t.Context(), old, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":1}}`)), client.DryRunAll))
		// Those that fail open: had they not been reached, these would differ.
		pm := testkit.MakePodManager("default", "bad").Image("").Template(broken).Obj()
		c.given.said = nil
		switch err := c.Create(t.Context(), pm, client.DryRunAll); {
		case err != nil && strings.Contains(err.Error(), "must be between 1 and 65535"):
			r.count(nil)
		case err == nil && slices.Contains(c.given.said, notTried):
			r.count(nil) // it was reached, and the machine is too slow for the trial
		default:
			r.count(fmt.Errorf("a bad template: %w", errors.Join(err, errors.New("the trial did not refuse it"))))
		}
		pm = testkit.MakePodManager("default", "good").Obj()
		err := c.Create(t.Context(), pm, client.DryRunAll)
		if err == nil && len(pm.Finalizers) != 1 {
			err = errors.New("the finalizer is missing")
		}
		r.count(err)
	}
}

// TestRotationUnderLoad rotates the certificate at least twice while 1,000
// requests and more need it, or as many as a slow machine answers in the time,
// but at least 200. None of them fails. A second replica, which rotates too,
// shares the bundles.
func TestRotationUnderLoad(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	s := own(t, localkube.APIOnly())
	options := webhookOptions(t)
	// A new one after 24 s, settled 6 s later; the rest is for slow machines.
	options.Webhooks.CertLifetime = 48 * time.Second
	serve(t, s, options)
	startReplica(t, s, options.Webhooks.CertLifetime)
	if err := s.Client.Create(t.Context(), testkit.MakePodManager("default", "web").Replicas(0).Obj()); err != nil {
		t.Fatal(err)
	}

	const requests, fewest, rotations, workers = 1000, 200, 2, 4
	ctx, cancel := context.WithTimeout(t.Context(), 2*testkit.Patience)
	defer cancel()
	r := &requester{}
	var group sync.WaitGroup
	for range workers {
		c := listenTo(t, s)
		group.Go(func() { r.run(ctx, t, c) })
	}
	served := map[string]bool{}
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for ctx.Err() == nil && (len(served) <= rotations || r.sent.Load() < requests) {
		serial, err := expectTrusted(ctx, s.Client, options.Webhooks.Address)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		served[serial] = true
		<-look.C
	}
	cancel()
	group.Wait()
	if len(served) <= rotations || r.sent.Load() < fewest {
		t.Errorf("only %d rotations and %d requests", len(served)-1, r.sent.Load())
	}
	for i, err := range r.errs {
		if i == 10 {
			break
		}
		t.Error(err)
	}
	t.Logf("%d requests during %d rotations, %d failed", r.sent.Load(), len(served)-1, len(r.errs))
	expectBothReplicas(t, s)
}

// expectTrusted: whatever is served now, every bundle trusts it. The bundles are
// read twice, because they move on while one looks.
func expectTrusted(ctx context.Context, c client.Client, address string) (serial string, err error) {
	before, err := bundles(ctx, c)
	if err != nil {
		return "", fmt.Errorf("read the bundles: %w", err)
	}
	served, err := peer(address)
	if err != nil {
		return "", fmt.Errorf("connect to the webhook server: %w", err)
	}
	now := time.Now() // reading the bundles once more may take its time
	after, err := bundles(ctx, c)
	if err != nil {
		return "", fmt.Errorf("read the bundles: %w", err)
	}
	for name := range after {
		if verify(served, before[name], now) == nil {
			continue
		}
		if err := verify(served, after[name], now); err != nil {
			return "", fmt.Errorf("%s does not trust the server: %w", name, err)
		}
	}
	return served.SerialNumber.String(), nil
}

// peer is the certificate that the webhook server serves.
func peer(address string) (*x509.Certificate, error) {
	// What is served is verified by the caller, against more than one bundle.
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0], nil
}

func verify(served *x509.Certificate, bundle []byte, now time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("the bundle is empty")
	}
	_, err := served.Verify(x509.VerifyOptions{DNSName: "127.0.0.1", Roots: roots, CurrentTime: now})
	return err
}

const otherReplica = "the other replica"

// startReplica runs the keeper of another replica's certificate.
func startReplica(t *testing.T, s *testkit.Suite, lifetime time.Duration) {
	t.Helper()
	config, err := s.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := certs.NewKeeper(c, c, certs.Options{
		Holder: otherReplica, Lifetime: lifetime, Clock: clock.RealClock{},
		ConfigMap: types.NamespacedName{Namespace: testkit.OperatorNamespace, Name: testkit.ServingCA},
		Targets: []certs.Target{
			certs.CRD("podmanagers.apps.mycompany.com"),
			certs.MutatingConfiguration(testkit.WebhookConfiguration),
			certs.ValidatingConfiguration(testkit.WebhookConfiguration),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- keeper.Run(ctx, config, c.RESTMapper()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// expectBothReplicas: each has at most its last, its current and its next CA in
// the bundles, and nothing of what was before.
func expectBothReplicas(t *testing.T, s *testkit.Suite) {
	t.Helper()
	trusted, err := bundles(t.Context(), s.Client)
	if err != nil {
		t.Fatal(err)
	}
	for name, bundle := range trusted {
		holders := map[string]int{}
		for _, ca := range certificates(t, bundle) {
			holders[ca.Subject.CommonName]++
		}
		if len(holders) != 2 || holders[otherReplica] == 0 {
			t.Errorf("%s trusts %v, want two replicas", name, holders)
		}
		for holder, n := range holders {
			if n > 3 {
				t.Errorf("%s trusts %d CAs of %s", name, n, holder)
			}
		}
	}
}

// TestTrustIsRepaired: replacing the manifests takes the CA away, and may change
// the path.
func TestTrustIsRepaired(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	s := own(t, localkube.APIOnly())
	options := webhookOptions(t)
	serve(t, s, options)
	emptied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testkit.OperatorNamespace, Name: testkit.ServingCA}}
	if err := s.Client.Patch(t.Context(), emptied, client.RawPatch(types.MergePatchType, []byte(`{"data":null}`))); err != nil {
		t.Fatalf("take the published CA away: %v", err)
	}
	for _, obj := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: testkit.WebhookConfiguration}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: testkit.WebhookConfiguration}},
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "podmanagers.apps.mycompany.com"}},
	} {
		where := "/webhooks/0/clientConfig"
		if _, isCRD := obj.(*apiextensionsv1.CustomResourceDefinition); isCRD {
			where = "/spec/conversion/webhook/clientConfig"
		}
		patch := `[{"op":"replace","path":"` + where + `","value":{"url":"https://127.0.0.1:1/gone"}}]`
		if err := s.Client.Patch(t.Context(), obj, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
			t.Fatalf("take the trust away: %v", err)
		}
		testkit.Eventually(t, fmt.Sprintf("%T trusts the operator again", obj), func() error {
			trusted, err := bundles(t.Context(), s.Client)
			if err != nil {
				return err
			}
			for name, bundle := range trusted {
				if _, err := handshake(options.Webhooks.Address, bundle); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		})
	}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := s.Client.Get(t.Context(), client.ObjectKey{Name: testkit.WebhookConfiguration}, &validating); err != nil {
		t.Fatal(err)
	}
	for i := range validating.Webhooks {
		w := &validating.Webhooks[i]
		got := *w.ClientConfig.URL
		path, at := strings.CutPrefix(got, options.Webhooks.URL)
		if served, isSecret := paths.IsServed(paths.All()[w.Name], path); !at || !served || !isSecret {
			t.Errorf("%s is called at %s", w.Name, got)
		}
	}
}

func certificates(t testing.TB, bundle []byte) []*x509.Certificate {
	t.Helper()
	var list []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ca)
	}
	return list
}
