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

package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mycompany/pod-operator/internal/certs"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// Certificate are the options of the operator's own certificate, beyond those
// of its webhooks.
type Certificate struct {
	// MetricsService and ExplainService are the Services in front of the
	// metrics endpoint and the page. The certificate names them.
	MetricsService, ExplainService string
	// ConfigMap gets the CA, for clients that read no webhook configurations.
	ConfigMap string
}

func (c *Certificate) bindFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.MetricsService, "metrics-service", "",
		"The Service in front of the metrics endpoint. The certificate that the operator makes is valid for it.")
	fs.StringVar(&c.ExplainService, "explain-service", "",
		"The Service in front of the page. The certificate that the operator makes is valid for it.")
	fs.StringVar(&c.ConfigMap, "ca-configmap", "",
		"The ConfigMap in the operator's namespace to which the CA of that certificate is written, as ca.crt: "+
			"Prometheus verifies the metrics endpoint with it. It has to exist. Empty writes none.")
}

// services are those that have a name.
func (c *Certificate) services() []string {
	return slices.DeleteFunc([]string{c.MetricsService, c.ExplainService}, func(name string) bool { return name == "" })
}

// asked reports whether there is a certificate also without webhooks.
func (c *Certificate) asked() bool { return len(c.services()) > 0 || c.ConfigMap != "" }

func (c *Certificate) validate() error {
	var errs []error
	for _, f := range []struct {
		flag, value string
		check       func(string) []string
	}{
		{"--metrics-service", c.MetricsService, validation.IsDNS1035Label},
		{"--explain-service", c.ExplainService, validation.IsDNS1035Label},
		{"--ca-configmap", c.ConfigMap, validation.IsDNS1123Subdomain},
	} {
		if f.value == "" {
			continue
		}
		if problems := f.check(f.value); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s is %q: %s", f.flag, f.value, problems[0]))
		}
	}
	return errors.Join(errs...)
}

// hosts are the names under which clients reach the Services.
func (c *Certificate) hosts(namespace string) []string {
	var hosts []string
	for _, name := range c.services() {
		host := name + "." + namespace + ".svc"
		hosts = append(hosts, host, host+".cluster.local")
	}
	return hosts
}

// ownCertificate is what the operator's servers serve with where no folder with
// another certificate is given. The servers are made before the manager, and
// the keeper after it, because it takes the manager's clients.
type ownCertificate struct {
	// foreign: the certificate is in a folder after all, and only the paths of
	// the webhooks are kept.
	foreign bool
	keeper  *certs.Keeper
	config  *rest.Config
	mapper  meta.RESTMapper
}

// newOwnCertificate returns nil where no server needs it.
func newOwnCertificate(o Options) *ownCertificate {
	metrics := o.SecureMetrics && o.MetricsAddress != "0" && o.MetricsCertDir == ""
	page := o.Explain.enabled() && o.explainCertDir() == ""
	if o.Webhooks.keepsCertificate() || o.Certificate.asked() && (metrics || page) {
		return &ownCertificate{}
	}
	return nil
}

// use makes a server serve with it.
func (c *ownCertificate) use(config *tls.Config) {
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return c.keeper.GetCertificate(hello)
	}
}

// keep makes the keeper. The webhook server runs it, because the API server calls
// before the caches are synced; without webhooks the manager does.
func (c *ownCertificate) keep(mgr ctrl.Manager, o Options) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find out what this machine is called: %w", err)
	}
	options := certs.Options{
		// In a pod the host name is the pod's; outside, two operators on one
		// machine listen on different addresses.
		Holder:   host + o.Webhooks.Address,
		Lifetime: o.Webhooks.CertLifetime,
		Clock:    clock.RealClock{},
		Foreign:  c.foreign,
	}
	if c.foreign {
		options.Lifetime = certs.DefaultLifetime
	}
	if o.Certificate.asked() && !c.foreign {
		namespace, err := ownNamespace(o)
		if err != nil {
			return fmt.Errorf("--metrics-service, --explain-service and --ca-configmap are of the operator's namespace: %w", err)
		}
		options.Hosts = o.Certificate.hosts(namespace)
		options.ConfigMap = types.NamespacedName{Namespace: namespace, Name: o.Certificate.ConfigMap}
	}
	serves := c.foreign || o.Webhooks.keepsCertificate()
	if serves {
		options.URL, options.Paths = o.Webhooks.URL, paths.All()
		options.Targets = []certs.Target{
			certs.CRD(podManagerCRD),
			certs.MutatingConfiguration(o.Webhooks.Configuration),
			certs.ValidatingConfiguration(o.Webhooks.Configuration),
			certs.ValidatingConfiguration(o.Webhooks.Identity),
		}
	}
	c.config, c.mapper = mgr.GetConfig(), mgr.GetRESTMapper()
	if c.keeper, err = certs.NewKeeper(mgr.GetAPIReader(), mgr.GetClient(), options); err != nil {
		return err
	}
	if serves {
		return nil
	}
	return mgr.Add(everyReplica(c.run))
}

func (c *ownCertificate) run(ctx context.Context) error { return c.keeper.Run(ctx, c.config, c.mapper) }
