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

package explain

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// DefaultConfiguration is what config/ calls the webhook configurations, and
// defaultIdentity the one that everyone may read.
const (
	DefaultConfiguration = "pod-operator-admission"
	defaultIdentity      = "pod-operator-identity"
)

// otherwise is what a user can do when the operator cannot be verified.
const otherwise = "name the file with the certificate of its signer with --explain-ca, or send your token unverified with --explain-insecure"

// place is where the API server calls the operator and how it verifies it. Only
// the owners of the cluster can write a webhook configuration, so no tenant can
// forge it.
type place struct {
	// namespace is that of the Service; empty for an operator outside the
	// cluster.
	namespace string
	// address is that of an operator outside the cluster.
	address string
	// host is the name in the operator's certificate.
	host string
	// roots are the CAs; nil where the configuration has none.
	roots *x509.CertPool
}

// find reads the operator's place from the configuration that publishes it, or, of
// an operator of a version before there was one, from that of its webhooks.
func (o *Options) find(ctx context.Context, config *rest.Config) (place, error) {
	webhooks := cmp.Or(o.Configuration, DefaultConfiguration)
	identity := defaultIdentity
	if prefix, ours := strings.CutSuffix(webhooks, "-admission"); ours {
		identity = prefix + "-identity"
	}
	found, err := read(ctx, config, identity)
	if err == nil {
		return found, nil
	}
	if found, failed := read(ctx, config, webhooks); failed == nil {
		return found, nil
	}
	return place{}, err
}

// read reads the operator's place from a webhook configuration.
func read(ctx context.Context, config *rest.Config, name string) (place, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return place{}, err
	}
	found, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return place{}, fmt.Errorf("you may not read ValidatingWebhookConfiguration %s, which says how to know the operator: "+
			"have the ClusterRole pod-operator-webhook-reader bound to you", name)
	case apierrors.IsNotFound(err):
		return place{}, fmt.Errorf("there is no ValidatingWebhookConfiguration %s, which says how to know the operator (--webhook-configuration)", name)
	case err != nil:
		return place{}, fmt.Errorf("read ValidatingWebhookConfiguration %s, which says how to know the operator: %w", name, err)
	}
	for i := range found.Webhooks {
		if p, ok := placeOf(found.Webhooks[i].ClientConfig); ok {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("ValidatingWebhookConfiguration %s calls nothing", name)
}

func placeOf(c admissionv1.WebhookClientConfig) (place, bool) {
	var p place
	switch {
	case c.Service != nil:
		p.namespace, p.host = c.Service.Namespace, c.Service.Name+"."+c.Service.Namespace+".svc"
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil || u.Hostname() == "" {
			return p, false
		}
		p.address, p.host = u.Scheme+"://"+u.Host, u.Hostname()
	default:
		return p, false
	}
	if roots := x509.NewCertPool(); roots.AppendCertsFromPEM(c.CABundle) {
		p.roots = roots
	}
	return p, true
}

// verification says which certificate proves that the operator answers at
// address; an empty address is a forwarded port. unknown is why the operator's
// place is not known.
func (o *Options) verification(address string, operator place, unknown error) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName}
	switch {
	case o.Insecure:
		config.InsecureSkipVerify = true
		return config, nil
	case o.CAFile != "":
		if address == "" {
			config.ServerName = cmp.Or(o.ServerName, operator.host)
		}
		roots, err := readRoots(o.CAFile)
		config.RootCAs = roots
		return config, err
	case elsewhere(address, operator):
		// The user named this host, and the system's CAs vouch for it.
		return config, nil
	case unknown != nil:
		return nil, fmt.Errorf("%w; or %s", unknown, otherwise)
	case operator.roots == nil:
		return nil, fmt.Errorf("the operator's webhook configuration has no CA by which to know the operator: %s", otherwise)
	}
	config.RootCAs, config.ServerName = operator.roots, cmp.Or(o.ServerName, operator.host)
	return config, nil
}

func readRoots(file string) (*x509.CertPool, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return roots, nil
}

// elsewhere: the address is neither on this machine nor where the API server
// calls the operator.
func elsewhere(address string, operator place) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && !loopback(u.Hostname()) && u.Hostname() != operator.host
}

// untrusted adds to an error of a certificate what can be done about it.
func untrusted(err error) error {
	if failed := (*tls.CertificateVerificationError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("%w; nothing was sent. If it is the operator, %s", err, otherwise)
	}
	return err
}
