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
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/certs"
	"github.com/mycompany/pod-operator/internal/controller/collector"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	webhookapps "github.com/mycompany/pod-operator/internal/webhook/apps"
	webhookappsv1 "github.com/mycompany/pod-operator/internal/webhook/apps/v1"
	webhookappsv1alpha1 "github.com/mycompany/pod-operator/internal/webhook/apps/v1alpha1"
	webhookbatchv1alpha1 "github.com/mycompany/pod-operator/internal/webhook/batch/v1alpha1"
	webhookcollectorv1 "github.com/mycompany/pod-operator/internal/webhook/collector/v1"
	"github.com/mycompany/pod-operator/internal/webhook/eviction"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
	webhooktestv1alpha1 "github.com/mycompany/pod-operator/internal/webhook/test/v1alpha1"
)

// Webhooks are the options of the webhook server.
type Webhooks struct {
	// Address is where it listens; empty and 0 turn it off.
	Address string
	// URL is how the API server reaches an operator outside the cluster.
	URL string
	// CertDir holds a certificate that another program renews, such as
	// cert-manager. Empty makes the operator keep its own.
	CertDir string
	// CertLifetime is how long a certificate of its own lives.
	CertLifetime time.Duration
	// Configuration is the name of the webhook configurations, which the operator
	// tells where it is called. Empty, another program writes them.
	Configuration string
	// Identity is the name of the ValidatingWebhookConfiguration that says to
	// everyone how to know the operator, and calls nothing.
	Identity string
	// ClientCAFile has the CA of the API server's client certificate; empty asks
	// for none. ClientName is the certificate's common name.
	ClientCAFile, ClientName string
}

// podManagerCRD is the CRD with a conversion webhook.
const podManagerCRD = "podmanagers.apps.mycompany.com"

func (w *Webhooks) bindFlags(fs *flag.FlagSet) {
	fs.StringVar(&w.Address, "webhook-bind-address", ":9443",
		"The address of the webhook server. 0 turns it off; then nothing is served as v1alpha1.")
	fs.StringVar(&w.URL, "webhook-url", "",
		"The address under which the API server reaches an operator that runs outside the cluster, for example "+
			"https://127.0.0.1:9443. It is written into the webhook configurations and the CRD in place of the Service.")
	fs.StringVar(&w.CertDir, "webhook-cert-path", "",
		"A folder with tls.crt and tls.key that another program maintains, such as cert-manager. "+
			"Empty makes the operator keep its own certificate and tell the API server to trust it.")
	fs.DurationVar(&w.CertLifetime, "webhook-cert-lifetime", certs.DefaultLifetime,
		"How long a certificate that the operator makes lives. It is replaced at half of that.")
	fs.StringVar(&w.Configuration, "webhook-configuration", "pod-operator-admission",
		"The name of the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration. The operator writes into them where it is "+
			"called, which is a secret, and its certificate. Empty, together with --webhook-cert-path, leaves both to another program, such as "+
			"OLM; then only callers with a certificate (--webhook-client-ca-file) have pods tried and evictions held.")
	fs.StringVar(&w.Identity, "identity-configuration", "pod-operator-identity",
		"The name of a ValidatingWebhookConfiguration without rules. The operator publishes its certificate there, by which kubectl podmanager knows it.")
	fs.StringVar(&w.ClientCAFile, "webhook-client-ca-file", "",
		"A file with the CA of the client certificate that the API server shows to admission webhooks. Clients without one are "+
			"refused there. The API server shows none for conversions: they are known by their path.")
	fs.StringVar(&w.ClientName, "webhook-client-name", "",
		"The common name that the client certificate must have. Empty accepts every certificate of the CA.")
}

// enabled reports whether there is a webhook server.
func (w *Webhooks) enabled() bool { return w.Address != "" && w.Address != "0" }

// keepsConfiguration reports whether the operator says in the webhook
// configurations where it is called. OLM writes configurations of its own.
func (w *Webhooks) keepsConfiguration() bool { return w.enabled() && w.Configuration != "" }

// keepsCertificate reports whether the certificate is the operator's own.
func (w *Webhooks) keepsCertificate() bool { return w.enabled() && w.CertDir == "" }

// scopesEvictions reports whether the operator tells the API server where to ask
// about evictions. Where another program writes the configurations, it is asked
// everywhere.
func (o *Options) scopesEvictions() bool {
	return o.Webhooks.keepsConfiguration() && slices.ContainsFunc(chosenKinds(*o), func(k kind) bool { return k.gvk == desired.PodManagerGVK })
}

func (w *Webhooks) validate() error {
	if !w.enabled() {
		return nil
	}
	var errs []error
	if _, _, err := w.listen(); err != nil {
		errs = append(errs, err)
	}
	if u, err := url.Parse(w.URL); w.URL != "" && (err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Path != "") {
		errs = append(errs, fmt.Errorf("--webhook-url is %q: give https://HOST:PORT", w.URL))
	}
	if w.URL != "" && w.CertDir != "" {
		errs = append(errs, errors.New("--webhook-url needs a certificate of the operator's own: leave --webhook-cert-path out"))
	}
	if w.ClientName != "" && w.ClientCAFile == "" {
		errs = append(errs, errors.New("--webhook-client-name needs --webhook-client-ca-file: without a CA no certificate is asked for"))
	}
	if w.Configuration == "" && w.CertDir == "" {
		errs = append(errs, errors.New("--webhook-configuration is empty: then another program keeps the certificate, in --webhook-cert-path"))
	}
	if w.CertDir == "" && w.CertLifetime < time.Second {
		errs = append(errs, fmt.Errorf("--webhook-cert-lifetime is %s: it must be at least 1s", w.CertLifetime))
	}
	return errors.Join(errs...)
}

func (w *Webhooks) listen() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(w.Address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("--webhook-bind-address is %q: give HOST:PORT or :PORT, or 0 to turn it off", w.Address)
	}
	return host, port, nil
}

// addWebhooks registers what the server serves.
func addWebhooks(mgr ctrl.Manager, s *webhookServer, o Options) error {
	mgr.GetWebhookServer().Register(webhookapps.ConversionPath, &conversionGate{
		live: mgr.GetAPIReader(), clock: clock.RealClock{}, next: http.HandlerFunc(webhookapps.Convert),
	})
	if err := addAdmission(mgr, o); err != nil {
		return fmt.Errorf("set up the admission webhooks: %w", err)
	}
	return mgr.AddReadyzCheck("webhooks", s.ready)
}

// addAdmission registers the webhooks of the kinds that this operator looks
// after: a finalizer that it adds to an object of another kind would never be
// removed. v1alpha1 is guarded in any case, because it is converted in any
// case.
func addAdmission(mgr ctrl.Manager, o Options) error {
	reader := client.Reader(mgr.GetClient())
	if o.Shards.Count > 0 { // no replica has a cache of everything
		reader = observe.Indexed(mgr.GetAPIReader(), appsv1.LabelName)
	}
	inspector, err := preflight.New(mgr.GetConfig(), reader, mgr.GetAPIReader(), clock.RealClock{})
	if err != nil {
		return err
	}
	inspector.MaxHold = o.MaxEvictionHold
	scope := preflight.Scope(o.Namespaces)
	scale := &preflight.Scale{Scope: scope, Kinds: map[schema.GroupResource]preflight.Foresee{}}
	errs := []error{webhookappsv1alpha1.SetupWithManager(mgr)}
	for _, k := range chosenKinds(o) {
		switch k.gvk {
		case desired.PodManagerGVK:
			scale.Kinds[appsv1.Resource("podmanagers")] = webhookappsv1.Scale(inspector)
			errs = append(errs, webhookappsv1.SetupWithManager(mgr, inspector, scope, o.Shards.Count))
			mgr.GetWebhookServer().Register(paths.EvictionsPath, &admission.Webhook{Handler: &eviction.Handler{
				Live: mgr.GetAPIReader(), Pods: reader, Writer: mgr.GetClient(), Clock: clock.RealClock{}, Scope: scope,
				MaxHold: o.MaxEvictionHold,
			}})
		case desired.ImoocPodGVK:
			scale.Kinds[batchv1alpha1.Resource("imoocpods")] = webhookbatchv1alpha1.Scale(inspector)
			errs = append(errs, webhookbatchv1alpha1.SetupWithManager(mgr, inspector, scope))
		case desired.HelloWorldGVK:
			scale.Kinds[testv1alpha1.Resource("helloworlds")] = webhooktestv1alpha1.Scale()
			errs = append(errs, webhooktestv1alpha1.SetupWithManager(mgr, inspector, scope))
		case collector.GVK:
			errs = append(errs, webhookcollectorv1.SetupWithManager(mgr, scope))
		}
	}
	mgr.GetWebhookServer().Register(preflight.ScalePath, &admission.Webhook{Handler: scale})
	return errors.Join(errs...)
}
