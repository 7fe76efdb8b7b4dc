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
		"one that never ran waits a second, as any pod that fails as it is made": {
			given:   aFleet(1, ordinal(0).created(500*time.Millisecond).pending().nodeGone()),
			blocked: []string{"CreatePod web-0 Backoff"},
		},
		"and no longer": {
			given:   aFleet(1, ordinal(0).created(time.Second).pending().nodeGone()),
			want:    []string{"DeletePod web-0 NodeGone by force"},
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"one with a random name that never ran is not kept for inspection": {
			given: aFleet(1, random(0).created(time.Hour).pending().nodeGone()).random().keeping(3),
			want: []string{
				"DeletePod " + randomName(0) + " NodeGone by force",
				"CreatePod " + randomName(1) + " Missing",
			},
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
		"and no more than once: then only a finalizer keeps it": {
			given: func() fleet {
				kept := ordinal(0).terminating().nodeGone()
				kept.p.KeptBy, kept.p.Ended = "example.com/backup", true
				return aFleet(1, kept)
			}(),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a pod that terminates on a node that is there is left to its kubelet": {
			given:   aFleet(1, ordinal(0).terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
		"a pod that failed before its node went waits for the backoff": {
			given:   aFleet(1, ordinal(0).failed(time.Second).nodeGone()).failures(3, time.Second, time.Minute),
			blocked: []string{"CreatePod web-0 Backoff"},
		},
		"a lost pod above replicas goes and has no successor": {
			given: aFleet(1, ordinal(0), ordinal(1).nodeGone()),
			want:  []string{"DeletePod web-1 NodeGone by force"},
		},
		"a lost orphan is adopted by this pass, and deleted as a member by the next, which makes its successor": {
			given:   aFleet(1, random(0).orphan().nodeGone()).random(),
			want:    []string{"AdoptPod " + randomName(0) + " MatchingOrphan"},
			blocked: []string{"CreatePod Terminating"},
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
