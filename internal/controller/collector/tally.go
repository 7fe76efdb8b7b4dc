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

package collector

import (
	"slices"
	"strings"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

// podKind is the one kind that is no workload.
const podKind = "Pod"

// verb is what a watch event says.
type verb int

const (
	added verb = iota
	modified
	deleted
)

func (v verb) countIn(c *collectorv1.EventCounts) {
	switch v {
	case added:
		c.Added++
	case modified:
		c.Modified++
	case deleted:
		c.Deleted++
	}
}

// tally counts events: those of pods, those of workloads, and both by kind.
type tally struct {
	pods, workloads collectorv1.EventCounts
	// byKind is sorted by the names of the kinds.
	byKind []collectorv1.KindEvents
}

func (t *tally) count(v verb, kind string) {
	if kind == podKind {
		v.countIn(&t.pods)
	} else {
		v.countIn(&t.workloads)
	}
	at, found := slices.BinarySearchFunc(t.byKind, kind, func(k collectorv1.KindEvents, kind string) int {
		return strings.Compare(k.Kind, kind)
	})
	if !found {
		t.byKind = slices.Insert(t.byKind, at, collectorv1.KindEvents{Kind: kind})
	}
	v.countIn(&t.byKind[at].EventCounts)
}

// kinds is a copy: a status that was handed out must not count on.
func (t *tally) kinds() []collectorv1.KindEvents { return slices.Clone(t.byKind) }
