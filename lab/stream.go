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
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/pod-operator/lab/trace"
)

// stream is the body of a watch. It reads ahead, so that the lab knows what the API server has
// sent while the reflector is kept waiting, and hands out one event at a time.
type stream struct {
	process  *process
	kind     string
	resource string
	body     io.ReadCloser
	// initial is true until the bookmark that ends a streamed list.
	initial bool

	events  chan *watchEvent
	pending []byte
	listed  map[string]bool // the objects of the streamed list
	ended   chan struct{}
	once    sync.Once
	why     error // set before ended is closed
	err     error // set before events is closed
}

// watchEvent is one line of a watch.
type watchEvent struct {
	line   []byte
	Type   string `json:"type"`
	Object struct {
		Metadata objectMeta `json:"metadata"`
	} `json:"object"`
	object  string
	initial bool
}

// keptAhead bounds what a frozen watch keeps; the API server's own buffer follows.
const keptAhead = 10000

// watch opens a watch.
func (t *transport) watch(r *http.Request, to target) (*http.Response, error) {
	p := t.process
	if p.takeExpire(to.Resource) {
		p.say(trace.BoxFault, faultExpired, to.kind, explain(faultExpired, to.kind))
		response := refused(faultExpired, to)
		response.Request = r
		return response, nil
	}
	response, err := t.inner.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	s := &stream{
		process: p, kind: to.kind, resource: to.Resource, body: response.Body,
		initial: r.URL.Query().Get("sendInitialEvents") == "true",
		events:  make(chan *watchEvent, keptAhead), ended: make(chan struct{}), listed: map[string]bool{},
	}
	p.say(trace.BoxReflector, "watch", to.kind, text("The reflector opens a watch for %s.", "reflector 打开对 %s 的 watch。", to.kind))
	p.mu.Lock()
	p.streams[s] = true
	p.mu.Unlock()
	go s.readAhead()
	response.Body = s
	return response, nil
}

// readAhead notes each event as the API server sends it.
func (s *stream) readAhead() {
	defer close(s.events)
	lines := bufio.NewReader(s.body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.err = err
			return
		}
		e := &watchEvent{line: line, initial: s.initial}
		if json.Unmarshal(line, e) != nil {
			e.Type = "?" // for the reflector to complain about
		}
		s.arrived(e)
		select {
		case s.events <- e:
		case <-s.ended:
			return
		}
	}
}

func (s *stream) arrived(e *watchEvent) {
	m := &e.Object.Metadata
	e.object = s.kind + " " + key(m.Namespace, m.Name)
	switch e.Type {
	case "ADDED", "MODIFIED", "DELETED":
		stored := s.process.lab.store(e.object, m, e.Type == "DELETED")
		if e.initial {
			s.listed[e.object] = true
			return
		}
		s.process.step(trace.Step{
			Box: trace.BoxAPI, Verb: e.Type, Object: e.object, Stored: stored,
			Text: text("The API server sends %s for %s, version %s.", "API server 发送 %s：%s，版本 %s。", e.Type, e.object, m.ResourceVersion),
		})
	case "BOOKMARK":
		if _, ends := m.Annotations[metav1.InitialEventsAnnotationKey]; ends {
			s.initial = false
			s.process.lab.prune(s.kind, s.listed)
		}
	}
}

// Read hands the next event to the reflector when the gate lets it.
func (s *stream) Read(into []byte) (int, error) {
	for len(s.pending) == 0 {
		select {
		case <-s.ended:
			return 0, s.why
		case e, ok := <-s.events:
			if !ok {
				return 0, s.err
			}
			s.deliver(e)
		}
	}
	n := copy(into, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// deliver makes an event the next to be read, unless a fault hides it.
func (s *stream) deliver(e *watchEvent) {
	p := s.process
	if _, ends := e.Object.Metadata.Annotations[metav1.InitialEventsAnnotationKey]; ends && e.Type == "BOOKMARK" {
		p.replaced(s.kind, len(s.listed))
	}
	if e.initial || e.Type != "ADDED" && e.Type != "MODIFIED" && e.Type != "DELETED" {
		s.pending = e.line
		return
	}
	if !p.lab.gates.pass(GateEvent, e.Type+" "+e.object, s.ended) {
		return // Read finds out why
	}
	if p.lab.faults.take(FaultHide) != "" {
		p.say(trace.BoxFault, FaultHide, e.object, explain(FaultHide, e.Type+" "+e.object))
		return
	}
	p.say(trace.BoxReflector, e.Type, e.object, text("The reflector reads %s of %s from its watch.", "reflector 从 watch 读到 %s：%s。", e.Type, e.object))
	delta := map[string]string{"ADDED": "Added", "MODIFIED": "Updated", "DELETED": "Deleted"}[e.Type]
	p.say(trace.BoxDeltas, delta, e.object, text(
		"It becomes a delta, %s, in the informer's queue. The informer takes deltas out one by one, in order.",
		"它变成一个 %s delta 进入 informer 的队列，informer 按顺序逐个取出。", delta))
	s.pending = e.line
}

// end ends the watch for the reflector.
func (s *stream) end(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.ended)
	})
}

// Close ends the watch.
func (s *stream) Close() error {
	s.end(io.EOF)
	s.process.mu.Lock()
	delete(s.process.streams, s)
	s.process.mu.Unlock()
	return s.body.Close()
}

// replaced says that a list replaces what the indexer had.
func (p *process) replaced(kind string, count int) {
	p.lab.mu.Lock()
	stored := p.lab.storedList()
	p.lab.mu.Unlock()
	p.step(trace.Step{
		Box: trace.BoxReflector, Verb: "list", Object: kind, Stored: stored,
		Text: text("The reflector lists %[1]s: %[2]s. What the indexer had before is replaced; what is gone becomes a delta Deleted.",
			"reflector 列出 %[1]s：%[3]d 个对象。indexer 中原有内容被替换，已消失的对象变成 Deleted delta。", kind, trace.Counted(count, "object"), count),
	})
	p.say(trace.BoxDeltas, "Replaced", kind, text("The list becomes deltas of type Replaced.", "列表变成类型为 Replaced 的 delta。"))
}

// drop ends all watches as a broken connection does. With expire, the API server then refuses to
// continue where they were, so that the reflectors list again.
func (p *process) drop(expire bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.streams {
		s.end(io.ErrUnexpectedEOF)
		p.expire[s.resource] = expire
	}
}

// takeExpire says whether a watch has to be refused, once.
func (p *process) takeExpire(resource string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	expire := p.expire[resource]
	delete(p.expire, resource)
	return expire
}

var errDead = errors.New("lab: the operator has crashed; nothing is sent any more")

// timeoutError is what a client sees when no answer came in time.
type timeoutError struct{}

func (timeoutError) Error() string {
	return "request timed out (a fault of the lab: the API server did it)"
}
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
