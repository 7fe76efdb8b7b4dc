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
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

func TestEventsAreCountedByKind(t *testing.T) {
	s := running(t, "1", "2")
	s.workload(modified, deployment(1, 2, false))
	s.workload(modified, replicaSet())
	s.pod(modified, "2", true)
	s.workload(modified, replicaSet())
	s.pod(deleted, "2", true)
	other := workload{uid: "set", kind: "StatefulSet", name: "other", generation: 1}
	s.knowWorkload(other)
	s.workload(modified, other)

	var status collectorv1.CollectorStatus
	s.status(&status)
	change := []collectorv1.KindEvents{
		{Kind: "Deployment", EventCounts: collectorv1.EventCounts{Modified: 1}},
		{Kind: "Pod", EventCounts: collectorv1.EventCounts{Modified: 1, Deleted: 1}},
		{Kind: "ReplicaSet", EventCounts: collectorv1.EventCounts{Modified: 2}},
	}
	if diff := cmp.Diff(change, status.RecentChanges[0].EventsByKind); diff != "" {
		t.Errorf("events of the change (-want +got):\n%s", diff)
	}
	total := append(slices.Clone(change), collectorv1.KindEvents{Kind: "StatefulSet", EventCounts: collectorv1.EventCounts{Modified: 1}})
	if diff := cmp.Diff(total, status.EventsByKind); diff != "" {
		t.Errorf("all events (-want +got):\n%s", diff)
	}
}

func TestAStatusThatWasHandedOutDoesNotCountOn(t *testing.T) {
	s := running(t, "1")
	s.workload(modified, deployment(2, 2, false))
	var before, after collectorv1.CollectorStatus
	s.status(&before)
	want := *before.DeepCopy()
	s.workload(modified, deployment(2, 2, false))
	s.status(&after)
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("the earlier status changed (-before +after):\n%s", diff)
	}
	if got := after.RecentChanges[0].EventsByKind[0].Modified; got != 2 {
		t.Errorf("the later status has %d events, want 2", got)
	}
}

func TestARestartKeepsTheEventsByKind(t *testing.T) {
	s := running(t, "1")
	s.workload(modified, deployment(2, 2, false))
	var before, after collectorv1.CollectorStatus
	s.status(&before)
	newBook(before.RecentChanges, func() {}).status(&after)
	if diff := cmp.Diff(before.RecentChanges[0].EventsByKind, after.RecentChanges[0].EventsByKind); diff != "" {
		t.Errorf("events by kind (-before +after the restart):\n%s", diff)
	}
	if len(after.EventsByKind) != 0 {
		t.Errorf("the totals did not begin again: %+v", after.EventsByKind)
	}
}
