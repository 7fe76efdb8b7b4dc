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
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxForeign is how many pairs of a service account and another namespace the
// Collectors of one namespace have together: as many as one Collector may name.
// It bounds what a tenant costs the API server in watches and in questions.
const maxForeign = 16

// reading is another namespace, with the account in whose name it is read.
type reading struct{ account, namespace string }

// room divides what the operator can watch among the Collectors. Each tenant,
// which is a namespace with Collectors, has room for maxForeign readings; all
// together have room for a number of namespaces. What is read already, or asked
// about already, takes no more room for another Collector. A Collector that
// finds none is woken when there is some.
type room struct {
	// namespaces is how many there are to be had.
	namespaces int

	mu      sync.Mutex
	tenants map[string]map[reading]int
	watched map[string]int
	held    map[types.NamespacedName]*holding
	wake    func(types.NamespacedName)
}

// holding is the room that one Collector has.
type holding struct {
	readings   map[reading]bool
	namespaces map[string]bool
	// It wanted more than there was.
	shortOfReadings, shortOfNamespaces bool
}

// newRoom makes room for a number of watches.
func newRoom(watches int) *room {
	return &room{
		namespaces: watches / len(watchedKinds()),
		tenants:    map[string]map[reading]int{},
		watched:    map[string]int{},
		held:       map[types.NamespacedName]*holding{},
		wake:       func(types.NamespacedName) {},
	}
}

// setWake says how a Collector is woken.
func (r *room) setWake(wake func(types.NamespacedName)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake = wake
}

// ask makes room for the readings of a Collector, in place of those that it had,
// and returns those that have some.
func (r *room) ask(key types.NamespacedName, wanted []reading) map[reading]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.holding(key)
	tenant := r.tenants[key.Namespace]
	if tenant == nil {
		tenant = map[reading]int{}
		r.tenants[key.Namespace] = tenant
	}
	h.readings, h.shortOfReadings = exchange(r, wanted, h.readings, tenant, maxForeign)
	if len(tenant) == 0 {
		delete(r.tenants, key.Namespace)
	}
	return h.readings
}

// watch makes room for the namespaces of a Collector, in place of those that it
// had, and returns those that have some.
func (r *room) watch(key types.NamespacedName, wanted []string) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.holding(key)
	h.namespaces, h.shortOfNamespaces = exchange(r, wanted, h.namespaces, r.watched, r.namespaces)
	return h.namespaces
}

// leave gives a Collector's room back.
func (r *room) leave(key types.NamespacedName) {
	r.ask(key, nil)
	r.watch(key, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, key)
}

func (r *room) holding(key types.NamespacedName) *holding {
	h := r.held[key]
	if h == nil {
		h = &holding{}
		r.held[key] = h
	}
	return h
}

// exchange gives back what a Collector no longer wants and takes what it wants,
// as far as there is room for at most so many. used counts how many have each.
func exchange[T comparable](r *room, wanted []T, had map[T]bool, used map[T]int, most int) (has map[T]bool, short bool) {
	has = map[T]bool{}
	for _, w := range wanted {
		if had[w] {
			has[w] = true
		}
	}
	for w := range had {
		if has[w] {
			continue
		}
		if used[w]--; used[w] == 0 {
			delete(used, w)
			r.wakeShort()
		}
	}
	for _, w := range wanted {
		switch {
		case has[w]:
		case used[w] > 0 || len(used) < most:
			used[w]++
			has[w] = true
		default:
			short = true
		}
	}
	return has, short
}

// wakeShort has the Collectors that wanted more try again.
func (r *room) wakeShort() {
	for key, h := range r.held {
		if h.shortOfReadings || h.shortOfNamespaces {
			r.wake(key)
		}
	}
}
