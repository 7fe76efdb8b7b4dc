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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kappsv1 "k8s.io/api/apps/v1"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

// story drives a book by hand: every step has the next resourceVersion, and the
// time is the test's.
type story struct {
	*book
	t   *testing.T
	now time.Time
	rv  uint64
}

func newStory(t *testing.T) *story {
	s := &story{book: newBook(nil, func() {}), t: t, now: time.Unix(100_000, 0)}
	s.begin(s.now)
	return s
}

func (s *story) next() uint64 { s.rv++; return s.rv }

func (s *story) later(d time.Duration) { s.now = s.now.Add(d) }

func deployment(replicas int32, generation int64, atGoal bool) workload {
	return workload{
		uid: "d", kind: "Deployment", namespace: "ns", name: "web", generation: generation, atGoal: atGoal, want: int(replicas),
		spec: &kappsv1.DeploymentSpec{Replicas: ptr.To(replicas)},
	}
}

func replicaSet() workload {
	return workload{uid: "rs", kind: "ReplicaSet", name: "web-1", parent: "d", generation: 1}
}

func (s *story) workload(v verb, w workload) {
	w.version = s.next()
	s.sawWorkload(v, w, s.now)
}

func (s *story) pod(v verb, name string, terminating bool) { s.podAt(s.next(), v, name, terminating) }

func (s *story) podAt(rv uint64, v verb, name string, terminating bool) {
	s.sawPod(v, pod{uid: types.UID(name), controller: "rs", version: rv, terminating: terminating, ips: []string{"10.0.0." + name}}, s.now)
}

// running is a Deployment of three that has settled before the counting.
func running(t *testing.T, pods ...string) *story {
	s := newStory(t)
	s.knowWorkload(deployment(int32(len(pods)), 1, true))
	s.knowWorkload(replicaSet())
	for _, name := range pods {
		s.knowPod(pod{uid: types.UID(name), controller: "rs", ips: []string{"10.0.0." + name}})
	}
	return s
}

// expect compares the changes, newest first, each as a line.
func (s *story) expect(want ...string) {
	s.t.Helper()
	var status collectorv1.CollectorStatus
	s.status(&status)
	var got []string
	for _, c := range status.RecentChanges {
		got = append(got, fmt.Sprintf("%s: %s: pods +%d ~%d -%d, workloads +%d ~%d -%d", c.Change, c.State,
			c.Events.Added, c.Events.Modified, c.Events.Deleted,
			c.WorkloadEvents.Added, c.WorkloadEvents.Modified, c.WorkloadEvents.Deleted))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestAScaleDownIsCountedUntilItSettles(t *testing.T) {
	s := running(t, "1", "2", "3")
	s.workload(modified, deployment(1, 2, false))
	s.workload(modified, replicaSet())
	s.pod(modified, "2", true)
	s.pod(modified, "3", true)
	s.later(time.Minute) // a long silence while pods are on their way out
	if next := s.tick(s.now); next <= 0 {
		t.Errorf("it does not look again: %s", next)
	}
	s.pod(deleted, "2", true)
	s.pod(deleted, "3", true)
	s.workload(modified, deployment(1, 2, true))
	s.tick(s.now)
	s.expect("replicas 3 -> 1: Counting: pods +0 ~2 -2, workloads +0 ~3 -0")

	s.later(quietTime)
	s.tick(s.now)
	s.expect("replicas 3 -> 1: Settled: pods +0 ~2 -2, workloads +0 ~3 -0")
	if finished := s.takeFinished(); len(finished) != 1 || len(s.takeFinished()) != 0 {
		t.Errorf("finished: %+v", finished)
	}
}

func TestAnEventThatOneWatchDeliversEarlyFindsItsChange(t *testing.T) {
	s := running(t, "1", "2")
	change := s.next() // the Deployment is written first …
	s.pod(modified, "2", true)
	s.tick(s.now)
	s.expect()
	late := deployment(1, 2, false) // … but its watch delivers later
	late.version = change
	s.sawWorkload(modified, late, s.now)
	s.expect("replicas 2 -> 1: Counting: pods +0 ~1 -0, workloads +0 ~1 -0")
}

func TestAnEventFromBeforeAChangeIsNotItsDoing(t *testing.T) {
	s := running(t, "1", "2")
	before := s.next()
	s.workload(modified, deployment(3, 2, false))
	s.podAt(before, modified, "1", false)
	s.expect("replicas 2 -> 3: Counting: pods +0 ~0 -0, workloads +0 ~1 -0")
}

func TestAPodWhoseReplicaSetIsNotKnownYetWaitsForIt(t *testing.T) {
	s := newStory(t)
	s.workload(added, deployment(1, 1, false))
	set := replicaSet()
	set.version = s.next()
	s.pod(added, "1", false)
	s.expect("created, replicas 1: Counting: pods +0 ~0 -0, workloads +1 ~0 -0")
	s.sawWorkload(added, set, s.now)
	s.expect("created, replicas 1: Counting: pods +1 ~0 -0, workloads +2 ~0 -0")
}

func TestDeletedPodsAreAChangeOfTheirOwn(t *testing.T) {
	for name, c := range map[string]struct {
		pods []string
		want string
	}{
		"one pod":  {[]string{"1"}, "1 pod deleted: Settled: pods +1 ~2 -1, workloads +0 ~2 -0"},
		"two pods": {[]string{"1", "2"}, "2 pods deleted: Settled: pods +2 ~4 -2, workloads +0 ~2 -0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(t, "1", "2", "3")
			for _, name := range c.pods {
				s.pod(modified, name, true)
			}
			s.workload(modified, deployment(3, 1, false))
			for _, name := range c.pods {
				s.pod(deleted, name, true)
				s.pod(added, "new"+name, false)
			}
			s.tick(s.now)
			s.expect() // it may still turn out to be the doing of a change
			s.later(lag)
			s.tick(s.now)
			for _, name := range c.pods {
				s.pod(modified, "new"+name, false)
			}
			s.workload(modified, deployment(3, 1, true))
			s.later(quietTime)
			s.tick(s.now)
			s.expect(c.want)
		})
	}
}

func TestALateChangeTakesOverThePodsItDeleted(t *testing.T) {
	s := running(t, "1", "2")
	change := s.next()
	s.pod(modified, "2", true)
	s.later(lag)
	s.tick(s.now)
	s.expect("1 pod deleted: Counting: pods +0 ~1 -0, workloads +0 ~0 -0")
	late := deployment(1, 2, false)
	late.version = change
	s.sawWorkload(modified, late, s.now)
	s.expect("replicas 2 -> 1: Counting: pods +0 ~1 -0, workloads +0 ~1 -0")
}

func TestTheNextChangeSupersedesOneThatHasNotSettled(t *testing.T) {
	s := running(t, "1", "2")
	s.workload(modified, deployment(3, 2, false))
	tardy := s.next()
	s.workload(modified, deployment(2, 3, false))
	s.podAt(tardy, added, "3", false) // of the first change, delivered late
	s.pod(modified, "3", true)
	s.expect(
		"replicas 3 -> 2: Counting: pods +0 ~1 -0, workloads +0 ~1 -0",
		"replicas 2 -> 3: Superseded: pods +1 ~0 -0, workloads +0 ~1 -0")
}

func TestWhatNeverSettlesIsGivenUp(t *testing.T) {
	s := running(t, "1")
	s.workload(modified, deployment(2, 2, false))
	s.pod(added, "2", false)
	s.later(patience)
	s.tick(s.now)
	s.expect("replicas 1 -> 2: GaveUp: pods +1 ~0 -0, workloads +0 ~1 -0")
	// What comes now is in the totals alone.
	s.pod(modified, "2", false)
	s.later(lag)
	s.tick(s.now)
	s.expect("replicas 1 -> 2: GaveUp: pods +1 ~0 -0, workloads +0 ~1 -0")
	if len(s.pending) > 0 {
		t.Errorf("events still wait: %+v", s.pending)
	}
}

func TestADeletedDeploymentSettlesWhenItsPodsAreGone(t *testing.T) {
	s := running(t, "1")
	s.workload(deleted, deployment(1, 1, true))
	s.workload(deleted, replicaSet())
	s.pod(modified, "1", true)
	s.later(quietTime)
	s.tick(s.now)
	s.expect("deleted: Counting: pods +0 ~1 -0, workloads +0 ~0 -2")
	s.pod(deleted, "1", true)
	s.later(quietTime)
	s.tick(s.now)
	s.expect("deleted: Settled: pods +0 ~1 -1, workloads +0 ~0 -2")
	s.later(keepDeleted)
	s.tick(s.now)
	if len(s.workloads) > 0 || len(s.pods) > 0 {
		t.Errorf("it remembers %v and %v", s.workloads, s.pods)
	}
}

func TestADeletionInTheForegroundIsOneChange(t *testing.T) {
	s := running(t, "1")
	going := deployment(1, 2, false)
	going.deleting = true
	s.workload(modified, going)
	going.atGoal = true // its controller observed the generation of the deletion
	s.workload(modified, going)
	s.later(time.Minute) // the garbage collector is busy
	s.tick(s.now)
	s.expect("deleted: Counting: pods +0 ~0 -0, workloads +0 ~2 -0")
	s.pod(modified, "1", true)
	s.pod(deleted, "1", true)
	s.workload(deleted, replicaSet())
	s.workload(deleted, going)
	s.later(quietTime)
	s.tick(s.now)
	s.expect("deleted: Settled: pods +0 ~1 -1, workloads +0 ~2 -2")
}

func TestAGapIsCountedAndInterruptsAChange(t *testing.T) {
	s := running(t, "1")
	s.workload(modified, deployment(2, 2, false))
	s.gap()
	s.expect("replicas 1 -> 2: Interrupted: pods +0 ~0 -0, workloads +0 ~1 -0")
	var status collectorv1.CollectorStatus
	if s.status(&status); status.Gaps != 1 {
		t.Errorf("gaps: %d", status.Gaps)
	}
}

func TestARestartKeepsTheChangesAndSaysWhichWereInterrupted(t *testing.T) {
	past := []collectorv1.Change{
		{Change: "second", State: collectorv1.ChangeCounting},
		{Change: "first", State: collectorv1.ChangeSettled},
	}
	s := &story{book: newBook(past, func() {}), t: t}
	s.expect(
		"second: Interrupted: pods +0 ~0 -0, workloads +0 ~0 -0",
		"first: Settled: pods +0 ~0 -0, workloads +0 ~0 -0")
}

func TestTheStatusIsBounded(t *testing.T) {
	s := newStory(t)
	for i := range 250 {
		s.knowPod(pod{uid: types.UID(fmt.Sprint("p", i)), ips: []string{fmt.Sprintf("10.0.%d.%d", i/100, i%100)}})
	}
	s.knowPod(pod{uid: "host", ips: []string{"10.0.0.0"}})
	s.knowPod(pod{uid: "ended", ips: []string{"10.9.9.9"}, ended: true})
	for i := range 50 {
		w := deployment(1, 1, false)
		w.uid = types.UID(fmt.Sprint("d", i))
		s.workload(added, w)
	}
	for i := range 3 * maxPending {
		s.sawPod(modified, pod{uid: "stray", controller: "none", version: uint64(i)}, s.now)
	}
	var status collectorv1.CollectorStatus
	s.status(&status)
	if len(status.IPs) != collectorv1.MaxIPs || status.IPCount != 250 || status.Pods != 253 {
		t.Errorf("%d addresses of %d, %d pods", len(status.IPs), status.IPCount, status.Pods)
	}
	if len(status.RecentChanges) != collectorv1.MaxChanges {
		t.Errorf("%d changes", len(status.RecentChanges))
	}
	if n := len(s.pending["none"]); n > maxPending {
		t.Errorf("%d events wait", n)
	}
}

func TestAWorkloadAtRestNeedsNoLook(t *testing.T) {
	s := running(t, "1", "2")
	if next := s.tick(s.now); next != 0 {
		t.Errorf("it looks again in %s", next)
	}
}
