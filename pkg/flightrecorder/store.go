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

import (
	"cmp"
	"container/list"
	"slices"
	"sync"
)

// store keeps the newest records of every object, and of all objects together no more than its
// budget. Records are in two lists: one per object, whose oldest goes when it is full, and one per
// namespace. When the bytes run out, the oldest goes of the namespace that has most of them, so that one with
// much going on does not push out what is known of the others. The oldest of a namespace is always the
// oldest of its object as well.
type store struct {
	maxBytes  int
	perObject int
	lent      func() int // bytes of the budget that others need for a while

	mu            sync.Mutex
	namespaces    map[string]*namespaceRecords
	objects       map[objectKey][]*list.Element
	count         int
	bytes         int
	seq           uint64
	evicted       uint64
	subscriptions map[*Subscription]struct{}
	streamDrops   uint64
}

// namespaceRecords are a namespace's records and what they take.
type namespaceRecords struct {
	list.List // of *Record, oldest first
	bytes     int
}

type objectKey struct{ controller, namespace, name string }

func objectKeyOf(r *Record) objectKey {
	return objectKey{r.Controller, r.Object.Namespace, r.Object.Name}
}

func newStore(maxBytes, perObject int, lent func() int) *store {
	return &store{
		maxBytes: maxBytes, perObject: perObject, lent: lent,
		namespaces: map[string]*namespaceRecords{}, objects: map[objectKey][]*list.Element{}, subscriptions: map[*Subscription]struct{}{},
	}
}

// add numbers the record, keeps it, and hands it to the subscribers. It never waits for any of them.
func (s *store) add(record *Record) {
	key := objectKeyOf(record)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	record.Seq = s.seq
	s.count++
	of := s.namespaces[key.namespace]
	if of == nil {
		of = &namespaceRecords{}
		s.namespaces[key.namespace] = of
	}
	s.bytes, of.bytes = s.bytes+record.bytes(), of.bytes+record.bytes()
	if len(s.objects[key]) == 0 {
		s.bytes += objectBytes
	}
	s.objects[key] = append(s.objects[key], of.PushBack(record))
	if len(s.objects[key]) > s.perObject {
		s.removeOldest(key)
	}
	for limit := s.maxBytes - s.lent(); s.bytes > limit && s.count > 0; {
		s.removeOldest(objectKeyOf(s.fullest(key.namespace).Front().Value.(*Record)))
	}
	for sub := range s.subscriptions {
		s.streamDrops += sub.offer(record)
	}
}

// fullest is the namespace that makes room: that of the newest record where it has at least an equal share, which
// is the usual case and found without a look at all of them, and else the one that has most.
func (s *store) fullest(newest string) *namespaceRecords {
	most := s.namespaces[newest]
	if most != nil && most.bytes*len(s.namespaces) >= s.bytes {
		return most
	}
	for _, of := range s.namespaces {
		if most == nil || of.bytes > most.bytes {
			most = of
		}
	}
	return most
}

// removeOldest takes out the oldest record of an object.
func (s *store) removeOldest(key objectKey) {
	of := s.namespaces[key.namespace]
	record := of.Remove(s.objects[key][0]).(*Record)
	s.count--
	if of.bytes -= record.bytes(); of.Len() == 0 {
		delete(s.namespaces, key.namespace)
	}
	s.objects[key] = slices.Delete(s.objects[key], 0, 1)
	s.bytes -= record.bytes()
	s.evicted++
	if len(s.objects[key]) == 0 {
		delete(s.objects, key)
		s.bytes -= objectBytes
	}
}

// newest returns all records that may match the query, newest first. They are looked at without the lock, so
// that a search through everything does not hold up a reconcile that wants to store its record.
func (s *store) newest(q *Query) []*Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*Record
	if q.Name == "" {
		found = make([]*Record, 0, s.count)
	}
	for key, elements := range s.objects {
		if q.Name == "" || key.name == q.Name && key.namespace == q.Namespace {
			for _, e := range elements {
				found = append(found, e.Value.(*Record))
			}
		}
	}
	slices.SortFunc(found, func(a, b *Record) int { return cmp.Compare(b.Seq, a.Seq) })
	return found
}
