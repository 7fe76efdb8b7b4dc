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
	"maps"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Plan takes time and memory in proportion to the pods. Time is left to the
// benchmark; memory is the same on every machine.
func TestTheCostOfAPodDoesNotGrowWithTheFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("what it measures is slow")
	}
	for name, fleetOf := range benchmarks() {
		t.Run(name, func(t *testing.T) {
			small, large := costPerPod(fleetOf(2_000), 2_000), costPerPod(fleetOf(16_000), 16_000)
			t.Logf("per pod: %.2f allocations and %.0f bytes at 2,000 pods, %.2f and %.0f at 16,000",
				small.allocs, small.bytes, large.allocs, large.bytes)
			if large.allocs > 2*small.allocs+0.1 || large.bytes > 2*small.bytes+16 {
				t.Error("the cost of a pod more than doubled")
			}
		})
	}
}

type cost struct{ allocs, bytes float64 }

func costPerPod(f fleet, pods int) cost {
	var before, after runtime.MemStats
	const runs = 3
	runtime.ReadMemStats(&before)
	for range runs {
		f.done(f.plan())
	}
	runtime.ReadMemStats(&after)
	n := float64(runs * pods)
	return cost{allocs: float64(after.Mallocs-before.Mallocs) / n, bytes: float64(after.TotalAlloc-before.TotalAlloc) / n}
}

// benchmarks are fleets of n pods in states that once cost, or could cost,
// more than the pods.
func benchmarks() map[string]func(n int) fleet {
	return map[string]func(n int) fleet{
		"ordinal at rest": func(n int) fleet { return aFleet(n, podsOf(n, ordinal)...) },
		"random at rest":  func(n int) fleet { return aFleet(n, podsOf(n, randoms())...).random() },
		"ordinal down to 0": func(n int) fleet {
			return aFleet(0, podsOf(n, ordinal)...)
		},
		"random down to half, over zones and nodes": func(n int) fleet {
			pod := randoms()
			return aFleet(n/2, podsOf(n, func(i int) podBuilder {
				return pod(i).zone("zone-" + strconv.Itoa(i%3)).on("node-" + strconv.Itoa(i%100))
			})...).random()
		},
		"ordinals that wait for terminating pods": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).terminating() })...)
		},
		"terminating orphans": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).orphan().terminating() })...)
		},
		"pods that wait for terminating claims": func(n int) fleet {
			f := aFleet(n).claiming(appsv1.ClaimRetain, "data")
			for slot := range n {
				f.observed.Claims = append(f.observed.Claims, Claim{
					Name: ClaimName("data", SlotName(&f.desired, slot)), Slot: slot, Terminating: true,
				})
			}
			return f
		},
		"a zone that is lost": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).nodeGone() })...)
		},
		"random, a zone came back":  func(n int) fleet { return rebalanced(aFleet(n, podsOf(n, randoms())...).random(), 3) },
		"ordinal, a zone came back": func(n int) fleet { return rebalanced(aFleet(n, podsOf(n, ordinal)...), 3) },
		"random, all nodes came back": func(n int) fleet {
			return rebalanced(aFleet(n, podsOf(n, randoms())...).random(), n)
		},
		"ordinals that are missing while nodes come back": func(n int) fleet {
			f := aFleet(n, podsOf(n/2, ordinal)...)
			return rebalanced(f, n)
		},
		"all nodes are drained, and one pod is broken": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder {
				if i == 0 {
					return ordinal(0).waiting("CrashLoopBackOff")
				}
				return ordinal(i).evicted(time.Duration(i%290) * time.Second)
			})...).surgeFirst(n/4).nodes(0, n)
		},
		"failed pods on backoff": func(n int) fleet {
			return aFleet(n, podsOf(n, func(i int) podBuilder { return ordinal(i).failed(time.Second) })...).failures(2, time.Minute, 0)
		},
	}
}

// rebalanced: all pods are in one of three zones, or on one of as many nodes as there
// are pods.
func rebalanced(f fleet, places int) fleet {
	domains := make([]string, places)
	for i := range domains {
		domains[i] = "place-" + strconv.Itoa(i)
	}
	f = f.spread(0).auto()
	f.desired.Disruption.MaxSurge = max(1, f.desired.Replicas/4)
	f.observed.Nodes = &Nodes{Open: places, All: places, Domains: [][]string{domains}}
	for i := range f.observed.Pods {
		f.observed.Pods[i].Domains = domains[:1]
		f.observed.Pods[i].RebalancedTo = "zone=" + domains[0] // long ago
	}
	return f
}

// randoms is random without making the fleet anew for each pod.
func randoms() func(int) podBuilder {
	d := aFleet(0).random().desired
	return func(slot int) podBuilder { return aPod(SlotName(&d, slot)).slot(slot) }
}

func BenchmarkPlan(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(benchmarks())) {
		for _, n := range []int{10, 100, 1_000, 10_000, 100_000} {
			f := benchmarks()[name](n)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f.done(f.plan())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
			})
		}
	}
}
