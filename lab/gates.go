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
	"slices"
	"sync"
)

// The gates, where things are held while the lab is paused.
const (
	GateEvent     = "event"     // a watch event, before the reflector reads it
	GateItem      = "item"      // a key, before the queue hands it out
	GateReconcile = "reconcile" // a call of Reconcile, before it begins
	GateWrite     = "write"     // a request of a Reconcile, before it is sent
)

// gates hold what comes while they are closed, in the order in which it came.
type gates struct {
	changed func() // called without the lock

	mu     sync.Mutex
	paused bool
	frozen bool // holds the watch events alone, paused or not
	held   []*ticket
}

type ticket struct {
	gate, what string
	open       chan struct{}
}

func (g *gates) closed(gate string) bool { return g.paused || gate == GateEvent && g.frozen }

// pass waits until the gate lets this through. It returns false when done is closed before.
func (g *gates) pass(gate, what string, done <-chan struct{}) bool {
	g.mu.Lock()
	if !g.closed(gate) {
		g.mu.Unlock()
		return true
	}
	t := &ticket{gate: gate, what: what, open: make(chan struct{})}
	g.held = append(g.held, t)
	g.mu.Unlock()
	g.changed()
	select {
	case <-t.open:
		return true
	case <-done:
	}
	g.mu.Lock()
	g.held = slices.DeleteFunc(g.held, func(other *ticket) bool { return other == t })
	g.mu.Unlock()
	g.changed()
	return false
}

// step lets the first thing through that is held at a gate; "" means at any.
func (g *gates) step(gate string) (what string, ok bool) {
	g.mu.Lock()
	i := slices.IndexFunc(g.held, func(t *ticket) bool { return gate == "" || t.gate == gate })
	if i >= 0 {
		what, ok = g.held[i].what, true
		close(g.held[i].open)
		g.held = slices.Delete(g.held, i, i+1)
	}
	g.mu.Unlock()
	g.changed()
	return what, ok
}

// set pauses or runs, freezes or thaws, and opens what is no longer held.
func (g *gates) set(change func(g *gates)) {
	g.mu.Lock()
	change(g)
	g.held = slices.DeleteFunc(g.held, func(t *ticket) bool {
		if g.closed(t.gate) {
			return false
		}
		close(t.open)
		return true
	})
	g.mu.Unlock()
	g.changed()
}

// state lists what is held, by gate.
func (g *gates) state() (paused, frozen bool, held map[string][]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held = map[string][]string{}
	for _, t := range g.held {
		held[t.gate] = append(held[t.gate], t.what)
	}
	return g.paused, g.frozen, held
}
