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
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
)

// StripManagedFields is a cache transform that takes metadata.managedFields off every object, as
// cache.TransformStripManagedFields does, and remembers who wrote each version before they are gone:
//
//	cache.Options{DefaultTransform: rec.StripManagedFields()}
//
// What is remembered are names and times, a few hundred bytes per object, within the recorder's
// budget; past that, the objects seen longest ago are forgotten. The sets of owned fields are not
// kept: where two managers wrote between two versions, their changes are told apart by subresource
// only. A cache that strips managedFields without this still gives all changed fields, and no names.
func (r *Recorder) StripManagedFields() toolscache.TransformFunc {
	return func(in any) (any, error) {
		// A tombstone has no metadata; whatever else has none is not ours to change either.
		obj, err := meta.Accessor(in)
		if err != nil || obj.GetManagedFields() == nil {
			return in, nil //nolint:nilerr // leaving it alone is the answer
		}
		r.managers.note(obj)
		obj.SetManagedFields(nil)
		return in, nil
	}
}

// managerTable remembers the writers of the last versions of objects whose managedFields are gone.
type managerTable struct {
	names    *interner
	seed     maphash.Seed
	maxBytes int

	mu             sync.Mutex
	objects        map[types.UID]*managedObject
	oldest, newest *managedObject
	bytes          int
}

type managedObject struct {
	uid          types.UID
	entries      []managedEntry
	versions     [keptVersions]versionWriters
	next         int
	older, newer *managedObject
}

// keptVersions is how many versions of an object may be on their way from the transform to the
// event handlers; the informer's queue is short, but not empty.
const keptVersions = 4

type versionWriters struct {
	resourceVersion string
	writers         []writer
	inferred        bool
}

// managedEntry is a managedFields entry without its fields.
type managedEntry struct {
	manager, operation, subresource string

	time   time.Time
	hash   uint64
	length int
}

// managedObjectBytes is a flat estimate of an object with a few managers.
const managedObjectBytes = 1024

func newManagerTable(names *interner, maxBytes int) *managerTable {
	return &managerTable{
		names: names, seed: maphash.MakeSeed(), maxBytes: maxBytes,
		objects: map[types.UID]*managedObject{},
	}
}

// note works out who wrote this version, from what it knows of the version before.
func (t *managerTable) note(obj metav1.Object) {
	entries := t.entriesOf(obj.GetManagedFields())
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.objects[obj.GetUID()]
	if o == nil {
		o = &managedObject{uid: obj.GetUID()}
		t.objects[o.uid] = o
	} else {
		t.unlink(o)
	}
	v := versionWriters{resourceVersion: obj.GetResourceVersion()}
	v.writers, v.inferred = changedEntries(o.entries, entries)
	o.entries = entries
	o.versions[o.next] = v
	o.next = (o.next + 1) % keptVersions
	t.link(o)
	for t.bytes > t.maxBytes && t.oldest != nil {
		delete(t.objects, t.oldest.uid)
		t.unlink(t.oldest)
	}
}

func (t *managerTable) link(o *managedObject) {
	o.older, o.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = o
	} else {
		t.oldest = o
	}
	t.newest = o
	t.bytes += managedObjectBytes
}

func (t *managerTable) unlink(o *managedObject) {
	t.bytes -= managedObjectBytes
	if o.older != nil {
		o.older.newer = o.newer
	} else {
		t.oldest = o.newer
	}
	if o.newer != nil {
		o.newer.older = o.older
	} else {
		t.newest = o.older
	}
}

func (t *managerTable) entriesOf(fields []metav1.ManagedFieldsEntry) []managedEntry {
	entries := make([]managedEntry, len(fields))
	for i := range fields {
		f := &fields[i]
		e := &entries[i]
		e.manager, e.subresource = t.names.string(f.Manager), t.names.string(f.Subresource)
		e.operation = t.names.string(string(f.Operation))
		if f.Time != nil {
			e.time = f.Time.Time
		}
		if f.FieldsV1 != nil {
			raw := f.FieldsV1.GetRawBytes()
			e.hash, e.length = maphash.Bytes(t.seed, raw), len(raw)
		}
	}
	return entries
}

// changedEntries is candidates for entries whose fields are known by their hash only.
func changedEntries(before, after []managedEntry) (writers []writer, inferred bool) {
	var s suspects
	for i := range after {
		e := &after[i]
		w := writer{manager: e.manager, operation: e.operation, subresource: e.subresource, time: e.time}
		old := findManaged(before, e)
		switch {
		case before == nil: // the first version that was seen has nothing to compare with
		case old == nil, !e.time.Equal(old.time):
			s.newer = append(s.newer, w)
		case e.hash != old.hash:
			s.sameSecond(w, e.length >= old.length)
		}
		s.seen(w)
	}
	return s.verdict()
}

func findManaged(list []managedEntry, e *managedEntry) *managedEntry {
	for i := range list {
		if o := &list[i]; o.manager == e.manager && o.operation == e.operation && o.subresource == e.subresource {
			return o
		}
	}
	return nil
}

// writersOf says who wrote the version of the object; the inferred ones have only their being last
// to speak for them.
func (t *managerTable) writersOf(obj metav1.Object) (writers []writer, inferred bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.objects[obj.GetUID()]
	if o == nil {
		return nil, false
	}
	for i := range o.versions {
		if v := &o.versions[i]; v.resourceVersion == obj.GetResourceVersion() {
			return v.writers, v.inferred
		}
	}
	return nil, false
}
