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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestFailedPodsOfAnOrdinalFleetAreReplacedUnderTheirName(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"the first failure is repaired at once": {
			given:   aFleet(2, ordinal(0), ordinal(1).failed(0)),
			want:    []string{"DeletePod web-1 PodFailed"},
			blocked: []string{"CreatePod web-1 Terminating"},
		},
		"an evicted pod is called evicted": {
			given:   aFleet(1, ordinal(0).failed(0).reason("Evicted")),
			want:    []string{"DeletePod web-0 Evicted"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a pod that ended well is replaced too": {
			given:   aFleet(1, ordinal(0).failed(0).phase(corev1.PodSucceeded)),
			want:    []string{"DeletePod web-0 PodFinished"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"one that failed as soon as it was made waits a second: its successor has to be told from it": {
			given:   aFleet(1, ordinal(0).created(500*time.Millisecond).failed(500*time.Millisecond)),
			blocked: []string{"CreatePod web-0 Backoff"},
		},
		"so does a successor that failed in the same second": {
			given:   aFleet(1, ordinal(0).created(500*time.Millisecond).failed(500*time.Millisecond)).failures(1, 500*time.Millisecond, 0),
			blocked: []string{"CreatePod web-0 Backoff"},
		},
		"and no longer": {
			given:   aFleet(1, ordinal(0).created(time.Second).failed(time.Second)).failures(1, time.Second, 0),
			want:    []string{"DeletePod web-0 PodFailed"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"one that ran for a second first does not wait": {
			given:   aFleet(1, ordinal(0).created(1500*time.Millisecond).failed(500*time.Millisecond)),
			want:    []string{"DeletePod web-0 PodFailed"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"the second failure waits": {
			given:   aFleet(1, ordinal(0).failed(time.Second)).failures(1, time.Minute, 0),
			blocked: []string{"CreatePod web-0 Backoff"},
		},
		"and is repaired when the wait is over": {
			given:   aFleet(1, ordinal(0).failed(10*time.Second)).failures(1, time.Minute, 0),
			want:    []string{"DeletePod web-0 PodFailed"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a missing ordinal beside one on backoff is filled at once": {
			given:   aFleet(2, ordinal(0).failed(time.Second)).failures(1, time.Minute, 0),
			want:    []string{"CreatePod web-1 Missing"},
			blocked: []string{"CreatePod web-0 Backoff"},
		},
		"a failed pod of an older revision never waits: its successor is of the new one": {
			given:   aFleet(1, ordinal(0).failed(time.Second).revision(oldRev)).failures(5, time.Second, time.Minute),
			want:    []string{"DeletePod web-0 PodFailed"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a failed pod above replicas has no successor and does not wait": {
			given: aFleet(1, ordinal(0), ordinal(4).failed(time.Second)).failures(1, time.Minute, 0),
			want:  []string{"DeletePod web-4 PodFailed"},
		},
		"nor does one whose name is no ordinal": {
			given: aFleet(1, ordinal(0), aPod("stray").failed(time.Second)).failures(1, time.Minute, 0),
			want:  []string{"DeletePod stray PodFailed"},
		},
		"a failed pod that terminates already is not deleted again": {
			given:   aFleet(1, ordinal(0).failed(time.Second).terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a failed orphan is adopted first, and its ordinal waits": {
			given:   aFleet(1, ordinal(0).failed(time.Second).orphan()),
			want:    []string{"AdoptPod web-0 MatchingOrphan"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"with replicas 0 nothing is on backoff": {
			given: aFleet(0, ordinal(0).failed(time.Second)).failures(9, time.Second, time.Minute),
			want:  []string{"DeletePod web-0 PodFailed"},
		},
	})
}

func TestFailedPodsOfARandomFleetAreReplacedBesideTheirCorpses(t *testing.T) {
	onBackoff := func(f fleet) fleet { return f.random().failures(2, time.Second, time.Minute) }
	expectPlans(t, saidOf, map[string]planned{
		"the corpse stays for inspection, the successor comes at once": {
			given: aFleet(1, random(0).failed(0)).random(),
			want:  []string{"CreatePod " + randomName(1) + " Missing"},
		},
		"the newest corpses are kept, up to the limit": {
			given: aFleet(1, random(0), random(1).failed(time.Hour), random(2).failed(time.Minute), random(3).failed(2*time.Hour)).
				random().keeping(2),
			want: []string{"DeletePod " + randomName(3) + " FailedPodsLimit"},
		},
		"a limit of 0 keeps none": {
			given: aFleet(1, random(0), random(1).failed(time.Hour)).random().keeping(0),
			want:  []string{"DeletePod " + randomName(1) + " FailedPodsLimit"},
		},
		"the successor waits for the backoff": {
			given:   onBackoff(aFleet(2, random(0), random(1).failed(time.Second))),
			blocked: []string{"CreatePod " + randomName(1) + " Backoff"},
		},
		"a corpse that waits is kept beyond the limit: it is all that remembers the hole": {
			given: onBackoff(aFleet(3, random(0), random(1).failed(time.Second), random(2).failed(time.Second))).keeping(0),
			blocked: []string{
				"CreatePod " + randomName(1) + " Backoff",
				"CreatePod " + randomName(2) + " Backoff",
			},
		},
		"when the wait is over the successors come and the corpses beyond the limit go": {
			given: aFleet(3, random(0), random(1).failed(time.Minute), random(2).failed(time.Minute)).
				random().failures(2, time.Minute, time.Minute),
			want: []string{
				"DeletePod " + randomName(2) + " FailedPodsLimit",
				"CreatePod " + randomName(3) + " Missing",
				"CreatePod " + randomName(4) + " Missing",
			},
		},
		"a corpse that has its successor holds nothing back": {
			given: onBackoff(aFleet(2, random(0), random(1), random(2).failed(time.Second))),
		},
		"of two corpses and one hole only the newest waits": {
			given:   onBackoff(aFleet(2, random(0), random(1).failed(time.Second), random(2).failed(time.Hour))).keeping(2),
			blocked: []string{"CreatePod " + randomName(1) + " Backoff"},
		},
		"a user's request beside it is replaced at once": {
			given: onBackoff(aFleet(2, random(0).requested(), random(1).failed(time.Second))),
			want: []string{
				"DeletePod " + randomName(0) + " RequestedByLabel",
				"CreatePod " + randomName(2) + " Missing",
			},
			blocked: []string{"CreatePod " + randomName(1) + " Backoff"},
		},
		"a failed orphan is adopted and never deleted in the same pass": {
			given: aFleet(0, random(1).failed(time.Hour).orphan()).random().keeping(0),
			want:  []string{"AdoptPod " + randomName(1) + " MatchingOrphan"},
		},
		"with replicas 0 nothing is on backoff": {
			given: onBackoff(aFleet(0, random(0).failed(time.Second))),
		},
		"nor where pods are replaced before they leave": {
			given: onBackoff(aFleet(0, random(0).failed(time.Second)).surgeFirst(1)).keeping(0),
			want:  []string{"DeletePod " + randomName(0) + " FailedPodsLimit"},
		},
	})
}

// A partition says how many pods come back on the revision before, and so whose
// backoff their successors wait for.
func TestThePartitionSaysWhichBackoffASuccessorWaitsFor(t *testing.T) {
	behind := func(f fleet) fleet {
		f.observed.Status.CurrentFailures = failureRecord(oldRev, 2, time.Second, time.Minute)
		return f.rollingOut().partition(1)
	}
	corpse := func(b podBuilder) podBuilder { return b.revision(oldRev).failed(time.Second) }
	expectPlans(t, saidOf, map[string]planned{
		"below it an old pod comes back, and waits": {
			given:   behind(aFleet(2, corpse(ordinal(0)), ordinal(1))),
			blocked: []string{"CreatePod web-0 Backoff"},
		},
		"the first above it follows the goal, and does not": {
			given:   behind(aFleet(2, ordinal(0).revision(oldRev), corpse(ordinal(1)))),
			want:    []string{"DeletePod web-1 PodFailed"},
			blocked: []string{"UpdatePod web-0 Partition", "CreatePod web-1 Terminating"},
		},
		"with random names an old pod waits that the partition misses": {
			given:   behind(aFleet(2, corpse(random(0)), random(1))).random(),
			blocked: []string{"CreatePod " + randomName(0) + " Backoff"},
		},
		"also beside one that an earlier change had moved": {
			given: func() fleet {
				f := behind(aFleet(2, corpse(random(0)), random(1).revision(midRev))).random()
				f.observed.Revisions = append(f.observed.Revisions, Revision{Name: midRev, Number: 2})
				return f
			}(),
			blocked: []string{"CreatePod " + randomName(0) + " Backoff", "UpdatePod " + randomName(1) + " Partition"},
		},
		"so does one that stands in for one of them": {
			given:   behind(aFleet(1, ordinal(0).revision(oldRev).nodeLeaving(), corpse(ordinal(1)).standIn())).surgeFirst(1),
			blocked: []string{"CreatePod web-1 Backoff", "EvictPod web-0 Replacement", "UpdatePod web-0 Partition"},
		},
		"and one with a random name": {
			given:   behind(aFleet(1, random(0).revision(oldRev).nodeLeaving(), corpse(random(1)))).random().surgeFirst(1),
			blocked: []string{"CreatePod " + randomName(1) + " Backoff", "EvictPod " + randomName(0) + " Replacement", "UpdatePod " + randomName(0) + " Partition"},
		},
		"and none once it has all its pods": {
			given:   behind(aFleet(2, random(0).revision(oldRev), corpse(random(1)))).random(),
			want:    []string{"CreatePod " + randomName(2) + " RolloutRecreate"},
			blocked: []string{"UpdatePod " + randomName(0) + " Partition"},
		},
	})
}

// What a corpse keeps back is a pod that is missing now, or that the rollout may
// need later: so many are kept, whatever the limit.
func TestARolloutKeepsTheCorpsesThatItsSurgeMayWaitFor(t *testing.T) {
	failing := func(f fleet) fleet {
		return f.with(random(1).failed(time.Second), random(2).failed(2*time.Second), random(3).failed(3*time.Second)).
			random().keeping(0).budget(0, 2).failures(2, time.Second, time.Minute)
	}
	gone := func(slot int) string { return "DeletePod " + randomName(slot) + " FailedPodsLimit" }
	expectPlans(t, saidOf, map[string]planned{
		"one pod more is needed now, and a second may be": {
			given:   failing(aFleet(1, random(0).revision(oldRev)).rollingOut()),
			want:    []string{gone(3)},
			blocked: []string{"CreatePod " + randomName(1) + " Backoff", "DeletePod " + randomName(2) + " Backoff", "UpdatePod " + randomName(0) + " Budget"},
		},
		"without a rollout no pod is": {
			given: failing(aFleet(1, random(0))),
			want:  []string{gone(1), gone(2), gone(3)},
		},
	})
}

func TestWhyAFailedPodIsDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		given podBuilder
		want  string
	}{
		"its reason is named":     {ordinal(0).failed(0).reason("OutOfcpu"), "the pod failed: OutOfcpu"},
		"or it failed without":    {ordinal(0).failed(0), "the pod failed"},
		"it was evicted":          {ordinal(0).failed(0).reason(reasonEvicted), "the pod was evicted"},
		"its containers are done": {ordinal(0).failed(0).phase(corev1.PodSucceeded), "the pod's containers ended"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := aFleet(1, test.given).plan().Actions[0].Why.Message; got != test.want {
				t.Errorf("the message is %q, want %q", got, test.want)
			}
		})
	}
}

func TestFailuresInARow(t *testing.T) {
	corpse := ordinal(0).failed(time.Second)
	const beyond = 10*time.Minute + 2*time.Second // twice the longest backoff before the corpse's end, and more
	for name, test := range map[string]struct {
		given fleet
		want  *appsv1.FailureRecord
	}{
		"no failure, no record": {
			given: aFleet(1, ordinal(0)),
		},
		"the first is repaired at once": {
			given: aFleet(1, corpse),
			want:  failureRecord(newRev, 1, time.Second, 0),
		},
		"the second waits for the initial backoff": {
			given: aFleet(1, corpse).failures(1, time.Minute, 0),
			want:  failureRecord(newRev, 2, time.Second, 10*time.Second),
		},
		"the third waits twice as long": {
			given: aFleet(1, corpse).failures(2, time.Minute, 0),
			want:  failureRecord(newRev, 3, time.Second, 20*time.Second),
		},
		"the sixth waits sixteen times as long": {
			given: aFleet(1, corpse).failures(5, time.Minute, 0),
			want:  failureRecord(newRev, 6, time.Second, 160*time.Second),
		},
		"the seventh reaches the longest backoff": {
			given: aFleet(1, corpse).failures(6, time.Minute, 0),
			want:  failureRecord(newRev, 7, time.Second, 5*time.Minute),
		},
		"and so does the thousandth": {
			given: aFleet(1, corpse).failures(999, time.Minute, 0),
			want:  failureRecord(newRev, 1000, time.Second, 5*time.Minute),
		},
		"a failure that was counted is not counted again": {
			given: aFleet(1, corpse).failures(2, time.Second, 10*time.Second),
			want:  failureRecord(newRev, 2, time.Second, 10*time.Second),
		},
		"an older corpse than the last counted failure is not counted": {
			given: aFleet(1, ordinal(0).failed(time.Hour)).failures(2, time.Second, 10*time.Second),
			want:  failureRecord(newRev, 2, time.Second, 10*time.Second),
		},
		"several pods at once are one failure, at the time of the last": {
			given: aFleet(3, corpse, ordinal(1).failed(2*time.Second), ordinal(2).failed(3*time.Second)).failures(1, time.Minute, 0),
			want:  failureRecord(newRev, 2, time.Second, 10*time.Second),
		},
		"exactly twice the longest backoff of quiet is still in a row": {
			given: aFleet(1, corpse).failures(4, beyond-time.Second, 0),
			want:  failureRecord(newRev, 5, time.Second, 80*time.Second),
		},
		"more than that forgets": {
			given: aFleet(1, corpse).failures(4, beyond, 0),
			want:  failureRecord(newRev, 1, time.Second, 0),
		},
		"pods of an older revision do not count": {
			given: aFleet(1, corpse.revision(oldRev)),
		},
		"a new revision begins anew": {
			given: func() fleet {
				f := aFleet(1, corpse)
				f.observed.Status.Failures = failureRecord(oldRev, 7, time.Minute, 5*time.Minute)
				return f
			}(),
			want: failureRecord(newRev, 1, time.Second, 0),
		},
		"until it fails the old record stands, and holds nothing back": {
			given: func() fleet {
				f := aFleet(1, ordinal(0))
				f.observed.Status.Failures = failureRecord(oldRev, 7, time.Minute, 5*time.Minute)
				return f
			}(),
			want: failureRecord(oldRev, 7, time.Minute, 5*time.Minute),
		},
		"a lost pod is not a failure of its revision": {
			given: aFleet(1, ordinal(0).nodeGone()),
		},
		"a pod that failed is, whatever became of its node": {
			given: aFleet(1, corpse.nodeGone()),
			want:  failureRecord(newRev, 1, time.Second, 0),
		},
		"an initial backoff above the longest is cut to it": {
			given: func() fleet {
				f := aFleet(1, corpse).failures(1, time.Minute, 0)
				f.desired.FailedPods.Initial = time.Hour
				return f
			}(),
			want: failureRecord(newRev, 2, time.Second, 5*time.Minute),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.given.plan().Failures); diff != "" {
				t.Errorf("failure record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABackoffAsksForALookWhenItEnds(t *testing.T) {
	got := aFleet(1, ordinal(0).failed(time.Second)).failures(1, time.Minute, 0).plan()
	if want := 9 * time.Second; got.NextLook != want {
		t.Errorf("NextLook = %s, want %s: the rest of the backoff", got.NextLook, want)
	}
	if want := noon().Add(9 * time.Second); len(got.Blocked) != 1 || !got.Blocked[0].Until.Equal(want) {
		t.Errorf("Blocked = %v, want one until %s", got.Blocked, want)
	}
}

// A program that fails at once must not be restarted faster than the backoff
// allows, whatever becomes of the corpses in the meantime.
func TestTheBackoffHoldsWhateverTheCorpseLimit(t *testing.T) {
	for name, begin := range map[string]fleet{
		"ordinal, keeping 0": aFleet(3).keeping(0),
		"ordinal, keeping 1": aFleet(3).keeping(1),
		"random, keeping 0":  aFleet(3).random().keeping(0),
		"random, keeping 1":  aFleet(3).random().keeping(1),
		"random, keeping 9":  aFleet(3).random().keeping(9),
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(begin)
			m.crashing = true
			for range 600 {
				m.step(time.Second)
			}
			// Waits of 0, 10, 20, 40, 80, 160 and 300 seconds: seven
			// replacements, and an eighth, of three pods each, at most.
			if created, most := m.total[CreatePod], 3*(1+8); created > most {
				t.Errorf("%d pods were created in ten minutes, want at most %d", created, most)
			}
			if created, least := m.total[CreatePod], 3*5; created < least {
				t.Errorf("%d pods were created in ten minutes, want at least %d: the backoff must not wedge", created, least)
			}
		})
	}
}

// The same holds whatever the revision, the slot and the strategy, and for pods
// that are bound to a node that never existed.
func TestNoSuccessorComesBeforeItsBackoff(t *testing.T) {
	old := func(f fleet) fleet {
		f = f.rollingOut()
		f.desired.Update.ProgressDeadline = 0
		for i := range f.observed.Pods {
			f.observed.Pods[i].Revision = oldRev
		}
		return f
	}
	partition := func(f fleet) fleet { f.desired.Update.Partition = f.desired.Replicas; return f }
	halted := func(f fleet) fleet {
		f.desired.Update.ProgressDeadline = time.Minute
		return f.progress(0, time.Hour).stuck(time.Hour, 0)
	}
	pinned := func(f fleet) fleet { f.desired.Pin = "web-gone"; return f }
	for name, test := range map[string]struct {
		begin fleet
		// fails is the revision whose pods fail; nowhere: the template names a
		// node that does not exist.
		fails   string
		nowhere bool
	}{
		"a surge pod": {begin: old(aFleet(1, ordinal(0)).budget(0, 1)), fails: newRev},
		"a surge pod that may have several slots":        {begin: old(aFleet(1, ordinal(0)).budget(0, 3)), fails: newRev},
		"a surge pod with a random name":                 {begin: old(aFleet(1, random(0)).budget(0, 1)).random(), fails: newRev},
		"an old pod behind the partition":                {begin: partition(old(aFleet(1, ordinal(0)))), fails: oldRev},
		"an old pod with a random name behind it":        {begin: partition(old(aFleet(1, random(0)))).random(), fails: oldRev},
		"an old pod while paused":                        {begin: old(aFleet(1, ordinal(0))).paused(), fails: oldRev},
		"an old pod with a random name while paused":     {begin: old(aFleet(1, random(0))).random().paused(), fails: oldRev},
		"an old pod of a rollout that failed":            {begin: halted(old(aFleet(1, ordinal(0)))), fails: oldRev},
		"an old pod with a random name of one":           {begin: halted(old(aFleet(1, random(0)))).random(), fails: oldRev},
		"an old pod of a rollout that has no goal":       {begin: pinned(old(aFleet(1, ordinal(0)))), fails: oldRev},
		"a pod on a node that never existed":             {begin: aFleet(1), nowhere: true},
		"one with a random name":                         {begin: aFleet(1).random(), nowhere: true},
		"one with a random name, and no corpse is kept":  {begin: aFleet(1).random().keeping(0), nowhere: true},
		"a surge pod on a node that never existed":       {begin: old(aFleet(1, ordinal(0)).budget(0, 1)), nowhere: true},
		"one with a random name beyond replicas, lost":   {begin: old(aFleet(1, random(0)).budget(0, 1)).random(), nowhere: true},
		"a pod of a fleet that was never complete":       {begin: aFleet(1), fails: newRev},
		"one of the goal behind a partition":             {begin: partition(aFleet(1)), fails: newRev},
		"one of a Recreate fleet, beyond its replicas":   {begin: recreating(old(aFleet(1, ordinal(0)).budget(0, 1))), fails: newRev},
		"one of an OnDelete fleet, deleted by its owner": {begin: onDelete(aFleet(1)), fails: newRev},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(test.begin)
			m.nowhere, m.failing = test.nowhere, map[string]bool{test.fails: true}
			for range 600 {
				m.step(time.Second)
			}
			// Waits of 0, 10, 20, 40, 80, 160 and 300 seconds.
			if created := m.total[CreatePod]; created < 5 || created > 9 {
				t.Errorf("%d pods were created in ten minutes, want between 5 and 9", created)
			}
		})
	}
}

func recreating(f fleet) fleet { f.desired.Update.Strategy = appsv1.UpdateRecreate; return f }

func onDelete(f fleet) fleet { f.desired.Update.Strategy = appsv1.UpdateOnDelete; return f }

// What is remembered of the revision before a rollout stays apart from what is
// remembered of its goal.
func TestFailuresOfTheRevisionBefore(t *testing.T) {
	corpse := func(slot int, revision string) podBuilder {
		return ordinal(slot).failed(time.Second).revision(revision)
	}
	type records struct{ Update, Current *appsv1.FailureRecord }
	for name, test := range map[string]struct {
		given  fleet
		before records
		want   records
	}{
		"both fail, each is counted": {
			given:  aFleet(2, corpse(0, oldRev), corpse(1, newRev)).rollingOut(),
			before: records{failureRecord(newRev, 3, time.Minute, 0), failureRecord(oldRev, 1, time.Minute, 0)},
			want:   records{failureRecord(newRev, 4, time.Second, 40*time.Second), failureRecord(oldRev, 2, time.Second, 10*time.Second)},
		},
		"a rollout begins: what was the goal's is the revision's before": {
			given:  aFleet(1, ordinal(0).revision(oldRev)).rollingOut(),
			before: records{Update: failureRecord(oldRev, 3, time.Minute, 0)},
			want:   records{Current: failureRecord(oldRev, 3, time.Minute, 0)},
		},
		"and is counted on": {
			given:  aFleet(1, corpse(0, oldRev)).rollingOut(),
			before: records{Update: failureRecord(oldRev, 3, time.Minute, 0)},
			want:   records{Current: failureRecord(oldRev, 4, time.Second, 40*time.Second)},
		},
		"it is taken back: what was the revision's before is the goal's": {
			given: func() fleet {
				f := aFleet(1, corpse(0, newRev))
				f.observed.Status.UpdateRevision = oldRev
				return f
			}(),
			before: records{failureRecord(oldRev, 5, time.Minute, 0), failureRecord(newRev, 2, time.Minute, 0)},
			want:   records{Update: failureRecord(newRev, 3, time.Second, 20*time.Second)},
		},
		"it ends: the revision before is forgotten": {
			given:  aFleet(1, ordinal(0)).rollingOut(),
			before: records{Current: failureRecord(oldRev, 2, time.Minute, 0)},
		},
		"pods of no revision are no revision's failure": {
			given: func() fleet {
				f := aFleet(1, corpse(0, "")).rollingOut()
				f.observed.Status.CurrentRevision = ""
				return f
			}(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.given.observed.Status.Failures = test.before.Update
			test.given.observed.Status.CurrentFailures = test.before.Current
			d := test.given.plan()
			if diff := cmp.Diff(test.want, records{d.Failures, d.CurrentFailures}); diff != "" {
				t.Errorf("failure records (-want +got):\n%s", diff)
			}
			status := test.given.done(d).Status
			if diff := cmp.Diff(test.want, records{status.Failures, status.CurrentFailures}); diff != "" {
				t.Errorf("failure records of the status (-want +got):\n%s", diff)
			}
		})
	}
}

// Who fails for the third time is stalled, on whichever revision, and the cause
// is named.
func TestPodsThatFailAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		given fleet
		want  string
	}{
		"on the goal": {
			given: aFleet(1, ordinal(0).failed(time.Second).reason("OutOfcpu")).failures(2, time.Minute, 0),
			want:  "pods of revision web-new failed 3 times in a row, the last: web-0, OutOfcpu",
		},
		"on the revision before": {
			given: func() fleet {
				f := aFleet(1, ordinal(0).failed(time.Second).revision(oldRev).reason("OutOfcpu")).rollingOut().paused()
				f.observed.Status.CurrentFailures = failureRecord(oldRev, 2, time.Minute, 0)
				return f
			}(),
			want: "pods of revision web-old failed 3 times in a row, the last: web-0, OutOfcpu",
		},
		"on no node": {
			given: aFleet(1, ordinal(0).created(time.Second).pending().on("ghost").nodeGone()).failures(2, time.Minute, 0),
			want:  "pods of revision web-new failed 3 times in a row, the last: web-0, node ghost does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			stalled := meta.FindStatusCondition(test.given.done(test.given.plan()).Status.Conditions, appsv1.ConditionStalled)
			if stalled == nil || stalled.Reason != appsv1.ReasonPodsFailing || !strings.HasPrefix(stalled.Message, test.want) {
				t.Errorf("Stalled is %+v, want PodsFailing: %s", stalled, test.want)
			}
		})
	}
}

// A clock that was set back, or another operator's that was ahead, delays no
// replacement by more than the backoff.
func TestAFailureOfTheTimeToComeIsOneOfNow(t *testing.T) {
	f := aFleet(1, ordinal(0).failed(time.Second)).failures(2, -time.Hour, 10*time.Second)
	got := f.plan()
	if diff := cmp.Diff(failureRecord(newRev, 2, 0, 10*time.Second), got.Failures); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got.NextLook > 10*time.Second {
		t.Errorf("the next look is in %s, want 10s at most", got.NextLook)
	}
	past := f.failures(2, time.Minute, 10*time.Second).plan().Failures
	if past.LastTime.Time.Equal(noon()) {
		t.Errorf("a failure of the past became one of now: %+v", past)
	}
}
