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
	"encoding/json"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
)

// writer is a managedFields entry: a field manager that may have made a change.
type writer struct {
	author
	time   time.Time
	hash   uint32 // of the set of fields that it owns
	length int
	owned  *metav1.FieldsV1 // nil where the cache does not keep it
}

// author tells the entries of an object apart.
type author struct{ manager, operation, subresource, apiVersion string }

func writersIn(entries []metav1.ManagedFieldsEntry) []writer {
	writers := make([]writer, len(entries))
	for i := range entries {
		e, w := &entries[i], &writers[i]
		w.author = author{e.Manager, string(e.Operation), e.Subresource, e.APIVersion}
		if e.Time != nil {
			w.time = e.Time.Time
		}
		if w.owned = e.FieldsV1; w.owned != nil {
			raw := w.owned.GetRawBytes()
			w.hash, w.length = crc32.ChecksumIEEE(raw), len(raw)
		}
	}
	return writers
}

// candidates says who may have made the change from one version to the next. Of the entries that differ
// from the version before, those with a new time are the writers; the others merely lost a field to them.
// The times count in seconds only: after a second write within the second, a larger set of fields is the
// one thing to go by, and where even that is the same, or there is no version before, the entries written
// last are guessed. The API server gives entries of the scale subresource of a custom resource no time, so a
// second scaling shows nowhere; such an entry is a guess, too.
func candidates(before, after []writer) (writers []writer, inferred bool) {
	var newer, grown, shrunk, last, timeless []writer
	for _, w := range after {
		i := slices.IndexFunc(before, func(old writer) bool { return old.author == w.author })
		switch {
		case len(before) == 0:
		case i < 0, !w.time.Equal(before[i].time):
			newer = append(newer, w)
		case w.hash != before[i].hash && w.length >= before[i].length:
			grown = append(grown, w)
		case w.hash != before[i].hash:
			shrunk = append(shrunk, w)
		}
		if w.time.IsZero() {
			timeless = append(timeless, w)
			continue
		}
		if len(last) > 0 && w.time.After(last[0].time) {
			last = last[:0]
		}
		if len(last) == 0 || w.time.Equal(last[0].time) {
			last = append(last, w)
		}
	}
	for _, found := range [][]writer{newer, grown, shrunk} {
		if len(found) > 0 {
			return found, false
		}
	}
	return append(timeless, last...), true
}

// writersOf asks the object's managedFields, or, where the cache has stripped them, the table.
func (r *Recorder) writersOf(before, after metav1.Object) (writers []writer, inferred bool) {
	if entries := after.GetManagedFields(); len(entries) > 0 {
		return candidates(writersIn(before.GetManagedFields()), writersIn(entries))
	}
	return r.managers.writersOf(after)
}

const maxCreators = 4

// creatorsOf lists the managers of an object that is new.
func (r *Recorder) creatorsOf(obj metav1.Object) []Change {
	writers := writersIn(obj.GetManagedFields())
	if len(writers) == 0 {
		writers, _ = r.managers.writersOf(obj)
	}
	var changes []Change
	for _, w := range writers[:min(len(writers), maxCreators)] {
		changes = append(changes, w.change(nil, false))
	}
	return changes
}

// groupByManager groups the changed fields by the manager that wrote them.
func groupByManager(fields []string, writers []writer, inferred bool) []Change {
	if len(fields) == 0 {
		return nil
	}
	ownerOf := ownersOf(writers, inferred)
	by := make([][]string, len(writers)+1) // the last have no known writer
	for _, f := range fields {
		i := len(writers)
		// These are set by the API server when a delete request comes in: no manager owns them.
		if f != "metadata.deletionTimestamp" && f != "metadata.deletionGracePeriodSeconds" {
			i = ownerOf(f)
		}
		by[i] = append(by[i], f)
	}
	var changes []Change
	unowned := by[len(writers)]
	for i, fields := range by[:len(writers)] {
		// Of two writers that nothing tells apart, say at least who they were.
		oneOfThem := len(unowned) > 0 && !inferred && writers[i].owned == nil
		if len(fields) > 0 || oneOfThem {
			changes = append(changes, writers[i].change(fields, inferred))
		}
	}
	if len(unowned) > 0 {
		changes = append(changes, Change{Fields: unowned})
	}
	return changes
}

func (w *writer) change(fields []string, inferred bool) Change {
	return Change{Manager: w.manager, Operation: w.operation, Subresource: w.subresource, Fields: fields, Inferred: inferred}
}

// ownersOf returns a function that picks the writer whose set of fields reaches furthest towards a field;
// the later one of two. Without the sets, a field below status belongs to the writer through that
// subresource. It returns len(writers) where no writer can be named; a guess must own the field.
func ownersOf(writers []writer, inferred bool) func(field string) int {
	if len(writers) == 1 && !inferred {
		return func(string) int { return 0 }
	}
	sets, haveSets := make([]map[string]any, len(writers)), false
	for i, w := range writers {
		if w.owned != nil {
			sets[i], haveSets = decodeSet(w.owned), true
		}
	}
	return func(field string) int {
		best, bestScore := len(writers), 0
		for i, w := range writers {
			score := reaches(sets[i], field)
			if score > bestScore || (score > 0 && score == bestScore && w.time.After(writers[best].time)) {
				best, bestScore = i, score
			}
		}
		if best < len(writers) || (inferred && haveSets) {
			return best
		}
		return bySubresource(field, writers)
	}
}

func bySubresource(field string, writers []writer) int {
	// A write of replicas by another way takes them from the entry of the scale subresource, which then is gone.
	if field == "spec.replicas" {
		scale := func(w writer) bool { return w.subresource == "scale" }
		if i := slices.IndexFunc(writers, scale); i >= 0 && !slices.ContainsFunc(writers[i+1:], scale) {
			return i
		}
	}
	status := field == "status" || strings.HasPrefix(field, "status.") || strings.HasPrefix(field, "status[")
	best := len(writers)
	for i := range writers {
		if (writers[i].subresource == "status") != status || writers[i].subresource == "scale" {
			continue
		}
		if best < len(writers) {
			return len(writers) // two of a kind
		}
		best = i
	}
	return best
}

// decodeSet returns nil for what is no set: managedFields come from a server, and may hold anything.
func decodeSet(owned *metav1.FieldsV1) (set map[string]any) {
	if json.Unmarshal(owned.GetRawBytes(), &set) != nil {
		return nil
	}
	return set
}

// reaches counts how many steps of the path lie inside the set of fields; 0 where it has no more than
// every set has, the first step (metadata, spec, status).
func reaches(set map[string]any, field string) int {
	depth, steps := 0, pathSteps(field)
	for _, step := range steps {
		var below any
		for _, member := range []string{"f:" + step, `k:{"name":"` + step + `"}`, `k:{"type":"` + step + `"}`} {
			if v, ok := set[member]; ok {
				below = v
			}
		}
		if below == nil {
			break
		}
		depth++
		set, _ = below.(map[string]any)
	}
	if depth < 2 && len(steps) > 1 {
		return 0
	}
	return depth
}

// pathSteps cuts a.b[c.d].e into a, b, c.d, e.
func pathSteps(path string) (steps []string) {
	for path != "" {
		var step string
		if path[0] == '[' {
			step, path, _ = strings.Cut(path[1:], "]")
		} else if end := strings.IndexAny(path, ".["); end >= 0 {
			step, path = path[:end], path[end:]
		} else {
			step, path = path, ""
		}
		steps = append(steps, step)
		path = strings.TrimPrefix(path, ".")
	}
	return steps
}

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
	names *interner

	mu      sync.Mutex
	objects *lru.Cache // types.UID -> *managedObject
}

type managedObject struct {
	writers  []writer
	versions [keptVersions]versionWriters
	next     int
}

// keptVersions is how many versions of an object may be on their way from the transform to the
// event handlers; the informer's queue is short, but not empty.
const keptVersions = 4

type versionWriters struct {
	resourceVersion string
	writers         []writer
	inferred        bool
}

// managedObjectBytes is a flat estimate of an object with a few managers.
const managedObjectBytes = 1024

func newManagerTable(names *interner, maxBytes int) *managerTable {
	return &managerTable{names: names, objects: lru.New(max(1, maxBytes/managedObjectBytes))}
}

func (t *managerTable) bytes() int { return t.objects.Len() * managedObjectBytes }

// note works out who wrote this version, from what it knows of the version before.
func (t *managerTable) note(obj metav1.Object) {
	writers := writersIn(obj.GetManagedFields())
	for i := range writers {
		w := &writers[i]
		w.owned = nil
		w.author = author{t.names.string(w.manager), t.names.string(w.operation), t.names.string(w.subresource), t.names.string(w.apiVersion)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &managedObject{}
	if known, ok := t.objects.Get(obj.GetUID()); ok {
		o = known.(*managedObject)
	} else {
		t.objects.Add(obj.GetUID(), o)
	}
	v := &o.versions[o.next]
	v.resourceVersion = obj.GetResourceVersion()
	v.writers, v.inferred = candidates(o.writers, writers)
	o.writers, o.next = writers, (o.next+1)%keptVersions
}

// writersOf says who wrote the version of the object; the inferred ones have only their being last
// to speak for them.
func (t *managerTable) writersOf(obj metav1.Object) (writers []writer, inferred bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.objects.Get(obj.GetUID()); ok {
		for _, v := range known.(*managedObject).versions {
			if v.resourceVersion == obj.GetResourceVersion() {
				return v.writers, v.inferred
			}
		}
	}
	return nil, false
}
