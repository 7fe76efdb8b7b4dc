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

// Package quarantine keeps an object that cannot be decoded from hiding all
// others of its kind.
//
// A typed client decodes a list as a whole: one object with a number that its Go
// type cannot hold, and the list fails, the cache stays empty, and no object of
// the kind is kept any more. The schema admits no such object as far as we know,
// but a schema can be edited, and an older one may have let it through.
//
// So the answers of the API server pass through here before they are decoded.
// An object that cannot be decoded is taken out and remembered; for the cache it
// does not exist. When it is repaired, it comes back with the next event.
package quarantine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind that is looked at.
type Kind struct {
	schema.GroupVersionKind
	// Resource is its name in paths.
	Resource string
}

// Entry is an object that cannot be decoded.
type Entry struct {
	Kind Kind
	// Object is what could be read of it.
	Object metav1.PartialObjectMetadata
	// Orphans: its spec asks to keep the pods when it is deleted, or cannot be
	// read well enough to tell.
	Orphans bool
	// Reason is what the decoder said.
	Reason string
	// stream is the list or watch that showed it last. A kind may have several, one
	// for each namespace or shard.
	stream string
}

// String names the object and says what is wrong with it.
func (e Entry) String() string {
	return fmt.Sprintf("%s %s/%s cannot be read: %s", e.Kind.Kind, e.Object.Namespace, e.Object.Name, e.Reason)
}

// place is where an object is.
type place struct{ kind, namespace, name string }

// Quarantine remembers the objects that cannot be decoded.
type Quarantine struct {
	scheme *runtime.Scheme
	kinds  map[string]Kind // by path: GROUP/VERSION/RESOURCE

	mu      sync.Mutex
	entries map[place]Entry
	changed chan struct{}
	// failing are the streams that are not answered, and since when.
	failing map[string]failure
}

// New makes a Quarantine for kinds whose types the scheme knows.
func New(scheme *runtime.Scheme, kinds ...Kind) *Quarantine {
	q := &Quarantine{scheme: scheme, kinds: map[string]Kind{}, entries: map[place]Entry{}, changed: make(chan struct{}, 1), failing: map[string]failure{}}
	for _, k := range kinds {
		q.kinds[strings.Join([]string{k.Group, k.Version, k.Resource}, "/")] = k
	}
	return q
}

// Entries are the objects in quarantine, in order.
func (q *Quarantine) Entries() []Entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.SortedFunc(maps.Values(q.entries), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
}

// Changed receives after the entries have changed.
func (q *Quarantine) Changed() <-chan struct{} { return q.changed }

// put notes that an object cannot be decoded.
func (q *Quarantine) put(e Entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.entries[place{e.Kind.Kind, e.Object.Namespace, e.Object.Name}] = e
	q.tell()
}

// release notes that an object can be decoded, or is gone.
func (q *Quarantine) release(kind, namespace, name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := place{kind, namespace, name}
	if _, ok := q.entries[at]; ok {
		delete(q.entries, at)
		q.tell()
	}
}

// restart forgets what is known of a stream, which begins anew.
func (q *Quarantine) restart(stream string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.entries)
	maps.DeleteFunc(q.entries, func(_ place, e Entry) bool { return e.stream == stream })
	if len(q.entries) != before {
		q.tell()
	}
}

func (q *Quarantine) tell() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}
