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

// Package heaproom lets a small heap grow before it is collected, and a large one
// grow less. Go collects a heap when it is twice what was in use. A program which
// uses little is collected often that way: an operator with 10 MB in use that makes
// a thousand pods collects its garbage ten times, and spends a sixth of its time on
// that. One which uses much, most of it a cache that stays, takes as much again for
// garbage. So the room is the same for both, in bytes, and for a heap that is much
// larger than its room two fifths of what is in use.
package heaproom

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// standard is what Go sets by itself, least is what a large heap may grow by.
const (
	standard = 100
	least    = 40
)

// keeper sets the percentage after each collection.
type keeper struct {
	room uint64

	mu   sync.Mutex
	done bool
	set  int
}

// sentinel is unreachable from the start, so that each collection finds it.
type sentinel struct{ keeper *keeper }

// Keep collects garbage when so many bytes have been added to what is in use, or
// two fifths as many as are, whichever is later. It leaves alone what a user has set
// with GOGC; a limit set with GOMEMLIMIT holds as before. The returned function
// ends it.
func Keep(room uint64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	k := &keeper{room: room, set: standard}
	k.tune()
	k.arm()
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.done = true
		debug.SetGCPercent(standard)
	}
}

func (k *keeper) arm() {
	runtime.SetFinalizer(&sentinel{k}, func(s *sentinel) {
		if s.keeper.tune() {
			s.keeper.arm()
		}
	})
}

// tune returns false when it is over.
func (k *keeper) tune() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.done {
		return false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if percent := k.percent(live[0].Value.Uint64()); percent != k.set {
		k.set = percent
		debug.SetGCPercent(percent)
	}
	return true
}

// percent is how much a heap may grow, in steps, because each change stops the
// program for a moment.
func (k *keeper) percent(live uint64) int {
	const step = 25
	percent := int(k.room*100/max(live, 1<<20)) / step * step //nolint:gosec // the quotient is small: live is at least a mebibyte
	return max(percent, least)
}
