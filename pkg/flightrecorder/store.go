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

package flightrecorder

import "sync"

// store keeps the newest records of every object, and of all objects together no more than its
// budget. Records hang in two lists: one per object, whose oldest goes when it is full, and one of
// all, whose oldest goes when the bytes run out. Both removals and the insertion are O(1), because
// the oldest of all is always the oldest of its object as well.
type store struct {
	maxBytes  int
	perObject int
	lent      func() int // bytes of the budget that others need for a while

	mu             sync.Mutex
	objects        map[objectKey]*ring
	controllers    map[string]int // objects per controller
	oldest, newest *entry
	records        int
	bytes          int
	seq            uint64
	evicted        uint64
	subscriptions  map[*Subscription]struct{}
	streamDrops    uint64
}

type objectKey struct{ controller, namespace, name string }

type ring struct {
	key            objectKey
	oldest, newest *entry
	records        int
}

type entry struct {
	record               *Record
	size                 int
	ring                 *ring
	older, newer         *entry
	ringOlder, ringNewer *entry
}

func newStore(maxBytes, perObject int, lent func() int) *store {
	return &store{
		maxBytes:      maxBytes,
		lent:          lent,
		perObject:     perObject,
		objects:       map[objectKey]*ring{},
		controllers:   map[string]int{},
		subscriptions: map[*Subscription]struct{}{},
	}
}

// add numbers the record, keeps it, and hands it to the subscribers. It never waits for any of them.
func (s *store) add(record *Record) {
	size := record.bytes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	record.Seq = s.seq
	s.insert(&entry{record: record, size: size})
	for limit := s.maxBytes - s.lent(); s.bytes > limit && s.oldest != nil; {
		s.remove(s.oldest)
	}
	for sub := range s.subscriptions {
		s.streamDrops += sub.offer(record)
	}
}

func (s *store) insert(e *entry) {
	key := objectKey{e.record.Controller, e.record.Object.Namespace, e.record.Object.Name}
	r := s.objects[key]
	if r == nil {
		r = &ring{key: key}
		s.objects[key] = r
		s.controllers[key.controller]++
		s.bytes += objectOverhead
	}

	e.ring = r
	e.ringOlder = r.newest
	if r.newest != nil {
		r.newest.ringNewer = e
	} else {
		r.oldest = e
	}
	r.newest = e
	r.records++

	e.older = s.newest
	if s.newest != nil {
		s.newest.newer = e
	} else {
		s.oldest = e
	}
	s.newest = e
	s.records++
	s.bytes += e.size

	if r.records > s.perObject {
		s.remove(r.oldest)
	}
}

// remove takes out an entry that is the oldest of its object.
func (s *store) remove(e *entry) {
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		s.oldest = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		s.newest = e.older
	}
	// e.older stays set: a reader that paused on e goes on from there.

	r := e.ring
	r.oldest = e.ringNewer
	if r.oldest != nil {
		r.oldest.ringOlder = nil
	} else {
		r.newest = nil
		delete(s.objects, r.key)
		if s.controllers[r.key.controller]--; s.controllers[r.key.controller] == 0 {
			delete(s.controllers, r.key.controller)
		}
		s.bytes -= objectOverhead
	}
	r.records--
	s.records--
	s.bytes -= e.size
	s.evicted++
}

// walkChunk is how many records are looked at before the lock is given up for a moment, so that a
// search through everything does not hold up a reconcile that wants to store its record.
const walkChunk = 512

// walk shows all records, newest first, until visit returns false.
func (s *store) walk(visit func(*Record) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	looked := 0
	for e := s.newest; e != nil; e = e.older {
		if !visit(e.record) {
			return
		}
		if looked++; looked%walkChunk == 0 {
			s.mu.Unlock()
			s.mu.Lock() // others may have had it meanwhile
		}
	}
}

// walkObject shows the records of one object, newest first, until visit returns false.
func (s *store) walkObject(key objectKey, visit func(*Record) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.objects[key]
	if r == nil {
		return
	}
	for e := r.newest; e != nil; e = e.ringOlder {
		if !visit(e.record) {
			return
		}
	}
}

func (s *store) controllerNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.controllers))
	for name := range s.controllers {
		names = append(names, name)
	}
	return names
}
