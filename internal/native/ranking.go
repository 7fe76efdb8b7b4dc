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

package native

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// horizon is how long after a plan the change may be applied: what the order of a
// scale-down depends on in that time is unknown.
const horizon = time.Minute

// rank is what a ReplicaSet's scale-down looks at. It takes first the pods that are
// not assigned to a node, that are pending, that are not ready, whose deletion cost
// is lower, that share their node with more pods, that became ready later, that
// restarted more often, and that are newer. Ages count in powers of two.
type rank struct {
	pod                  *corev1.Pod
	assigned, ready      bool
	phase, crowd         int
	cost                 int32
	containers, sidecars int32
	readySince, created  int64 // nanoseconds since 1970; 0 is never
	// readyPower and createdPower are the powers of two of their ages at a moment.
	readyPower, createdPower int
}

// rankOf is a pod's rank; crowd is how many related pods each node has.
func rankOf(pod *corev1.Pod, crowd map[string]int) rank {
	r := rank{
		pod: pod, assigned: pod.Spec.NodeName != "", ready: ready(pod), crowd: crowd[pod.Spec.NodeName],
		cost: deletionCost(pod), readySince: nanoseconds(readySince(pod)), created: nanoseconds(pod.CreationTimestamp.Time),
	}
	r.containers, r.sidecars = restarts(pod)
	switch pod.Status.Phase {
	case corev1.PodRunning:
		r.phase = 2
	case corev1.PodUnknown:
		r.phase = 1
	}
	return r
}

// victims chooses which n of the pods go, and separates those for which that is
// certain from those of which some go. Both are in the order in which they go.
func victims(pods []*corev1.Pod, n int, crowd map[string]int, now time.Time) (certain, doubtful []*corev1.Pod) {
	if n <= 0 {
		return nil, nil
	}
	ranks := make([]rank, len(pods))
	for i, pod := range pods {
		ranks[i] = rankOf(pod, crowd)
		ranks[i].at(now)
	}
	slices.SortStableFunc(ranks, func(a, b rank) int { return a.compare(&b) })
	open := make([]bool, len(ranks))
	if n < len(ranks) {
		for _, moment := range moments(ranks, now) {
			doubt(ranks, n, moment, open)
		}
	}
	for i := range ranks {
		switch {
		case open[i]:
			doubtful = append(doubtful, ranks[i].pod)
		case i < n:
			certain = append(certain, ranks[i].pod)
		}
	}
	return certain, doubtful
}

// doubt marks the pods among the first n, and those behind them, whose order is not
// defined or is another at that moment.
func doubt(ranks []rank, n int, now time.Time, open []bool) {
	for i := range ranks {
		ranks[i].at(now)
	}
	var fresh []int
	mark := func(i int) {
		if !open[i] {
			open[i], fresh = true, append(fresh, i)
		}
	}
	for i := range open {
		if open[i] {
			fresh = append(fresh, i)
		}
	}
	for i := range n {
		for j := n; j < len(ranks); j++ {
			if (!open[i] || !open[j]) && ranks[i].compare(&ranks[j]) >= 0 {
				mark(i)
				mark(j)
			}
		}
	}
	// The order may go round in a circle: a pod that goes goes before all in doubt, and
	// one that stays after them, or it is in doubt, too.
	for len(fresh) > 0 {
		j := fresh[0]
		fresh = fresh[1:]
		for i := range ranks {
			if open[i] {
				continue
			}
			if order := ranks[i].compare(&ranks[j]); i < n && order >= 0 || i >= n && order <= 0 {
				mark(i)
			}
		}
	}
}

// at sets the ages to those of a moment.
func (r *rank) at(now time.Time) {
	r.readyPower, r.createdPower = power(now.UnixNano()-r.readySince), power(now.UnixNano()-r.created)
}

// compare is below 0 where r goes before o, and 0 where the order is not defined.
func (r *rank) compare(o *rank) int {
	switch {
	case r.assigned != o.assigned:
		return falseFirst(r.assigned)
	case r.phase != o.phase:
		return cmp.Compare(r.phase, o.phase)
	case r.ready != o.ready:
		return falseFirst(r.ready)
	case r.cost != o.cost:
		return cmp.Compare(r.cost, o.cost)
	case r.crowd != o.crowd:
		return cmp.Compare(o.crowd, r.crowd)
	case r.readySince != o.readySince:
		return r.younger(o, r.readySince, o.readySince, r.readyPower, o.readyPower)
	case r.containers != o.containers:
		return cmp.Compare(o.containers, r.containers)
	case r.sidecars != o.sidecars:
		return cmp.Compare(o.sidecars, r.sidecars)
	case r.created != o.created:
		return r.younger(o, r.created, o.created, r.createdPower, o.createdPower)
	}
	return 0
}

func falseFirst(first bool) int {
	if first {
		return 1
	}
	return -1
}

// younger compares ages by their powers of two, and where these are the same by UID,
// so that it is as good as random and yet defined.
func (r *rank) younger(o *rank, mine, other int64, minePower, otherPower int) int {
	switch {
	case mine == 0 || other == 0:
		return falseFirst(mine != 0)
	case minePower != otherPower:
		return cmp.Compare(minePower, otherPower)
	}
	return cmp.Compare(r.pod.UID, o.pod.UID)
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func power(age int64) int {
	if age <= 0 {
		return -1
	}
	return int(math.Log2(float64(age)))
}

// moments are now and every moment until the horizon at which the age of a pod
// reaches another power of two.
func moments(ranks []rank, now time.Time) []time.Time {
	at := []time.Time{now, now.Add(horizon)}
	for i := range ranks {
		for _, since := range []int64{ranks[i].readySince, ranks[i].created} {
			if since == 0 {
				continue
			}
			first, last := power(now.UnixNano()-since), power(now.Add(horizon).UnixNano()-since)
			for p := max(first+1, 0); p <= last; p++ {
				at = append(at, time.Unix(0, since+int64(1)<<p))
			}
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return few(slices.CompactFunc(at, time.Time.Equal))
}

// few keeps the work for a large workload small: the moments lie close together, and
// the first ones count most.
func few(moments []time.Time) []time.Time {
	const most = 40
	if len(moments) <= most {
		return moments
	}
	step := (len(moments) + most - 1) / most
	var kept []time.Time
	for i := 0; i < len(moments); i += step {
		kept = append(kept, moments[i])
	}
	return append(kept, moments[len(moments)-1])
}
