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
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

// roomAgain is when a Collector without room tries again, if it is not woken
// before.
const roomAgain = time.Minute

// scope is what a Collector reads now.
type scope struct {
	// reads are namespaces, in the order of namespacesOf.
	reads []string
	// refused says why others are not read; nil where all are.
	refused *state
	// again is when to look again; 0 means that only a change matters.
	again time.Duration
}

// later has the scope looked at again after a time, or sooner.
func (s *scope) later(after time.Duration) {
	if s.again == 0 || after < s.again {
		s.again = max(after, time.Second)
	}
}

// scopeOf finds out what a Collector may read. Its own namespace it may always
// read. Another one needs room among those of its tenant; then the right of the
// Collector's service account, so that a tenant without room costs no questions;
// and then room among all that is watched.
func (r *Reconciler) scopeOf(ctx context.Context, col *collectorv1.Collector) scope {
	var s scope
	key := client.ObjectKeyFromObject(col)
	allowed, refusals, full := r.allowed(ctx, col, &s)
	watched := r.room.watch(key, allowed)
	for _, namespace := range allowed {
		if watched[namespace] {
			s.reads = append(s.reads, namespace)
			continue
		}
		full = append(full, fmt.Sprintf("namespace %s is not read: all Collectors together may read %d namespaces, "+
			"see the operator's flag --collector-watches", namespace, r.room.namespaces))
	}
	if len(full) > 0 {
		s.later(roomAgain)
	}
	s.refused = refusal(refusals, full)
	return s
}

// allowed are the namespaces that a Collector may read, with sentences on those
// that it may not and on those that its tenant has no room for.
func (r *Reconciler) allowed(ctx context.Context, col *collectorv1.Collector, s *scope) (allowed, refusals, full []string) {
	account := col.Spec.Account()
	namespaces := namespacesOf(col)
	var foreign []reading
	for _, namespace := range namespaces {
		if namespace != col.Namespace {
			foreign = append(foreign, reading{account, namespace})
		}
	}
	room := r.room.ask(client.ObjectKeyFromObject(col), foreign)
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	for _, namespace := range namespaces {
		switch {
		case namespace == col.Namespace:
			allowed = append(allowed, namespace)
			continue
		case !room[reading{account, namespace}]:
			full = append(full, fmt.Sprintf("namespace %s is not read: the Collectors of namespace %s may read %d others, "+
				"counted for each service account", namespace, col.Namespace, maxForeign))
			continue
		}
		a := r.rights.check(ctx, question{col.Namespace, account, namespace})
		s.later(a.again.Sub(r.clock.Now()))
		if a.refusal == "" {
			allowed = append(allowed, namespace)
		} else {
			refusals = append(refusals, a.refusal)
		}
	}
	return allowed, refusals, full
}

// namespacesOf are the namespaces that a Collector asks for: its own, which gets
// room before others, and then the others by name.
func namespacesOf(col *collectorv1.Collector) []string {
	if len(col.Spec.Namespaces) == 0 {
		return []string{col.Namespace}
	}
	return slices.SortedFunc(slices.Values(col.Spec.Namespaces), func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == col.Namespace:
			return -1
		case b == col.Namespace:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// refusal says what is not read. What can be granted comes first.
func refusal(refusals, full []string) *state {
	sentences := strings.Join(append(slices.Clone(refusals), full...), "; ")
	switch {
	case len(refusals) > 0:
		return &state{collectorv1.ReasonNamespaceRefused, sentences}
	case len(full) > 0:
		return &state{collectorv1.ReasonNoRoom, sentences}
	}
	return nil
}
