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
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writer is a field manager that may have made a change.
type writer struct {
	manager, operation, subresource string

	time  time.Time
	owned *metav1.FieldsV1 // nil where the cache does not keep it
}

func writerOf(e *metav1.ManagedFieldsEntry) writer {
	w := writer{manager: e.Manager, operation: string(e.Operation), subresource: e.Subresource, owned: e.FieldsV1}
	if e.Time != nil {
		w.time = e.Time.Time
	}
	return w
}

// candidates says who may have made the change from one version to the next.
func candidates(before, after []metav1.ManagedFieldsEntry) (writers []writer, inferred bool) {
	var s suspects
	for i := range after {
		e := &after[i]
		w := writerOf(e)
		switch old := findEntry(before, e); {
		case old == nil, !e.Time.Equal(old.Time):
			s.newer = append(s.newer, w)
		case !equalFields(e.FieldsV1, old.FieldsV1):
			s.sameSecond(w, lengthOf(e.FieldsV1) >= lengthOf(old.FieldsV1))
		}
		s.seen(w)
	}
	return s.verdict()
}

// suspects sorts managedFields entries by what speaks for them. Of the entries that differ from the
// version before, those with a new time are the writers; the others merely lost a field to them. The
// times count in seconds only: after a second write within the second, a larger set of fields is the
// one thing to go by, and where even that is the same, the entries written last are guessed.
type suspects struct {
	newer, grown, shrunk, last []writer
}

func (s *suspects) sameSecond(w writer, grown bool) {
	if grown {
		s.grown = append(s.grown, w)
	} else {
		s.shrunk = append(s.shrunk, w)
	}
}

func (s *suspects) seen(w writer) {
	if len(s.last) > 0 && w.time.After(s.last[0].time) {
		s.last = s.last[:0]
	}
	if len(s.last) == 0 || w.time.Equal(s.last[0].time) {
		s.last = append(s.last, w)
	}
}

func (s *suspects) verdict() (writers []writer, inferred bool) {
	for _, writers := range [][]writer{s.newer, s.grown, s.shrunk} {
		if len(writers) > 0 {
			return writers, false
		}
	}
	return s.last, true
}

func findEntry(list []metav1.ManagedFieldsEntry, e *metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	for i := range list {
		if o := &list[i]; o.Manager == e.Manager && o.Operation == e.Operation &&
			o.Subresource == e.Subresource && o.APIVersion == e.APIVersion {
			return o
		}
	}
	return nil
}

func equalFields(a, b *metav1.FieldsV1) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

func lengthOf(f *metav1.FieldsV1) int {
	if f == nil {
		return 0
	}
	return len(f.GetRawBytes())
}

// groupByManager groups the changed fields by the manager that wrote them.
func groupByManager(fields []string, writers []writer, inferred bool) []Change {
	if len(fields) == 0 {
		return nil
	}
	if len(writers) == 1 && !inferred && !hasUnmanaged(fields) {
		return []Change{writers[0].change(fields, false)}
	}
	by := make([][]string, len(writers)+1) // the last have no known writer
	for _, f := range fields {
		i := len(writers)
		if !unmanaged(f) {
			i = ownerOf(f, writers, inferred)
		}
		by[i] = append(by[i], f)
	}
	var changes []Change
	nobodys := by[len(writers)]
	for i, fields := range by[:len(writers)] {
		// Of two writers that nothing tells apart, say at least who they were.
		oneOfThem := len(nobodys) > 0 && !inferred && writers[i].owned == nil
		if len(fields) > 0 || oneOfThem {
			changes = append(changes, writers[i].change(fields, inferred))
		}
	}
	if len(nobodys) > 0 {
		changes = append(changes, Change{Fields: nobodys})
	}
	return changes
}

func (w *writer) change(fields []string, inferred bool) Change {
	return Change{Manager: w.manager, Operation: w.operation, Subresource: w.subresource, Fields: fields, Inferred: inferred}
}

// unmanaged fields are set by the API server when a delete request comes in: no manager owns them.
func unmanaged(field string) bool {
	return field == "metadata.deletionTimestamp" || field == "metadata.deletionGracePeriodSeconds"
}

func hasUnmanaged(fields []string) bool {
	for _, f := range fields {
		if unmanaged(f) {
			return true
		}
	}
	return false
}

// ownerOf picks the writer whose set of fields reaches furthest towards the field; the later one of
// two. Without the sets, a field below status belongs to the writer through that subresource.
// It returns len(writers) where no writer can be named; a guess must own the field.
func ownerOf(field string, writers []writer, inferred bool) int {
	if len(writers) == 1 && !inferred {
		return 0
	}
	best, bestScore, haveSets := len(writers), 0, false
	for i := range writers {
		haveSets = haveSets || writers[i].owned != nil
		score := writers[i].reaches(field)
		if score > bestScore || (score > 0 && score == bestScore && writers[i].time.After(writers[best].time)) {
			best, bestScore = i, score
		}
	}
	if best < len(writers) || (inferred && haveSets) {
		return best
	}
	return bySubresource(field, writers)
}

func bySubresource(field string, writers []writer) int {
	status := field == "status" || strings.HasPrefix(field, "status.") || strings.HasPrefix(field, "status[")
	best := len(writers)
	for i := range writers {
		if (writers[i].subresource == "status") != status {
			continue
		}
		if best < len(writers) {
			return len(writers) // two of a kind
		}
		best = i
	}
	return best
}

// reaches counts how many steps of the path lie inside the fields that the writer owns; 0 where it
// owns no more than every writer does, the first step (metadata, spec, status). It walks the raw JSON:
// decoding it would cost more than everything else that is done for an event.
func (w *writer) reaches(field string) int {
	if w.owned == nil {
		return 0
	}
	raw := w.owned.GetRawBytes()
	depth, at := 0, 0
	for step := range pathSteps(field) {
		next, ok := descend(raw, at, step)
		if !ok {
			break
		}
		depth, at = depth+1, next
	}
	if depth < 2 && strings.ContainsAny(field, ".[") {
		return 0
	}
	return depth
}

// descend finds the member of the set that begins at at which the step leads to: f:step, or the item of a
// list that is called so, k:{"name":"step"} or k:{"type":"step"}.
func descend(raw []byte, at int, step string) (next int, ok bool) {
	if at >= len(raw) || raw[at] != '{' {
		return 0, false
	}
	for at++; at < len(raw) && raw[at] == '"'; {
		end := skipValue(raw, at)
		if end+1 >= len(raw) || raw[end] != ':' {
			return 0, false
		}
		if leadsTo(raw[at+1:end-1], step) {
			return end + 1, true
		}
		if at = skipValue(raw, end+1); at < len(raw) && raw[at] == ',' {
			at++
		}
	}
	return 0, false
}

func leadsTo(member []byte, step string) bool {
	for _, form := range [...]struct{ before, after string }{
		{"f:", ""}, {`k:{\"name\":\"`, `\"}`}, {`k:{\"type\":\"`, `\"}`},
	} {
		if len(member) == len(form.before)+len(step)+len(form.after) &&
			string(member[:len(form.before)]) == form.before &&
			string(member[len(form.before):len(form.before)+len(step)]) == step &&
			string(member[len(form.before)+len(step):]) == form.after {
			return true
		}
	}
	return false
}

// pathSteps cuts a.b[c.d].e into a, b, c.d, e.
func pathSteps(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for path != "" {
			var step string
			if path[0] == '[' {
				step, path, _ = strings.Cut(path[1:], "]")
			} else if end := strings.IndexAny(path, ".["); end >= 0 {
				step, path = path[:end], path[end:]
			} else {
				step, path = path, ""
			}
			path = strings.TrimPrefix(path, ".")
			if !yield(step) {
				return
			}
		}
	}
}

// creators lists the managers of an object that is new.
func creators(entries []metav1.ManagedFieldsEntry) []Change {
	var changes []Change
	for i := range entries {
		if len(changes) == maxCreators {
			break
		}
		w := writerOf(&entries[i])
		changes = append(changes, w.change(nil, false))
	}
	return changes
}

const maxCreators = 4
