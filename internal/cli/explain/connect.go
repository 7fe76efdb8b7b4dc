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
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
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
	tokenSeconds   = 600
)

// Hint is the content of the Extension.
type Hint struct {
	// URL is where the operator answers.
	URL string `json:"url"`
	// Account is the ServiceAccount, NAMESPACE/NAME, in whose name those ask
	// whose own login is no token.
	Account string `json:"account,omitempty"`
}

// Options say how to reach the operator.
type Options struct {
	// URL is where it answers. Empty means to find out.
	URL string
	// CAFile holds the certificates to trust. Empty means the system's, and
	// anybody's on this very machine.
	CAFile string
	// Account is a ServiceAccount, NAMESPACE/NAME, in whose name to ask.
	Account string
	// Namespace is where the operator runs.
	Namespace string
	// Off leaves the operator alone.
	Off bool
}

// Bind adds the flags.
func (o *Options) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "explain-url", "",
		"Where the operator explains itself, https://HOST:PORT. Empty looks into the kubeconfig and forwards a port to the operator's pod.")
	fs.StringVar(&o.CAFile, "explain-ca", "", "A file with the certificates that sign the operator's. Empty trusts the system's, and any on this machine.")
	fs.StringVar(&o.Account, "explain-account", "",
		"A ServiceAccount, NAMESPACE/NAME, in whose name to ask the operator, for those whose own login is no token.")
	fs.StringVar(&o.Namespace, "operator-namespace", DefaultNamespace, "The namespace that the operator runs in.")
	fs.BoolVar(&o.Off, "no-recorder", false, "Ask the API server only, not the operator.")
}

// ErrOff is why nobody asks the operator where the user wants it left alone.
var ErrOff = errors.New("--no-recorder")

// Connect finds the operator and logs in. An error says in a sentence why the
// operator cannot be asked.
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
	login, err := o.login(ctx, config, hint)
	if err != nil {
		return nil, err
	}
	address, trust := o.URL, trustLoopback
	if address == "" {
		address = hint.URL
	}
	var end func()
	if address == "" {
		if address, end, err = o.forward(ctx, config); err != nil {
			return nil, err
		}
		// The API server and the kubelet vouch for who is at the other end of
		// the forwarded port, which lies within this process.
		trust = trustAnybody
	}
	c, err := o.dial(address, trust, login)
	if err != nil && end != nil {
		end()
	}
	if c != nil {
		c.close = end
	}
	return c, err
}

type trust int

const (
	// trustLoopback: what this machine serves to itself may be self-signed.
	trustLoopback trust = iota
	trustAnybody
)

// dial makes the client; it does not connect yet.
func (o *Options) dial(address string, whom trust, login func(http.RoundTripper) (http.RoundTripper, error)) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "https" || base.Host == "" {
		// A token is not sent in the clear.
		return nil, fmt.Errorf("%q is no address of an operator: give https://HOST:PORT", address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case o.CAFile != "":
		raw, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificates: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("%s holds no certificate", o.CAFile)
		}
	case whom == trustAnybody || loopback(base.Hostname()):
		config.InsecureSkipVerify = true
	}
	transport, err := login(&http.Transport{
		TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: dialPatience,
		DialContext: (&net.Dialer{Timeout: dialPatience}).DialContext, ResponseHeaderTimeout: answerPatience,
	})
	if err != nil {
		return nil, err
	}
	return &Client{base: base, http: &http.Client{
		Transport: transport,
		// The token goes to nobody whom the user did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// login finds the token to ask with: the user's own, however the kubeconfig
// gets it, or one made for the account that was named.
func (o *Options) login(ctx context.Context, config *rest.Config, hint Hint) (func(http.RoundTripper) (http.RoundTripper, error), error) {
	if config.Impersonate.UserName != "" {
		return nil, errors.New("the operator knows people by their token and cannot see you as somebody else: leave --as out")
	}
	token := config.BearerToken != "" || config.BearerTokenFile != "" || config.ExecProvider != nil || config.AuthProvider != nil
	account := o.Account
	if account == "" && !token {
		account = hint.Account
	}
	switch {
	case account != "":
		return accountLogin(ctx, config, account)
	case !token:
		return nil, errors.New("the operator knows people by their token, and your login has none: " +
			"add --explain-account NAMESPACE/SERVICEACCOUNT, or --token \"$(kubectl create token SERVICEACCOUNT)\"")
	}
	return func(next http.RoundTripper) (http.RoundTripper, error) {
		return rest.HTTPWrappersForConfig(config, next)
	}, nil
}

func accountLogin(ctx context.Context, config *rest.Config, account string) (func(http.RoundTripper) (http.RoundTripper, error), error) {
	namespace, name, ok := strings.Cut(account, "/")
	if !ok || namespace == "" || name == "" {
		return nil, fmt.Errorf("%q is no ServiceAccount: give NAMESPACE/NAME", account)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	seconds := int64(tokenSeconds)
	made, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("make a token for ServiceAccount %s: %w", account, err)
	}
	return func(next http.RoundTripper) (http.RoundTripper, error) {
		return rest.HTTPWrappersForConfig(&rest.Config{BearerToken: made.Status.Token}, next)
	}, nil
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
