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
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
)

// mostOfAPort is how many connections a port has that serves people, probes or
// scrapers: each takes up to a hundred kilobytes.
const mostOfAPort = 256

// What an address may open: each connection costs a handshake, a millisecond of CPU. A
// browser opens six and keeps them. Only so many addresses are remembered; a forgotten
// one begins anew.
const (
	opensPerSecond, opensAtOnce = 20, 100
	rememberedAddresses         = 4096
)

// crowd is a listener that keeps only so many connections. For one more it closes the
// oldest of the address that has most, and of several such addresses the oldest. So a
// client with many of them takes its own room, and neither the memory nor the kubelet's
// probe. An address that opens too many in a short time has the further ones closed
// before their handshake.
type crowd struct {
	net.Listener
	most int
	// paces are the limiters of addresses, nil where connections cost nothing.
	paces *cache.LRUExpireCache

	mu sync.Mutex
	// open are the connections by address, the oldest first.
	open  map[string][]*visitor
	count int
	// came is how many have come in all.
	came int
}

// visitor is a connection.
type visitor struct {
	net.Conn
	crowd *crowd
	// number says which is older.
	number int
}

func newCrowd(l net.Listener, most int) *crowd {
	return &crowd{Listener: l, most: most, paces: cache.NewLRUExpireCache(rememberedAddresses), open: map[string][]*visitor{}}
}

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		v := &visitor{Conn: conn, crowd: c}
		if !c.mayOpen(v.host()) {
			_ = conn.Close()
			continue
		}
		if tooMany := c.add(v); tooMany != nil {
			_ = tooMany.Close()
		}
		return v, nil
	}
}

// mayOpen is asked by Accept alone, so one at a time.
func (c *crowd) mayOpen(host string) bool {
	if c.paces == nil {
		return true
	}
	pace, ok := c.paces.Get(host)
	if !ok {
		pace = flowcontrol.NewTokenBucketRateLimiter(opensPerSecond, opensAtOnce)
	}
	c.paces.Add(host, pace, time.Minute) // by then it is as good as new
	return pace.(flowcontrol.RateLimiter).TryAccept()
}

// add returns the one that has to go, or nil.
func (c *crowd) add(v *visitor) *visitor {
	c.mu.Lock()
	defer c.mu.Unlock()
	host := v.host()
	c.came++
	v.number = c.came
	c.open[host] = append(c.open[host], v)
	if c.count++; c.count <= c.most {
		return nil
	}
	largest := c.open[host]
	for _, of := range c.open {
		if len(of) > len(largest) || len(of) == len(largest) && of[0].number < largest[0].number {
			largest = of
		}
	}
	return largest[0]
}

func (v *visitor) host() string { return hostOf(v.RemoteAddr().String()) }

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.crowd.remove(v)
	return v.Conn.Close()
}

func (c *crowd) remove(v *visitor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	host := v.host()
	at := slices.Index(c.open[host], v)
	if at < 0 {
		return
	}
	c.count--
	if c.open[host] = slices.Delete(c.open[host], at, at+1); len(c.open[host]) == 0 {
		delete(c.open, host)
	}
}
