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
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// midRev is a revision between the old and the new one.
const midRev = "web-mid"

// changing says what leads from the old revision to the new one; from and to
// are filled in.
func (f fleet) changing(c Change) fleet {
	c.From, c.To = oldRev, newRev
	f.observed.Changes = append([]Change{c}, f.observed.Changes...)
	return f.rollingOut()
}

func (f fleet) strategy(s appsv1.UpdateStrategy) fleet { f.desired.Update.Strategy = s; return f }

func (f fleet) partition(n int) fleet { f.desired.Update.Partition = n; return f }

func (b podBuilder) resizing(state ResizeState, since time.Duration) podBuilder {
	b.p.Resize, b.p.ResizeSince = state, ago(since)
	return b
}

// images is a change in place that restarts the container.
func images() Change { return Change{Images: []string{"app"}, Restarts: true} }

// A change that restarts containers notes what ran before, so that one can tell
// later whether they were restarted. One that restarts none notes nothing.
func TestWhatAChangeInPlaceNotes(t *testing.T) {
	pod := ordinal(0).revision(oldRev)
	pod.p.Containers = []ContainerMark{{Name: "app", ContainerID: "c1"}, {Name: "proxy", ContainerID: "c2"}}
	for name, test := range map[string]struct {
		change Change
		want   []ContainerMark
	}{
		"the container whose image changes":          {images(), pod.p.Containers[:1]},
		"and the one whose size may restart it":      {Change{Resize: []string{"proxy"}, Restarts: true}, pod.p.Containers[1:]},
		"an init container is not run again":         {Change{Images: []string{"setup"}}, nil},
		"a new size without a restart needs no note": {Change{Resize: []string{"app"}}, nil},
		"labels neither":                             {Change{Metadata: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			actions := aFleet(1, pod).changing(test.change).plan().Actions
			if diff := cmp.Diff(test.want, actions[len(actions)-1].Replaced); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestThePartition(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  []string
	}{
		"with ordinals the lowest stay": {
			given: aFleet(4, podsOf(4, func(i int) podBuilder { return ordinal(i).revision(oldRev) })...).budget(4, 0).partition(2),
			want:  []string{"UpdatePod web-3 RolloutInPlace", "UpdatePod web-2 RolloutInPlace"},
		},
		"reserved ordinals are not counted": {
			given: func() fleet {
				f := aFleet(3, ordinal(0).revision(oldRev), ordinal(2).revision(oldRev), ordinal(3).revision(oldRev)).budget(3, 0).partition(2)
				f.desired.Reserved = []int{1}
				return f
			}(),
			want: []string{"UpdatePod web-3 RolloutInPlace"},
		},
		"with random names any may stay, the serving ones": {
			given: aFleet(3, random(0).revision(oldRev).unready(), random(1).revision(oldRev), random(2).revision(oldRev)).random().budget(3, 0).partition(2),
			want:  []string{"UpdatePod " + randomName(0) + " RolloutInPlace"},
		},
		"of those as many stay as are old": {
			given: aFleet(3, random(0).revision(oldRev), random(1), random(2)).random().budget(3, 0).partition(1),
		},
		"a resize that failed on the goal is not kept, and does not push out what is": {
			given: aFleet(3, random(0).resizing(ResizeInfeasible, time.Hour), random(1).revision(oldRev), random(2).revision(oldRev)).
				random().budget(3, 0).partition(2),
			want: []string{"DeletePod " + randomName(0) + " ResizeInfeasible", "CreatePod " + randomName(3) + " RolloutRecreate"},
		},
		"a pod behind the partition whose resize failed comes back on its revision": {
			given: aFleet(2, ordinal(0).revision(oldRev).resizing(ResizeInfeasible, time.Hour), ordinal(1)).
				changing(Change{Resize: []string{"app"}}).partition(1),
			want: []string{"DeletePod web-0 ResizeInfeasible"},
		},
		"a partition as large as the fleet keeps it all": {
			given: aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev)).partition(5),
		},
		"one that is broken in between goes back": {
			given: func() fleet {
				f := aFleet(2, ordinal(0).revision(midRev).unready(), ordinal(1)).partition(1)
				f.observed.Changes = []Change{{From: midRev, To: oldRev, Images: []string{"app"}, Restarts: true}}
				return f
			}(),
			want: []string{"UpdatePod web-0 RolloutInPlace to web-old"},
		},
		"one that serves in between stays there": {
			given: aFleet(2, ordinal(0).revision(midRev), ordinal(1)).partition(1),
		},
		"a pod that is missing comes back on the old revision": {
			given: aFleet(2, ordinal(1)).partition(1),
			want:  []string{"CreatePod web-0 RolloutRecreate to web-old"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.given.changing(images()).plan()
			got := saidOf(d)
			for i, a := range d.Actions {
				if a.Revision == oldRev && (a.Verb == UpdatePod || a.Verb == CreatePod) {
					got[i] += " to " + a.Revision
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A user may ask for a restart tonight.
func TestARestartInTheFutureIsLookedForward(t *testing.T) {
	f := aFleet(1, ordinal(0))
	f.desired.Restart = noon().Add(8 * time.Hour)
	if d := f.plan(); len(d.Actions) > 0 || d.NextLook != 8*time.Hour {
		t.Errorf("actions %v, next look after %s; want none and 8h", saidOf(d), d.NextLook)
	}
}

// settling: a change in place that counts as done after some time.
func settling(b podBuilder, in time.Duration) podBuilder {
	b.p.Changing, b.p.SettlesAt = true, noon().Add(in)
	return b
}

// Nothing else tells when the time has come.
func TestAChangeThatSettlesIsLookedForward(t *testing.T) {
	if d := aFleet(1, settling(ordinal(0), 7*time.Second)).rollingOut().plan(); d.NextLook != 7*time.Second || d.CurrentRevision != oldRev {
		t.Errorf("next look after %s on %s, want 7s on the old revision", d.NextLook, d.CurrentRevision)
	}
	if d := aFleet(1, settling(ordinal(0), 0)).rollingOut().plan(); d.NextLook != 0 || d.CurrentRevision != newRev {
		t.Errorf("next look after %s on %s, want none and the new revision", d.NextLook, d.CurrentRevision)
	}
}

// A rollout is reported until the nodes have followed it, also where every pod is
// available meanwhile.
func TestARolloutIsReportedUntilTheNodesFollowed(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  string
	}{
		"a container that restarts": {
			given: aFleet(1, func() podBuilder { b := ordinal(0); b.p.Changing = true; return b }()).rollingOut(),
			want:  "1 of 1 pods are on revision web-new, the nodes of 1 still follow",
		},
		"a resize that is put off": {
			given: aFleet(1, ordinal(0).resizing(ResizeDeferred, time.Second)).rollingOut(),
			want:  "1 of 1 pods are on revision web-new, the nodes of 1 still follow; 1 of 1 pods is waiting for room for a new size: node node-a has none now",
		},
		"a container of which only time will tell": {
			given: aFleet(1, settling(ordinal(0), time.Second)).rollingOut(),
			want:  "1 of 1 pods are on revision web-new, the nodes of 1 still follow",
		},
		"nothing any more":            {given: aFleet(1, ordinal(0)).rollingOut()},
		"nothing after all this time": {given: aFleet(1, settling(ordinal(0), 0)).rollingOut()},
	} {
		t.Run(name, func(t *testing.T) {
			test.given.desired.Update.ResizeDeadline = time.Minute
			message := ""
			for _, c := range test.given.done(test.given.plan()).Status.Conditions {
				if c.Type == appsv1.ConditionReconciling && c.Reason == appsv1.ReasonRollingOut {
					message = c.Message
				}
			}
			if message != test.want {
				t.Errorf("it is told %q, want %q", message, test.want)
			}
		})
	}
}

// Pods that are to be restarted and may not, because the rollout is paused, are
// not what was asked for, though they are on the revision of the template.
func TestARestartThatAPauseHoldsBackIsNotDone(t *testing.T) {
	f := aFleet(2, ordinal(0), ordinal(1)).paused()
	f.desired.Restart = ago(time.Minute)
	if got, want := toldOf(f.done(f.plan()).Status), "False "+appsv1.ReasonPaused; got.Ready != want {
		t.Errorf("Ready is %q, want %q", got.Ready, want)
	}
	f.desired.Restart = ago(3 * time.Hour) // before they were made
	if got, want := toldOf(f.done(f.plan()).Status), "True "+appsv1.ReasonAvailable; got.Ready != want {
		t.Errorf("without a restart to do Ready is %q, want %q", got.Ready, want)
	}
}

// A pod that leaves its node, or is restarted, is replaced before it goes: behind a
// partition on the revision that it has, which may be the only one that works.
func TestReplacementsBehindAPartition(t *testing.T) {
	old := func(slot int, pod func(int) podBuilder) podBuilder { return pod(slot).revision(oldRev) }
	restarted := func(f fleet) fleet { f.desired.Restart = ago(time.Minute); return f }
	fresh := func(p podBuilder) podBuilder { return p.created(0).unready() }
	for name, test := range map[string]struct {
		given fleet
		want  []string
	}{
		"one with a random name leaves its node": {
			aFleet(2, old(0, random).evicted(0), old(1, random)).random().surgeFirst(1).partition(2),
			[]string{"CreatePod DisruptionSurge " + oldRev},
		},
		"its replacement is kept": {
			aFleet(2, old(0, random).evicted(0), old(1, random), fresh(old(2, random))).random().surgeFirst(1).partition(2), nil,
		},
		"one of more than stay leaves its node": {
			aFleet(3, old(0, random).evicted(0), old(1, random), old(2, random)).random().surgeFirst(1).partition(2),
			[]string{"CreatePod DisruptionSurge " + newRev},
		},
		"one that has moved leaves its node": {
			aFleet(2, old(0, random), random(1).evicted(0)).random().surgeFirst(1).partition(1),
			[]string{"CreatePod DisruptionSurge " + newRev},
		},
		"those with random names are restarted": {
			restarted(aFleet(2, old(0, random), old(1, random)).random().budget(0, 1).partition(2)),
			[]string{"CreatePod RolloutSurge " + oldRev},
		},
		"those that have restarted are kept": {
			restarted(aFleet(2, old(0, random), old(1, random), fresh(old(2, random))).random().budget(0, 1).partition(2)), nil,
		},
		"a pause stops a restart, and what has moved comes back": {
			restarted(aFleet(2, old(0, random)).random().paused().partition(1)),
			[]string{"CreatePod Missing " + newRev},
		},
		"an ordinal leaves its node beside a broken canary": {
			aFleet(3, old(0, ordinal).evicted(0), old(1, ordinal), ordinal(2).waiting("CrashLoopBackOff")).surgeFirst(1).partition(2),
			[]string{"CreatePod DisruptionSurge " + oldRev},
		},
		"and its stand-in starts": {
			aFleet(3, old(0, ordinal).evicted(0), old(1, ordinal), ordinal(2).waiting("CrashLoopBackOff"), fresh(old(3, ordinal)).standIn()).
				surgeFirst(1).partition(2), nil,
		},
		"the canary leaves its node": {
			aFleet(3, old(0, ordinal), old(1, ordinal), ordinal(2).evicted(0)).surgeFirst(1).partition(2),
			[]string{"CreatePod DisruptionSurge " + newRev},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.given.rollingOut()
			if f.desired.Paused {
				f.observed.Status.Rollout = &appsv1.RolloutRecord{Revision: newRev, Moved: "1"}
			}
			var got []string
			for _, a := range f.plan().Actions {
				got = append(got, string(a.Verb)+" "+a.Why.Reason+" "+a.Revision)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that stands in and does not serve gives its place to one that a restart made,
// and to no other where pods keep their revision.
func TestStandInsThatNeverServe(t *testing.T) {
	broken := ordinal(2).standIn().unready()
	restarted := aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev), broken).rollingOut().budget(0, 1)
	restarted.desired.Restart = ago(time.Minute)
	paused := restarted.paused()
	drained := aFleet(2, ordinal(0).evicted(0), ordinal(1), broken.created(2*time.Minute)).surgeFirst(1).budget(0, 1)
	drained.desired.Restart = ago(time.Minute)
	onDelete := aFleet(2, ordinal(0).revision(oldRev).evicted(0), ordinal(1).revision(oldRev), broken.revision(oldRev)).
		rollingOut().surgeFirst(1).strategy(appsv1.UpdateOnDelete)
	for name, test := range map[string]struct {
		given fleet
		want  []string
	}{
		"older than a restart":                {restarted, []string{"DeletePod web-2 Restart"}},
		"older than a restart that is paused": {paused, []string{"DeletePod web-2 SurgeOver"}},
		"older than a restart, in a drain":    {drained, nil},
		"on an old revision, with OnDelete":   {onDelete, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, saidOf(test.given.plan())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAThirdRevisionKeepsThePartition: with random names, the pods that an earlier change
// had moved go on, and those that the partition kept then stay on the current revision.
func TestAThirdRevisionKeepsThePartition(t *testing.T) {
	const between = "web-between"
	for kept := range 3 {
		pods := podsOf(3, func(slot int) podBuilder {
			if slot == kept {
				return random(slot).revision(oldRev)
			}
			return random(slot).revision(between)
		})
		f := aFleet(3, pods...).random().rollingOut().budget(3, 0).partition(1)
		f.observed.Revisions = []Revision{{Name: oldRev, Number: 1}, {Name: between, Number: 2}, {Name: newRev, Number: 3, Equal: true}}
		d, moved := f.plan(), map[string]bool{}
		for _, a := range d.Actions {
			if a.Verb == DeletePod {
				moved[a.Pod] = true
			}
		}
		if len(moved) != 2 || moved[randomName(kept)] {
			t.Errorf("moved are %v, want the two that are not %s", moved, randomName(kept))
		}
	}
}

// TestAThirdRevisionBesideAPartition: with random names, what the partition keeps are pods of
// the current revision, whatever else changes as a third one comes.
func TestAThirdRevisionBesideAPartition(t *testing.T) {
	inBetween := func(slot int) podBuilder { return random(slot).revision(midRev) }
	for name, test := range map[string]struct {
		given     fleet
		partition int
		want      []string
	}{
		"one of them that is gone comes back on it": {
			aFleet(3, inBetween(1), inBetween(2)).budget(0, 0), 1,
			[]string{"CreatePod RolloutRecreate " + oldRev},
		},
		"but what is paused comes back as it was": {
			func() fleet {
				f := aFleet(3, random(0).revision(oldRev), inBetween(1)).paused()
				f.observed.Status.Rollout = &appsv1.RolloutRecord{Revision: newRev, Moved: "1"}
				return f
			}(), 2,
			[]string{"CreatePod Missing " + newRev},
		},
		"a scale-down takes one in between, though it is the more useful": {
			aFleet(2, random(0).revision(oldRev).readyFor(time.Second), inBetween(1), random(2)).budget(1, 0), 1,
			[]string{"DeletePod ScaleDown " + midRev},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.given.random().partition(test.partition)
			f.observed.Revisions = []Revision{{Name: oldRev, Number: 1}, {Name: midRev, Number: 2}, {Name: newRev, Number: 3, Equal: true}}
			f.observed.Status.CurrentRevision = oldRev
			d := f.plan()
			var got []string
			for _, a := range d.Actions {
				got = append(got, fmt.Sprintf("%s %s %s", a.Verb, a.Why.Reason, a.Revision))
			}
			if diff := cmp.Diff(test.want, got); diff != "" || d.CurrentRevision != oldRev {
				t.Errorf("current is %s, actions (-want +got):\n%s", d.CurrentRevision, diff)
			}
		})
	}
}
