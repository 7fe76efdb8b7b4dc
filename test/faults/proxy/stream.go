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

package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watch opens a watch and puts itself between.
func (p *Proxy) watch(req *http.Request, resource string) (*http.Response, error) {
	p.mu.Lock()
	refused, dated := p.refused[resource], p.past[resource] != ""
	p.mu.Unlock()
	if refused {
		// After 429 a client asks again for what came since; after other
		// errors it would list.
		return refuse(req, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 0), nil
	}
	if dated && req.URL.Query().Get("sendInitialEvents") == "true" {
		// A list in the form of a watch is always new, so an API server that
		// is behind does not answer it; the client then falls back to a list.
		return refuse(req, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0), nil
	}
	asJSON(req)
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusGone {
		p.count(Expired)
	}
	if resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	s := &stream{proxy: p, resource: resource, from: resp.Body, client: req.Context(), cut: make(chan struct{})}
	p.mu.Lock()
	p.watches[s] = true
	p.mu.Unlock()
	resp.Body = s
	return resp, nil
}

var errReset = errors.New("the watch is reset")

// stream is the body of a watch.
type stream struct {
	proxy    *Proxy
	resource string
	from     io.ReadCloser
	client   context.Context
	cut      chan struct{}
	once     sync.Once
	end      error // what the client sees; set before cut is closed
}

// Read implements io.Reader. What was read while the resource is frozen waits.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	s.proxy.mu.Lock()
	thaw := s.proxy.frozen[s.resource]
	if bytes.Contains(b[:n], []byte(`"reason":"Expired"`)) {
		s.proxy.seen[Expired]++
	}
	s.proxy.mu.Unlock()
	if thaw != nil {
		select {
		case <-thaw:
		case <-s.cut:
		case <-s.client.Done():
		}
	}
	select {
	case <-s.cut:
		return 0, s.end
	default:
		return n, err
	}
}

// stop ends the watch: with errReset as a broken connection would, with io.EOF
// as an API server does after a while.
func (s *stream) stop(end error) {
	s.once.Do(func() {
		s.end = end
		close(s.cut)
		_ = s.from.Close() // wakes a Read; a watch has nothing to say at its end
	})
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.proxy.mu.Lock()
	delete(s.proxy.watches, s)
	s.proxy.mu.Unlock()
	return s.from.Close()
}
