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
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// victim is a pod with its place in the order in which pods are given up.
type victim struct {
	pod *Pod
	// zoneRank and nodeRank number the owner's pods in the same zone and on
	// the same node, the most useful first. Giving up the highest numbers
	// first empties the most crowded places first, and evenly.
	zoneRank, nodeRank int
	stale              bool // on another revision than the newest, or older than a restart
	leaving            bool // it has to leave its node
	because            string
}

// criterion is one line of the victim order: the first that tells two pods
// apart decides. Negative means a goes first.
type criterion struct {
	because string
	compare func(a, b *victim) int
}

// What can be said of a victim's place.
const (
	inCrowdedZone = "its zone has more pods of this owner"
	onCrowdedNode = "its node has more pods of this owner"
	notReached    = "the rollout has not reached it"
)

// victimOrder is the design's list, top to bottom.
var victimOrder = []criterion{
	{"its deletion was asked for by label", func(a, b *victim) int { return first(a.pod.DeleteRequested, b.pod.DeleteRequested) }},
	{"its holder was told already", func(a, b *victim) int { return first(a.pod.told(), b.pod.told()) }},
	{"it is not scheduled", func(a, b *victim) int { return first(a.pod.Node == "", b.pod.Node == "") }},
	{"its phase is the earlier one", func(a, b *victim) int { return phaseOrder(a.pod) - phaseOrder(b.pod) }},
	{"it is not ready", func(a, b *victim) int { return first(!a.pod.Ready, !b.pod.Ready) }},
	{"it has to leave its node", func(a, b *victim) int { return first(a.leaving, b.leaving) }},
	{notReached, func(a, b *victim) int { return first(a.stale, b.stale) }},
	{"its deletion cost is lower", func(a, b *victim) int { return cmp.Compare(a.pod.DeletionCost, b.pod.DeletionCost) }},
	{inCrowdedZone, func(a, b *victim) int { return cmp.Compare(b.zoneRank, a.zoneRank) }},
	{onCrowdedNode, func(a, b *victim) int { return cmp.Compare(b.nodeRank, a.nodeRank) }},
	{"it became ready more recently", func(a, b *victim) int { return b.pod.ReadySince.Compare(a.pod.ReadySince) }},
	{"it restarted more often", func(a, b *victim) int { return cmp.Compare(b.pod.Restarts, a.pod.Restarts) }},
	{"it is newer", func(a, b *victim) int { return b.pod.Created.Compare(a.pod.Created) }},
	{"its ordinal is higher", func(a, b *victim) int { return cmp.Compare(b.pod.Slot, a.pod.Slot) }},
	{"its name comes last", func(a, b *victim) int { return strings.Compare(b.pod.Name, a.pod.Name) }},
}

// told: only its holder, who knows that it is time, keeps the pod from its deletion.
// The choice stands until then: a pod that was taken out of service for a change would
// become the less useful one, be put back, and so on without end.
func (p *Pod) told() bool { return p.HoldDelete != nil && p.Wanted == wantDelete }

// rankVictims sorts pods so that the first are given up first, in time
// n log n: three sorts, the first two to number the places.
func rankVictims(pods []*Pod, updated func(*Pod) bool, leaving map[*Pod]bool) []*victim {
	all := make([]victim, len(pods))
	victims := make([]*victim, len(pods))
	for i, p := range pods {
		all[i] = victim{pod: p, stale: !updated(p), leaving: leaving[p]}
		victims[i] = &all[i]
	}
	order := func(a, b *victim) int {
		for i := range victimOrder {
			if c := victimOrder[i].compare(a, b); c != 0 {
				return c
			}
		}
		return 0
	}
	slices.SortFunc(victims, order)
	number(victims, func(v *victim) (string, *int) { return v.pod.Node, &v.nodeRank })
	slices.SortFunc(victims, order)
	number(victims, func(v *victim) (string, *int) { return v.pod.Zone, &v.zoneRank })
	slices.SortFunc(victims, order)
	return victims
}

// number counts each place's pods from the most useful (the last) upward.
func number(victims []*victim, place func(*victim) (string, *int)) {
	seen := map[string]int{}
	for i := len(victims) - 1; i >= 0; i-- {
		name, rank := place(victims[i])
		if name == "" {
			continue
		}
		*rank = seen[name]
		seen[name]++
	}
}

// explain names what set each victim apart from those that stay: the first
// criterion that tells it from the pod that stays longest. Zone and node are
// named only where they are the reason: where one that stays is in a zone, or
// on a node, with fewer of the owner's pods.
func explain(victims, staying []*victim) {
	if len(staying) == 0 {
		for _, v := range victims {
			v.because = "all pods go"
		}
		return
	}
	last := staying[len(staying)-1]
	zones := leastCrowded(staying, func(v *victim) (string, int) { return v.pod.Zone, v.zoneRank })
	nodes := leastCrowded(staying, func(v *victim) (string, int) { return v.pod.Node, v.nodeRank })
	for _, v := range victims {
		for i := range victimOrder {
			c := &victimOrder[i]
			sets := c.compare(v, last) < 0
			switch c.because {
			case inCrowdedZone:
				sets = zones.fewerThan(v.pod.Zone, v.zoneRank)
			case onCrowdedNode:
				sets = nodes.fewerThan(v.pod.Node, v.nodeRank)
			}
			if sets {
				v.because = c.because
				break
			}
		}
		if v.because == "" {
			v.because = "the others are needed to serve"
		}
	}
}

// crowd is how many pods stay in a place, less one.
type crowd struct {
	place string
	rank  int
}

// crowds are the two places with the fewest pods that stay: a victim is
// compared with the first of them that is not its own.
type crowds []crowd

func leastCrowded(staying []*victim, place func(*victim) (string, int)) crowds {
	top := map[string]int{}
	for _, v := range staying {
		if name, rank := place(v); name != "" {
			top[name] = max(top[name], rank)
		}
	}
	var list crowds
	for name, rank := range top {
		list = append(list, crowd{name, rank})
	}
	slices.SortFunc(list, func(a, b crowd) int { return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.place, b.place)) })
	return list[:min(len(list), 2)]
}

func (c crowds) fewerThan(place string, rank int) bool {
	for _, other := range c {
		if place != "" && other.place != place {
			return rank > other.rank
		}
	}
	return false
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func phaseOrder(p *Pod) int {
	switch p.Phase {
	case corev1.PodPending, "":
		return 0
	case corev1.PodUnknown:
		return 1
	}
	return 2
}
