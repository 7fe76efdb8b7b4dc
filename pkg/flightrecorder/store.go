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

// entry is a record's place in the lists.
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
		s.bytes += objectBytes
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
		s.bytes -= objectBytes
	}
	r.records--
	s.records--
	s.bytes -= e.size
	s.evicted++
}

// walkChunk is how many records are taken while the lock is held. They are looked at without it, so
// that a search through everything does not hold up a reconcile that wants to store its record.
const walkChunk = 512

// show calls visit for each until it returns false.
func show(records []*Record, visit func(*Record) bool) bool {
	for _, record := range records {
		if !visit(record) {
			return false
		}
	}
	return true
}

// walk shows all records, newest first, until visit returns false.
func (s *store) walk(visit func(*Record) bool) {
	chunk := make([]*Record, 0, walkChunk)
	s.mu.Lock()
	e := s.newest
	s.mu.Unlock()
	for e != nil {
		chunk = chunk[:0]
		s.mu.Lock()
		for ; e != nil && len(chunk) < walkChunk; e = e.older {
			chunk = append(chunk, e.record)
		}
		s.mu.Unlock()
		if !show(chunk, visit) {
			return
		}
	}
}

// walkObject shows the records of one object, newest first, until visit returns false.
func (s *store) walkObject(key objectKey, visit func(*Record) bool) {
	var found []*Record
	s.mu.Lock()
	if r := s.objects[key]; r != nil {
		for e := r.newest; e != nil; e = e.ringOlder {
			found = append(found, e.record)
		}
	}
	s.mu.Unlock()
	show(found, visit)
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
