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

package dashboard

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/mycompany/pod-operator/internal/flight"
)

// How long the API server's answers are believed. A right that was taken away
// works for this long.
const (
	believeTokens  = 30 * time.Second
	believeRights  = 10 * time.Second
	reviewPatience = 10 * time.Second
)

// Door asks the API server who a visitor is and what they may do.
type Door struct {
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
}

// NewDoor makes a Door that asks with TokenReviews and SubjectAccessReviews.
func NewDoor(config *rest.Config, httpClient *http.Client) (*Door, error) {
	tokens, err := authenticationv1.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a client for token reviews: %w", err)
	}
	access, err := authorizationv1.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a client for access reviews: %w", err)
	}
	backoff := &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 3}
	door := &Door{}
	door.authenticator, _, err = authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                &apiserver.AnonymousAuthConfig{Enabled: false},
		CacheTTL:                 believeTokens,
		TokenAccessReviewClient:  tokens,
		TokenAccessReviewTimeout: reviewPatience,
		WebhookRetryBackoff:      backoff,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("set up authentication: %w", err)
	}
	door.authorizer, err = authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: access,
		AllowCacheTTL:             believeRights,
		DenyCacheTTL:              believeRights,
		WebhookRetryBackoff:       backoff,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("set up authorization: %w", err)
	}
	return door, nil
}

type visitorKey struct{}

// visitor is the user of a request; authenticated puts it into the context.
func visitor(ctx context.Context) user.Info {
	u, _ := ctx.Value(visitorKey{}).(user.Info)
	return u
}

type tokenKey struct{}

// tokenOf is the token with which the visitor of a request is known; authenticated
// puts it into the context.
func tokenOf(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}

// bearer is the token in a header Authorization, or empty.
func bearer(header string) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticated lets only requests through whose user the API server knows.
func (d *Door) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The authenticator takes the header off, so that no token travels on by
		// accident.
		token := bearer(r.Header.Get("Authorization"))
		response, ok, err := d.authenticator.AuthenticateRequest(forAudience(r))
		switch {
		case err != nil && !isBadToken(err):
			refuse(w, http.StatusServiceUnavailable, "The API server could not be asked who you are. Try again.")
		case err != nil || !ok:
			w.Header().Set("WWW-Authenticate", `Bearer realm="pod-operator"`)
			refuse(w, http.StatusUnauthorized, "The API server does not know this token. Make one with: kubectl create token SERVICEACCOUNT")
		default:
			ctx := context.WithValue(r.Context(), visitorKey{}, response.User)
			next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, tokenKey{}, token)))
		}
	})
}

// stillKnows reports whether the token of a request that lasts has not been revoked
// since. While the API server cannot be asked, it is believed.
func (d *Door) stillKnows(ctx context.Context) bool {
	again, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	if err != nil {
		return false
	}
	again.Header.Set("Authorization", "Bearer "+tokenOf(ctx))
	_, ok, err := d.authenticator.AuthenticateRequest(forAudience(again))
	if err != nil {
		return !isBadToken(err)
	}
	return ok
}

// isBadToken: the authenticator has no type for a token that is none.
func isBadToken(err error) bool { return strings.Contains(err.Error(), "invalid bearer token") }

// forAudience has a token that says it is made for the operator reviewed for
// that; any other has to be good for the API server. What a token says of
// itself is not believed: the API server's review is.
func forAudience(r *http.Request) *http.Request {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !slices.Contains(audiences(token), flight.Audience) {
		return r
	}
	return r.WithContext(authenticator.WithAudiences(r.Context(), authenticator.Audiences{flight.Audience}))
}

// audiences are those that a JSON web token names.
func audiences(token string) []string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Audiences []string `json:"aud"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return nil
	}
	return claims.Audiences
}

// may asks whether the visitor may do something.
func (d *Door) may(ctx context.Context, attributes authorizer.AttributesRecord) (bool, error) {
	attributes.User = visitor(ctx)
	if attributes.User == nil {
		return false, nil
	}
	decision, _, err := d.authorizer.Authorize(ctx, attributes)
	if err != nil {
		return false, fmt.Errorf("ask whether %s may %s %s: %w", attributes.User.GetName(), attributes.Verb, attributes.Resource, err)
	}
	return decision == authorizer.DecisionAllow, nil
}

// nonResource lets only visitors through who may get the URL's path.
func (d *Door) nonResource(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok, err := d.may(r.Context(), authorizer.AttributesRecord{Verb: "get", Path: r.URL.Path})
		if !admitted(w, ok, err, fmt.Sprintf("get %s", r.URL.Path), visitor(r.Context())) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ForThoseWhoMayGet guards what other servers of the operator serve beside the page:
// for users who may get the URL's path, and with the page's limits.
func (d *Door) ForThoseWhoMayGet(next http.Handler, c clock.WithTicker) http.Handler {
	l := newLimits(c)
	return l.badTokens(d.authenticated(l.requests(d.nonResource(next))))
}

// admitted reports whether the visitor has a right, and refuses the request if
// not.
func admitted(w http.ResponseWriter, ok bool, err error, what string, who user.Info) bool {
	switch {
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, "The API server could not be asked what you may. Try again.")
	case !ok:
		refuse(w, http.StatusForbidden, fmt.Sprintf("%s may not %s.", who.GetName(), what))
	}
	return err == nil && ok
}
