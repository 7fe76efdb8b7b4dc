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
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

const (
	// quietTime is how long nothing must happen, once a workload is at its
	// goal, before its change has settled.
	quietTime = 2 * time.Second
	// patience is how long nothing may happen while a workload is not at its
	// goal. The longest usual silence is a pod's grace period of 30 s.
	patience = 2 * time.Minute
	// longest is how long events are counted for one change at most.
	longest = 30 * time.Minute

	// lag is how far one watch may be behind another. For so long an event
	// that belongs to no change waits for one to show up.
	lag = time.Second
	// maxPending bounds the events that wait for one workload.
	maxPending = 1024
	// keepDeleted is how long a deleted workload is remembered at least; it is
	// not forgotten before its last change is closed.
	keepDeleted = time.Minute
)

// sighting is one watch event on its way to a change.
type sighting struct {
	verb    verb
	kind    string
	version uint64
	at      time.Time
	// podEnds: with this event a pod began to terminate.
	podEnds bool
}

// window counts the events of one change.
type window struct {
	// change is without its counts, which are in events.
	change collectorv1.Change
	events tally
	root   types.UID
	// from is the resourceVersion of the change. All objects are numbered
	// from one counter (the API server keeps them in one etcd, events
	// aside), so what has a lower number came before the change and cannot
	// be its doing, whichever watch delivered first.
	from uint64
	// podsEnded counts the deletions of a window that pods opened and not
	// the workload.
	podsEnded int
}

// pastWindow is a change that an earlier process counted.
func pastWindow(c collectorv1.Change) *window {
	return &window{change: c, events: tally{pods: c.Events, workloads: c.WorkloadEvents, byKind: c.EventsByKind}}
}

// counted is the change with its counts.
func (w *window) counted() collectorv1.Change {
	c := w.change
	c.Events, c.WorkloadEvents, c.EventsByKind = w.events.pods, w.events.workloads, w.events.kinds()
	return c
}

func (w *window) open() bool { return w.change.State == collectorv1.ChangeCounting }

// before reports whether an event happened before the change. Where versions are
// no numbers (0), the order of arrival has to do.
func (w *window) before(e sighting) bool { return e.version != 0 && w.from != 0 && e.version < w.from }

func (w *window) count(e sighting) {
	w.events.count(e.verb, e.kind)
	if last := metav1.NewMicroTime(e.at); w.change.LastEventTime.Before(&last) {
		w.change.LastEventTime = last
	}
	if e.podEnds && w.podsEnded > 0 {
		w.podsEnded++
		w.change.Change = podsDeleted(w.podsEnded)
	}
}

func podsDeleted(n int) string {
	if n == 1 {
		return "1 pod deleted"
	}
	return fmt.Sprintf("%d pods deleted", n)
}

// attribute gives an event to the newest change of its workload that it can be
// the doing of. One that finds none waits.
func (b *book) attribute(uid types.UID, e sighting) {
	if uid == "" {
		return
	}
	root := b.rootOf(uid)
	if root == nil {
		if w := b.workloads[uid]; w != nil {
			uid = w.parent
		}
		b.wait(uid, e)
		return
	}
	for _, w := range slices.Backward(b.windows) {
		if w.root != root.uid || w.before(e) {
			continue
		}
		// A superseded window takes what came late; a settled one is whole.
		if w.open() || w.change.State == collectorv1.ChangeSuperseded {
			w.count(e)
			return
		}
		break
	}
	b.wait(root.uid, e)
}

func (b *book) wait(uid types.UID, e sighting) {
	if len(b.pending[uid]) < maxPending {
		b.pending[uid] = append(b.pending[uid], e)
	}
}

// openWindow begins to count for a change. It takes over the events that were
// delivered early.
func (b *book) openWindow(root *workload, what string, now time.Time) {
	w := &window{root: root.uid, from: root.version, change: collectorv1.Change{
		Kind: root.kind, Namespace: root.namespace, Name: root.name, Generation: root.generation,
		Change: what, State: collectorv1.ChangeCounting,
		StartTime: metav1.NewMicroTime(now), LastEventTime: metav1.NewMicroTime(now),
	}}
	for _, old := range slices.Backward(b.windows) {
		if old.root != root.uid || !old.open() {
			continue
		}
		if old.podsEnded > 0 && old.from > w.from {
			// The pods went because of this change; its event was late.
			w.events = old.events
			w.change.StartTime = old.change.StartTime
			b.drop(old)
			continue
		}
		b.close(old, collectorv1.ChangeSuperseded)
	}
	b.push(w)
	b.resolve(root.uid)
}

// push adds a window and drops the oldest, closed ones first.
func (b *book) push(w *window) {
	b.windows = append(b.windows, w)
	if len(b.windows) <= collectorv1.MaxChanges {
		return
	}
	oldest := slices.IndexFunc(b.windows, func(w *window) bool { return !w.open() })
	b.drop(b.windows[max(0, oldest)])
}

func (b *book) drop(w *window) {
	b.windows = slices.DeleteFunc(b.windows, func(other *window) bool { return other == w })
}

func (b *book) close(w *window, state collectorv1.ChangeState) {
	w.change.State = state
	b.finished = append(b.finished, w.counted())
}

// tick closes what has settled and returns when to look again; 0 means not
// before something happens.
func (b *book) tick(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settlePending(now)
	var next time.Duration
	sooner := func(wait time.Duration) {
		if wait = max(wait, time.Millisecond); next == 0 || wait < next {
			next = wait
		}
	}
	for _, w := range b.windows {
		if !w.open() {
			continue
		}
		wait := patience
		state := collectorv1.ChangeGaveUp
		if b.atGoal(w.root) {
			wait, state = quietTime, collectorv1.ChangeSettled
		}
		left := min(wait-now.Sub(w.change.LastEventTime.Time), longest-now.Sub(w.change.StartTime.Time))
		if left <= 0 {
			b.close(w, state)
			continue
		}
		sooner(left)
	}
	if len(b.pending) > 0 {
		sooner(lag)
	}
	b.bury(now, sooner)
	return next
}

// settlePending decides about events that no change came for. A pod that began
// to go is a change of its own, and takes what followed along; the rest was
// counted in the totals and belongs to nothing.
func (b *book) settlePending(now time.Time) {
	for uid, events := range b.pending {
		if now.Sub(events[0].at) < lag {
			continue
		}
		delete(b.pending, uid)
		root := b.rootOf(uid)
		first := slices.IndexFunc(events, func(e sighting) bool { return e.podEnds })
		if root == nil || first < 0 {
			// Younger events keep their chance.
			young := slices.DeleteFunc(events, func(e sighting) bool { return now.Sub(e.at) >= lag })
			if len(young) > 0 {
				b.pending[uid] = young
			}
			continue
		}
		b.openForPods(root, events[first:])
	}
}

func (b *book) openForPods(root *workload, events []sighting) {
	start := metav1.NewMicroTime(events[0].at)
	w := &window{root: root.uid, from: events[0].version, podsEnded: 1, change: collectorv1.Change{
		Kind: root.kind, Namespace: root.namespace, Name: root.name, Generation: root.generation,
		Change: podsDeleted(1), State: collectorv1.ChangeCounting, StartTime: start, LastEventTime: start,
	}}
	b.push(w)
	events[0].podEnds = false // counted already
	for _, e := range events {
		b.attribute(root.uid, e)
	}
}

// atGoal reports whether a workload has nothing left to do: its status says so and
// its pods are there, or it is gone with them, and none is on the way out. One that
// is deleted in the foreground is complete until the garbage collector comes to its
// pods, and not at its goal before it is gone.
func (b *book) atGoal(uid types.UID) bool {
	root := b.workloads[uid]
	if root == nil {
		return true
	}
	live := 0
	for _, p := range b.pods {
		if b.rootOf(p.controller) != root {
			continue
		}
		if p.terminating {
			return false
		}
		if !p.ended {
			live++
		}
	}
	if !root.goneAt.IsZero() {
		return live == 0
	}
	return !root.deleting && root.atGoal && (root.want < 0 || live == root.want)
}

// bury forgets workloads that are gone and have no open window any more.
func (b *book) bury(now time.Time, sooner func(time.Duration)) {
	for uid, w := range b.workloads {
		if w.goneAt.IsZero() {
			continue
		}
		left := keepDeleted - now.Sub(w.goneAt)
		if left <= 0 && !b.counting(uid) && !b.counting(w.parent) {
			delete(b.workloads, uid)
			continue
		}
		sooner(max(left, time.Second))
	}
}

func (b *book) counting(root types.UID) bool {
	return slices.ContainsFunc(b.windows, func(w *window) bool { return w.root == root && w.open() })
}
