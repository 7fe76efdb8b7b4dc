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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// progress: so many pods of the newest revision were available at most, and
// that number last grew some time ago.
func (f fleet) progress(done int32, last time.Duration) fleet {
	f.observed.Status.Rollout = rolloutRecord(done, last)
	return f
}

func rolloutRecord(done int32, last time.Duration) *appsv1.RolloutRecord {
	return &appsv1.RolloutRecord{Revision: newRev, Done: done, ProgressTime: metav1.NewTime(ago(last))}
}

// stuck: for so long since the last progress a pod of the newest revision did
// not become available, counted up to a time ago.
func (f fleet) stuck(d, counted time.Duration) fleet {
	record, at := *f.observed.Status.Rollout, metav1.NewTime(ago(counted))
	record.StuckSeconds, record.StuckTime = int32(d/time.Second), &at
	f.observed.Status.Rollout = &record
	return f
}

func (f fleet) orRollBack() fleet { f.desired.Update.OnFailure = appsv1.FailureRollback; return f }

func TestProgressOfARollout(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	for name, test := range map[string]struct {
		given fleet
		want  *appsv1.RolloutRecord
	}{
		"it begins with what is there": {
			given: aFleet(3, old(0), old(1), ordinal(2)).rollingOut(),
			want:  rolloutRecord(1, 0),
		},
		"one more available pod is progress": {
			given: aFleet(3, old(0), ordinal(1), ordinal(2)).rollingOut().progress(1, time.Minute),
			want:  rolloutRecord(2, 0),
		},
		"one that is only ready is not": {
			given: aFleet(3, old(0), ordinal(1).readyFor(time.Second), ordinal(2)).minReady(time.Minute).rollingOut().progress(1, time.Minute),
			want:  rolloutRecord(1, time.Minute),
		},
		"nor is one that comes back": {
			given: aFleet(3, old(0), ordinal(1), ordinal(2)).rollingOut().progress(2, time.Minute),
			want:  rolloutRecord(2, time.Minute),
		},
		"also where all were available before": {
			given: aFleet(2, ordinal(0), ordinal(1).readyFor(time.Second)).minReady(time.Minute).rollingOut().progress(2, time.Minute),
			want:  rolloutRecord(2, time.Minute),
		},
		"pods above replicas are none either": {
			given: aFleet(2, old(0), ordinal(1), ordinal(2), ordinal(3)).rollingOut(),
			want:  rolloutRecord(2, 0),
		},
		"a scale-down takes away what was done, or nothing would ever be progress again": {
			given: aFleet(2, old(0), ordinal(1)).rollingOut().progress(6, time.Hour),
			want:  rolloutRecord(1, time.Hour),
		},
		"an edit that leaves the revision as it is begins nothing anew": {
			given: aFleet(3, old(0), ordinal(1), ordinal(2)).rollingOut().progress(2, time.Minute).generation(7),
			want:  rolloutRecord(2, time.Minute),
		},
		"a restart does": {
			given: func() fleet {
				f := aFleet(3, old(0), ordinal(1), ordinal(2).created(time.Second)).rollingOut().progress(2, time.Minute)
				f.desired.Restart = ago(30 * time.Second)
				return f
			}(),
			want: rolloutRecord(1, 0),
		},
		"another revision begins anew": {
			given: func() fleet {
				f := aFleet(2, old(0), ordinal(1)).rollingOut().progress(2, time.Minute)
				f.observed.Status.Rollout.Revision = "web-between"
				return f
			}(),
			want: rolloutRecord(1, 0),
		},
		"a complete fleet needs no record": {
			given: aFleet(2, ordinal(0), ordinal(1)).rollingOut().progress(1, time.Minute),
		},
		"nor does one that lost a pod since": {
			given: aFleet(2, ordinal(0)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.given.plan().Rollout, cmpopts.IgnoreFields(appsv1.RolloutRecord{}, "Moved")); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheProgressDeadline(t *testing.T) {
	late := func(f fleet) fleet { return f.rollingOut().progress(0, time.Hour).stuck(10*time.Minute, 0) }
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	for name, test := range map[string]struct {
		given   fleet
		update  string
		want    []string
		blocked []string
	}{
		"a moment before it the rollout goes on": {
			given:   aFleet(2, old(0), ordinal(1).unready()).rollingOut().progress(0, time.Hour).stuck(10*time.Minute-time.Second, 0),
			update:  newRev,
			blocked: []string{"UpdatePod web-0 Budget"},
		},
		"at it the rollout stops": {
			given:   late(aFleet(2, old(0), ordinal(1).unready())),
			update:  newRev,
			blocked: []string{"UpdatePod ProgressDeadlineExceeded", "UpdatePod web-0 ProgressDeadlineExceeded"},
		},
		"or goes back to the last revision that was available": {
			given:  late(aFleet(2, old(0), ordinal(1).unready())).orRollBack(),
			update: oldRev,
			want:   []string{"DeletePod web-1 RolloutRecreate"},
			// The pod that never was available is free to go.
			blocked: []string{"CreatePod web-1 Terminating"},
		},
		"unless there is none": {
			given: func() fleet {
				f := late(aFleet(1, ordinal(0).unready())).orRollBack()
				f.observed.Status.CurrentRevision = ""
				return f
			}(),
			update:  newRev,
			blocked: []string{"UpdatePod ProgressDeadlineExceeded"},
		},
		"a paused rollout has no deadline": {
			given:   late(aFleet(2, old(0), ordinal(1).unready())).paused(),
			update:  newRev,
			blocked: []string{"UpdatePod web-0 Paused"},
		},
		"nor has one that waits behind its partition": {
			given: func() fleet {
				f := late(aFleet(2, old(0), ordinal(1)))
				f.desired.Update.Partition = 1
				f.observed.Status.Rollout.Done = 1
				return f
			}(),
			update:  newRev,
			blocked: []string{"UpdatePod web-0 Partition"},
		},
		"nor has one that waits for its user": {
			given: func() fleet {
				f := late(aFleet(2, old(0), old(1)))
				f.desired.Update.Strategy = appsv1.UpdateOnDelete
				return f
			}(),
			update:  newRev,
			blocked: []string{"UpdatePod web-1 OnDelete"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if got.UpdateRevision != test.update {
				t.Errorf("the goal is %s, want %s", got.UpdateRevision, test.update)
			}
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

// A way back is taken once: the record of it stands until the template changes.
func TestARollbackIsTakenOnce(t *testing.T) {
	f := aFleet(1, ordinal(0).unready()).rollingOut().progress(0, time.Hour).stuck(time.Hour, 0).orRollBack()
	d := f.plan()
	if d.Rollback == nil || d.Rollback.From != newRev || d.Rollback.To != oldRev {
		t.Fatalf("rollback %+v, want from %s to %s", d.Rollback, newRev, oldRev)
	}
	f.observed.Status = f.done(d).Status
	f.observed.Pods[0].Revision = oldRev
	f.observed.Status.Rollout = &appsv1.RolloutRecord{Revision: oldRev, ProgressTime: metav1.NewTime(ago(time.Hour)), StuckSeconds: 3600}
	if again := f.plan(); again.UpdateRevision != oldRev || again.Rollback.From != newRev {
		t.Errorf("the goal is %s, rollback %+v; want to stay on %s", again.UpdateRevision, again.Rollback, oldRev)
	}
	f.observed.Revisions = append(f.observed.Revisions, Revision{Name: "web-fix", Number: 3, Equal: true})
	f.observed.Revisions[1].Equal = false
	if fixed := f.plan(); fixed.UpdateRevision != "web-fix" || fixed.Rollback != nil {
		t.Errorf("the goal is %s, rollback %+v; want the fix and no record", fixed.UpdateRevision, fixed.Rollback)
	}
}

// The deadline counts the time in which pods of the revision were stuck: what
// waits on purpose does not run out of time, neither then nor the moment it goes
// on.
func TestTheClockOfARollout(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	since, now := metav1.NewTime(ago(time.Hour)), metav1.NewTime(noon())
	stands := func(f fleet) fleet { return f.rollingOut().progress(1, time.Hour) }
	waited := func(f fleet) fleet {
		f = stands(f)
		f.observed.Status.Rollout.Waits = true
		return f
	}
	runs := func(f fleet) fleet { return stands(f).stuck(5*time.Minute, 20*time.Second) }
	halfway, broken := aFleet(2, old(0), ordinal(1)), aFleet(2, old(0), ordinal(1).unready())
	failed := aFleet(2, old(0), ordinal(1).failed(30*time.Second))
	for name, test := range map[string]struct {
		given fleet
		want  appsv1.RolloutRecord
		late  bool
	}{
		"it stands while no pod is stuck": {
			given: stands(halfway),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since},
		},
		"it runs from the moment that one is": {
			given: stands(broken),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckTime: &now},
		},
		"it counts what has passed since the last look": {
			given: runs(broken),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 320, StuckTime: &now},
		},
		"and keeps what it counted when the pod comes back": {
			given: runs(halfway),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 300},
		},
		"of an absence it counts a minute": {
			given: stands(broken).stuck(5*time.Minute, time.Hour),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 360, StuckTime: &now},
		},
		"and of a clock that was set back nothing": {
			given: stands(broken).stuck(5*time.Minute, -time.Hour),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 300, StuckTime: &now},
		},
		"it counts the wait for the backoff of one that failed": {
			given: runs(failed).failures(3, 30*time.Second, 40*time.Second),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 320, StuckTime: &now},
		},
		"also where the failure is new": {
			given: runs(failed).failures(2, 3*time.Minute, 10*time.Second),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 310},
		},
		"and not that its successor is refused after it": {
			given: runs(failed).failures(3, 30*time.Second, 20*time.Second),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 310},
		},
		"nor that after a first failure, which has no backoff": {
			given: runs(failed).failures(1, 30*time.Second, 0),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckSeconds: 300},
		},
		"it stops when the time is up": {
			given: stands(broken).stuck(10*time.Minute, 20*time.Second),
			want:  *stands(broken).stuck(10*time.Minute, 20*time.Second).observed.Status.Rollout,
			late:  true,
		},
		"without a deadline there is none": {
			given: func() fleet { f := stands(broken); f.desired.Update.ProgressDeadline = 0; return f }(),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since},
		},
		"a pause stops it": {
			given: runs(broken).paused(),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, Waits: true},
		},
		"the end of the pause starts it again": {
			given: waited(broken),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckTime: &now},
		},
		"behind the partition it stands": {
			given: waited(halfway).partition(1),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, Waits: true},
		},
		"until a pod before it breaks": {
			given: waited(broken).partition(1),
			want:  appsv1.RolloutRecord{Done: 1, ProgressTime: since, StuckTime: &now},
		},
		"an edit of anything but the template does not start it again": {
			given: runs(broken).generation(2),
			want:  *runs(broken).plan().Rollout,
		},
		"a restart does, whose pods are not done": {
			given: func() fleet {
				f := aFleet(2, ordinal(0).created(time.Hour), ordinal(1).created(time.Minute)).rollingOut().progress(2, 2*time.Hour)
				f.desired.Restart = ago(30 * time.Minute)
				return f
			}(),
			want: appsv1.RolloutRecord{Done: 1, ProgressTime: now},
		},
		"a pod that is gone is no longer done": {
			given: stands(aFleet(2, old(0), ordinal(1).nodeGone())),
			want:  appsv1.RolloutRecord{ProgressTime: since},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.given.plan()
			test.want.Revision = newRev
			if diff := cmp.Diff(&test.want, d.Rollout, cmpopts.IgnoreFields(appsv1.RolloutRecord{}, "Moved")); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if late := len(d.Blocked) > 0 && d.Blocked[0].By == appsv1.BlockedByDeadline; late != test.late {
				t.Errorf("late: %t, want %t", late, test.late)
			}
		})
	}
}

// A disruption budget, or a hold on a pod, stops the clock of a rollout whose
// pods are all well, and does not reset it.
func TestOthersStopTheClock(t *testing.T) {
	f := aFleet(1, ordinal(0).revision(oldRev)).changing(Change{Recreate: "x"}).progress(0, time.Minute)
	f.desired.Update.UseEviction = true
	refused := func() *appsv1.RolloutRecord {
		d := f.plan()
		f.observed.Status = Report(f.desired, f.observed, d, []Outcome{
			{Action: d.Actions[0], Result: Refused, Cause: appsv1.BlockedByDisruptionBudget},
		}, noon()).Status
		return f.observed.Status.Rollout
	}
	want := &appsv1.RolloutRecord{Revision: newRev, ProgressTime: metav1.NewTime(ago(time.Minute)), Waits: true}
	for range 2 {
		if diff := cmp.Diff(want, refused()); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
	}
	f.desired.Update.UseEviction = false
	want.Waits = false
	if diff := cmp.Diff(want, f.done(f.plan()).Status.Rollout); diff != "" {
		t.Errorf("record when it goes on (-want +got):\n%s", diff)
	}
}

// The pass that stores the revision and is refused waits as well: the deadline
// may come before the next try.
func TestStoringARevisionIsNoProgress(t *testing.T) {
	f := aFleet(1, ordinal(0).revision(oldRev)).changing(Change{Recreate: "x"})
	f.desired.Update.UseEviction = true
	d := f.plan()
	stored := Outcome{Action: Action{Verb: CreateRevision}, Result: Done}
	refused := Outcome{Action: d.Actions[0], Result: Refused, Cause: appsv1.BlockedByDisruptionBudget}
	got := Report(f.desired, f.observed, d, []Outcome{stored, refused}, noon()).Status.Rollout
	if got == nil || !got.Waits {
		t.Errorf("the record is %+v, want one that waits", got)
	}
}

// Without pods no revision has proved itself, and none has failed.
func TestAFleetWithoutPodsProvesNothing(t *testing.T) {
	f := aFleet(0).rollingOut().progress(0, time.Hour)
	if d := f.plan(); d.CurrentRevision != oldRev || d.Rollout != nil || len(d.Blocked) > 0 {
		t.Errorf("current %s, rollout %+v, blocked %v; want %s, none, none", d.CurrentRevision, d.Rollout, d.Blocked, oldRev)
	}
}

// A rollout is complete when the pods of the fleet are on the goal and available. A
// surge pod does not make up for one that is missing, and a pod that is to go, and is
// held or whose deletion is refused, keeps nothing back.
func TestThePodsOfTheFleetCompleteARollout(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  string
	}{
		"a missing base pod":                   {aFleet(2, ordinal(1), ordinal(2).surge()).budget(0, 1), oldRev},
		"a resize under way":                   {aFleet(2, ordinal(0), ordinal(1).resizing(ResizeInProgress, time.Second)), oldRev},
		"everything there":                     {aFleet(2, ordinal(0), ordinal(1)).budget(0, 1), newRev},
		"a user asks for one of them":          {aFleet(2, ordinal(0).requested(), ordinal(1)), newRev},
		"a partition has nothing left to keep": {aFleet(2, random(0), random(1)).random().partition(1), newRev},
		"an old pod above replicas is held": {
			aFleet(2, ordinal(0), ordinal(1), ordinal(2).revision(oldRev).holdDelete()), newRev,
		},
		"one that does not serve cannot be deleted": {aFleet(2, ordinal(0), ordinal(1), ordinal(5).unready()), newRev},
		"an old pod too many is held, with random names": {
			aFleet(2, random(0), random(1), random(2).revision(oldRev).holdDelete()).random(), newRev,
		},
		"an old pod is left, with random names": {
			aFleet(3, random(0), random(1), random(2).revision(oldRev).holdDelete()).random(), oldRev,
		},
	} {
		if got := test.given.rollingOut().plan().CurrentRevision; got != test.want {
			t.Errorf("%s: current %s, want %s", name, got, test.want)
		}
	}
}

// currentRevision is the last revision on which the whole fleet was available, whatever
// is asked of the fleet by now: a rollback has nothing else to go back to.
func TestTheWholeFleetAvailableIsWhatCounts(t *testing.T) {
	const between = "web-between"
	restart := func(f fleet) fleet { f.desired.Restart = ago(time.Minute); return f }
	current := func(f fleet, name string) fleet {
		f = f.rollingOut()
		f.observed.Revisions = []Revision{{Name: oldRev, Number: 1}, {Name: newRev, Number: 3, Equal: true}, {Name: between, Number: 2}}
		f.observed.Status.CurrentRevision = name
		return f
	}
	on := func(revision string, slots ...int) []podBuilder {
		var pods []podBuilder
		for _, slot := range slots {
			pods = append(pods, ordinal(slot).revision(revision))
		}
		return pods
	}
	anyOn := func(revision string, slots ...int) []podBuilder {
		var pods []podBuilder
		for _, slot := range slots {
			pods = append(pods, random(slot).revision(revision))
		}
		return pods
	}
	for name, test := range map[string]struct {
		given fleet
		want  string
	}{
		"the template changed before the first pods were available": {current(aFleet(2, on(oldRev, 0, 1)...), ""), oldRev},
		"and the fleet is paused":                                   {current(aFleet(2, on(oldRev, 0, 1)...).paused(), ""), oldRev},
		"also with random names":                                    {current(aFleet(2, anyOn(oldRev, 0, 1)...).random().paused(), ""), oldRev},
		"it changed again before the current one was noted":         {current(aFleet(2, on(between, 0, 1)...), oldRev), between},
		"a restart waits":                                           {restart(current(aFleet(2, on(newRev, 0, 1)...).paused(), "")), newRev},
		"a restart waits on an old revision":                        {restart(current(aFleet(2, on(oldRev, 0, 1)...).paused(), "")), oldRev},
		"a restart is under way":                                    {restart(current(aFleet(2, ordinal(0), ordinal(1).created(time.Second)), oldRev)), newRev},
		"one of the restarted is not available": {
			restart(current(aFleet(2, ordinal(0), ordinal(1).created(time.Second).unready()), oldRev)), oldRev,
		},
		"one too many does not serve, with random names": {
			current(aFleet(2, random(0), random(1), random(2).unready().holdDelete()).random(), oldRev), newRev,
		},
		"pods of two revisions": {current(aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(between)), ""), ""},
		"one is missing":        {current(aFleet(3, on(between, 0, 1)...), oldRev), oldRev},
		"one stands in":         {current(aFleet(2, ordinal(1).revision(between), ordinal(2).revision(between).surge()).budget(0, 1), oldRev), oldRev},
		"their revision is stored no more": {
			current(aFleet(2, on("web-gone", 0, 1)...), oldRev), oldRev,
		},
		"twice as many: those of the current revision are left": {
			current(aFleet(2, append(anyOn(oldRev, 0, 1), anyOn(between, 2, 3)...)...).random().budget(0, 2), between), between,
		},
		"twice as many: the goal is reached": {
			current(aFleet(2, append(anyOn(oldRev, 0, 1), anyOn(newRev, 2, 3)...)...).random().budget(0, 2), oldRev), newRev,
		},
	} {
		if got := test.given.plan().CurrentRevision; got != test.want {
			t.Errorf("%s: current %q, want %q", name, got, test.want)
		}
	}
}

// An autoscaler that changes replicas all the time keeps no broken revision alive.
func TestScalingDoesNotPutOffTheDeadline(t *testing.T) {
	for _, action := range []appsv1.FailureAction{appsv1.FailurePause, appsv1.FailureRollback} {
		for _, identity := range []appsv1.Identity{appsv1.IdentityOrdinal, appsv1.IdentityRandom} {
			f := aFleet(4, podsOf(4, func(slot int) podBuilder { return ordinal(slot).revision(oldRev) })...).rollingOut().budget(1, 0)
			if identity == appsv1.IdentityRandom {
				f = aFleet(4, podsOf(4, func(slot int) podBuilder { return random(slot).revision(oldRev) })...).random().rollingOut().budget(1, 0)
			}
			f.desired.Update.OnFailure = action
			m := newModel(f)
			m.unready = map[string]bool{newRev: true}
			failed := time.Duration(0)
			for passed := time.Duration(0); passed < 24*time.Hour && failed == 0; passed += 20 * time.Second {
				if passed%(9*time.Minute) == 0 {
					m.desired.Replicas = 9 - m.desired.Replicas
					m.desired.Generation++
				}
				d := m.step(20 * time.Second)
				if d.Rollback != nil || slices.ContainsFunc(d.Blocked, func(b Blocked) bool { return b.By == appsv1.BlockedByDeadline }) {
					failed = passed
				}
			}
			if failed == 0 || failed > 15*time.Minute {
				t.Errorf("%s, %s: the broken revision failed after %s, want soon after 10m", action, identity, failed)
			}
		}
	}
}

// creates fails if a new pod is not on a revision.
func creates(t *testing.T, d Decision, revision string) {
	t.Helper()
	n := 0
	for _, a := range d.Actions {
		if a.Verb == CreatePod {
			n++
			if a.Revision != revision {
				t.Errorf("%s is created on %s", a.Pod, a.Revision)
			}
		}
	}
	if n == 0 {
		t.Error("no pod is created")
	}
}

// next is the fleet after a pass: deleted pods are gone, and the status is stored.
func (f *fleet) next(d Decision, replicas int) {
	s := &f.observed.Status
	s.Rollout, s.CurrentRevision, s.UpdateRevision = d.Rollout, d.CurrentRevision, d.UpdateRevision
	f.observed.Pods = slices.DeleteFunc(slices.Clone(f.observed.Pods), func(p Pod) bool {
		return slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Verb == DeletePod && a.Pod == p.Name })
	})
	f.desired.Replicas = replicas
	f.desired.Generation++
}

// TestARolloutThatFailedIsNotForgottenWithItsPods: an autoscaler that scales to nothing
// and back is no person.
func TestARolloutThatFailedIsNotForgottenWithItsPods(t *testing.T) {
	f := aFleet(3, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev), ordinal(2).unready()).rollingOut().progress(0, 20*time.Minute)
	f.observed.Status.Rollout.StuckSeconds = 601
	f.next(f.plan(), 0)
	d := f.plan()
	f.next(d, 3)
	f.observed.Pods = nil
	creates(t, f.plan(), oldRev)
}

// TestARolloutThatFailedIsNotForgottenForAHolder: of a fleet of nothing as many pods as
// replicas are available, and a pod that is held while it is scaled away is no reason to
// make all of them again on the revision that has failed.
func TestARolloutThatFailedIsNotForgottenForAHolder(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	s := onShift(aFleet(3, old(0), old(1), ordinal(2).unready())).lookFor(11 * time.Minute)
	s.desired.Replicas = 0
	s.pods(old(1).holdDelete()).lookFor(2 * time.Minute)
	s.desired.Replicas = 3
	s.pods().look()
	creates(t, s.last, oldRev)
}

// TestARolloutThatFailedIsNotForgottenBehindAWholePartition: an autoscaler that scales
// down to the pods that the partition keeps, and up again, makes none on the revision that
// has failed.
func TestARolloutThatFailedIsNotForgottenBehindAWholePartition(t *testing.T) {
	for name, pod := range map[string]func(int) podBuilder{"Ordinal": ordinal, "Random": random} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(3, pod(0).revision(oldRev), pod(1).revision(oldRev), pod(2).unready()).partition(2)
			f.desired.Identity = appsv1.Identity(name)
			s := onShift(f).lookFor(11 * time.Minute)
			s.desired.Replicas = 2
			s.pods(pod(0).revision(oldRev), pod(1).revision(oldRev)).lookFor(time.Minute)
			s.desired.Replicas = 3
			s.look()
			creates(t, s.last, oldRev)
		})
	}
}

// TestARolloutThatFailsAsItIsScaledToNothing has failed at its very deadline, too.
func TestARolloutThatFailsAsItIsScaledToNothing(t *testing.T) {
	for seconds, want := range map[int32]bool{599: false, 600: true} {
		f := aFleet(0).rollingOut().progress(0, 20*time.Minute)
		f.observed.Status.Rollout.StuckSeconds = seconds
		if d := f.plan(); (d.Rollout != nil) != want {
			t.Errorf("after %d s of 600 the record is %+v, want one: %t", seconds, d.Rollout, want)
		}
	}
}

// TestPodsEnoughOnTwoRevisionsAreTheGoals: a revision that is newer than the goal, after
// a pin, is not the one that the fleet is whole on.
func TestPodsEnoughOnTwoRevisionsAreTheGoals(t *testing.T) {
	f := aFleet(1, random(0), random(1).revision("web-later").holdDelete()).random().rollingOut()
	f.observed.Revisions = append(f.observed.Revisions, Revision{Name: "web-later", Number: 9})
	for i := range f.observed.Revisions {
		f.observed.Revisions[i].Equal = f.observed.Revisions[i].Name == newRev
	}
	if d := f.plan(); d.UpdateRevision != newRev || d.CurrentRevision != newRev {
		t.Errorf("the goal is %s, and the fleet counts as whole on %s, want %s", d.UpdateRevision, d.CurrentRevision, newRev)
	}
}

// TestPodsThatHadMovedAreForgottenWithTheirPlaces: what a scale-down took is not made
// again on the revision that has failed.
func TestPodsThatHadMovedAreForgottenWithTheirPlaces(t *testing.T) {
	var pods []podBuilder
	for i := range 8 {
		pods = append(pods, random(i).revision(oldRev))
	}
	f := aFleet(10, append(pods, random(8).unready(), random(9).unready())...).random().rollingOut().budget(2, 0).progress(0, 20*time.Minute)
	f.observed.Status.Rollout.StuckSeconds = 601
	f.next(f.plan(), 5)
	f.next(f.plan(), 5)
	f.next(f.plan(), 10)
	creates(t, f.plan(), oldRev)
}

// TestARestartBehindAWholePartition: what stands in is on the revision that works.
func TestARestartBehindAWholePartition(t *testing.T) {
	f := aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev)).rollingOut().partition(2).budget(0, 1)
	f.desired.Restart = noon()
	creates(t, f.plan(), oldRev)
	f.desired.Update.Partition = 1
	creates(t, f.plan(), newRev)
}

// TestADrainedPodOfAPausedRolloutKeepsItsRevision: its successor is made before it goes.
func TestADrainedPodOfAPausedRolloutKeepsItsRevision(t *testing.T) {
	f := aFleet(3, random(0).evicted(time.Second), random(1), random(2).revision(oldRev)).random().rollingOut().paused().surgeFirst(1).budget(1, 1)
	creates(t, f.plan(), newRev)
}

// TestASurgeBesideAPartitionIsNoWholeFleet: with random names, as many pods as replicas may
// be on the new revision while one stands in, and the partition keeps another on the old one.
func TestASurgeBesideAPartitionIsNoWholeFleet(t *testing.T) {
	f := aFleet(3, random(0), random(1), random(2), random(3).revision(oldRev)).random().rollingOut().budget(0, 1)
	f.desired.Update.Partition = 1
	if d := f.plan(); d.CurrentRevision != oldRev {
		t.Errorf("the fleet counts as whole on %s, want %s", d.CurrentRevision, oldRev)
	}
	f.observed.Revisions = []Revision{{Name: oldRev, Number: 1}, {Name: newRev, Number: 2}, {Name: "web-next", Number: 3, Equal: true}}
	if d := f.plan(); d.CurrentRevision != oldRev {
		t.Errorf("as a third revision comes, the fleet counts as whole on %s, want %s", d.CurrentRevision, oldRev)
	}
}

// TestAStoppedRolloutIsNotFinishedByAnAutoscaler: with random names the pods on the old
// revision are the first to go, and one of them stays.
func TestAStoppedRolloutIsNotFinishedByAnAutoscaler(t *testing.T) {
	for name, stop := range map[string]func(*shift){
		"paused": func(s *shift) { s.desired.Paused = true },
		"failed": func(s *shift) {
			s.observed.Status.Rollout.StuckSeconds = int32(s.desired.Update.ProgressDeadline / time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := onShift(aFleet(3, random(0).revision(oldRev), random(1).revision(oldRev), random(2)).random()).lookFor(time.Minute)
			stop(s)
			s.desired.Replicas = 1
			s.look()
			left := map[string]int{}
			for _, p := range s.observed.Pods {
				if !slices.ContainsFunc(s.last.Actions, func(a Action) bool { return a.Verb == DeletePod && a.Pod == p.Name }) {
					left[p.Revision]++
				}
			}
			if diff := cmp.Diff(map[string]int{oldRev: 1}, left); diff != "" || s.last.CurrentRevision != oldRev {
				t.Errorf("the current revision is %s, and the pods that are left (-want +got):\n%s", s.last.CurrentRevision, diff)
			}
		})
	}
}
