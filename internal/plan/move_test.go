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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestMove(t *testing.T) {
	standIn := ordinal(2).surge().created(0)
	starting := ordinal(1).surge().pending()
	starting.p.Replaces = appsv1.WhyDisruptionSurge
	goes := []string{"EvictPod web-0 EvictionRequested"}
	back := []string{"CreatePod web-0 Terminating"}
	leaving := func(pods ...podBuilder) fleet {
		return aFleet(2, append(pods, ordinal(0).evicted(0), ordinal(1))...).surgeFirst(1)
	}
	expectPlans(t, saidOf, map[string]planned{
		"a pod goes when its stand-in is available": {leaving(standIn), goes, back},
		"not while the stand-in starts":             {leaving(standIn.pending()), nil, []string{"EvictPod web-0 Replacement"}},
		"nor before minReadySeconds": {
			leaving(standIn.readyFor(time.Second)).minReady(time.Minute), nil, []string{"EvictPod web-0 Replacement"},
		},
		"the stand-in stays until the pod is back": {
			aFleet(2, ordinal(0).terminating(), ordinal(1), standIn).surgeFirst(1), nil, back,
		},
		"and while the pod starts": {aFleet(2, ordinal(0).pending(), ordinal(1), standIn).surgeFirst(1), nil, nil},
		"then it goes":             {aFleet(2, ordinal(0), ordinal(1), standIn).surgeFirst(1), []string{"DeletePod web-2 SurgeOver"}, nil},
		"one that starts stays as long as the base is short, wherever the pod went": {
			aFleet(1, ordinal(0).nodeGone(), starting).surgeFirst(1), []string{"DeletePod web-0 NodeGone by force"}, back,
		},
		"also when the pod is made again": {aFleet(1, ordinal(0).pending(), starting).surgeFirst(1), nil, nil},
		"unless that needs its room": {
			aFleet(1, ordinal(0).unscheduled().waiting("Unschedulable"), starting).surgeFirst(1), []string{"DeletePod web-1 SurgeOver"}, nil,
		},
		"or it is broken": {
			aFleet(1, ordinal(0).pending(), starting.waiting("CrashLoopBackOff")).surgeFirst(1), []string{"DeletePod web-1 SurgeOver"}, nil,
		},
		"of two that stand in the one stays that serves, though it is not available yet": {
			aFleet(3, ordinal(0).evicted(0), ordinal(1), ordinal(2), ordinal(3).surge().unscheduled(), ordinal(4).surge().readyFor(time.Second)).
				surgeFirst(2).minReady(time.Minute),
			[]string{"DeletePod web-3 SurgeOver"},
			[]string{"EvictPod web-0 Replacement"},
		},
		"also when its ordinal is beyond those that may stand in now": {
			aFleet(3, ordinal(0).evicted(0), ordinal(1), ordinal(2), ordinal(3).surge().pending(), ordinal(4).surge()).surgeFirst(1).budget(0, 1),
			[]string{"DeletePod web-3 SurgeOver", "EvictPod web-0 EvictionRequested"},
			[]string{"CreatePod web-0 Terminating"},
		},
		"and a pod that comes back waits for the place of the one too many": {
			aFleet(3, ordinal(0).evicted(0), ordinal(1).pending(), ordinal(3).surge(), ordinal(4).surge()).surgeFirst(1),
			nil,
			[]string{"EvictPod web-0 Replacement", "CreatePod web-2 Budget"},
		},
		"a surplus pod that serves stays rather than one that does not": {
			aFleet(1, ordinal(0).evicted(0), ordinal(1).pending(), ordinal(2)).surgeFirst(1),
			[]string{"DeletePod web-1 ScaleDown", "EvictPod web-0 EvictionRequested"},
			back,
		},
		"one that starts on the revision of the partition stays": {
			aFleet(3, ordinal(0).revision(oldRev), ordinal(1).evicted(0), ordinal(2), ordinal(3).surge().revision(oldRev).pending()).
				rollingOut().partition(1).surgeFirst(1),
			nil,
			[]string{"EvictPod web-1 Replacement", "UpdatePod web-0 Partition"},
		},
		"after the deadline a pod goes, wherever the one that stands in has its ordinal": {
			aFleet(3, ordinal(0).evicted(6*time.Minute), ordinal(1), ordinal(2), ordinal(13).surge()).surgeFirst(1), goes, back,
		},
		"a stand-in that never served goes with the request": {
			aFleet(2, ordinal(0), ordinal(1), standIn.pending()).surgeFirst(1), []string{"DeletePod web-2 SurgeOver"}, nil,
		},
		"another pod that is out of service is waited for": {
			aFleet(2, ordinal(0).evicted(0), ordinal(1).unready(), standIn).surgeFirst(1), nil, []string{"EvictPod web-0 Replacement"},
		},
		"but not one that was broken before": {
			aFleet(2, ordinal(0).evicted(0), ordinal(1).waiting("CrashLoopBackOff"), standIn).surgeFirst(1), goes, back,
		},
		"unless it was made after the eviction was requested": {
			aFleet(2, ordinal(0).evicted(time.Minute), ordinal(1).waiting("CrashLoopBackOff").created(time.Second), standIn).surgeFirst(1),
			nil,
			[]string{"EvictPod web-0 Replacement"},
		},
		"or one that served when it was requested": {
			aFleet(2, ordinal(0).evicted(time.Minute), ordinal(1).waiting("CrashLoopBackOff").unreadyFor(time.Second), standIn).surgeFirst(1),
			nil,
			[]string{"EvictPod web-0 Replacement"},
		},
		"nor is one that cannot be scheduled forgiven: where it has no room, neither has the stand-in": {
			aFleet(2, ordinal(0).evicted(0), ordinal(1).waiting("Unschedulable").unscheduled(), standIn).surgeFirst(1),
			nil,
			[]string{"EvictPod web-0 Replacement"},
		},
		"nor the replacement itself, however old it is": {
			aFleet(1, random(0).evicted(0), random(1).waiting("CrashLoopBackOff")).random().surgeFirst(1),
			nil,
			[]string{"EvictPod " + randomName(0) + " Replacement"},
		},
		"nor more pods than are missing": {
			aFleet(3, random(0).evicted(0), random(1), random(2), random(3).waiting("CrashLoopBackOff")).random().surgeFirst(1),
			nil,
			[]string{"EvictPod " + randomName(0) + " Replacement"},
		},
		"nor one that failed after it was requested": {
			aFleet(2, ordinal(0).evicted(time.Minute), ordinal(1).failed(time.Second), standIn).surgeFirst(1).failures(2, time.Second, time.Hour),
			nil,
			[]string{"CreatePod web-1 Backoff", "EvictPod web-0 Replacement"},
		},
		"nor for one that failed before and waits for its backoff": {
			aFleet(2, ordinal(0).evicted(time.Minute), ordinal(1).failed(2*time.Minute), standIn).surgeFirst(1).failures(2, 2*time.Minute, time.Hour),
			goes,
			[]string{"CreatePod web-1 Backoff", "CreatePod web-0 Terminating"},
		},
		"a replacement that failed is none": {
			aFleet(1, random(0).evicted(time.Minute), random(1).failed(time.Second).created(2*time.Second)).random().surgeFirst(1).
				failures(2, time.Second, time.Hour),
			nil,
			[]string{"CreatePod " + randomName(1) + " Backoff", "EvictPod " + randomName(0) + " Replacement"},
		},
		"a stand-in stays while the pod cannot be scheduled": {
			aFleet(2, ordinal(0).created(4*time.Minute).waiting("Unschedulable").unscheduled(), ordinal(1), standIn).surgeFirst(1).budget(1, 0), nil, nil,
		},
		"but not for ever: it may have the room": {
			aFleet(2, ordinal(0).created(5*time.Minute).waiting("Unschedulable").unscheduled(), ordinal(1), standIn).surgeFirst(1).budget(1, 0),
			[]string{"DeletePod web-2 SurgeOver"},
			nil,
		},
		"and within the budget": {
			aFleet(2, ordinal(0).created(time.Hour).waiting("Unschedulable").unscheduled(), ordinal(1), standIn).surgeFirst(1).budget(0, 1),
			nil,
			[]string{"DeletePod web-2 Budget"},
		},
		"a hold holds": {
			func() fleet {
				f, who := leaving(standIn), "backup"
				f.observed.Pods[1].HoldDelete = &who
				return f
			}(),
			[]string{"TellHolder web-0 Held"},
			[]string{"DeletePod web-0 Hold"},
		},
		"what waits longest goes first": {
			aFleet(3, ordinal(0).evicted(time.Second), ordinal(1).evicted(time.Minute), ordinal(2).nodeLeaving(), ordinal(3).surge()).surgeFirst(1),
			[]string{"EvictPod web-1 EvictionRequested"},
			[]string{"EvictPod web-0 Replacement", "EvictPod web-2 Replacement", "CreatePod web-1 Terminating"},
		},
		"with random names the new pod takes the place": {
			aFleet(1, random(0).evicted(0), random(1)).random().surgeFirst(1),
			[]string{"EvictPod " + randomName(0) + " EvictionRequested"},
			nil,
		},
		"an available pod beyond replicas is used though all nodes are cordoned": {leaving(standIn).nodes(0, 2), goes, back},
		"with random names none is made while all nodes are cordoned": {
			aFleet(2, random(0).evicted(0), random(1)).random().surgeFirst(1).nodes(0, 2),
			nil,
			[]string{"EvictPod " + randomName(0) + " NodesCordoned"},
		},
		"a rollout leaves the stand-in alone": {
			aFleet(3, ordinal(0).evicted(0).revision(oldRev), ordinal(1).unready(), ordinal(2).revision(oldRev), ordinal(3).surge()).
				rollingOut().surgeFirst(1),
			nil,
			[]string{"EvictPod web-0 Replacement", "UpdatePod web-2 Budget"},
		},
	})
}
