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

// smallNode: the API server said that a node is too small for the revision.
func smallNode(f fleet, node string) fleet {
	f.observed.Status.Rollout.SmallNodes = []string{node}
	return f
}

func TestHowAPodFollows(t *testing.T) {
	old := ordinal(0).revision(oldRev)
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		because string
	}{
		"an image in place": {
			given:   aFleet(1, old).changing(images()),
			want:    []string{"UpdatePod web-0 RolloutInPlace"},
			because: "in place: image of app",
		},
		"labels, and sizes through their own subresource first": {
			given:   aFleet(1, old).changing(Change{Metadata: true, Resize: []string{"app", "proxy"}}),
			want:    []string{"ResizePod web-0 RolloutInPlace", "UpdatePod web-0 RolloutInPlace"},
			because: "in place: size of app, proxy; labels or annotations",
		},
		"what cannot be changed in place recreates it": {
			given:   aFleet(1, old).changing(Change{Images: []string{"app"}, Restarts: true, Recreate: "env of container app changed"}),
			want:    []string{"DeletePod web-0 RolloutRecreate"},
			because: "recreated: env of container app changed",
		},
		"so does the strategy Recreate": {
			given:   aFleet(1, old).changing(images()).strategy(appsv1.UpdateRecreate),
			want:    []string{"DeletePod web-0 RolloutRecreate"},
			because: "recreated: the strategy is Recreate",
		},
		"and a revision that is not stored": {
			given:   aFleet(1, ordinal(0).revision("elsewhere-1")).rollingOut(),
			want:    []string{"DeletePod web-0 RolloutRecreate"},
			because: "recreated: the pod comes from no stored revision",
		},
		"an image follows in place, though a resize was refused": {
			given: func() fleet {
				f := aFleet(1, old).changing(images()).progress(0, time.Minute)
				f.observed.Status.Rollout.ResizeRefused = "the pod is on a static CPU policy"
				return f
			}(),
			want:    []string{"UpdatePod web-0 RolloutInPlace"},
			because: "in place: image of app",
		},
		"a resize that the API server refused": {
			given: func() fleet {
				f := aFleet(1, old).changing(Change{Resize: []string{"app"}}).progress(0, time.Minute)
				f.observed.Status.Rollout.ResizeRefused = "the pod is on a static CPU policy"
				return f
			}(),
			want:    []string{"DeletePod web-0 RolloutRecreate"},
			because: "recreated: the resize was refused: the pod is on a static CPU policy",
		},
		"a resize that is beyond the pod's node": {
			given:   smallNode(aFleet(1, old.on("small")).changing(Change{Resize: []string{"app"}}).progress(0, time.Minute), "small"),
			want:    []string{"DeletePod web-0 ResizeInfeasible"},
			because: "recreated: node small can never hold the new size",
		},
		"not behind the partition, though the node is too small": {
			given: smallNode(aFleet(1, old.on("small")).changing(Change{Resize: []string{"app"}}).progress(0, time.Minute), "small").partition(1),
		},
		"on such a node, a change of something else": {
			given:   smallNode(aFleet(1, old.on("small")).changing(images()).progress(0, time.Minute), "small"),
			want:    []string{"UpdatePod web-0 RolloutInPlace"},
			because: "in place: image of app",
		},
		"one that is beyond another node": {
			given:   smallNode(aFleet(1, old.on("large")).changing(Change{Resize: []string{"app"}}).progress(0, time.Minute), "small"),
			want:    []string{"ResizePod web-0 RolloutInPlace", "UpdatePod web-0 RolloutInPlace"},
			because: "in place: size of app",
		},
		"a refusal for another revision says nothing": {
			given: func() fleet {
				f := aFleet(1, old).changing(Change{Resize: []string{"app"}}).progress(0, time.Minute)
				f.observed.Status.Rollout.Revision, f.observed.Status.Rollout.ResizeRefused = midRev, "no"
				return f
			}(),
			want:    []string{"ResizePod web-0 RolloutInPlace", "UpdatePod web-0 RolloutInPlace"},
			because: "in place: size of app",
		},
		"a resize that the node can never carry out": {
			given:   aFleet(1, ordinal(0).resizing(ResizeInfeasible, time.Second)),
			want:    []string{"DeletePod web-0 ResizeInfeasible"},
			because: "recreated: node node-a can never hold the new size",
		},
		"one that it puts off is waited for": {
			given: aFleet(1, ordinal(0).resizing(ResizeDeferred, 59*time.Second)).rollingOut(),
		},
		"until its time is up": {
			given:   aFleet(1, ordinal(0).resizing(ResizeDeferred, time.Minute)).rollingOut(),
			want:    []string{"DeletePod web-0 ResizeDeferred"},
			because: "recreated: node node-a put the resize off for too long",
		},
		"a new size takes the place of one that cannot be": {
			given:   aFleet(1, old.resizing(ResizeInfeasible, time.Hour)).changing(Change{Resize: []string{"app"}}),
			want:    []string{"ResizePod web-0 RolloutInPlace", "UpdatePod web-0 RolloutInPlace"},
			because: "in place: size of app",
		},
		"a change of something else does not": {
			given:   aFleet(1, old.resizing(ResizeInfeasible, time.Hour)).changing(Change{Metadata: true}),
			want:    []string{"DeletePod web-0 ResizeInfeasible"},
			because: "recreated: node node-a can never hold the new size",
		},
		"a restart recreates what is older": {
			given: func() fleet {
				f := aFleet(1, ordinal(0).created(time.Hour))
				f.desired.Restart = ago(time.Minute)
				return f
			}(),
			want:    []string{"DeletePod web-0 Restart"},
			because: "recreated: a restart was asked for",
		},
		"and nothing that is as old": {
			given: func() fleet {
				f := aFleet(1, ordinal(0).created(time.Minute))
				f.desired.Restart = ago(time.Minute)
				return f
			}(),
		},
		"evictions where they are asked for": {
			given: func() fleet {
				f := aFleet(1, old).changing(Change{Recreate: "the volumes changed"})
				f.desired.Update.UseEviction = true
				return f
			}(),
			want:    []string{"EvictPod web-0 RolloutRecreate"},
			because: "recreated: the volumes changed",
		},
		"OnDelete waits for the user":       {given: aFleet(1, old).changing(images()).strategy(appsv1.UpdateOnDelete)},
		"a pause stops it":                  {given: aFleet(1, old).changing(images()).paused()},
		"also a resize that failed":         {given: aFleet(1, ordinal(0).resizing(ResizeInfeasible, time.Hour)).paused()},
		"an orphan is adopted first":        {given: aFleet(1, old.orphan()).changing(images()), want: []string{"AdoptPod web-0 MatchingOrphan"}, because: "the pod has no owner and matches podmanager=web"},
		"a pod on the goal has no way left": {given: aFleet(1, ordinal(0)).changing(images())},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.given
			f.desired.Update.ResizeDeadline = time.Minute
			got := f.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Fatalf("actions (-want +got):\n%s", diff)
			}
			if len(got.Actions) > 0 && got.Actions[0].Why.Message != test.because {
				t.Errorf("because %q, want %q", got.Actions[0].Why.Message, test.because)
			}
		})
	}
}

// sized is a pod that was resized and did not get the label of that revision.
func (b podBuilder) sized(revision string) podBuilder { b.p.SizeOf = revision; return b }

// sizedLike says what leads a pod of one revision, with the size of midRev, to
// the other.
func (f fleet) sizedLike(from, to string, c Change) fleet {
	c.From, c.SizeOf, c.To = from, midRev, to
	f.observed.Changes = append(f.observed.Changes, c)
	return f
}

func TestASizeThatAnUnfinishedChangeLeft(t *testing.T) {
	size, whole := Change{Resize: []string{"app"}}, Change{Resize: []string{"app"}, Metadata: true}
	running := ordinal(0)
	running.p.Containers = []ContainerMark{{Name: "app", ContainerID: "c1"}}
	back, old := running.sized(midRev), ordinal(0).revision(oldRev).sized(midRev)
	takenBack := "the pod has the size of revision web-mid, from a change that was taken back"
	restarting := Change{Resize: []string{"app"}, Restarts: true}
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		because string
	}{
		"the template was taken back: the size is, too, and no label is written": {
			given: aFleet(1, back).sizedLike(newRev, newRev, size),
			want:  []string{"ResizePod web-0 RolloutInPlace from web-mid"}, because: takenBack,
		},
		"also where the node put the resize off for too long": {
			given: aFleet(1, back.resizing(ResizeDeferred, time.Hour)).sizedLike(newRev, newRev, size),
			want:  []string{"ResizePod web-0 RolloutInPlace from web-mid"}, because: takenBack,
		},
		"a container that the resize restarts is noted": {
			given: aFleet(1, back).sizedLike(newRev, newRev, restarting),
			want:  []string{"ResizePod web-0 RolloutInPlace from web-mid", "UpdatePod web-0 RolloutInPlace from web-mid"}, because: takenBack,
		},
		"a size that cannot be taken back recreates the pod, which happens once": {
			given: aFleet(1, back).sizedLike(newRev, newRev, Change{Recreate: "the QoS class would change"}),
			want:  []string{"DeletePod web-0 RolloutRecreate"}, because: "recreated: the QoS class would change",
		},
		"so does one that the API server refuses": {
			given: func() fleet {
				f := aFleet(1, back).sizedLike(newRev, newRev, size).rollingOut().progress(0, time.Minute)
				f.observed.Status.Rollout.ResizeRefused = "no"
				return f
			}(),
			want: []string{"DeletePod web-0 RolloutRecreate"}, because: "recreated: the resize was refused: no",
		},
		"a third revision is reached from the size that the pod has": {
			given: aFleet(1, old).changing(Change{Metadata: true}).sizedLike(oldRev, oldRev, size).sizedLike(oldRev, newRev, whole),
			want:  []string{"ResizePod web-0 RolloutInPlace from web-mid", "UpdatePod web-0 RolloutInPlace from web-mid"}, because: "in place: size of app; labels or annotations",
		},
		"a pod that has the goal's size already lacks only the label": {
			given: aFleet(1, old).changing(restarting).sizedLike(oldRev, oldRev, size).sizedLike(oldRev, newRev, Change{}),
			want:  []string{"UpdatePod web-0 RolloutInPlace"}, because: "in place: size of app",
		},
		"a partition keeps the pod, with the size of its revision": {
			given: aFleet(1, old).changing(size).partition(1).sizedLike(oldRev, oldRev, size).sizedLike(oldRev, newRev, size),
			want:  []string{"ResizePod web-0 RolloutInPlace from web-mid"}, because: takenBack,
		},
		"and does not recreate it for that": {
			given: aFleet(1, old).changing(size).partition(1).sizedLike(oldRev, oldRev, Change{Recreate: "the QoS class would change"}),
		},
		"nor tries again what the API server refused": {
			given: func() fleet {
				f := aFleet(1, old).changing(size).partition(1).sizedLike(oldRev, oldRev, size).sizedLike(oldRev, newRev, size).
					rollingOut().progress(0, time.Minute)
				f.observed.Status.Rollout.ResizeRefused = "no"
				return f
			}(),
		},
		"a pause stops it":                          {given: aFleet(1, back).sizedLike(newRev, newRev, size).paused()},
		"OnDelete waits for the user":               {given: aFleet(1, back).sizedLike(newRev, newRev, size).strategy(appsv1.UpdateOnDelete)},
		"without a way back the size is left alone": {given: aFleet(1, back)},
	} {
		t.Run(name, func(t *testing.T) {
			test.given.desired.Update.ResizeDeadline = time.Minute
			d := test.given.plan()
			got := saidOf(d)
			for i, a := range d.Actions {
				if a.SizeOf != "" {
					got[i] += " from " + a.SizeOf
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("actions (-want +got):\n%s", diff)
			}
			if len(d.Actions) > 0 && d.Actions[0].Why.Message != test.because {
				t.Errorf("because %q, want %q", d.Actions[0].Why.Message, test.because)
			}
		})
	}
}

// A fleet that stands still says that a pod has another size than its revision,
// and never that it is rolled out.
func TestASizeThatIsNotPutBackIsReported(t *testing.T) {
	for name, f := range map[string]fleet{"paused": aFleet(2, ordinal(1)).paused(), "OnDelete": aFleet(2, ordinal(1)).strategy(appsv1.UpdateOnDelete)} {
		t.Run(name, func(t *testing.T) {
			f = f.with(ordinal(0).sized(midRev)).sizedLike(newRev, newRev, Change{Resize: []string{"app"}})
			d := f.plan()
			if d.Counts.Stale != 1 || d.Counts.Updated != 1 || len(d.Blocked) != 1 || d.Blocked[0].Pod != "web-0" {
				t.Errorf("%+v, blocked %+v, want web-0 stale and blocked", d.Counts, d.Blocked)
			}
		})
	}
}

// A pod is stale on every revision but the goal, wherever the two are stored.
func TestRevisionsAreToldApart(t *testing.T) {
	var stored []Revision
	for i := range 8 {
		stored = append(stored, Revision{Name: fmt.Sprintf("web-%c", 'a'+i), Number: int64(i) + 1, Equal: i == 0})
	}
	for _, goal := range stored {
		for _, of := range stored {
			f := aFleet(1, ordinal(0).revision(of.Name)).revisions(10, stored...)
			f.desired.Pin, f.observed.Status.UpdateRevision = goal.Name, goal.Name
			d := f.plan()
			if stale := d.Counts.Stale == 1; d.UpdateRevision != goal.Name || stale != (of.Name != goal.Name) {
				t.Errorf("the goal is %s, want %s; a pod on %s is stale: %t", d.UpdateRevision, goal.Name, of.Name, stale)
			}
		}
	}
}

// Pods that go once they are no longer held count as stale like the others.
func TestHeldPodsCountAsStale(t *testing.T) {
	old := func(slot int) podBuilder { return random(slot).revision(oldRev) }
	f := aFleet(2, old(0), old(1), old(2).holdDelete()).random().rollingOut().paused()
	if got := f.plan().Counts.Stale; got != 3 {
		t.Errorf("%d pods are stale, want 3", got)
	}
}

// A resize that is put off is looked at again when its deadline ends.
func TestAResizeThatIsPutOffIsLookedAtInTime(t *testing.T) {
	f := aFleet(1, ordinal(0).resizing(ResizeDeferred, 59*time.Second)).rollingOut()
	f.desired.Update.ResizeDeadline = time.Minute
	if got := f.plan().NextLook; got != time.Second {
		t.Errorf("the next look is in %s, want 1s", got)
	}
}
