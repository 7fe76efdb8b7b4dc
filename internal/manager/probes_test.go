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

package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// The probes' port is open to every client in the pod network. One of them must not
// fill the memory with headers: of 600 connections controller-runtime's server keeps
// more than a gigabyte.
func TestTheProbesReadNoLargeHeaders(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config = withProbes(nil).server()
	server.Start()
	defer server.Close()
	for size, want := range map[int]int{100: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/healthz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("A", strings.Repeat("a", size))
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("a header of %d bytes is answered %d, want %d", size, response.StatusCode, want)
		}
	}
}

func TestProbesAreAnswered(t *testing.T) {
	p := withProbes(nil)
	down := errors.New("down")
	_ = p.AddHealthzCheck("ping", healthz.Ping)
	_ = p.AddReadyzCheck("webhooks", func(*http.Request) error { return down })
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/healthz/ping": http.StatusOK, "/readyz": http.StatusInternalServerError,
		"/readyz/webhooks": http.StatusInternalServerError, "/readyz/other": http.StatusNotFound, "/metrics": http.StatusNotFound,
	} {
		recorder := httptest.NewRecorder()
		p.server().Handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if recorder.Code != want {
			t.Errorf("%s is answered %d, want %d", path, recorder.Code, want)
		}
	}
}

// What a watch was answered names namespaces and accounts, and every client may ask.
func TestTheProbesTellNoReasons(t *testing.T) {
	p := withProbes(nil)
	_ = p.AddReadyzCheck("watches", func(*http.Request) error { return errors.New("/api/v1/namespaces/shop/pods: forbidden") })
	for _, path := range []string{"/readyz", "/readyz?verbose", "/readyz/watches"} {
		recorder := httptest.NewRecorder()
		p.server().Handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if body := recorder.Body.String(); recorder.Code != http.StatusInternalServerError || strings.Contains(body, "shop") {
			t.Errorf("%s is answered %d: %s", path, recorder.Code, body)
		}
	}
}

// Strangers who ask whether the operator is ready cause no work each, and those who
// hang up do not make it unready.
func TestReadinessIsNotAskedAnewForEveryone(t *testing.T) {
	asked := 0
	a := &answered{until: time.Now().Add(-time.Second), check: func(r *http.Request) error {
		asked++
		return r.Context().Err()
	}}
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for range 100 {
		if err := a.ask(httptest.NewRequestWithContext(gone, http.MethodGet, "/readyz", http.NoBody)); err != nil {
			t.Fatal(err)
		}
		a.until = a.until.Add(time.Minute) // however slow the machine is
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

// incoming is a listener of connections in memory.
type incoming struct {
	net.Listener
	conns chan net.Conn
}

func (i *incoming) Accept() (net.Conn, error) { return <-i.conns, nil }

// from is a connection of an address.
type from struct {
	net.Conn
	address string
}

func (f *from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 1} }

// One that opens many connections loses its own, and no one else's.
func TestACrowdLosesItsOwnConnections(t *testing.T) {
	const most = 8
	l := &incoming{conns: make(chan net.Conn, 1)}
	c := newCrowd(l, most)
	open := func(address string) net.Conn {
		theirs, ours := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		l.conns <- &from{Conn: ours, address: address}
		if _, err := c.Accept(); err != nil {
			t.Fatal(err)
		}
		return theirs
	}
	closed := func(conn net.Conn) bool {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	kubelet := open("10.0.0.1")
	first := open("10.0.0.9")
	for range 10 * most {
		open("10.0.0.9")
	}
	if closed(kubelet) || !closed(first) {
		t.Errorf("the kubelet's is closed: %t, the oldest of the crowd: %t", closed(kubelet), closed(first))
	}
	for n := range 10 * most {
		open(fmt.Sprintf("10.0.1.%d", n)) // each with one
	}
	if c.count != most {
		t.Errorf("%d connections are counted, want %d", c.count, most)
	}
	for len(c.open) > 0 {
		for _, of := range c.open {
			v := of[0]
			_ = v.Close()
			_ = v.Close()
		}
	}
	if c.count != 0 || len(c.open) != 0 {
		t.Errorf("%d connections of %d addresses are counted after the last one ended", c.count, len(c.open))
	}
}

// As many addresses as there are places must not shut the kubelet out.
func TestACrowdOfManyAddressesLosesItsOldestConnection(t *testing.T) {
	c := newCrowd(nil, mostOfAPort)
	crowd := make([]*visitor, mostOfAPort)
	for n := range crowd {
		crowd[n] = &visitor{Conn: &silent{from: net.IPv4(10, 0, 1, byte(n)).String()}, crowd: c}
		c.add(crowd[n])
	}
	if tooMany := c.add(&visitor{Conn: &silent{from: "10.0.0.1"}, crowd: c}); tooMany != crowd[0] {
		t.Errorf("the connection of %s is closed, want the oldest", tooMany.host())
	}
}

// A handshake costs a millisecond of CPU. One address must not take all there is.
func TestAnAddressOpensOnlySoManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tries = 1000
		came := &queued{}
		c := newCrowd(came, mostOfAPort)
		served := func(address string) (n int) {
			came.from = slices.Repeat([]string{address}, tries)
			for conn, err := c.Accept(); err == nil; conn, err = c.Accept() {
				n++
				_ = conn.Close()
			}
			return n
		}
		for _, address := range []string{"10.0.0.8", "10.0.0.9"} {
			if n := served(address); n != opensAtOnce {
				t.Errorf("%s: of %d connections %d are served, want %d", address, tries, n, opensAtOnce)
			}
		}
		<-time.After(time.Second)
		if n := served("10.0.0.8"); n != opensPerSecond {
			t.Errorf("a second later %d are served, want %d", n, opensPerSecond)
		}
		for n := range 2 * rememberedAddresses {
			c.mayOpen(net.IPv4(10, 1, byte(n>>8), byte(n)).String())
		}
		if n := len(c.paces.Keys()); n > rememberedAddresses {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}
