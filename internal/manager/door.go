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
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// What clients without credentials may hold and cause at the webhooks' port.
const (
	// strangers is how many connections of unknown clients are worked on at a
	// time; those of one address get half of that. More wait.
	strangers = 64
	// sting is for how long a connection counts that ended unknown: so that an
	// address gets 32 handshakes in a second, and all strangers together 64.
	sting = time.Second
	// mostConnections is how many there may be of all clients, and mostStrangers how
	// many of them of unknown ones, those that wait included. For one more an old one is
	// closed, as in a crowd: so strangers, and those who know one of the paths, take the
	// room neither of the API server nor of one that is not known yet.
	mostConnections = 4096
	mostStrangers   = mostConnections / 2
	// knownFor is for how long the address of a client that was known is not
	// limited: the API server opens many connections at a time.
	knownFor = time.Hour
)

// door lets clients in. Until a request on a connection proves to be of the API
// server, the connection is a stranger's, and there are only so many of these.
type door struct {
	net.Listener
	// all are the connections, outside are the unknown ones, and strangers is the room
	// of those which are worked on.
	all       *crowd
	outside   *crowd
	strangers *room
	// own are the addresses from which the operator calls itself to know whether it is
	// ready.
	own []string

	mu    sync.Mutex
	known map[string]time.Time
}

func newDoor(l net.Listener) *door {
	return &door{
		Listener: l, all: newCrowd(nil, mostConnections), outside: newCrowd(nil, mostStrangers), strangers: newRoom(strangers),
		known: map[string]time.Time{},
	}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{Conn: conn, door: d}
	g.place = enter(d.all, g)
	if !d.knows(g.host()) {
		g.outside = enter(d.outside, g)
	}
	return g, nil
}

// enter makes room for one more.
func enter(c *crowd, g *guest) *visitor {
	v := &visitor{Conn: g, crowd: c}
	if tooMany := c.add(v); tooMany != nil {
		_ = tooMany.Conn.Close() // the guest goes out itself
	}
	return v
}

func (d *door) knows(host string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.own, host) || time.Now().Before(d.known[host])
}

// remember: addresses from which the API server called, and with OLM and without a client
// certificate all that called the conversion.
func (d *door) remember(host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.known[host]; !known {
		maps.DeleteFunc(d.known, func(_ string, until time.Time) bool { return time.Now().After(until) })
	}
	d.known[host] = time.Now().Add(knownFor)
}

// guest is a connection. It waits for its turn before the first byte is read, and
// so before the handshake.
type guest struct {
	net.Conn
	door *door

	first sync.Once
	err   error

	mu sync.Mutex
	// place is its room. leave and outside are nil where it takes no room of strangers.
	// stop ends the wait.
	place       *visitor
	leave, stop func()
	outside     *visitor
	closed      bool
}

func (g *guest) host() string { return hostOf(g.RemoteAddr().String()) }

// Read implements net.Conn.
func (g *guest) Read(p []byte) (int, error) {
	g.first.Do(g.wait)
	if g.err != nil {
		return 0, g.err
	}
	return g.Conn.Read(p)
}

func (g *guest) wait() {
	if g.door.knows(g.host()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	g.mu.Lock()
	if g.stop = cancel; g.closed {
		cancel()
	}
	g.mu.Unlock()
	leave, err := g.door.strangers.enter(ctx, g.RemoteAddr().String(), 1)
	if err != nil {
		g.err = errors.New("too many connections of unknown clients")
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		leave()
		return
	}
	g.leave = leave
}

// welcome: a request on this connection was the API server's.
func (g *guest) welcome() {
	g.door.remember(g.host())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.goIn()
	if g.leave != nil {
		g.leave()
		g.leave = nil
	}
}

// goIn: it is no stranger's, or none any more.
func (g *guest) goIn() {
	if g.outside != nil {
		g.outside.crowd.remove(g.outside)
		g.outside = nil
	}
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		if g.place != nil {
			g.place.crowd.remove(g.place)
		}
		g.goIn()
		if g.stop != nil {
			g.stop()
		}
		if g.leave != nil {
			time.AfterFunc(sting, g.leave)
			g.leave = nil
		}
	}
	return g.Conn.Close()
}

type guestKey struct{}

// asGuest has requests know their connection.
func asGuest(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, guestKey{}, conn)
}

// welcomed serves a request of the API server.
func welcomed(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
		g.welcome()
	}
	next.ServeHTTP(w, r)
}
