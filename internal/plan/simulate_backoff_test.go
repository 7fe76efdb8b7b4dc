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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// curse: the pods of a slot, or of a revision, fail as soon as they run.
type curse struct {
	slot     int
	revision string
	until    time.Time
}

// layCurse begins with a pod, whatever its revision and slot, and ends by itself.
func (w *world) layCurse(b *body) {
	w.curse = curse{slot: b.Slot, until: w.now.Add(time.Duration(1+w.rng.IntN(10)) * time.Minute)}
	if w.chance(50) {
		w.curse.slot, w.curse.revision = NoSlot, b.Revision
	}
}

func (w *world) cursed(b *body) bool {
	return w.now.Before(w.curse.until) && b.Node != "" &&
		(b.Slot == w.curse.slot || w.curse.revision != "" && b.Revision == w.curse.revision)
}

func sameFailures(a, b *appsv1.FailureRecord) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Revision == b.Revision && a.Count == b.Count && a.LastTime.Equal(&b.LastTime))
}

// backoffs is what a judge remembers of the pods that failed, by their names:
// with ordinals a successor has the same one.
type backoffs struct {
	seen       map[types.UID]bool
	fates      map[string]*podFate
	generation int64
	crashes    int
}

// podFate is what became of the pods of a name.
type podFate struct {
	revision string
	at       time.Time
	failures int
	// waits: the last one that failed has no successor yet.
	waits bool
}

// noteFailures looks for pods that failed since the last step. An edit may change
// what a successor is, and is the end of what was remembered; an operator that
// crashed may have forgotten one failure.
func (j *judge) noteFailures(w *world) {
	if j.seen == nil || j.generation != w.desired.Generation {
		j.backoffs = backoffs{seen: map[types.UID]bool{}, fates: map[string]*podFate{}, generation: w.desired.Generation, crashes: w.crashes}
	}
	for ; j.crashes < w.crashes; j.crashes++ {
		for _, f := range j.fates {
			f.failures = max(0, f.failures-1)
		}
	}
	for _, b := range w.sorted() {
		at, failed := b.FailedAt, b.Phase == corev1.PodFailed
		if b.NodeState == NodeGone && b.Phase == corev1.PodPending {
			at, failed = b.Created, b.spec.nowhere
		}
		if !failed || b.Terminating || j.seen[b.UID] {
			continue
		}
		j.seen[b.UID] = true
		f := j.fates[b.Name]
		if f == nil || f.revision != b.Revision || at.Sub(f.at) > 2*w.desired.FailedPods.Max {
			f = &podFate{revision: b.Revision}
			j.fates[b.Name] = f
		}
		if at.After(f.at) {
			f.failures++
		}
		f.at, f.waits = at, true
	}
}

// checkBackoff is rule B: none for the first failure, the initial wait for the
// second, and twice as long for each that follows.
func (j *judge) checkBackoff(w *world, a Action) {
	f := j.fates[a.Pod]
	if f == nil || !f.waits || w.desired.Identity != appsv1.IdentityOrdinal {
		return
	}
	f.waits = false
	if f.revision != a.Revision || f.failures < 2 {
		return
	}
	least := w.desired.FailedPods.Initial
	for range f.failures - 2 {
		least = min(2*least, w.desired.FailedPods.Max)
	}
	if waited := w.now.Sub(f.at); waited < least {
		j.errorf("%s comes %s after failure %d of revision %s, and has to wait %s", a.Pod, waited, f.failures, f.revision, least)
	}
}
