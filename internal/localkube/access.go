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

package localkube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	adminUser    = "localkube-admin"
	mastersGroup = "system:masters"
)

// RESTConfig logs in as the cluster's administrator, without a rate limit.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// RESTConfigFor logs in as the user with the groups, by a client certificate
// that the cluster's CA signs. What the user may do is up to RBAC.
func (c *Cluster) RESTConfigFor(user string, groups ...string) (*rest.Config, error) {
	return c.configFor(user, groups)
}

// RESTConfigForServiceAccount logs in as the service account, by a token that
// the API server issues and that is good for the given seconds.
func (c *Cluster) RESTConfigForServiceAccount(ctx context.Context, namespace, name string, seconds int64) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}
	token, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of service account %s/%s: %w", namespace, name, err)
	}
	config := c.anonymous()
	config.BearerToken = token.Status.Token
	return config, nil
}

// KubeconfigPath is the administrator's kubeconfig.
func (c *Cluster) KubeconfigPath() string { return filepath.Join(c.opts.Dir, "kubeconfig") }

// WriteKubeconfig writes a kubeconfig that does what the config does.
func (c *Cluster) WriteKubeconfig(path string, config *rest.Config) error {
	const name = "localkube"
	data, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: config.Host, CertificateAuthorityData: config.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return replaceFile(path, data)
}

// replaceFile never shows a half-written file to a concurrent reader.
func replaceFile(path string, data []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// anonymous is a config for the API server without credentials.
func (c *Cluster) anonymous() *rest.Config {
	return &rest.Config{
		Host: httpsURL(c.port(APIServer)),
		// Tests and benchmarks measure the operator, not our own throttle.
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem},
	}
}

func (c *Cluster) configFor(user string, groups []string) (*rest.Config, error) {
	pair, err := c.ca.client(user, groups)
	if err != nil {
		return nil, err
	}
	config := c.anonymous()
	config.CertData, config.KeyData = pair.cert, pair.key
	return config, nil
}

// componentKubeconfig writes the kubeconfig a component logs in with.
func (c *Cluster) componentKubeconfig(component Component, user string) (string, error) {
	config, err := c.configFor(user, nil)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.opts.Dir, string(component)+".kubeconfig")
	return path, c.WriteKubeconfig(path, config)
}
