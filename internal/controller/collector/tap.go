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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// tap hands the events of a stream on to one book, as far as its selector
// matches. It stores no objects: only which ones it has seen, so that a list
// after a lost watch shows what came and went meanwhile. All of its methods are
// called under the stream's lock.
type tap struct {
	kind     string
	selector labels.Selector
	book     *book
	clock    clock.PassiveClock
	// known are the matching objects with their resourceVersions.
	known  map[types.UID]string
	listed bool
	// works and fails say how the watch does.
	works func()
	fails func(error)
}

// replace compares with a new list. The first list is what was there before, and
// nothing in it is an event. A later list means that the watch was lost: each
// object that differs missed at least one event, so one is counted, and the gap
// is noted.
func (t *tap) replace(list map[types.UID]thing) {
	if !t.listed {
		t.listed = true
		for _, seen := range list {
			t.know(seen)
		}
		return
	}
	t.book.gap()
	for uid := range t.known {
		if _, still := list[uid]; !still {
			delete(t.known, uid)
			t.book.lost(t.kind, uid, t.clock.Now())
		}
	}
	for uid, seen := range list {
		before, known := t.known[uid]
		switch {
		case known && before == seen.resourceVersion:
		case known:
			t.saw(modified, seen)
		default:
			t.saw(added, seen)
		}
	}
}

func (t *tap) know(seen thing) {
	if seen.pod != nil && t.selector.Matches(seen.labels) {
		t.known[seen.uid] = seen.resourceVersion
		t.book.knowPod(*seen.pod)
	}
	if seen.workload == nil {
		return
	}
	if facts, matching := workloadFacts(t.selector, seen); matching {
		t.known[seen.uid] = seen.resourceVersion
		t.book.knowWorkload(facts)
	}
}

// saw counts an event where the selector matches.
func (t *tap) saw(v verb, seen thing) {
	if seen.pod != nil {
		t.sawPod(v, seen)
		return
	}
	facts, matching := workloadFacts(t.selector, seen)
	_, known := t.known[seen.uid]
	switch {
	case !matching && !known:
		return
	case !matching:
		// Its labels were edited away, so it no longer matches.
		delete(t.known, seen.uid)
		t.book.forget(seen.uid)
		return
	}
	t.remember(v, seen)
	t.book.sawWorkload(v, facts, t.clock.Now())
}

// sawPod counts as a watch with a label selector does: a pod that is labelled so
// that it matches appears, and one that is labelled so that it does not goes.
func (t *tap) sawPod(v verb, seen thing) {
	matching := t.selector.Matches(seen.labels)
	_, known := t.known[seen.uid]
	switch {
	case !matching && !known, v == deleted && !known:
		return
	case !matching:
		v = deleted
	case !known:
		v = added
	}
	t.remember(v, seen)
	t.book.sawPod(v, *seen.pod, t.clock.Now())
}

func (t *tap) remember(v verb, seen thing) {
	if v == deleted {
		delete(t.known, seen.uid)
		return
	}
	t.known[seen.uid] = seen.resourceVersion
}
