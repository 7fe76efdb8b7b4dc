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
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

// pod is what is remembered of a pod.
type pod struct {
	uid types.UID
	// controller is the UID of the pod's controller; for a Deployment's pod,
	// that is its ReplicaSet.
	controller  types.UID
	version     uint64
	ips         []string
	ended       bool
	terminating bool
}

// workload is what is remembered of a workload.
type workload struct {
	uid             types.UID
	kind            string
	namespace, name string
	// parent is the UID of a ReplicaSet's Deployment. Its events are the
	// Deployment's.
	parent     types.UID
	version    uint64
	generation int64
	// spec is what changes are described from, as store keeps it; nil for a
	// workload that has a parent.
	spec any
	// deleting: its deletion was requested, and its dependents go first.
	deleting bool
	// atGoal: its status says that all pods are there and right.
	atGoal bool
	// want is how many of its pods there should be: its status may be old.
	// It is negative where the pods do not match, so that none are seen.
	want int

	// goneAt is when it went away. It is kept for a while, because its pods
	// still lead back to it.
	goneAt time.Time
}

// book is one Collector's count. Watches write into it, each from a goroutine
// of its own; the reconciler reads the status off it.
type book struct {
	mu sync.Mutex

	pods      map[types.UID]pod
	workloads map[types.UID]*workload
	// pending are events that belong to no change yet, by root or, where the
	// ReplicaSet has not been seen, by that.
	pending map[types.UID][]sighting
	// windows are the changes, oldest first.
	windows []*window
	// finished are the changes that were closed since the last look.
	finished []collectorv1.Change

	since time.Time
	gaps  int64
	total tally

	// changed is called, without arguments and not under the lock, when
	// there is something new.
	changed func()
}

func newBook(past []collectorv1.Change, changed func()) *book {
	b := &book{
		pods:      map[types.UID]pod{},
		workloads: map[types.UID]*workload{},
		pending:   map[types.UID][]sighting{},
		changed:   changed,
	}
	for _, c := range slices.Backward(past) {
		if c.State == collectorv1.ChangeCounting {
			c.State = collectorv1.ChangeInterrupted
		}
		b.windows = append(b.windows, pastWindow(c))
	}
	return b
}

// begin notes when the counting began.
func (b *book) begin(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		b.since = now
	}
}

// gap notes that a watch had to start anew. Events may have been missed, so the
// counts of open windows are incomplete.
func (b *book) gap() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps++
	for _, w := range b.windows {
		if w.open() {
			b.close(w, collectorv1.ChangeInterrupted)
		}
	}
}

// knowPod adds a pod that was there before the counting.
func (b *book) knowPod(p pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pods[p.uid] = p
}

// knowWorkload adds a workload that was there before the counting.
func (b *book) knowWorkload(w workload) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.workloads[w.uid] = &w
}

// sawPod counts an event of a pod.
func (b *book) sawPod(v verb, p pod, now time.Time) {
	defer b.changed()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total.count(v, podKind)
	before, known := b.pods[p.uid]
	if v == deleted {
		delete(b.pods, p.uid)
	} else {
		b.pods[p.uid] = p
	}
	e := sighting{verb: v, kind: podKind, version: p.version, at: now}
	e.podEnds = known && !before.terminating && (p.terminating || v == deleted)
	b.attribute(p.controller, e)
}

// sawWorkload counts an event of a workload, and opens a window if the event is
// a change.
func (b *book) sawWorkload(v verb, w workload, now time.Time) {
	defer b.changed()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total.count(v, w.kind)
	before := b.workloads[w.uid]
	if v == deleted {
		w.goneAt = now
	}
	if before != nil && before.generation == w.generation && before.spec != nil && w.spec != nil {
		w.spec = before.spec // the same, and there already
	}
	b.workloads[w.uid] = &w
	if what := changeOf(v, before, &w); what != "" && w.parent == "" {
		b.openWindow(&w, what, now)
	}
	if before == nil {
		b.resolve(w.uid)
	}
	b.attribute(w.uid, sighting{verb: v, kind: w.kind, version: w.version, at: now})
}

// lost counts the end of something that a list no longer shows.
func (b *book) lost(kind string, uid types.UID, now time.Time) {
	defer b.changed()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total.count(deleted, kind)
	if kind == podKind {
		delete(b.pods, uid)
		return
	}
	if w := b.workloads[uid]; w != nil {
		w.goneAt = now
	}
}

// forget drops a workload that no longer matches.
func (b *book) forget(uid types.UID) {
	defer b.changed()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.workloads, uid)
	delete(b.pending, uid)
}

// changeOf describes the change in a workload's event, or is empty if only its
// status or metadata changed.
func changeOf(v verb, before, after *workload) string {
	switch {
	case v == added:
		return describeCreated(after)
	case v == deleted && (before == nil || !before.deleting), after.deleting && before != nil && !before.deleting:
		return "deleted"
	case before == nil || before.generation == after.generation || after.deleting:
		return ""
	}
	return describe(before.spec, after.spec)
}

// rootOf is the workload that an object's events count for: itself or, for a
// Deployment's ReplicaSet, the Deployment.
func (b *book) rootOf(uid types.UID) *workload {
	w := b.workloads[uid]
	if w == nil || w.parent == "" {
		return w
	}
	return b.workloads[w.parent]
}

// resolve looks again at the events that waited for a workload to be seen.
func (b *book) resolve(uid types.UID) {
	waiting := b.pending[uid]
	delete(b.pending, uid)
	for _, e := range waiting {
		b.attribute(uid, e)
	}
}

// status fills in what was counted.
func (b *book) status(s *collectorv1.CollectorStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Since = nil
	if !b.since.IsZero() {
		since := metav1.NewTime(b.since.Truncate(time.Second))
		s.Since = &since
	}
	s.Gaps = b.gaps
	s.Events, s.WorkloadEvents, s.EventsByKind = b.total.pods, b.total.workloads, b.total.kinds()
	s.Pods = int32(len(b.pods))
	s.Workloads = 0
	for _, w := range b.workloads {
		if w.parent == "" && w.goneAt.IsZero() {
			s.Workloads++
		}
	}
	addresses := b.addresses()
	s.IPCount = int32(len(addresses))
	s.IPs = addresses[:min(len(addresses), collectorv1.MaxIPs)]
	s.RecentChanges = nil
	for _, w := range slices.Backward(b.windows) {
		s.RecentChanges = append(s.RecentChanges, w.counted())
	}
}

// addresses are those of the pods that have not ended, sorted and each once:
// pods on the host's network share one.
func (b *book) addresses() []string {
	var all []string
	for _, p := range b.pods {
		if !p.ended {
			all = append(all, p.ips...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// takeFinished hands over the changes that were closed since the last time.
func (b *book) takeFinished() []collectorv1.Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.finished
	b.finished = nil
	return taken
}
