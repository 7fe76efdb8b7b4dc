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
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// servePage runs a page in front of an operator that answers with what it was
// sent.
func servePage(t *testing.T, verify func(operator *httptest.Server) *tls.Config) (*Page, *httptest.Server) {
	t.Helper()
	operator := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path+" as "+r.Header.Get("Authorization")+" at "+r.Host)
	}))
	t.Cleanup(operator.Close)
	c, err := dial(operator.URL, verify(operator), func(next http.RoundTripper) (http.RoundTripper, error) {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer of-the-user")
			return next.RoundTrip(r)
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	browser := httptest.NewUnstartedServer(nil)
	page := c.NewPage(browser.Listener.Addr().String())
	browser.Config.Handler = page
	browser.Start()
	t.Cleanup(browser.Close)
	return page, browser
}

func trusting(operator *httptest.Server) *tls.Config {
	return operator.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
}

func browse(t *testing.T, url, host, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		request.Host = host
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestOnlyTheBrowserWithTheLinkActsAsTheUser(t *testing.T) {
	page, browser := servePage(t, trusting)
	if want := browser.URL + "/#token=" + page.Token; page.Link() != want {
		t.Errorf("the link is %s, want %s", page.Link(), want)
	}
	for name, c := range map[string]struct {
		host, token string
		code        int
		want        string
	}{
		"the page's own token":         {"", page.Token, 200, "/api/x as Bearer of-the-user at "},
		"no token":                     {"", "", 200, "/api/x as  at "},
		"a token that was guessed":     {"", "guess", 200, "/api/x as  at "},
		"another site that leads here": {"evil.example", page.Token, http.StatusMisdirectedRequest, "Open the link"},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := browse(t, browser.URL+"/api/x", c.host, c.token)
			if code != c.code || !strings.HasPrefix(body, c.want) {
				t.Errorf("%d %q, want %d %q", code, body, c.code, c.want)
			}
		})
	}
}

func TestAPageOfAnUnknownOperatorGetsNoToken(t *testing.T) {
	page, browser := servePage(t, func(*httptest.Server) *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12} })
	code, body := browse(t, browser.URL+"/api/x", "", page.Token)
	if code != http.StatusBadGateway || !strings.Contains(body, "nothing was sent") {
		t.Errorf("%d %s", code, body)
	}
}

func TestATokenIsMadeAnewBeforeItEnds(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	made, fails := 0, false
	tokens := &accountTokens{account: "shop/ada"}
	clock := noon
	tokens.create = func(context.Context) (*authenticationv1.TokenRequest, error) {
		if fails {
			return nil, errors.New("forbidden")
		}
		made++
		return &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: strings.Repeat("x", made), ExpirationTimestamp: metav1.NewTime(clock.Add(9 * time.Minute)),
		}}, nil
	}
	for _, step := range []struct {
		at   time.Duration
		want string
	}{{0, "x"}, {5 * time.Minute, "x"}, {6 * time.Minute, "xx"}, {11 * time.Minute, "xx"}, {12 * time.Minute, "xxx"}} {
		clock = noon.Add(step.at)
		if got, err := tokens.get(t.Context(), clock); err != nil || got != step.want {
			t.Errorf("after %s the token is %q (%v), want %q", step.at, got, err, step.want)
		}
	}
	fails = true
	if _, err := tokens.get(t.Context(), noon.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "ServiceAccount shop/ada") {
		t.Errorf("the error is %v", err)
	}
}
