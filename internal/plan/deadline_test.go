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

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// shift is a fleet that is looked at again and again from noon on, with a
// deadline of ten minutes. Nothing but the test changes its pods.
type shift struct {
	fleet
	now  time.Time
	last Decision
}

func onShift(f fleet) *shift { return &shift{fleet: f.rollingOut(), now: noon()} }

// look plans and reports once.
func (s *shift) look() {
	s.last = Plan(s.desired, s.observed, s.now)
	s.observed.Status = stored(Report(s.desired, s.observed, s.last, outcomesOf(s.last, Skipped), s.now).Status)
}

// lookFor looks every half minute, as the operator does.
func (s *shift) lookFor(d time.Duration) *shift {
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(safetyLook) {
		s.look()
	}
	return s
}

// away: for so long the operator does not look.
func (s *shift) away(d time.Duration) *shift { s.now = s.now.Add(d); return s }

// pods are the fleet's pods from now on.
func (s *shift) pods(pods ...podBuilder) *shift {
	s.observed.Pods = nil
	s.fleet = s.with(pods...)
	return s
}

// justReady: the pod became ready now.
func (s *shift) justReady(b podBuilder) podBuilder { b.p.ReadySince = s.now; return b }

// failedRollout: the rollout was halted or taken back.
func (s *shift) failedRollout() bool {
	return s.last.Rollback != nil || slices.ContainsFunc(s.last.Blocked, func(b Blocked) bool { return b.By == appsv1.BlockedByDeadline })
}

// gated: the pod is out of service until its gate is opened.
func gated(b podBuilder) podBuilder { b.p.Gate = GateShut; return b }

// A rollout fails only for its own fault: what counts is the time in which a pod
// of its revision was there, could run and did not become available.
func TestTheDeadlineBlamesOnlyTheRevision(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	failing := func(f fleet) fleet { return f.budget(0, 1).failures(5, time.Second, 20*time.Minute) }
	for name, test := range map[string]struct {
		given func() *shift
		want  bool
	}{
		"a pod that does not become available": {
			given: func() *shift { return onShift(aFleet(2, old(0), ordinal(1).unready())).lookFor(11 * time.Minute) },
			want:  true,
		},
		"not before the deadline": {
			given: func() *shift { return onShift(aFleet(2, old(0), ordinal(1).unready())).lookFor(9 * time.Minute) },
		},
		"a predecessor that terminates long": {
			given: func() *shift { return onShift(aFleet(2, old(0), old(1).terminating())).lookFor(time.Hour) },
		},
		"a gate that the operator may not open": {
			given: func() *shift { return onShift(aFleet(2, old(0), gated(ordinal(1).unready()))).lookFor(time.Hour) },
		},
		"a pod behind its gate that does not start": {
			given: func() *shift {
				return onShift(aFleet(2, old(0), gated(ordinal(1).pending()))).lookFor(11 * time.Minute)
			},
			want: true,
		},
		"a change behind the gate that does not end": {
			given: func() *shift {
				changing := gated(ordinal(1).unready())
				changing.p.Changing = true
				return onShift(aFleet(2, old(0), changing)).lookFor(11 * time.Minute)
			},
			want: true,
		},
		"an operator that was away": {
			given: func() *shift {
				return onShift(aFleet(2, old(0), ordinal(1))).lookFor(time.Minute).away(3 * time.Hour).lookFor(time.Minute)
			},
		},
		"also while a pod was not available": {
			given: func() *shift {
				return onShift(aFleet(2, old(0), ordinal(1).unready())).lookFor(time.Minute).away(3 * time.Hour).lookFor(2 * time.Minute)
			},
		},
		"what comes after the absence counts": {
			given: func() *shift {
				return onShift(aFleet(2, old(0), ordinal(1).unready())).away(3 * time.Hour).lookFor(11 * time.Minute)
			},
			want: true,
		},
		"an operator that restarts again and again sees it all the same": {
			given: func() *shift {
				s := onShift(aFleet(2, old(0), ordinal(1).unready()))
				for range 6 {
					s.lookFor(2 * time.Minute).away(20 * time.Second)
				}
				return s
			},
			want: true,
		},
		"minReadySeconds that are longer than the deadline": {
			given: func() *shift {
				s := onShift(aFleet(2, old(0)).minReady(time.Hour))
				return s.pods(old(0), s.justReady(ordinal(1))).lookFor(50 * time.Minute)
			},
		},
		"pods lost to nodes, whose successors start in time": {
			given: func() *shift {
				s := onShift(aFleet(3, old(0), ordinal(1), ordinal(2))).lookFor(time.Minute)
				for range 5 {
					s.pods(old(0), ordinal(1), ordinal(2).nodeGone()).lookFor(time.Minute)
					s.pods(old(0), ordinal(1), ordinal(2).pending()).lookFor(4 * time.Minute)
					s.pods(old(0), ordinal(1), ordinal(2)).lookFor(time.Minute)
				}
				return s
			},
		},
		"a pod that is ready now and then": {
			given: func() *shift {
				s := onShift(aFleet(3, old(0), ordinal(1), ordinal(2))).lookFor(time.Minute)
				for range 5 {
					s.pods(old(0), ordinal(1), ordinal(2).unready()).lookFor(4 * time.Minute)
					s.pods(old(0), ordinal(1), ordinal(2)).lookFor(time.Minute)
				}
				return s
			},
			want: true,
		},
		"a pod that no node has room for": {
			given: func() *shift { return onShift(aFleet(2, old(0), ordinal(1).unscheduled())).lookFor(time.Hour) },
		},
		"a pod on a node that does not answer": {
			given: func() *shift { return onShift(aFleet(2, old(0), ordinal(1).unready().nodeDown())).lookFor(time.Hour) },
		},
		"an old pod that does not serve": {
			given: func() *shift { return onShift(aFleet(2, old(0).unready(), ordinal(1))).lookFor(time.Hour) },
		},
		"pods that fail as soon as they run": {
			given: func() *shift {
				return onShift(aFleet(2, old(0), ordinal(1).failed(time.Second)).failures(5, time.Second, 20*time.Minute)).lookFor(11 * time.Minute)
			},
			want: true,
		},
		"a pod beyond replicas that fails as soon as it runs": {
			given: func() *shift {
				return onShift(failing(aFleet(1, old(0), ordinal(1).surge().failed(time.Second)))).lookFor(11 * time.Minute)
			},
			want: true,
		},
		"a pod that fails while another stands in for it": {
			given: func() *shift {
				return onShift(failing(aFleet(2, old(0), ordinal(1).failed(time.Second), ordinal(2).surge()))).lookFor(11 * time.Minute)
			},
			want: true,
		},
		"a failed pod that has its successor": {
			given: func() *shift {
				f := aFleet(1, random(0).revision(oldRev), random(1), random(2).failed(time.Second)).random()
				return onShift(failing(f)).lookFor(11 * time.Minute)
			},
		},
		"pods that their node evicted": {
			given: func() *shift {
				f := aFleet(2, old(0), ordinal(1).failed(time.Second).reason(reasonEvicted)).failures(5, time.Second, 20*time.Minute)
				return onShift(f).lookFor(15 * time.Minute)
			},
		},
		"a clock that is set back": {
			given: func() *shift {
				return onShift(aFleet(2, old(0), ordinal(1).unready())).lookFor(9 * time.Minute).away(-time.Hour).lookFor(30 * time.Second)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, action := range []appsv1.FailureAction{appsv1.FailurePause, appsv1.FailureRollback} {
				s := test.given()
				s.desired.Update.OnFailure = action
				s.look()
				if got := s.failedRollout(); got != test.want {
					t.Errorf("with %s the rollout failed: %t, want %t; record %+v, blocked %v", action, got, test.want, s.last.Rollout, heldBackOf(s.last))
				}
			}
		})
	}
}

// While the clock runs, looks are close enough for it to count.
func TestTheClockIsLookedAt(t *testing.T) {
	for deadline, most := range map[time.Duration]time.Duration{
		time.Second: time.Second, 10 * time.Second: 2 * time.Second, 10 * time.Minute: safetyLook, 24 * time.Hour: safetyLook,
	} {
		s := onShift(aFleet(2, ordinal(0).revision(oldRev), ordinal(1).phase(corev1.PodRunning).unready()))
		s.desired.Update.ProgressDeadline = deadline
		looks := 0
		for ; !s.failedRollout(); looks++ {
			s.look()
			if next := s.last.NextLook; next > most && !s.failedRollout() {
				t.Fatalf("deadline %s: the next look is in %s, want %s at most", deadline, next, most)
			}
			s.now = s.now.Add(s.last.NextLook)
			if looks > 10_000 {
				t.Fatalf("deadline %s never passes", deadline)
			}
		}
		if late := s.now.Add(-s.last.NextLook).Sub(noon()); late < deadline || late > deadline+most {
			t.Errorf("the deadline of %s passed after %s", deadline, late)
		}
	}
}
