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
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// connect opens connections, each of which sends a byte, and returns them.
func connect(t *testing.T, d *door, n int) []net.Conn {
	t.Helper()
	var all []net.Conn
	for range n {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", d.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	return all
}

// serveDoor accepts as a server does, and reports each connection of which a byte
// was read.
func serveDoor(t *testing.T) (*door, <-chan *guest) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d, served := newDoor(l), make(chan *guest, 10*strangers)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := d.Accept()
			if err != nil {
				return
			}
			go func() {
				if _, err := io.ReadFull(conn, make([]byte, 1)); err == nil {
					served <- conn.(*guest)
				} else {
					_ = conn.Close()
				}
			}()
		}
	}()
	return d, served
}

func next(t *testing.T, served <-chan *guest) *guest {
	t.Helper()
	select {
	case g := <-served:
		return g
	case <-time.After(time.Minute):
		t.Fatal("no connection is served")
		return nil
	}
}

func TestAnAddressHoldsOnlySoManyConnections(t *testing.T) {
	d, served := serveDoor(t)
	connect(t, d, strangers/2+1)
	var guests []*guest
	for range strangers / 2 {
		guests = append(guests, next(t, served))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	select {
	case <-served:
		t.Fatal("an address holds more connections than its share")
	case <-ctx.Done():
	}
	// One turns out to be the API server's: the next takes its room.
	guests[0].welcome()
	waited := next(t, served)
	// From then on its address is not limited, and its connections take no room.
	connect(t, d, strangers)
	for range strangers {
		next(t, served)
	}
	if waited.leave == nil {
		t.Error("a connection that waited takes no room, though it is not known yet")
	}
	for _, g := range append(guests, waited) {
		_ = g.Close()
		_ = g.Close()
	}
	d.all.mu.Lock()
	defer d.all.mu.Unlock()
	if d.all.count != strangers {
		t.Errorf("%d connections are counted, want %d", d.all.count, strangers)
	}
}

// queued is a listener with connections that have come in, and then no more.
type queued struct {
	net.Listener
	from []string
}

func (q *queued) Accept() (net.Conn, error) {
	if len(q.from) == 0 {
		return nil, net.ErrClosed
	}
	conn := &silent{from: q.from[0]}
	q.from = q.from[1:]
	return conn, nil
}

// silent is a connection on which nothing is ever sent.
type silent struct {
	net.Conn
	from string
}

func (s *silent) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(s.from), Port: 1}
}

func (*silent) Close() error { return nil }

// Strangers who open more connections than there may be must not shut the API server
// out: webhooks that fail open would be passed by. After a start it is not known yet.
func TestStrangersLeaveRoomForTheAPIServer(t *testing.T) {
	for name, known := range map[string]bool{"one that called before": true, "one that calls for the first time": false} {
		t.Run(name, func(t *testing.T) {
			const apiServer = "10.0.0.1"
			from := slices.Repeat([]string{"10.0.0.8", "10.0.0.9"}, mostConnections)
			d := newDoor(&queued{from: slices.Concat(from, []string{apiServer}, from)})
			if known {
				d.remember(apiServer)
			}
			var its *guest
			for conn, err := d.Accept(); err == nil; conn, err = d.Accept() {
				if g := conn.(*guest); g.host() == apiServer {
					its = g
				}
			}
			if its == nil || its.closed {
				t.Error("its connection was closed")
			}
			if d.outside.count > mostStrangers || d.all.count > mostStrangers+1 {
				t.Errorf("%d connections of strangers are open, and %d in all, want at most %d", d.outside.count, d.all.count, mostStrangers)
			}
		})
	}
}

// A client may know the path of a webhook that fails closed: the API server shows it to
// users when it cannot reach the operator. It must not shut the API server out either.
func TestOneThatIsKnownLeavesRoomForTheAPIServer(t *testing.T) {
	const apiServer, client = "10.0.0.1", "10.0.0.8"
	d := newDoor(&queued{from: append(slices.Repeat([]string{client}, 2*mostConnections), apiServer)})
	d.remember(apiServer)
	d.remember(client)
	var its *guest
	for conn, err := d.Accept(); err == nil; conn, err = d.Accept() {
		if g := conn.(*guest); g.host() == apiServer {
			its = g
		}
	}
	if its == nil || its.closed {
		t.Error("its connection was closed")
	}
}

// Strangers at many addresses wait before the API server, which after a start is not
// known yet: those of one address must not wait before it with all their connections.
func TestAddressesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const addresses, works = 20, 5 * time.Second // as long as a handshake that never ends
		d := newDoor(nil)
		var all sync.WaitGroup
		defer all.Wait()
		for address := range addresses {
			for range strangers / 2 {
				all.Go(func() {
					g := &guest{Conn: &silent{from: fmt.Sprintf("10.0.1.%d", address)}, door: d}
					if g.wait(); g.err == nil {
						<-time.After(works)
					}
					_ = g.Close()
				})
			}
		}
		synctest.Wait()
		g := &guest{Conn: &silent{from: "10.0.0.1"}, door: d}
		if g.wait(); g.err != nil {
			t.Errorf("it is not served: %v", g.err)
		}
		_ = g.Close()
	})
}

// One that is closed to make room waits no longer.
func TestAClosedConnectionWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(nil)
		for range strangers / 2 {
			(&guest{Conn: &silent{from: "10.0.0.8"}, door: d}).wait()
		}
		g := &guest{Conn: &silent{from: "10.0.0.8"}, door: d}
		begin := time.Now()
		go func() {
			synctest.Wait()
			_ = g.Close()
		}()
		if g.wait(); g.err == nil || time.Since(begin) > 0 {
			t.Errorf("error %v after %s", g.err, time.Since(begin))
		}
	})
}

// One that ends, or turns out to be the API server's, leaves its room to another.
func TestAStrangersRoomIsGivenBack(t *testing.T) {
	d := newDoor(&queued{from: slices.Repeat([]string{"10.0.0.8"}, 3*mostStrangers)})
	for n := range 3 * mostStrangers {
		conn, err := d.Accept()
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		if n%2 == 0 && n < mostStrangers {
			conn.(*guest).goIn() // as welcome does, for this one alone
		} else {
			_ = conn.Close()
		}
	}
	if d.all.count != mostStrangers/2 || len(d.outside.open) != 0 {
		t.Errorf("%d connections are counted and %d addresses have room", d.all.count, len(d.outside.open))
	}
}

// The readiness check comes from the operator's own pod. Were it a stranger like any
// other, a few pods could have the operator taken off its Service.
func TestStrangersDoNotMakeTheOperatorUnready(t *testing.T) {
	own := httptest.NewTLSServer(http.NotFoundHandler())
	defer own.Close()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	s := &webhookServer{address: l.Addr().String(), mux: http.NewServeMux(), tls: own.TLS.Clone()}
	s.tls.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &own.TLS.Certificates[0], nil }
	ended := make(chan error)
	go func() { ended <- s.serve(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	check := s.StartedChecker()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
	for err := check(request); err != nil; err = check(request) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	for address := range 8 {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(address))}}
		for range strangers {
			conn, err := dialer.DialContext(t.Context(), "tcp", s.address)
			if err != nil {
				t.Skipf("this machine has no other addresses of its own: %v", err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	if err := check(request); err != nil {
		t.Errorf("strangers make the operator unready: %v", err)
	}
}

// Addresses come and go with pods, and with OLM and without a client certificate every
// caller of the conversion is known.
func TestAnAddressIsForgottenInTheEnd(t *testing.T) {
	d := newDoor(nil)
	d.known["10.0.0.1"] = time.Now().Add(-time.Second)
	d.remember("10.0.0.2")
	if len(d.known) != 1 || !d.knows("10.0.0.2") {
		t.Errorf("the addresses %v are remembered, want the one that called within %s", d.known, knownFor)
	}
}
