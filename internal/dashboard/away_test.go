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
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/mycompany/pod-operator/test/browser"
)

// Without an answer the page keeps what it has, grey, and says since when.
func TestThePageSaysThatTheOperatorIsAway(t *testing.T) {
	page, _ := guarded(t)
	b := browser.OpenAt(t, page.URL, "/podmanagers/shop/web", "a-token")
	b.See("the fleet is shown", `document.getElementById('fleet-name').textContent === 'shop/web' && !document.getElementById('app').classList.contains('stale')`)
	b.See("the rights that could not be asked for are explained", `document.getElementById('rights').textContent.includes('could not be asked')`)
	page.CloseClientConnections()
	page.Close()
	b.Do("look now", chromedp.Evaluate(`document.dispatchEvent(new Event('visibilitychange'))`, nil))
	b.See("the page says so and turns grey", `document.getElementById('problem').textContent.includes('has not answered since') && document.getElementById('app').classList.contains('stale')`)
	b.See("what was known is still there", `document.getElementById('fleet-name').textContent === 'shop/web'`)
	b.Keep("away")
}

// freezer stops answering, as a process that was stopped does: connections stay open,
// and nothing comes out of them until it goes on.
type freezer struct {
	http.Handler
	mu sync.RWMutex
}

func (f *freezer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Handler.ServeHTTP(frozen{w, f}, r)
}

type frozen struct {
	http.ResponseWriter
	freezer *freezer
}

func (w frozen) Write(p []byte) (int, error) {
	w.freezer.mu.RLock()
	defer w.freezer.mu.RUnlock()
	return w.ResponseWriter.Write(p)
}

func (w frozen) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A hung operator is not live, and what is shown has the time at which it last answered.
func TestThePageNoticesAHungOperator(t *testing.T) {
	hung := &freezer{Handler: region(t)}
	https := httptest.NewTLSServer(hung)
	t.Cleanup(https.Close)
	for view, live := range map[string]string{"/podmanagers/team-3/svc-3": "live", "/": ""} {
		b := browser.OpenAt(t, https.URL, view, "a-token")
		b.See("the page is there", `document.querySelectorAll('.tile, #overview-rows tr').length > 0 && document.getElementById('live').textContent === '`+live+`'`)
		hung.mu.Lock()
		b.Do("note the time", chromedp.Evaluate(`window.hung = Date.now()`, nil))
		b.See("the page says so, and that it is not live", `document.getElementById('problem').textContent.includes('has not answered since') && !document.getElementById('live').classList.contains('on') && document.getElementById('live').textContent !== 'live'`)
		var late float64
		b.Do("ask how late it is", chromedp.Evaluate(`Date.now() - window.hung`, &late))
		t.Logf("%s: noticed after %.0f ms", view, late)
		// The stream beats every 2 s; the last word came before the hang, never after it.
		b.See("the time is the last word of the operator", `(() => { const t = new Date(window.hung); return [0, 1, 2, 3, 4, 5, 6].some(s => document.getElementById('problem').textContent.includes('since ' + new Date(t - 1000 * s).toLocaleTimeString() + '.')); })()`)
		b.Keep("hung")
		hung.mu.Unlock()
		b.See("it is back", `document.getElementById('problem').hidden && !document.getElementById('app').classList.contains('stale') && document.getElementById('live').textContent === '`+live+`'`)
		b.Content()
	}
}

// A token that was revoked ends the stream, and the page is not live any more.
func TestARevokedTokenIsNotLive(t *testing.T) {
	var revoked atomic.Bool
	door := openDoor()
	known := door.authenticator
	door.authenticator = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if revoked.Load() {
			return nil, false, errors.New("invalid bearer token")
		}
		return known.AuthenticateRequest(r)
	})
	https := httptest.NewTLSServer(regionBehind(t, door))
	t.Cleanup(https.Close)
	b := browser.OpenAt(t, https.URL, "/podmanagers/team-3/svc-3", "a-token")
	b.See("the page is live", `document.getElementById('live').textContent === 'live'`)
	revoked.Store(true)
	b.See("it is not, and asks for another token", `!document.getElementById('login').hidden && document.getElementById('live').textContent === '' && !document.getElementById('live').classList.contains('on')`)
	b.Content()
}

// A stream does not outlive its token either, though no other request is made.
func TestAStreamEndsWithItsToken(t *testing.T) {
	var revoked atomic.Bool
	door := &Door{authenticator: authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		if revoked.Load() {
			return nil, false, errors.New("invalid bearer token")
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: "ada"}}, true, nil
	}), authorizer: openDoor().authorizer}
	https := httptest.NewTLSServer(regionBehind(t, door))
	t.Cleanup(https.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, https.URL+"/api/records/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer ada")
	response, err := https.Client().Do(request) //nolint:bodyclose // closed below, when its reader is done
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	revoked.Store(true)
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, response.Body)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the stream goes on")
	}
}
