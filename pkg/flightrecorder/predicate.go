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
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// ForPredicate records the events of the builder's For, whose handler cannot be wrapped:
//
//	For(&v1.PodManager{}, builder.WithPredicates(yours, tap.ForPredicate()))
//
// It lets every event pass. Put it last, so that it sees what the others let pass. It works together
// with Options, and belongs to one watch only.
func (t *TypedTap[R]) ForPredicate() predicate.Predicate {
	return t.newSlot(func(obj client.Object, key types.NamespacedName) bool {
		return key.Name == obj.GetName() && key.Namespace == obj.GetNamespace()
	})
}

// OwnsPredicate records the events of the builder's Owns, whose handler cannot be wrapped:
//
//	Owns(&corev1.Pod{}, builder.WithPredicates(yours, tap.OwnsPredicate()))
//
// Put it last; see ForPredicate.
func (t *TypedTap[R]) OwnsPredicate() predicate.Predicate {
	return t.newSlot(func(obj client.Object, key types.NamespacedName) bool {
		for _, ref := range obj.GetOwnerReferences() {
			gv, err := schema.ParseGroupVersion(ref.APIVersion)
			if err == nil && ref.Name == key.Name && ref.Kind == t.groupKind.Kind && gv.Group == t.groupKind.Group &&
				(key.Namespace == "" || key.Namespace == obj.GetNamespace()) {
				return true
			}
		}
		return false
	})
}

// slot holds the one event that a watch is working on. The informer calls the predicates of a watch,
// then its handler, then the predicates again for the next event, all from one goroutine: so between
// two calls of this predicate, an add for a request that the event leads to is that event's. An event
// that led to no add leaves with the next one.
type slot[R comparable] struct {
	tap     *TypedTap[R]
	leadsTo func(obj client.Object, key types.NamespacedName) bool

	// Guarded by the tap's lock.
	event   *watchEvent
	objects [2]client.Object
	claimed []R
}

func (t *TypedTap[R]) newSlot(leadsTo func(client.Object, types.NamespacedName) bool) *slot[R] {
	s := &slot[R]{tap: t, leadsTo: leadsTo}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots = append(t.slots, s)
	return s
}

func (s *slot[R]) announce(kind TriggerKind, before, after client.Object) bool {
	objects := objectPair{objectOf(before), objectOf(after)}
	e := s.tap.newEvent(kind, objects)
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	s.event, s.objects, s.claimed = e, [2]client.Object{objects.before, objects.after}, s.claimed[:0]
	return true
}

// Create implements predicate.Predicate.
func (s *slot[R]) Create(e event.CreateEvent) bool {
	if e.IsInInitialList {
		return s.announce(TriggerStartup, nil, e.Object)
	}
	return s.announce(TriggerCreate, nil, e.Object)
}

// Update implements predicate.Predicate.
func (s *slot[R]) Update(e event.UpdateEvent) bool {
	return s.announce(TriggerUpdate, e.ObjectOld, e.ObjectNew)
}

// Delete implements predicate.Predicate.
func (s *slot[R]) Delete(e event.DeleteEvent) bool { return s.announce(TriggerDelete, nil, e.Object) }

// Generic implements predicate.Predicate.
func (s *slot[R]) Generic(e event.GenericEvent) bool {
	return s.announce(TriggerGeneric, nil, e.Object)
}

// claim takes the announced events that lead to the request. It is called with the lock held.
func (t *TypedTap[R]) claim(request R) []*watchEvent {
	if len(t.slots) == 0 {
		return nil
	}
	var events []*watchEvent
	key := t.keyOf(request)
	for _, s := range t.slots {
		if s.event == nil || slices.Contains(s.claimed, request) {
			continue
		}
		for _, obj := range s.objects {
			if obj != nil && s.leadsTo(obj, key) {
				s.claimed = append(s.claimed, request)
				events = append(events, s.event)
				break
			}
		}
	}
	return events
}
