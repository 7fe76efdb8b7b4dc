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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestLostPodsMakeRoomByForce(t *testing.T) {
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
		"an ordinal's pod on a node that is gone goes by force, and its successor waits for the name": {
			given:   aFleet(2, ordinal(0), ordinal(1).nodeGone()),
			want:    []string{"DeletePod web-1 NodeGone by force"},
			blocked: []string{"CreatePod web-1 Terminating"},
		},
		"so does one on a node out of service": {
			given:   aFleet(1, ordinal(0).outOfService()),
			want:    []string{"DeletePod web-0 NodeOutOfService by force"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"with random names the successor comes in the same pass, under another name": {
			given: aFleet(2, random(0), random(1).nodeGone()).random(),
			want: []string{
				"DeletePod " + randomName(1) + " NodeGone by force",
				"CreatePod " + randomName(2) + " Missing",
			},
		},
		"a pod that terminates on a node that is gone is finished by force": {
			given:   aFleet(1, ordinal(0).terminating().nodeGone()),
			want:    []string{"DeletePod web-0 NodeGone by force"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a pod that terminates on a node that is there is left to its kubelet": {
			given:   aFleet(1, ordinal(0).terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a lost pod counts as lost even when it failed before, and waits for no backoff": {
			given:   aFleet(1, ordinal(0).failed(time.Second).nodeGone()).failures(3, time.Second, time.Minute),
			want:    []string{"DeletePod web-0 NodeGone by force"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a lost pod above replicas goes and has no successor": {
			given: aFleet(1, ordinal(0), ordinal(1).nodeGone()),
			want:  []string{"DeletePod web-1 NodeGone by force"},
		},
		"a lost orphan is adopted by this pass and deleted as a member by the next": {
			given: aFleet(1, random(0).orphan().nodeGone()).random(),
			want: []string{
				"AdoptPod " + randomName(0) + " MatchingOrphan",
				"CreatePod " + randomName(1) + " Missing",
			},
		},
		"a pod whose labels were edited away is finished too when it terminates on a node that is gone": {
			given:   aFleet(1, ordinal(0).drifted().terminating().nodeGone()),
			want:    []string{"DeletePod web-0 NodeGone by force"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailedPodsOfAnOrdinalFleetAreReplacedUnderTheirName(t *testing.T) {
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
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
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailedPodsOfARandomFleetAreReplacedBesideTheirCorpses(t *testing.T) {
	onBackoff := func(f fleet) fleet { return f.random().failures(2, time.Second, time.Minute) }
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
	}{
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
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
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
		"until it fails the old record stands, and holds nobody": {
			given: func() fleet {
				f := aFleet(1, ordinal(0))
				f.observed.Status.Failures = failureRecord(oldRev, 7, time.Minute, 5*time.Minute)
				return f
			}(),
			want: failureRecord(oldRev, 7, time.Minute, 5*time.Minute),
		},
		"a lost pod is not a failure of its revision": {
			given: aFleet(1, corpse.nodeGone()),
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
