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
//
// The newest of all are kept as they are, for a quarter of the budget; those before them are packed.
type store struct {
	maxBytes  int
	maxLoose  int
	perObject int
	packer    packer
	lent      func() int // bytes of the budget that others need for a while

	mu             sync.Mutex
	objects        map[objectKey]*ring
	controllers    map[string]int // objects per controller
	oldest, newest *entry
	loose          *entry // the oldest that is not packed; those after it are not, either
	records        int
	bytes          int
	looseBytes     int // of those from loose on
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

// entry is a record's place in the lists. It holds the record, or what it was packed into.
type entry struct {
	record               *Record
	packed               []byte
	seq                  uint64
	size                 int
	removed              bool
	ring                 *ring
	older, newer         *entry
	ringOlder, ringNewer *entry
}

func newStore(maxBytes, perObject int, lent func() int) *store {
	return &store{
		maxBytes:      maxBytes,
		maxLoose:      maxBytes / 4,
		lent:          lent,
		perObject:     perObject,
		objects:       map[objectKey]*ring{},
		controllers:   map[string]int{},
		subscriptions: map[*Subscription]struct{}{},
	}
}

// add numbers the record, keeps it, and hands it to the subscribers. It never waits for any of them.
func (s *store) add(record *Record) {
	s.keep(record, record.bytes())
	for s.packOne() {
	}
}

func (s *store) keep(record *Record, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	record.Seq = s.seq
	s.insert(&entry{record: record, seq: s.seq, size: size})
	for limit := s.maxBytes - s.lent(); s.bytes > limit && s.oldest != nil; {
		s.remove(s.oldest)
	}
	for sub := range s.subscriptions {
		s.streamDrops += sub.offer(record)
	}
}

// packOne packs the oldest record that is not packed, where those take more than their share. It
// does so without the lock, so that a record which takes long delays no other caller.
func (s *store) packOne() (more bool) {
	s.mu.Lock()
	e := s.loose
	if e == nil || s.looseBytes <= s.maxLoose {
		s.mu.Unlock()
		return false
	}
	record := e.record
	s.tie(e)
	s.mu.Unlock()

	packed, ok := s.packer.pack(record)
	if !ok {
		return true // it stays as it is
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.removed {
		return true
	}
	e.record, e.packed = nil, packed
	size := packedBytes(packed)
	s.bytes += size - e.size
	e.size = size
	return true
}

// tie takes the oldest loose entry from the loose ones.
func (s *store) tie(e *entry) {
	s.loose = e.newer
	s.looseBytes -= e.size
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
	if s.loose == nil {
		s.loose = e
	}
	s.records++
	s.bytes += e.size
	s.looseBytes += e.size

	if r.records > s.perObject {
		s.remove(r.oldest)
	}
}

// remove takes out an entry that is the oldest of its object.
func (s *store) remove(e *entry) {
	if e.seq >= s.looseFrom() {
		s.looseBytes -= e.size
	}
	if e == s.loose {
		s.loose = e.newer
	}
	e.removed = true
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

// looseFrom is the number of the oldest record that is not packed.
func (s *store) looseFrom() uint64 {
	if s.loose == nil {
		return s.seq + 1
	}
	return s.loose.seq
}

// walkChunk is how many records are taken while the lock is held. They are looked at without it, so
// that a search through everything does not hold up a reconcile that wants to store its record.
const walkChunk = 512

// held is a record as it was found: one of the two.
type held struct {
	record *Record
	packed []byte
}

// show calls visit for each until it returns false. A record that cannot be unpacked is left out.
func show(found []held, visit func(*Record) bool) bool {
	for _, h := range found {
		record := h.record
		if record == nil {
			var err error
			if record, err = unpack(h.packed); err != nil {
				continue
			}
		}
		if !visit(record) {
			return false
		}
	}
	return true
}

// walk shows all records, newest first, until visit returns false.
func (s *store) walk(visit func(*Record) bool) {
	chunk := make([]held, 0, walkChunk)
	s.mu.Lock()
	e := s.newest
	s.mu.Unlock()
	for e != nil {
		chunk = chunk[:0]
		s.mu.Lock()
		for ; e != nil && len(chunk) < walkChunk; e = e.older {
			chunk = append(chunk, held{e.record, e.packed})
		}
		s.mu.Unlock()
		if !show(chunk, visit) {
			return
		}
	}
}

// walkObject shows the records of one object, newest first, until visit returns false.
func (s *store) walkObject(key objectKey, visit func(*Record) bool) {
	var found []held
	s.mu.Lock()
	if r := s.objects[key]; r != nil {
		for e := r.newest; e != nil; e = e.ringOlder {
			found = append(found, held{e.record, e.packed})
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
