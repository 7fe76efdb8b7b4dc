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

package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/apply"
)

// A reconcile costs as much as the fleet has pods, and a fleet that changes has an
// event for every pod: a reconcile for each would cost the square of the pods. So
// the event of a pod waits for others, the longer the more pods there are. A
// change of the owner never waits.
const (
	debouncePerPod  = 100 * time.Microsecond
	longestDebounce = 500 * time.Millisecond
)

// memories are what this process remembers of its owners from one reconcile to the
// next, by UID, so that a namesake begins anew. All of it may be lost: a fresh
// process makes the same decisions about pods.
type memories struct {
	mu     sync.Mutex
	owners map[types.UID]*memory
}

// memory is about one owner. One reconcile of an owner runs at a time, so what
// only reconciles use needs no lock.
type memory struct {
	key     types.NamespacedName
	draft   draft
	refused apply.Memory

	// Events and scrapes read these, under the lock of memories.
	size       size
	generation int64  // the newest that an event showed
	version    string // the owner's resourceVersion after our last write of its status
	waiting    bool   // its status waits to be written
	room       bool   // a quota has more room than when it refused something
}

// size is how large a fleet was when it was last reconciled.
type size struct {
	known                bool
	pods, desired, ready int
	stalled              bool
	countsNodes          bool // it depends on which nodes take new pods
	full                 bool // a quota refuses what it asks for
}

func newMemories() *memories { return &memories{owners: map[types.UID]*memory{}} }

// of is the memory of an owner.
func (m *memories) of(owner client.Object) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.owners[owner.GetUID()]
	if known == nil {
		known = &memory{key: client.ObjectKeyFromObject(owner)}
		m.owners[owner.GetUID()] = known
	}
	return known
}

// forget drops an owner that is gone, or that another process works on.
func (m *memories) forget(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}

// forgetNamed drops every owner of a name: there is none any more.
func (m *memories) forgetNamed(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.owners, func(_ types.UID, known *memory) bool { return known.key == key })
}

// measure notes how large a fleet is.
func (m *memories) measure(of *memory, is size) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is.known = true
	of.size = is
}

// sizes are those of all fleets, by name.
func (m *memories) sizes() map[types.NamespacedName]size {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[types.NamespacedName]size, len(m.owners))
	for _, known := range m.owners {
		if known.size.known {
			all[known.key] = known.size
		}
	}
	return all
}

// makeRoom notes that a quota of a namespace has more room, and returns the owners that wait
// for it, in a fixed order.
func (m *memories) makeRoom(namespace string) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []types.NamespacedName
	for _, known := range m.owners {
		if known.key.Namespace == namespace && known.size.full {
			known.room = true
			keys = append(keys, known.key)
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	return keys
}

// takeRoom reports whether a quota has more room since it refused something.
func (m *memories) takeRoom(of *memory) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	room := of.room
	of.room = false
	return room
}

// countingNodes are the owners that depend on which nodes take new pods, in a fixed
// order, so that a simulated run is the same every time.
func (m *memories) countingNodes() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []types.NamespacedName
	for _, known := range m.owners {
		if known.size.countsNodes {
			keys = append(keys, known.key)
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return keys
}

// debounce is how long an event of one of the owner's pods waits for others, in
// milliseconds: those of a few pods do not wait.
func (m *memories) debounce(owner types.UID) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.owners[owner]
	if known == nil {
		return 0
	}
	return min(time.Duration(known.size.pods)*debouncePerPod, longestDebounce).Truncate(time.Millisecond)
}

// asked notes that an event showed a new generation of an owner.
func (m *memories) asked(owner client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.owners[owner.GetUID()]; known != nil {
		known.generation = owner.GetGeneration()
	}
}

// outdated reports whether an owner has a newer spec than when it was read.
func (m *memories) outdated(owner client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.owners[owner.GetUID()]
	return known != nil && known.generation > owner.GetGeneration()
}

// wait notes whether an owner's status waits to be written.
func (m *memories) wait(of *memory, waits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of.waiting = waits
}

// wrote notes the version of an owner whose status we wrote.
func (m *memories) wrote(of *memory, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of.version = version
}

// ours reports whether a version of an owner is the one that we wrote last.
func (m *memories) ours(owner client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.owners[owner.GetUID()]
	return known != nil && known.version == owner.GetResourceVersion()
}

// newWindow is how long the first status of a new owner waits.
func (m *memories) newWindow() time.Duration {
	return min(firstOwnWindow+time.Duration(m.waiting())*windowPerOwner, newWindow)
}

// waiting counts the owners whose status waits to be written.
func (m *memories) waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, known := range m.owners {
		if known.waiting {
			n++
		}
	}
	return n
}
