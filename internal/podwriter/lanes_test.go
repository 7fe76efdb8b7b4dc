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

package podwriter

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server answers deletes after a moment, with as many at once on a connection
// as an API server takes, and remembers who asked.
type server struct {
	*httptest.Server
	delay time.Duration

	mu          sync.Mutex
	connections map[string]int
	accepted    int
	busy, most  int
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{connections: map[string]int{}, delay: 100 * time.Millisecond}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.connections[r.RemoteAddr]++
		s.busy++
		s.most = max(s.most, s.busy)
		s.mu.Unlock()
		select {
		case <-time.After(s.delay):
		case <-r.Context().Done():
		}
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}))
	s.EnableHTTP2 = true
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 100}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.accepted++
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) client(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: s.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	c, err := NewClient(config, client.Options{Scheme: scheme, Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deletePods deletes so many pods at once.
func deletePods(ctx context.Context, c client.Client, n int) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			errs[i] = c.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-" + strconv.Itoa(i)}})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func TestConnectionsAreAsManyAsNeeded(t *testing.T) {
	for name, test := range map[string]struct{ deletes, connections int }{
		"a few":                    {20, 1},
		"what fits on one":         {laneWidth, 1},
		"more than that":           {2 * laneWidth, 2},
		"all that are made":        {laneCount * laneWidth, laneCount},
		"more than may be at once": {2 * laneCount * laneWidth, laneCount},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			c := s.client(t)
			// The first lane has a connection: the operator's watches are on it.
			if err := deletePods(t.Context(), c, 1); err != nil {
				t.Fatal(err)
			}
			if err := deletePods(t.Context(), c, test.deletes); err != nil {
				t.Fatal(err)
			}
			if s.accepted != test.connections || len(s.connections) != test.connections {
				t.Errorf("%d connections were made and %d used for %d deletes, want %d", s.accepted, len(s.connections), test.deletes, test.connections)
			}
			if s.most > laneCount*laneWidth {
				t.Errorf("%d requests at once, want %d at most", s.most, laneCount*laneWidth)
			}
		})
	}
}

func TestWhoWaitsForALaneCanStop(t *testing.T) {
	full := newLanes(&lane{})
	for range laneWidth {
		full.seats <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := full.do(ctx, func(rest.Interface) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}
