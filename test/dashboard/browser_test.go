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
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// tab is a browser tab of its own, with all that it complained of and all
// hosts that it asked.
type tab struct {
	testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string
	hosts      map[string]bool
}

// open starts Chromium and opens the page as the owner of a token.
func open(t testing.TB, token string) *tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here: apt-get install chromium lets this test drive the page")
	}
	allocator, endAllocator := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(testkit.Patience),
		chromedp.Flag("ignore-certificate-errors", true))...)
	ctx, endTab := chromedp.NewContext(allocator)
	ctx, endPatience := context.WithTimeout(ctx, 2*testkit.Patience)
	t.Cleanup(func() { endPatience(); endTab(); endAllocator() })
	b := &tab{TB: t, ctx: ctx, hosts: map[string]bool{}}
	chromedp.ListenTarget(ctx, b.note)
	address := origin + "/"
	if token != "" {
		address += "#token=" + url.QueryEscape(token)
	}
	b.do("open the page", cdplog.Enable(), network.Enable(), chromedp.Navigate(address))
	return b
}

func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil {
			b.hosts[u.Host] = true
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Error())
	case *cdplog.EventEntryAdded:
		// A refused request is an answer, and the tests look at what the page makes of it.
		if e.Entry.Level == cdplog.LevelError && e.Entry.Source != cdplog.SourceNetwork {
			b.complaints = append(b.complaints, e.Entry.Text)
		}
	}
}

func (b *tab) do(what string, actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// see waits until an expression is true in the page.
func (b *tab) see(what, expression string) {
	b.Helper()
	var shown string
	err := chromedp.Run(b.ctx, chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(testkit.Patience), chromedp.WithPollingInterval(50*time.Millisecond)))
	if err != nil {
		_ = chromedp.Run(b.ctx, chromedp.Evaluate(`document.body.innerText`, &shown))
		b.Fatalf("waited until %s: %v; complaints %q; the page says:\n%s", what, err, b.complaints, shown)
	}
}

// keep saves a picture of the page under test-output/.
func (b *tab) keep(name string) {
	b.Helper()
	var picture []byte
	b.do("take a picture", chromedp.CaptureScreenshot(&picture))
	folder := filepath.Join(testkit.Root(), "test-output", "dashboard")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		b.Fatal(err)
	}
}

// content fails the test when the page complained or asked another host.
func (b *tab) content() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.Errorf("the browser complains: %s", strings.Join(b.complaints, "\n"))
	}
	for host := range b.hosts {
		if host != "" && "https://"+host != origin {
			b.Errorf("the page asked %s", host)
		}
	}
}

func TestThePageFollowsAFleetAndExplainsIt(t *testing.T) {
	namespace := suite.Namespace(t)
	pm := fleet(t, namespace, "web", 3)
	token := person(t, namespace, "editor", editorRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := open(t, token)

	b.see("three tiles are ready", `document.querySelectorAll('.tile.ready').length === 3`)
	b.see("the stream is open", `document.getElementById('live').textContent === 'live'`)
	b.see("the token is out of the address bar", `!location.href.includes('token')`)
	b.keep("fleet")

	if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":7}}`))); err != nil {
		t.Fatal(err)
	}
	b.see("seven tiles are ready", `document.querySelectorAll('.tile.ready').length === 7`)
	b.see("the count says so", `document.querySelector('[data-count=ready]').textContent === '7'`)
	b.see("the story tells of it", `[...document.querySelectorAll('#story button')].some(b => b.textContent.includes('Created web-3'))`)
	b.keep("scaled")

	b.do("open the why", chromedp.Evaluate(`[...document.querySelectorAll('#story button')].find(b => b.textContent.includes('Created web-3')).click()`, nil))
	b.see("the drawer tells trigger, decision and writes", `document.getElementById('drawer').open &&
		document.getElementById('drawer-body').textContent.includes('spec.replicas') &&
		document.getElementById('drawer-body').textContent.includes('rule scale-up') &&
		document.getElementById('drawer-body').textContent.includes('create Pod web-3: 201')`)
	b.keep("why")
	b.do("close the drawer", chromedp.Click("#close"))

	b.do("open a pod", chromedp.Click(`[data-pod="web-0"]`))
	b.see("the drawer tells the pod's story", `document.getElementById('drawer').open && document.getElementById('drawer-body').textContent.includes('created web-0')`)
	b.do("close the drawer", chromedp.Click("#close"))

	b.do("force a reconcile", chromedp.Click("#reconcile"))
	b.see("the story names who asked", fmt.Sprintf(`[...document.querySelectorAll('#story .cause')].some(c => c.textContent.includes('%s:editor asked for it'))`, namespace))
	b.content()
}

func TestThePageCanBeUsedWithTheKeyboard(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 3)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := open(t, token)
	b.see("three tiles are there", `document.querySelectorAll('.tile').length === 3`)
	b.see("one of them is a tab stop", `document.querySelectorAll('.tile[tabindex="0"]').length === 1`)
	b.see("each says what it is", `[...document.querySelectorAll('.tile')].every(t => /web-\d: /.test(t.getAttribute('aria-label')))`)
	b.do("go to the second tile", chromedp.Focus(`.tile[tabindex="0"]`), chromedp.KeyEvent(kb.ArrowRight))
	b.see("the second has the focus", `document.activeElement.dataset.pod === 'web-1'`)
	b.do("search", chromedp.Evaluate(`document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))`, nil))
	b.see("the slash leads to the search", `document.activeElement.id === 'search'`)
	b.do("type", chromedp.SendKeys("#search", "web-2"))
	b.see("the other tiles fade", `document.querySelectorAll('.tile.off').length === 2`)
	b.see("a viewer cannot press the button", `document.getElementById('reconcile').disabled`)
	b.content()
}

func TestThePageSaysWhyItShowsNothing(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 1)
	for name, c := range map[string]struct{ token, want, also string }{
		"a token that nobody knows": {"not-a-token", "does not know this token", `!document.getElementById('login').hidden`},
		"a person without rights":   {person(t, namespace, "stranger", ""), "may not list podmanagers", `document.getElementById('app').hidden`},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, c.token)
			b.see("the page says why", fmt.Sprintf(`document.getElementById('problem').textContent.includes(%q) && %s`, c.want, c.also))
			b.content()
			b.keep(strings.ReplaceAll(name, " ", "-"))
		})
	}
}
