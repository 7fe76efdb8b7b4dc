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
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The world has four nodes in two zones. Some announce that they go, all may be
// cordoned, and drainers ask for evictions: of pods that serve they are noted on the
// pod, as the webhook does, until the deadline has passed; of others they are carried
// out. Some fleets have to be spread over the zones, which a scheduler does that
// mostly follows a hint and otherwise has its own idea.

// drains is drawn from a source of its own, so that all else is the same with and
// without.
type drains struct {
	rng      *rand.Rand
	spread   *rand.Rand        // for the zones
	notices  map[string]string // by node
	cordoned bool              // no node takes new pods
	wanted   map[string]bool   // the pods, by UID, that a drainer insists on
	// excused says, by the UID of a pod, which others its eviction does not wait for.
	excused map[string]excused
}

// excused are the pods, by UID, that did not serve when an eviction was requested and
// have not since, and how many pods were missing then.
type excused struct {
	pods    map[string]bool
	missing int
}

const worldNodes = 4

func (w *world) beginDrains(seed uint64) {
	w.drains = drains{
		rng: rand.New(rand.NewPCG(seed, 3)), spread: rand.New(rand.NewPCG(seed, 4)),
		notices: map[string]string{}, wanted: map[string]bool{}, excused: map[string]excused{},
	}
	w.drawDisruption()
}

func (w *world) drawDisruption() {
	w.desired.Disruption = Disruption{}
	if w.drains.rng.IntN(2) == 0 {
		w.desired.Disruption = Disruption{
			SurgeFirst: true, Deadline: time.Duration(1+w.drains.rng.IntN(10)) * time.Minute,
			MaxSurge: min(1+w.drains.rng.IntN(3), max(1, w.desired.Replicas)),
		}
	}
	w.drawRebalance()
}

// drawRebalance is drawn apart, too, and also for fleets without SurgeFirst.
func (w *world) drawRebalance() {
	d, rng := &w.desired.Disruption, w.drains.spread
	if rng.IntN(3) > 0 {
		return
	}
	d.MaxSurge = max(1, d.MaxSurge)
	d.Spread = []Spread{{Key: "zone", MaxSkew: 1 + rng.IntN(2)}}
	if rng.IntN(2) == 0 {
		d.AutoRebalance = true
	} else {
		d.Rebalance = w.now.Truncate(time.Second)
	}
}

// editDrains is now and then part of an edit.
func (w *world) editDrains() {
	if w.drains.rng.IntN(6) == 0 {
		w.drawDisruption()
	}
}

// drain is one step of what happens to nodes, and of the drainers.
func (w *world) drain() {
	d := &w.drains
	if w.calm || d.rng == nil {
		return
	}
	bodies := w.sorted()
	switch d.rng.IntN(12) {
	case 0, 1:
		if len(bodies) > 0 {
			d.wanted[string(bodies[d.rng.IntN(len(bodies))].UID)] = true
		}
	case 2:
		if node := "node-" + strconv.Itoa(d.rng.IntN(worldNodes)); len(d.notices) < worldNodes-1 {
			d.notices[node] = "taint example.com/spot"
		}
	case 3:
		clear(d.notices)
	case 4:
		d.cordoned = !d.cordoned
	case 5:
		clear(d.wanted) // they gave up
	}
	for _, b := range bodies {
		if d.wanted[string(b.UID)] && !b.Terminating && !b.dead() {
			w.evict(b)
		}
	}
}

// evict is an eviction that a drainer asks for, and what the webhook makes of it.
func (w *world) evict(b *body) {
	until := b.EvictionRequested.Add(w.desired.Disruption.Deadline)
	switch {
	case !w.desired.Disruption.SurgeFirst || !b.Ready:
		w.terminate(b)
	case b.EvictionRequested.IsZero() || w.now.After(until.Add(10*time.Minute)):
		b.EvictionRequested = w.now
		w.drains.excused[string(b.UID)] = w.notServing()
	case !w.now.Before(until):
		w.terminate(b)
	}
}

// endDrains: the nodes are in order again and the drainers have gone.
func (w *world) endDrains() {
	clear(w.drains.notices)
	clear(w.drains.wanted)
	w.drains.cordoned = false
}

// schedule puts a pod on a node that takes it.
func (w *world) schedule(b *body) {
	if w.drains.cordoned {
		return
	}
	start, others := b.Slot, []int{0, 1, 2, 3}
	if hint, ok := strings.CutPrefix(b.RebalancedTo, "zone=zone-"); ok && w.drains.spread.IntN(5) > 0 {
		start, _ = strconv.Atoi(hint)
		others = []int{0, 2, 1, 3} // the nodes of a zone have all odd or all even numbers
	}
	for _, i := range others {
		if at := (start + i) % worldNodes; w.drains.notices["node-"+strconv.Itoa(at)] == "" {
			b.Node, b.Zone = "node-"+strconv.Itoa(at), zoneOf(at)
			return
		}
	}
}

func zoneOf(node int) string { return "zone-" + strconv.Itoa(node%2) }

// domains are the zones that take new pods.
func (w *world) domains() [][]string {
	var open []string
	for node := range worldNodes {
		if !w.drains.cordoned && w.drains.notices["node-"+strconv.Itoa(node)] == "" && !slices.Contains(open, zoneOf(node)) {
			open = append(open, zoneOf(node))
		}
	}
	return [][]string{open}
}

func (w *world) openNodes() *Nodes {
	n := &Nodes{All: worldNodes}
	if len(w.desired.Disruption.Spread) > 0 {
		n.Domains = w.domains()
	}
	if !w.drains.cordoned {
		n.Open = worldNodes - len(w.drains.notices)
	}
	return n
}

// notServing are the pods that a drain that begins now does not wait for, should they
// be broken: no more than are missing. What was made to stand in counts neither way.
func (w *world) notServing() excused {
	e := excused{pods: map[string]bool{}, missing: w.desired.Replicas}
	for _, b := range w.pods {
		switch {
		case b.Terminating || b.Surge || b.Replaces == appsv1.WhyDisruptionSurge || b.Replaces == appsv1.WhyRolloutSurge:
		case w.serves(b.Name):
			e.missing--
		default:
			e.pods[string(b.UID)] = true
		}
	}
	return e
}

// excuses counts the pods that the eviction of b does not wait for: they failed, or
// have a node and their containers say why they do not serve.
func (w *world) excuses(b *body) int {
	e, n := w.drains.excused[string(b.UID)], 0
	for _, other := range w.pods {
		broken := other.Phase == corev1.PodFailed || other.Waiting != "" && other.Node != ""
		if e.pods[string(other.UID)] && broken && !other.Terminating {
			n++
		}
	}
	return max(0, min(n, e.missing))
}

// forgetServing: a pod that served since is waited for.
func (w *world) forgetServing() {
	for _, b := range w.pods {
		for _, e := range w.drains.excused {
			if w.serves(b.Name) {
				delete(e.pods, string(b.UID))
			}
		}
	}
}

// hasToLeave: by docs/drain.md, the pod is replaced before it goes. One that does not
// serve is not.
func (w *world) hasToLeave(b *body) bool {
	d := &w.desired.Disruption
	asked := !b.EvictionRequested.IsZero() && w.now.Before(b.EvictionRequested.Add(d.Deadline))
	return d.SurgeFirst && w.serves(b.Name) && (asked || w.drains.notices[b.Node] != "")
}

// mayMiss is how many of the replicas may be missing after an act, as the
// documentation says: maxUnavailable and, where both it and maxSurge are 0, one. None
// where a pod is moved, or stands in for one that is, or another has to leave:
// except those that were broken before.
func (w *world) mayMiss(a Action) int {
	u, b := &w.desired.Update, w.pods[a.Pod]
	inPlace := a.Verb == UpdatePod || a.Verb == ShutGate
	missing := u.MaxUnavailable
	if missing == 0 && (u.MaxSurge == 0 || inPlace && !w.uninterrupted()) {
		missing = 1
	}
	if slices.Contains(rolling, a.Why.Reason) {
		return missing
	}
	switch {
	case w.hasToLeave(b):
		return w.excuses(b)
	case a.Why.Reason == appsv1.WhyRebalance:
		return 0
	}
	least := -1
	for _, other := range w.pods {
		if w.hasToLeave(other) {
			least = max(least, w.excuses(other))
		}
	}
	switch {
	case a.Why.Reason == appsv1.WhySurgeOver && w.desired.Disruption.SurgeFirst && (least >= 0 || !w.lacksRoom()):
		return 0
	case least >= 0:
		return least
	}
	return missing
}

// lacksRoom: a pod that does not stand in could not be scheduled for deadlineSeconds, and
// may need the room of one that does.
func (w *world) lacksRoom() bool {
	for _, b := range w.pods {
		if b.Node == "" && !b.Surge && !b.Terminating && !w.now.Before(b.Created.Add(w.desired.Disruption.Deadline)) {
			return true
		}
	}
	return false
}

// checkTaken is U: no act of ours takes a pod that serves when that leaves fewer than
// have to serve, nor an available one when fewer are available.
func (j *judge) checkTaken(w *world, a Action) {
	if w.pods[a.Pod].DeleteRequested {
		return // the user asked for this very pod
	}
	available, ready := 0, 0
	for name := range w.pods {
		if name != a.Pod && w.serves(name) {
			ready++
		}
		if name != a.Pod && w.servedFor(name) {
			available++
		}
	}
	missing := w.mayMiss(a)
	if floor := w.desired.Replicas - missing; ready < floor || available < floor && w.servedFor(a.Pod) {
		j.errorf("U: %s of %s (%s) leaves %d available and %d ready of %d, %d may be missing",
			a.Verb, a.Pod, a.Why.Reason, available, ready, w.desired.Replicas, missing)
	}
}

// checkSpread is what a rebalance promises at rest: the zones differ by no more than
// the constraint allows, or the status says why not.
func (j *judge) checkSpread(w *world) {
	d := &w.desired.Disruption
	if !d.Rebalances(w.now) || w.status.Rebalance != nil || w.last.Rollout != nil || w.desired.Paused || j.stands(w) {
		return
	}
	counts, newer := map[string]int{"zone-0": 0, "zone-1": 0}, 0
	for _, b := range w.pods {
		if b.dead() || b.NodeState == NodeGone {
			continue
		}
		counts[b.Zone]++
		if !d.AutoRebalance && !b.Created.Before(d.Rebalance) {
			newer++ // than the request, and so not moved
		}
	}
	if skew := max(counts["zone-0"], counts["zone-1"]) - min(counts["zone-0"], counts["zone-1"]); skew > d.Spread[0].MaxSkew+newer {
		j.errorf("rests with %v pods, and the skew may be %d; rollout %+v", counts, d.Spread[0].MaxSkew, w.last.Rollout)
	}
}
