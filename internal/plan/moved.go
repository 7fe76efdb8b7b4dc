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

package plan

import (
	"strconv"
	"strings"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A rollout that stands still, paused or failed, keeps the pods that it had moved: one
// that is replaced comes back on the revision that it had. Its place may be empty for
// long, while the old pod terminates or a quota is full, so the memory of the rollout
// says which pods were moved: with ordinals their places, "2,5-9" say, otherwise
// their number.

// listMoved is that memory, from what is there and, of places that are empty, from
// what was remembered.
func (s *scene) listMoved(before *appsv1.RolloutRecord, update string) string {
	if s.decision.CurrentRevision == "" || s.decision.CurrentRevision == update {
		return ""
	}
	remembered := ""
	if before != nil && before.Revision == update {
		remembered = before.Moved
	}
	if !s.ordinal() {
		return s.countMovedPods(remembered)
	}
	revisions := make(map[int]string, len(s.observed.Pods))
	for slot, p := range s.holders() {
		revisions[slot] = p.Revision
	}
	spans := parseSpans(remembered)
	var list spanList
	for slot := 0; s.position(slot) < s.desired.Replicas; slot++ {
		revision, there := revisions[slot]
		if s.inBase(slot) && (there && revision == update || !there && spans.contain(slot)) {
			list = list.with(slot)
		}
	}
	return list.String()
}

func (s *scene) countMovedPods(remembered string) string {
	n, leaving, missing := 0, 0, s.desired.Replicas
	for _, b := range s.staying() {
		switch _, leaves := s.whyLeaving(b); {
		case leaves && s.onGoal(b):
			leaving++ // its successor is made before it goes
		case leaves:
		case s.onGoal(b):
			n++
			fallthrough
		default:
			missing--
		}
	}
	most, _ := strconv.Atoi(remembered) // what cannot be read is nothing
	// Of the places that are empty so many were of pods that had moved.
	if n = min(n+max(0, min(max(most-n, leaving), missing)), s.desired.Replicas); n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// wasMoved: the pod that had this place, or with random names one of those that are
// missing, was on the goal.
func (f *filling) wasMoved(slot int) bool {
	record := f.decision.Rollout
	if record == nil {
		return false
	}
	if f.ordinal() {
		return parseSpans(record.Moved).contain(slot)
	}
	n, _ := strconv.Atoi(record.Moved)
	return f.updated < n
}

// span is ordinals that follow each other.
type span struct{ first, last int }

type spanList []span

// parseSpans reads "2,5-9". What it cannot read says nothing.
func parseSpans(text string) spanList {
	var list spanList
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, wrong := strconv.Atoi(to)
		if err == nil && wrong == nil {
			list = append(list, span{first, last})
		}
	}
	return list
}

func (l spanList) contain(n int) bool {
	for _, s := range l {
		if s.first <= n && n <= s.last {
			return true
		}
	}
	return false
}

// with adds an ordinal above all that are in the list.
func (l spanList) with(n int) spanList {
	if end := len(l) - 1; end >= 0 && l[end].last == n-1 {
		l[end].last = n
		return l
	}
	return append(l, span{n, n})
}

func (l spanList) String() string {
	var text []byte
	for i, s := range l {
		if i > 0 {
			text = append(text, ',')
		}
		if text = strconv.AppendInt(text, int64(s.first), 10); s.last > s.first {
			text = strconv.AppendInt(append(text, '-'), int64(s.last), 10)
		}
	}
	return string(text)
}
