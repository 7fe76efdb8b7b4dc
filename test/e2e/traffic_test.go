//go:build linux

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

package e2e

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"
)

// traffic is a client that asks every pod of a fleet, again and again.
type traffic struct {
	addresses []string
	stop      context.CancelFunc
	done      chan struct{}

	// Written by the client until done is closed.
	fewest, rounds int
	versions       map[string]bool
}

// newTraffic begins to ask the pods that are there now.
func newTraffic(f *fleet) *traffic {
	f.Helper()
	ctx, stop := context.WithCancel(f.Context())
	c := &traffic{stop: stop, done: make(chan struct{}), versions: map[string]bool{}}
	for _, p := range f.pods() {
		c.addresses = append(c.addresses, p.Status.PodIP)
	}
	c.fewest = len(c.addresses)
	go func() {
		defer close(c.done)
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				c.round(ctx)
			}
		}
	}()
	return c
}

// round asks all pods at once and counts the answers.
func (c *traffic) round(ctx context.Context) {
	answers := make([]string, len(c.addresses))
	var wait sync.WaitGroup
	for i, address := range c.addresses {
		wait.Go(func() {
			// A slow answer is one: the machine may be busy.
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			answers[i], _ = ask(ctx, address, http.MethodGet, "/version")
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return // cut off, not unanswered
	}
	answered := 0
	for _, answer := range answers {
		if answer != "" {
			answered++
			c.versions[answer] = true
		}
	}
	c.rounds++
	c.fewest = min(c.fewest, answered)
}

// end stops asking and checks that never fewer pods than that answered, and that
// these versions did.
func (c *traffic) end(t testing.TB, fewest int, versions ...string) {
	t.Helper()
	c.stop()
	<-c.done
	t.Logf("traffic: %d rounds, at least %d of %d pods answered each time, versions %v", c.rounds, c.fewest, len(c.addresses), c.versions)
	if c.fewest < fewest {
		t.Errorf("only %d of %d pods answered at one time, want %d at least", c.fewest, len(c.addresses), fewest)
	}
	for _, version := range versions {
		if !c.versions[version] {
			t.Errorf("no pod ever answered as %s, only as %v", version, c.versions)
		}
	}
}
