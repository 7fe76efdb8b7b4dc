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

package lab

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestThePinnedVersionsAreThoseOfTheModule(t *testing.T) {
	raw, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for module, version := range pinned() {
		if !strings.Contains(string(raw), "\t"+module+" "+version+"\n") {
			t.Errorf("go.mod has another version of %s than %s", module, version)
		}
	}
}

func TestThePageIsForThisMachineOnly(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := New(Options{}).Serve(t.Context(), listener); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("serving on all addresses gives %v, want a refusal", err)
	}
}

// Other users of the machine reach the port; without the link they learn and cause nothing.
func TestThePageIsForThoseWithTheLink(t *testing.T) {
	l := New(Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, token, found := strings.Cut(l.Link(listener), "/#token=")
	if !found || len(token) < 20 || token == New(Options{}).token {
		t.Fatalf("the link is %s", l.Link(listener))
	}
	handler, err := l.Handler(listener.Addr().(*net.TCPAddr).Port)
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	ask := func(method, path, authorization string) *httptest.ResponseRecorder {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a stream does not end by itself
		defer cancel()
		request := httptest.NewRequestWithContext(ctx, method, "http://"+at+path, nil)
		request.Header.Set("Authorization", authorization)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		return recorder
	}
	for _, path := range []string{"GET /api/stream", "GET /api/walk", "GET /api/walks/01", "GET /api/exercises", "GET /api/exercises/01", "POST /api/do/pause", "GET /api/other"} {
		method, path, _ := strings.Cut(path, " ")
		for _, wrong := range []string{"", "Bearer ", "Bearer " + token + "x", token} {
			if got := ask(method, path, wrong); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "open the link") {
				t.Errorf("%s %s with %q: %d %s", method, path, wrong, got.Code, got.Body)
			}
		}
	}
	at = "a-name-that-was-made-to-lead-here.example:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	if got := ask("POST", "/api/do/pause", "Bearer "+token); got.Code != http.StatusForbidden {
		t.Errorf("under another name: %d %s", got.Code, got.Body)
	}
	at = listener.Addr().String()
	if l.State().Paused {
		t.Error("a refused request paused the lab")
	}
	if got := ask("POST", "/api/do/pause", "Bearer "+token); got.Code != http.StatusNoContent || !l.State().Paused {
		t.Errorf("with the token: %d %s", got.Code, got.Body)
	}
	if got := ask("GET", "/", ""); got.Code != http.StatusOK || strings.Contains(got.Body.String(), token) {
		t.Errorf("the page itself: %d", got.Code)
	}
}

func TestGatesHoldAndLetGo(t *testing.T) {
	g := &gates{changed: func() {}}
	g.set(func(g *gates) { g.paused = true })
	passed := make(chan string, 3)
	for _, gate := range []string{GateEvent, GateItem, GateItem} {
		go func() {
			if g.pass(gate, gate, t.Context().Done()) {
				passed <- gate
			}
		}()
	}
	for {
		if _, _, held := g.state(); len(held[GateItem]) == 2 && len(held[GateEvent]) == 1 {
			break
		}
	}
	if _, ok := g.step(GateWrite); ok {
		t.Error("a step at a gate that holds nothing let something through")
	}
	if what, ok := g.step(GateItem); !ok || what != GateItem || <-passed != GateItem {
		t.Errorf("a step let %q through, want one item", what)
	}
	g.set(func(g *gates) { g.paused, g.frozen = false, true })
	if got := <-passed; got != GateItem {
		t.Errorf("running let %s through, want the second item", got)
	}
	if _, _, held := g.state(); len(held[GateEvent]) != 1 {
		t.Errorf("a frozen watch holds %v, want the event", held)
	}
	g.set(func(g *gates) { g.frozen = false })
	<-passed
}

func TestAQueueOfVersionsIsInOrder(t *testing.T) {
	for _, pair := range [][2]string{{"9", "10"}, {"317", "318"}, {"", "1"}} {
		if newer(pair[0], pair[1]) || !newer(pair[1], pair[0]) {
			t.Errorf("%s is not older than %s", pair[0], pair[1])
		}
	}
}
