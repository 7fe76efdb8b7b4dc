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
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tap hands the events of one watch on to a book. To the reflector it is a
// store, but it stores no objects: only which ones it has seen, so that a list
// after a lost watch tells what came and went meanwhile.
type tap struct {
	kind     watchedKind
	selector labels.Selector
	book     *book
	clock    clock.PassiveClock
	// known are the matching objects with their resourceVersions. Only the
	// reflector's goroutine touches it.
	known  map[types.UID]string
	listed bool
	// replaced is called after each list.
	replaced func()
}

var _ cache.TransformingStore = &tap{}

func (t *tap) reflector(lw cache.ListerWatcher) *cache.Reflector {
	return cache.NewReflectorWithOptions(lw, t.kind.new(), t, cache.ReflectorOptions{Name: "collector/" + t.kind.gvk.Kind})
}

// Transformer implements cache.TransformingStore.
func (t *tap) Transformer() cache.TransformFunc { return slim }

// Add implements cache.ReflectorStore: a watch event ADDED.
func (t *tap) Add(raw any) error { return t.saw(added, raw) }

// Update implements cache.ReflectorStore: a watch event MODIFIED.
func (t *tap) Update(raw any) error { return t.saw(modified, raw) }

// Delete implements cache.ReflectorStore: a watch event DELETED.
func (t *tap) Delete(raw any) error { return t.saw(deleted, raw) }

// Resync implements cache.ReflectorStore; nothing here needs it.
func (t *tap) Resync() error { return nil }

// Replace implements cache.ReflectorStore. The first list is what was there
// before, and nothing of it is an event. A later list means that the watch was
// lost: of what differs at least one event was missed, so one is counted, and
// the gap is told.
func (t *tap) Replace(list []any, _ string) error {
	defer t.replaced()
	if !t.listed {
		t.listed = true
		for _, raw := range list {
			obj, ok := raw.(client.Object)
			if !ok {
				return fmt.Errorf("a list of %s holds a %T", t.kind.gvk.Kind, raw)
			}
			t.know(obj)
		}
		return nil
	}
	t.book.gap()
	gone := map[types.UID]bool{}
	for uid := range t.known {
		gone[uid] = true
	}
	for _, raw := range list {
		obj, ok := raw.(client.Object)
		if !ok {
			return fmt.Errorf("a list of %s holds a %T", t.kind.gvk.Kind, raw)
		}
		delete(gone, obj.GetUID())
		before, known := t.known[obj.GetUID()]
		if known && before == obj.GetResourceVersion() {
			continue
		}
		v := modified
		if !known {
			v = added
		}
		if err := t.saw(v, obj); err != nil {
			return err
		}
	}
	for uid := range gone {
		delete(t.known, uid)
		t.book.lost(t.kind.gvk.Kind, uid, t.clock.Now())
	}
	return nil
}

func (t *tap) know(obj client.Object) {
	if p, ok := obj.(*corev1.Pod); ok {
		t.known[obj.GetUID()] = obj.GetResourceVersion()
		t.book.knowPod(podFacts(p))
		return
	}
	if facts, matching := workloadFacts(t.selector, obj); matching {
		t.known[obj.GetUID()] = obj.GetResourceVersion()
		t.book.knowWorkload(facts)
	}
}

func (t *tap) saw(v verb, raw any) error {
	obj, ok := raw.(client.Object)
	if !ok {
		return fmt.Errorf("a watch of %s delivered a %T", t.kind.gvk.Kind, raw)
	}
	p, isPod := obj.(*corev1.Pod)
	if isPod {
		t.remember(v, obj)
		t.book.sawPod(v, podFacts(p), t.clock.Now())
		return nil
	}
	facts, matching := workloadFacts(t.selector, obj)
	_, known := t.known[obj.GetUID()]
	switch {
	case !matching && !known:
		return nil
	case !matching:
		// Its labels were edited away. It is none of ours any more.
		delete(t.known, obj.GetUID())
		t.book.forget(obj.GetUID())
		return nil
	}
	t.remember(v, obj)
	t.book.sawWorkload(v, facts, t.clock.Now())
	return nil
}

func (t *tap) remember(v verb, obj client.Object) {
	if v == deleted {
		delete(t.known, obj.GetUID())
		return
	}
	t.known[obj.GetUID()] = obj.GetResourceVersion()
}
