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
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/trace"
)

// press presses a button.
func (r *room) press(what, which string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.origin+"/api/do/"+what+"?which="+which, nil)
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusNoContent {
		r.Fatalf("%s %s: %s %s", what, which, response.Status, body)
	}
}

func TestAChangePassesThroughAllBoxes(t *testing.T) {
	r := open(t, lab.Options{})
	from := r.mark()
	r.press("change", "scale-1")
	at := from
	for _, station := range []struct{ box, verb string }{
		{trace.BoxUser, "scale-1"},
		{trace.BoxAPI, "MODIFIED"},
		{trace.BoxReflector, "MODIFIED"},
		{trace.BoxDeltas, "Updated"},
		{trace.BoxIndexer, "Update"},
		{trace.BoxHandlers, "Update"},
		{trace.BoxQueue, "Add"},
		{trace.BoxQueue, "Get"},
		{trace.BoxReconcile, "begin"},
		{trace.BoxIndexer, "list"},
		{trace.BoxWrites, "delete"},
		{trace.BoxAPI, "200"},
		{trace.BoxReconcile, "end"},
		{trace.BoxQueue, "Done"},
	} {
		at = r.see(at, station.box, station.verb, "")
	}
	r.rest(at)
	t.Log("\n" + told(r.steps(from)))
	last := r.steps(from)
	if stored := lastList(last, func(s trace.Step) []string { return s.Stored }); len(stored) != 2 {
		t.Errorf("stored are %q, want the Web and one pod", stored)
	}
	r.press("change", "scale-3")
	r.rest(r.see(from, trace.BoxUser, "scale-3", ""))
}

func lastList(steps []trace.Step, of func(trace.Step) []string) (last []string) {
	for _, s := range slices.Backward(steps) {
		if list := of(s); list != nil {
			return list
		}
	}
	return nil
}

func TestOneThingAtATime(t *testing.T) {
	r := open(t, lab.Options{})
	r.press("pause", "")
	from := r.mark()
	r.press("change", "scale-1")
	for _, one := range []struct{ gate, box, verb string }{
		{lab.GateEvent, trace.BoxReflector, "MODIFIED"},
		{lab.GateItem, trace.BoxQueue, "Get"},
		{lab.GateReconcile, trace.BoxReconcile, "begin"},
		{lab.GateWrite, trace.BoxWrites, "delete"},
	} {
		r.held(one.gate)
		before := count(r.steps(from), one.box, one.verb)
		if before != 0 {
			t.Fatalf("%s %s came before the step:\n%s", one.box, one.verb, told(r.steps(from)))
		}
		r.press("step", one.gate)
		r.see(from, one.box, one.verb, "")
	}
	r.held(lab.GateWrite) // the second delete
	if n := count(r.steps(from), trace.BoxWrites, "delete"); n != 1 {
		t.Errorf("%d deletes were sent for one step", n)
	}
	r.press("run", "")
	r.rest(from)
	r.press("change", "scale-3")
	r.rest(r.see(from, trace.BoxUser, "scale-3", ""))
}

func count(steps []trace.Step, box, verb string) (n int) {
	for _, s := range steps {
		if s.Box == box && s.Verb == verb {
			n++
		}
	}
	return n
}

func TestOtherSitesAreRefused(t *testing.T) {
	r := open(t, lab.Options{})
	for name, change := range map[string]func(*http.Request){
		"another host":        func(q *http.Request) { q.Host = "lab.example.com" },
		"a post of another":   func(q *http.Request) { q.Header.Set("Origin", "http://lab.example.com") },
		"a script of another": func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.origin+"/api/do/pause", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+r.token)
		change(q)
		response, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("%s gets %s, want 403", name, response.Status)
		}
	}
}
