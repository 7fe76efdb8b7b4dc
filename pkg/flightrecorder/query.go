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
	"slices"
	"sync/atomic"
	"time"
)

// DefaultLimit is how many records a Query without a Limit returns.
const DefaultLimit = 100

// Query selects records. The zero value selects the newest DefaultLimit of all.
type Query struct {
	// Controller, Kind, Namespace and Name select by the object that was reconciled; what is empty
	// selects all, save that a Name without a Namespace is a cluster-scoped object. With a Name the
	// query is cheap: only that object's records are read.
	Controller string
	Kind       string
	Namespace  string
	Name       string
	// Touching selects the reconciles that had this object among their triggers or their writes,
	// whichever object they reconciled: the story of a Pod that is long gone. Its UID and its
	// APIVersion are compared only where both sides have one.
	Touching *ObjectRef
	// Since and Until select by Record.Start; Since is included, Until is not.
	Since, Until time.Time
	// Before selects records with a smaller Seq, to page towards the past.
	Before uint64
	// Outcomes selects by outcome; empty selects all.
	Outcomes []Outcome
	// WithWrites selects only reconciles that wrote something.
	WithWrites bool
	// Limit is the largest number of records to return; 0 is DefaultLimit, below 0 is no limit.
	Limit int
}

// Matches says whether the query selects the record, its Limit aside.
func (q *Query) Matches(r *Record) bool {
	switch {
	case q.Controller != "" && q.Controller != r.Controller,
		q.Kind != "" && q.Kind != r.Object.Kind,
		(q.Namespace != "" || q.Name != "") && q.Namespace != r.Object.Namespace,
		q.Name != "" && q.Name != r.Object.Name,
		q.Before != 0 && r.Seq >= q.Before,
		!q.Since.IsZero() && r.Start.Before(q.Since),
		!q.Until.IsZero() && !r.Start.Before(q.Until),
		q.WithWrites && len(r.Writes) == 0,
		len(q.Outcomes) > 0 && !slices.Contains(q.Outcomes, r.Outcome):
		return false
	}
	return q.Touching == nil || r.touches(q.Touching)
}

func (r *Record) touches(want *ObjectRef) bool {
	return slices.ContainsFunc(r.Triggers, func(t Trigger) bool { return t.Object != nil && t.Object.is(want) }) ||
		slices.ContainsFunc(r.Writes, func(w Write) bool { return w.Object.is(want) })
}

func (o *ObjectRef) is(want *ObjectRef) bool {
	return o.Name == want.Name && o.Namespace == want.Namespace &&
		(want.Kind == "" || o.Kind == want.Kind) &&
		(want.APIVersion == "" || o.APIVersion == "" || o.APIVersion == want.APIVersion) &&
		(want.UID == "" || o.UID == "" || o.UID == want.UID)
}

// Query returns the selected records, newest first.
func (r *Recorder) Query(q Query) []*Record {
	limit := cmp.Or(q.Limit, DefaultLimit)
	found := []*Record{}
	for _, rec := range r.store.newest(&q) {
		if len(found) == limit {
			break
		}
		if q.Matches(rec) {
			found = append(found, rec)
		}
	}
	return found
}

// Get returns the record with this ID, where it is still kept.
func (r *Recorder) Get(id string) (*Record, bool) {
	for _, rec := range r.store.newest(&Query{}) {
		if rec.ID == id {
			return rec, true
		}
	}
	return nil, false
}

// Subscription is a stream of records as they come in. Close it when it is no longer read.
type Subscription struct {
	// C delivers the records in the order of their Seq. Close closes it.
	C <-chan *Record

	query   Query
	channel chan *Record
	store   *store
	dropped atomic.Uint64
}

// MaxSubscriptionBuffer bounds how many records one subscriber that does not read can keep alive.
const MaxSubscriptionBuffer = 1024

// Subscribe streams the records that the query selects from now on, and returns with it those that
// are there already (newest first, at most query.Limit; none with a Limit below 0): between the two
// nothing is lost and nothing comes twice. The recorder never waits for a reader: past buffer records
// that were not read, further ones are dropped and counted.
func (r *Recorder) Subscribe(query Query, buffer int) (*Subscription, []*Record) {
	buffer = min(max(buffer, 1), MaxSubscriptionBuffer)
	ch := make(chan *Record, buffer)
	sub := &Subscription{C: ch, channel: ch, query: query, store: r.store}
	sub.query.Before = 0

	r.store.mu.Lock()
	r.store.subscriptions[sub] = struct{}{}
	next := r.store.seq + 1
	r.store.mu.Unlock()

	if query.Limit < 0 {
		return sub, nil
	}
	if query.Before == 0 || query.Before > next {
		query.Before = next
	}
	return sub, r.Query(query)
}

// offer is called with the store's lock held. It returns how many records it dropped.
func (s *Subscription) offer(r *Record) uint64 {
	if !s.query.Matches(r) {
		return 0
	}
	select {
	case s.channel <- r:
		return 0
	default:
		s.dropped.Add(1)
		return 1
	}
}

// Dropped is how many records were not delivered because the reader was too slow.
func (s *Subscription) Dropped() uint64 { return s.dropped.Load() }

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if _, open := s.store.subscriptions[s]; open {
		delete(s.store.subscriptions, s)
		close(s.channel)
	}
}
