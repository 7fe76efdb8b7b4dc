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
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/cli/kube"
)

const (
	// Extension is the name under which a kubeconfig may say, for a cluster,
	// where its operator answers. The playground writes one.
	Extension = "apps.mycompany.com/explain"

	// DefaultNamespace is where config/ installs the operator.
	DefaultNamespace = "pod-operator-system"

	dialPatience   = 5 * time.Second
	answerPatience = 30 * time.Second
)

// Hint is the content of the Extension.
type Hint struct {
	// URL is where the operator answers.
	URL string `json:"url"`
	// Account is the ServiceAccount, NAMESPACE/NAME, for users whose own login
	// is no token.
	Account string `json:"account,omitempty"`
}

// Options say how to reach the operator.
type Options struct {
	// URL is where it answers. Empty means to find out.
	URL string
	// CAFile holds the certificates to trust in place of those in the
	// operator's webhook configuration.
	CAFile string
	// ServerName is the name in the operator's certificate. Empty means to
	// find out.
	ServerName string
	// Insecure sends the token to an operator that was not verified.
	Insecure bool
	// Configuration is the name of the operator's webhook configuration.
	Configuration string
	// Account is a ServiceAccount, NAMESPACE/NAME, in whose name to ask.
	Account string
	// Namespace is where the operator runs. Empty means to find out.
	Namespace string
	// Off leaves the operator alone.
	Off bool
}

// Bind adds the flags.
func (o *Options) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "explain-url", "",
		"Where the operator explains itself, https://HOST:PORT. Empty looks into the kubeconfig and forwards a port to the operator's pod.")
	fs.StringVar(&o.CAFile, "explain-ca", "",
		"A file with the certificates that sign the operator's. Empty takes those that its webhook configuration publishes.")
	fs.StringVar(&o.ServerName, "explain-server-name", "", "The name in the operator's certificate. Empty takes the one by which the API server calls it.")
	fs.BoolVar(&o.Insecure, "explain-insecure", false,
		"Do not verify the operator's certificate. A server that answers in its place gets your token.")
	fs.StringVar(&o.Configuration, "webhook-configuration", DefaultConfiguration,
		"The name of the operator's ValidatingWebhookConfiguration, which says where the operator is and which certificate it has.")
	fs.StringVar(&o.Account, "explain-account", "",
		"A ServiceAccount, NAMESPACE/NAME, in whose name to ask the operator, for those whose own login is no token.")
	fs.StringVar(&o.Namespace, "operator-namespace", "",
		"The namespace that the operator runs in. Empty takes the one in its webhook configuration, or "+DefaultNamespace+".")
	fs.BoolVar(&o.Off, "no-recorder", false, "Ask the API server only, not the operator.")
}

// ErrOff says that the user does not want the operator to be asked.
var ErrOff = errors.New("--no-recorder")

// Connect finds the operator and logs in. An error says in a sentence why the
// operator cannot be asked. Nothing is sent before the operator's certificate
// was verified, unless the user wants it so.
func (o *Options) Connect(ctx context.Context, s *kube.Session) (*Client, error) {
	if o.Off {
		return nil, ErrOff
	}
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	hint, err := readHint(s)
	if err != nil {
		return nil, err
	}
	address := cmp.Or(o.URL, hint.URL)
	operator, unknown := o.find(ctx, config)
	verify, err := o.verification(address, operator, unknown)
	if err != nil {
		return nil, err
	}
	if address == "" && operator.address != "" {
		return nil, fmt.Errorf("the operator runs outside the cluster, at %s: say with --explain-url where it explains itself", operator.address)
	}
	login, err := o.login(ctx, config, hint)
	if err != nil {
		return nil, err
	}
	var end func()
	if address == "" {
		if address, end, err = forward(ctx, config, cmp.Or(o.Namespace, operator.namespace, DefaultNamespace)); err != nil {
			return nil, err
		}
	}
	c, err := dial(address, verify, login)
	if err != nil && end != nil {
		end()
	}
	if c != nil {
		c.close = end
	}
	return c, err
}

// OperatorNamespace is where the operator runs, as far as can be known.
func (o *Options) OperatorNamespace(ctx context.Context, config *rest.Config) string {
	if o.Namespace != "" {
		return o.Namespace
	}
	operator, _ := o.find(ctx, config)
	return cmp.Or(operator.namespace, DefaultNamespace)
}

// dial makes the client; it does not connect yet.
func dial(address string, verify *tls.Config, login func(http.RoundTripper) (http.RoundTripper, error)) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "https" || base.Host == "" {
		// A token is not sent in the clear.
		return nil, fmt.Errorf("%q is no address of an operator: give https://HOST:PORT", address)
	}
	plain := &http.Transport{
		TLSClientConfig: verify, Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: dialPatience,
		DialContext: (&net.Dialer{Timeout: dialPatience}).DialContext, ResponseHeaderTimeout: answerPatience,
	}
	transport, err := login(plain)
	if err != nil {
		return nil, err
	}
	return &Client{base: base, plain: plain, http: &http.Client{
		Transport: transport,
		// The token goes to no server that the user did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// readHint reads what the kubeconfig says of the cluster's operator.
func readHint(s *kube.Session) (Hint, error) {
	var hint Hint
	config, err := s.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return hint, nil //nolint:nilerr // inside a cluster there is no kubeconfig, and so no hint
	}
	name := config.CurrentContext
	if chosen := s.Flags.Context; chosen != nil && *chosen != "" {
		name = *chosen
	}
	current := config.Contexts[name]
	if current == nil || config.Clusters[current.Cluster] == nil {
		return hint, nil
	}
	raw, ok := config.Clusters[current.Cluster].Extensions[Extension].(*runtime.Unknown)
	if !ok {
		return hint, nil
	}
	if err := json.Unmarshal(raw.Raw, &hint); err != nil {
		return hint, fmt.Errorf("read the extension %s of the kubeconfig: %w", Extension, err)
	}
	return hint, nil
}
