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

package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fault is what a line does at one write of the operator.
type fault struct {
	// at is which write, counted from 1; 0 means none.
	at   int
	what string
}

// The faults.
const (
	beforeSend  = "crash before it is sent"
	noReply     = "crash when it is done and not answered"
	afterReply  = "crash after the answer"
	freezePods  = "the pod watch is stuck"
	freezeOwner = "the owner watch is stuck"
	hidePod     = "an event of a pod is hidden until the next one"
)

// More faults, which the operator survives: an answer that is not true or does
// not come.
const (
	lost       = "a time-out without effect"
	unanswered = "a time-out with effect"
	conflict   = "409"
	tooMany    = "429"
	broken     = "500"
)

// plan tells what happens at a write, counted from 1. Empty means nothing.
type plan func(write int) string

// once is the plan with one fault.
func once(f fault) plan {
	return func(write int) string {
		if write != f.at {
			return ""
		}
		return f.what
	}
}

// chaos is the plan with faults at random writes, until they are used up. The
// lives of an operator share it.
type chaos struct {
	mu     sync.Mutex
	rng    *rand.Rand
	likely float64
	left   int
	done   []string
}

func (c *chaos) next(write int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || c.rng.Float64() >= c.likely {
		return ""
	}
	c.left--
	all := []string{beforeSend, noReply, afterReply, freezePods, freezeOwner, hidePod, lost, unanswered, conflict, tooMany, broken}
	what := all[c.rng.IntN(len(all))]
	c.done = append(c.done, fmt.Sprintf("write %d: %s", write, what))
	return what
}

// end makes peace.
func (c *chaos) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = 0
}

func faultsAt(at int) []fault {
	var list []fault
	for _, what := range []string{beforeSend, noReply, afterReply, freezePods, freezeOwner, hidePod} {
		list = append(list, fault{at, what})
	}
	return list
}

// stuckTime is how long a watch is stuck, and an event hidden that no other
// event cancels.
const stuckTime = 1500 * time.Millisecond

var errCut = errors.New("the line is cut")

// line is the way from an operator to the API server. It counts writes, does
// what its plan says, and remembers which versions the operator wrote.
type line struct {
	next  http.RoundTripper
	plan  plan
	wrote func(version string)

	mu     sync.Mutex
	cut    bool
	writes int
	frozen map[string]chan struct{}
	hiding bool
}

func newLine(p plan, wrote func(version string)) *line {
	return &line{plan: p, wrote: wrote, frozen: map[string]chan struct{}{}}
}

// wrap is for rest.Config.
func (l *line) wrap(next http.RoundTripper) http.RoundTripper {
	l.next = next
	return l
}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	resource := resourceOf(req)
	if req.Method == http.MethodGet {
		return l.read(req, resource)
	}
	if resource == "" {
		if l.isCut() {
			return nil, errCut
		}
		return l.next.RoundTrip(req)
	}
	what, dead := l.count()
	if dead {
		return nil, errCut
	}
	switch what {
	case beforeSend, lost:
		l.trip(what)
		return nil, errCut
	case conflict:
		return refusal(req, http.StatusConflict, metav1.StatusReasonConflict), nil
	case tooMany:
		return refusal(req, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests), nil
	case broken:
		return refusal(req, http.StatusInternalServerError, metav1.StatusReasonInternalError), nil
	}
	resp, err := l.next.RoundTrip(req)
	if err == nil {
		err = l.note(resp)
	}
	l.trip(what)
	if what == noReply || what == unanswered {
		return nil, errCut
	}
	return resp, err
}

// refusal answers in the API server's place.
func refusal(req *http.Request, code int, reason metav1.StatusReason) *http.Response {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: "a fault of the test",
	})
	if err != nil {
		panic(err) // a status always has a JSON form
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if code == http.StatusTooManyRequests {
		header.Set("Retry-After", "1")
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func (l *line) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// count counts a write and tells what happens to it.
func (l *line) count() (what string, dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return "", true
	}
	l.writes++
	return l.plan(l.writes), false
}

// trip makes happen what lasts.
func (l *line) trip(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch what {
	case freezePods:
		l.freeze("pods")
	case freezeOwner:
		l.freeze("podmanagers")
	case hidePod:
		l.hiding = true
	case beforeSend, noReply, afterReply:
		l.cut = true
	}
}

func (l *line) freeze(resource string) {
	if l.frozen[resource] != nil {
		return
	}
	thaw := make(chan struct{})
	l.frozen[resource] = thaw
	time.AfterFunc(stuckTime, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.frozen, resource)
		close(thaw)
	})
}

// note remembers the version that a write made.
func (l *line) note(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var obj struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	if json.Unmarshal(body, &obj) == nil && obj.ResourceVersion != "" {
		l.wrote(obj.ResourceVersion)
	}
	return nil
}

// read lets a read pass, and puts a filter on a watch.
func (l *line) read(req *http.Request, resource string) (*http.Response, error) {
	if l.isCut() {
		return nil, errCut
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil || resource == "" || req.URL.Query().Get("watch") == "" || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	out, in := io.Pipe()
	f := &filter{line: l, resource: resource, from: resp.Body, to: in}
	go f.pump()
	resp.Body = &filtered{PipeReader: out, from: resp.Body}
	return resp, nil
}

// filtered is the body of a watch behind a filter.
type filtered struct {
	*io.PipeReader
	from io.Closer
}

// Close implements io.Closer.
func (f *filtered) Close() error { return errors.Join(f.from.Close(), f.PipeReader.Close()) }

// filter passes the events of a watch on, later or not at all.
type filter struct {
	line     *line
	resource string
	from     io.Reader
	to       *io.PipeWriter

	mu     sync.Mutex
	hidden json.RawMessage
	name   string
}

func (f *filter) pump() {
	decoder := json.NewDecoder(f.from)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			_ = f.to.CloseWithError(err) // it always succeeds
			return
		}
		if thaw := f.line.thaw(f.resource); thaw != nil {
			<-thaw
		}
		if f.hides(raw) {
			continue
		}
		if _, err := f.to.Write(append(raw, '\n')); err != nil {
			return
		}
	}
}

func (l *line) thaw(resource string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen[resource]
}

// hides keeps one event of a pod back until the next event of that pod, which
// then is all that the operator ever sees.
func (f *filter) hides(raw json.RawMessage) bool {
	if f.resource != "pods" {
		return false
	}
	var event struct {
		Type   string
		Object struct {
			metav1.ObjectMeta `json:"metadata"`
		}
	}
	if json.Unmarshal(raw, &event) != nil || event.Type == "BOOKMARK" {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hidden != nil && f.name == event.Object.Name {
		f.hidden = nil // the event that cancels it
		return false
	}
	f.line.mu.Lock()
	defer f.line.mu.Unlock()
	if !f.line.hiding {
		return false
	}
	f.line.hiding = false
	f.hidden, f.name = raw, event.Object.Name
	time.AfterFunc(stuckTime, f.reveal)
	return true
}

// reveal gives up hiding what nothing cancelled.
func (f *filter) reveal() {
	f.mu.Lock()
	raw := f.hidden
	f.hidden = nil
	f.mu.Unlock()
	if raw != nil {
		_, _ = f.to.Write(append(raw, '\n')) // the watch may have ended meanwhile
	}
}

// resourceOf is the resource of a request, if it is one that the oracles watch.
func resourceOf(req *http.Request) string {
	parts := strings.Split(req.URL.Path, "/")
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			switch parts[i+2] {
			case "pods", "podmanagers", "controllerrevisions", "persistentvolumeclaims":
				return parts[i+2]
			}
		}
	}
	return ""
}
