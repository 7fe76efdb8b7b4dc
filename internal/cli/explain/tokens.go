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
	"fmt"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// accountTokens makes short-lived tokens of a ServiceAccount, a new one when
// the last is about to end: a dashboard is open for longer than a token lives.
type accountTokens struct {
	account string
	create  func(ctx context.Context) (*authenticationv1.TokenRequest, error)

	mu    sync.Mutex
	token string
	// until is when to make another: after two thirds of the token's life.
	until time.Time
}

func (a *accountTokens) get(ctx context.Context, now time.Time) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.until) {
		return a.token, nil
	}
	made, err := a.create(ctx)
	if err != nil {
		return "", fmt.Errorf("make a token for ServiceAccount %s: %w", a.account, err)
	}
	a.token = made.Status.Token
	a.until = now.Add(made.Status.ExpirationTimestamp.Sub(now) * 2 / 3)
	return a.token, nil
}

// transport logs requests in.
func (a *accountTokens) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		token, err := a.get(r.Context(), time.Now())
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
		return next.RoundTrip(r)
	})
}

// roundTripper is a function as http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
