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

package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/apply"
	"github.com/mycompany/pod-operator/internal/controller/statuspatch"
)

// While a fleet moves, its counters change with every pod. They are written at
// most once in a window that grows from the first to the second value; a
// change of anything else, and the goal, is written at once.
const (
	firstWindow = 100 * time.Millisecond
	lastWindow  = 2 * time.Second
)

// statusWriter writes statuses: none that tells nothing new, and counters not
// more often than the window allows.
type statusWriter struct {
	client client.Client
	ledger apply.Ledger
	kind   Kind

	mu    sync.Mutex
	paces map[types.UID]pace
}

// pace is how often an owner's counters are written at the moment.
type pace struct {
	last   time.Time
	window time.Duration
}

func newStatusWriter(c client.Client, ledger apply.Ledger, kind Kind) *statusWriter {
	return &statusWriter{client: c, ledger: ledger, kind: kind, paces: map[types.UID]pace{}}
}

// write writes the status unless it says nothing new. Where it should wait,
// it returns for how long.
func (w *statusWriter) write(ctx context.Context, owner client.Object, status appsv1.PodManagerStatus, now time.Time) (time.Duration, error) {
	before := w.kind.Status(owner)
	after := owner.DeepCopyObject().(client.Object)
	w.kind.SetStatus(after, status)
	// A kind may keep less than the planner reports: only what it keeps
	// can be new.
	status = w.kind.Status(after)
	if equality.Semantic.DeepEqual(before, status) {
		return 0, nil
	}
	counters := onlyCounters(before, status)
	if counters && !atGoal(status) {
		if wait := w.due(owner.GetUID(), now); wait > 0 {
			return wait, nil
		}
	}
	patch, err := statuspatch.Between(owner, after)
	if err != nil {
		return 0, err
	}
	key := client.ObjectKeyFromObject(owner)
	if err := w.client.Status().Patch(ctx, after, patch); err != nil {
		return 0, client.IgnoreNotFound(fmt.Errorf("write the status of %s %s: %w", w.kind.Name(), key, err))
	}
	w.ledger.WroteOwner(after)
	w.paced(owner.GetUID(), now, counters)
	return 0, nil
}

// due is how long the owner's counters still have to wait.
func (w *statusWriter) due(owner types.UID, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.paces[owner]
	if !ok {
		return 0
	}
	return p.last.Add(p.window).Sub(now)
}

func (w *statusWriter) paced(owner types.UID, now time.Time, counters bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.paces[owner]
	if counters && p.window > 0 {
		p.window = min(2*p.window, lastWindow)
	} else {
		p.window = firstWindow
	}
	p.last = now
	w.paces[owner] = p
}

func (w *statusWriter) forget(owner types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.paces, owner)
}

// onlyCounters tells whether two statuses differ in nothing but how many pods
// are in which state.
func onlyCounters(a, b appsv1.PodManagerStatus) bool {
	return equality.Semantic.DeepEqual(withoutCounters(a), withoutCounters(b))
}

func withoutCounters(s appsv1.PodManagerStatus) appsv1.PodManagerStatus {
	c := *s.DeepCopy()
	c.Replicas, c.CurrentReplicas, c.ReadyReplicas, c.AvailableReplicas = 0, 0, 0, 0
	c.UpdatedReplicas, c.TerminatingReplicas, c.Nodes = 0, 0, nil
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
	}
	return c
}

func atGoal(s appsv1.PodManagerStatus) bool {
	return meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReady) &&
		!meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling)
}
