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
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/flight"
)

const (
	// tokenSeconds is how long a token lives that was made for one command.
	tokenSeconds = 600
	// accountUser is what the names of ServiceAccounts begin with.
	accountUser = "system:serviceaccount:"
)

// login finds the token to ask with: one made for the account that was named;
// one made for the user, who may be a ServiceAccount that can make them; or the
// user's own, however the kubeconfig gets it. Those that are made are for the
// operator alone, so that it cannot act as the user elsewhere.
func (o *Options) login(ctx context.Context, config *rest.Config, hint Hint) (func(http.RoundTripper) (http.RoundTripper, error), error) {
	if config.Impersonate.UserName != "" {
		return nil, errors.New("the operator knows people by their token and cannot see you as another user: leave --as out")
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
	if own := accountOf(config); own != "" {
		if narrow, err := accountLogin(ctx, config, own); err == nil {
			return narrow, nil
		}
	}
	return func(next http.RoundTripper) (http.RoundTripper, error) {
		return rest.HTTPWrappersForConfig(config, next)
	}, nil
}

// accountOf is the ServiceAccount, NAMESPACE/NAME, that the user's token says
// it is of. The API server decides whether that is true.
func accountOf(config *rest.Config) string {
	token := config.BearerToken
	if raw, err := os.ReadFile(config.BearerTokenFile); err == nil {
		token = strings.TrimSpace(string(raw))
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return ""
	}
	account, found := strings.CutPrefix(claims.Subject, accountUser)
	if !found {
		return ""
	}
	return strings.Replace(account, ":", "/", 1)
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
	tokens := &accountTokens{account: account, create: func(ctx context.Context) (*authenticationv1.TokenRequest, error) {
		seconds := int64(tokenSeconds)
		return clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds, Audiences: []string{flight.Audience}},
		}, metav1.CreateOptions{})
	}}
	if _, err := tokens.get(ctx, time.Now()); err != nil {
		return nil, err
	}
	return func(next http.RoundTripper) (http.RoundTripper, error) { return tokens.transport(next), nil }, nil
}
