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
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// absence: now and then the operator is away for hours, while the kubelets work
// on.
func (j *judge) absence(w *world) {
	if w.calm || !w.chance(3) {
		return
	}
	w.now = w.now.Add(time.Duration(1+w.rng.IntN(5)) * time.Hour)
	j.blame.away = true
	w.kubelets(20)
}

// blame is what the world knows of whose fault it is that a rollout gets
// nowhere: for each revision, how long pods of it were there since the last
// progress, could run and were not available.
type blame struct {
	last      time.Time
	away      bool
	revisions map[string]*fault
}

type fault struct {
	stuck bool
	time  time.Duration
	best  int
	// lost is what the memories of operators that crashed may be off by since progress
	// was made and stored, and forgotten what a memory without that progress has.
	lost, forgotten time.Duration
	// progress is when progress was made, and told the last that was stored.
	progress, told time.Time
}

// look is what an outsider sees each time that the operator looks.
func (f *blame) look(w *world) {
	if f.revisions == nil {
		f.revisions = map[string]*fault{}
	}
	passed := w.now.Sub(f.last)
	if f.away { // an absence cannot be measured, but a part of it may count
		passed = min(passed, w.desired.Update.ProgressDeadline/4)
	}
	f.last, f.away = w.now, false
	stuck, well := map[string]bool{}, map[string]int{}
	for _, b := range w.pods {
		if f.revisions[b.Revision] == nil {
			f.revisions[b.Revision] = &fault{}
		}
		if w.isStuck(b) {
			stuck[b.Revision] = true
		}
		if w.servedFor(b.Name) && !b.DeleteRequested {
			well[b.Revision]++
		}
	}
	for revision, is := range f.revisions {
		if is.stuck && stuck[revision] {
			is.time += passed
		}
		is.stuck = stuck[revision]
		if n := min(well[revision], w.desired.Replicas); n > is.best { // pods that stand in are no progress
			is.best, is.forgotten, is.time, is.progress = n, is.forgotten+is.time, 0, w.now.Truncate(time.Second)
		} else if told := w.written.Rollout; told != nil && told.Revision == revision && !told.ProgressTime.Time.Before(is.progress) && told.ProgressTime.After(is.told) {
			is.lost, is.forgotten, is.told = 0, 0, told.ProgressTime.Time
		}
	}
}

// isStuck: the pod is there, could run, and does not serve as it should.
func (w *world) isStuck(b *body) bool {
	return !b.Terminating && b.Node != "" && b.NodeState == NodePresent && !b.NodeDown && (!w.serves(b.Name) || b.runs.size != b.spec.size)
}

// checkBlame is F.
func (j *judge) checkBlame(w *world) {
	if !w.told {
		for _, is := range j.blame.revisions {
			is.lost += w.desired.Update.ProgressDeadline / 4
		}
	}
	failed := ""
	for _, b := range w.last.Blocked {
		if b.By == appsv1.BlockedByDeadline && b.Pod == "" {
			failed = w.last.UpdateRevision
		}
	}
	if back := w.last.Rollback; back != nil && back.Time.Time.Equal(w.now.Truncate(time.Second)) {
		failed = back.From
	}
	if failed == "" {
		return
	}
	var stuck, lost time.Duration
	if is := j.blame.revisions[failed]; is != nil {
		stuck, lost = is.time, is.lost+is.forgotten
	}
	if deadline := w.desired.Update.ProgressDeadline; stuck+lost < deadline {
		j.errorf("F: the rollout to %s failed at %s, but its pods were stuck for %s, and %s is the deadline: %+v%s",
			failed, w.now.Sub(noon()), stuck, deadline, w.last.Rollout, w.table())
	}
}

// checkTold is T.
func (j *judge) checkTold(w *world) {
	if !w.told {
		return // the operator died before it said anything
	}
	s := &w.status
	ready := meta.FindStatusCondition(s.Conditions, appsv1.ConditionReady)
	available := meta.FindStatusCondition(s.Conditions, appsv1.ConditionAvailable)
	if ready == nil || available == nil || ready.ObservedGeneration != w.desired.Generation {
		j.errorf("T: conditions %v", conditionsOf(*s))
		return
	}
	if missing := w.missing(); ready.Status == metav1.ConditionTrue && missing != "" {
		j.errorf("T: Ready says %s, but %s%s", ready.Message, missing, w.table())
	}
	j.checkBlockers(w, ready)
	n, needed := w.available(), w.desired.Replicas-w.desired.Update.MaxUnavailable
	told := int(s.AvailableReplicas)
	inPlace := func(o Outcome) bool {
		return o.Result == Done && (o.Action.Verb == UpdatePod || o.Action.Verb == OpenGate)
	}
	if slices.ContainsFunc(w.outcomes, inPlace) {
		n = min(n, told) // only the kubelet knows what a change in place restarts, and what is back in service
	}
	if (available.Status == metav1.ConditionTrue) != (n >= needed) || told != n {
		j.errorf("T: Available is %s: %s; status %d, in truth %d%s", available.Status, available.Message, s.AvailableReplicas, n, w.table())
	}
}

// checkBlockers: why-not, which tells what is held back, agrees with Ready. Where
// all is there nothing is held back that belongs to it, and where something is
// missing it is under way, stalled, or held back.
func (j *judge) checkBlockers(w *world, ready *metav1.Condition) {
	isReady := ready.Status == metav1.ConditionTrue
	for _, b := range w.last.Blocked {
		switch b.By {
		case appsv1.BlockedByPause, appsv1.BlockedByOnDelete, appsv1.BlockedByDeadline, appsv1.BlockedByBudget, appsv1.BlockedByPin:
			if isReady {
				j.errorf("T: Ready says %s, but %s of %s is held back by %s", ready.Message, b.Verb, b.Pod, b.By)
			}
		}
	}
	told := slices.ContainsFunc([]string{appsv1.ConditionReconciling, appsv1.ConditionStalled, appsv1.ConditionPinned}, func(kind string) bool {
		return meta.IsStatusConditionTrue(w.status.Conditions, kind)
	})
	if !isReady && !told && len(w.last.Blocked) == 0 {
		j.errorf("T: Ready is False (%s), and nothing is under way, stalled, pinned or held back", ready.Message)
	}
}

// missing is what is not yet as this generation asks for it.
func (w *world) missing() string {
	scene, old := w.scene(), 0
	if len(scene.live) != w.desired.Replicas {
		return "the number of pods is another"
	}
	partition := min(w.desired.Update.Partition, w.desired.Replicas)
	for _, b := range w.sorted() {
		switch {
		case b.Terminating || b.dead():
			continue
		case !w.servedFor(b.Name) || b.runs.size != b.spec.size:
			return b.Name + " is not available"
		case b.Created.Before(w.desired.Restart):
			return b.Name + " was not restarted"
		case b.Revision == w.recipe.revision() || w.desired.Pin != "":
			continue
		case scene.ordinal() && slices.Index(ordinalsOf(w.desired, w.desired.Replicas), b.Slot) >= partition:
			return b.Name + " is on revision " + b.Revision
		}
		if old++; old > partition {
			return b.Name + " is on revision " + b.Revision
		}
	}
	return ""
}
