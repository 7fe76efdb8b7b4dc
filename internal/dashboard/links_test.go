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
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mycompany/pod-operator/test/browser"
)

// people serves the page to those whose token is NAME or NAME.NUMBER; a token that
// begins with old is known no longer.
func people(t *testing.T) *httptest.Server {
	t.Helper()
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(files))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
		switch {
		case name == "mallory":
			t.Error("the owner of a second link is asked for while a question is open: its question would follow the answer")
		case name == "" || name == "old":
			refuse(w, http.StatusUnauthorized, "The cluster does not know this token.")
		case r.URL.Path == "/api/whoami":
			answer(w, http.StatusOK, map[string]string{"user": name})
		default:
			answer(w, http.StatusOK, map[string]any{"items": []any{}})
		}
	})
	server := httptest.NewServer(withHeaders(sameOrigin(mux)))
	t.Cleanup(server.Close)
	return server
}

// A link with the token of another person would have the reader work under a foreign
// name without knowing it.
func TestALinkDoesNotReplaceALoginUnasked(t *testing.T) {
	server := people(t)
	b := browser.Open(t, server.URL, "ada")
	is := func(name string) {
		t.Helper()
		b.See("the page is used as "+name, fmt.Sprintf(`document.getElementById('who').textContent === %q && !document.getElementById('other').open &&
			sessionStorage.getItem('token').split('.')[0] === %[1]q && !document.getElementById('app').hidden && !location.href.includes('token')`, name))
	}
	follow := func(token string) {
		t.Helper()
		b.Do("follow a link", chromedp.Evaluate(fmt.Sprintf(`void (location.hash = '#token=%s')`, token), nil))
	}
	asked := func() {
		t.Helper()
		b.See("the page asks, and is still Ada's", `document.getElementById('other').open && document.getElementById('who').textContent !== 'eve' &&
			/as ada.* as eve/.test(document.getElementById('other-text').textContent) && sessionStorage.getItem('token') === 'ada.2' && !location.href.includes('token')`)
	}
	is("ada") // one click without a login

	follow("ada.2")
	is("ada")
	b.See("a newer token of the same person needs no question", `sessionStorage.getItem('token') === 'ada.2'`)
	follow("old")
	is("ada")

	follow("eve")
	asked()
	b.Do("stay", chromedp.Click("#other-stay"))
	is("ada")
	b.Do("open a link anew", chromedp.Navigate(server.URL+"/?again#token=eve"))
	asked()
	follow("mallory")
	b.See("the second link is out of the address", `!location.href.includes('token')`)
	asked()
	b.Do("close the question", chromedp.Evaluate(`document.getElementById('other').close()`, nil))
	is("ada")
	follow("eve")
	asked()
	b.Do("agree", chromedp.Click("#other-become"))
	is("eve")

	b.Do("a login that has ended", chromedp.Evaluate(`sessionStorage.setItem('token', 'old')`, nil), chromedp.Navigate(server.URL+"/?later#token=ada"))
	is("ada")
	b.Do("sign out", chromedp.Click("#leave"))
	follow("eve")
	is("eve")
	b.Content()
}
