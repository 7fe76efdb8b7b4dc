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

// Package browser drives the operator's page in a real Chromium, for tests. A
// test on a machine without one is skipped with a sentence.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// patience is how long a test waits for the browser.
const patience = 60 * time.Second

// Tab is a browser tab of its own, with all that it complained of and all
// hosts that it asked.
type Tab struct {
	testing.TB
	Ctx    context.Context
	origin string

	mu         sync.Mutex
	complaints []string
	hosts      map[string]bool
	// album is where pictures are kept, and what their names in docs/images begin with.
	album string
}

// Open starts Chromium and opens the page of an operator as the owner of a
// token.
func Open(t testing.TB, origin, token string, before ...chromedp.Action) *Tab {
	t.Helper()
	return OpenAt(t, origin, "/", token, before...)
}

// OpenAt opens a view of the page: /podmanagers/NAMESPACE/NAME, say.
func OpenAt(t testing.TB, origin, view, token string, before ...chromedp.Action) *Tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here: hack/ensure-chromium, or apt-get install chromium, lets this test drive the page")
	}
	allocator, endAllocator := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("ignore-certificate-errors", true))...)
	ctx, endTab := chromedp.NewContext(allocator)
	ctx, endPatience := context.WithTimeout(ctx, 10*patience)
	t.Cleanup(func() { endPatience(); endTab(); endAllocator() })
	b := &Tab{TB: t, Ctx: ctx, origin: origin, hosts: map[string]bool{}, album: "dashboard"}
	chromedp.ListenTarget(ctx, b.note)
	address := origin + "/#" + view
	if token != "" {
		separator := "?"
		if strings.Contains(view, "?") {
			separator = "&"
		}
		address += separator + "token=" + url.QueryEscape(token)
	}
	b.Do("open the page", append(append([]chromedp.Action{cdplog.Enable(), network.Enable()}, before...), chromedp.Navigate(address))...)
	return b
}

// Prefer makes the tab that of a person who prefers light or dark.
func Prefer(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

func (b *Tab) note(event any) {
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

// Do does something that has to work.
func (b *Tab) Do(what string, actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.Ctx, actions...); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// See waits until an expression is true in the page.
func (b *Tab) See(what, expression string) {
	b.Helper()
	var shown string
	err := chromedp.Run(b.Ctx, chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(50*time.Millisecond)))
	if err != nil {
		_ = chromedp.Run(b.Ctx, chromedp.Evaluate(`document.body.innerText`, &shown))
		b.Fatalf("waited until %s: %v; complaints %q; the page says:\n%.4000s", what, err, b.complaints, shown)
	}
}

// Album names the pictures that Keep saves, instead of dashboard.
func (b *Tab) Album(name string) { b.album = name }

// Keep saves a picture of the page under test-output/, and, with
// UPDATE_SCREENSHOTS set, under docs/images/ as dashboard-NAME, where the
// documents show it. Each of the selectors is of an element that the documents say
// is to be seen: all of it has to be in the picture, which is as high as that takes.
func (b *Tab) Keep(name string, shown ...string) {
	b.Helper()
	b.See("nothing moves", still)
	b.frame(shown)
	var picture []byte
	b.Do("take a picture", chromedp.CaptureScreenshot(&picture))
	if len(shown) > 0 {
		b.Do("give the window its size back", emulation.ClearDeviceMetricsOverride())
	}
	write := func(elements ...string) {
		file := filepath.Join(append([]string{project.Root()}, elements...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, picture, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	write("test-output", b.album, name+".png")
	if _, err := os.Stat(filepath.Join(project.Root(), "docs", "images", b.album+"-"+name+".png")); err == nil && os.Getenv("UPDATE_SCREENSHOTS") != "" {
		write("docs", "images", b.album+"-"+name+".png")
	}
}

// still says that no animation runs that ends.
const still = `document.getAnimations().every((a) => a.playState !== 'running' || a.effect.getComputedTiming().endTime === Infinity)`

// Of a picture: its width and its least height.
const width, leastHeight = 1280, 760

// frame makes the window as high as the elements take, and waits until all of each is in it.
func (b *Tab) frame(shown []string) {
	b.Helper()
	if len(shown) == 0 {
		return
	}
	selectors, err := json.Marshal(shown)
	if err != nil {
		b.Fatal(err)
	}
	for _, selector := range shown {
		b.See(selector+" is shown", fmt.Sprintf(`document.querySelector(%q)?.checkVisibility()`, selector))
	}
	var height int64
	b.Do("measure", chromedp.EmulateViewport(width, leastHeight), chromedp.Evaluate(fmt.Sprintf(`(() => {
		scrollTo(0, 0);
		const places = %s.map((s) => document.querySelector(s).getBoundingClientRect());
		const top = Math.min(...places.map((r) => r.top));
		window.pictured = top > innerHeight / 2 ? top - 16 : 0;
		return Math.ceil(Math.max(...places.map((r) => r.bottom)) - pictured) + 16;
	})()`, selectors), &height))
	b.Do("make the window as high", chromedp.EmulateViewport(width, max(leastHeight, height)), chromedp.Evaluate(`scrollTo(0, pictured)`, nil))
	for _, selector := range shown {
		b.See("all of "+selector+" is in the picture", fmt.Sprintf(`(() => {
			const e = document.querySelector(%q), r = e?.getBoundingClientRect();
			if (!e?.checkVisibility() || r.width === 0 || r.height === 0) return false;
			const cut = getComputedStyle(e).overflowY !== 'visible' && e.scrollHeight > e.clientHeight + 1;
			return !cut && r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth;
		})() && %s`, selector, still))
	}
}

// Content fails the test when the page complained or asked another host.
func (b *Tab) Content() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.Errorf("the browser complains: %s", strings.Join(b.complaints, "\n"))
	}
	for host := range b.hosts {
		if host != "" && "https://"+host != b.origin && "http://"+host != b.origin {
			b.Errorf("the page asked %s", host)
		}
	}
}
