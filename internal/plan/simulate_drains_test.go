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
	"time"
)

// The world has four nodes. Some announce that they go, all may be cordoned, and
// drainers ask for evictions: of pods that serve they are noted on the pod, as the
// webhook does, until the deadline has passed; of others they are carried out.

// drains is drawn from a source of its own, so that all else is the same with and
// without.
type drains struct {
	rng      *rand.Rand
	notices  map[string]string // by node
	cordoned bool              // no node takes new pods
	wanted   map[string]bool   // the pods, by UID, that a drainer insists on
}

const worldNodes = 4

func (w *world) beginDrains(seed uint64) {
	w.drains = drains{rng: rand.New(rand.NewPCG(seed, 3)), notices: map[string]string{}, wanted: map[string]bool{}}
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
	for i := range worldNodes {
		if node := "node-" + strconv.Itoa((b.Slot+i)%worldNodes); w.drains.notices[node] == "" {
			b.Node, b.Zone = node, "zone-"+strconv.Itoa((b.Slot+i)%2)
			return
		}
	}
}

func (w *world) openNodes() *Nodes {
	n := &Nodes{All: worldNodes}
	if !w.drains.cordoned {
		n.Open = worldNodes - len(w.drains.notices)
	}
	return n
}

// checkLeaving is V: without this pod as many are available as have to be, save
// those that are broken.
func (j *judge) checkLeaving(w *world, s *scene, a Action) {
	enough := 0
	requested := w.pods[a.Pod].EvictionRequested
	older := func(p *Pod) bool { return p.Created.Before(requested) }
	for _, p := range s.live {
		switch {
		case p.Name == a.Pod:
		case w.servedFor(p.Name):
			enough++
		case s.inFleetAt(p) && p.Waiting != "" && older(p):
			enough++ // no drain waits for it
		}
	}
	failed := slices.DeleteFunc(slices.Concat(s.failed, s.lost), func(p *Pod) bool { return s.ordinal() && !s.inBase(p.Slot) || !older(p) })
	if enough+len(failed) < w.desired.Replicas && w.servedFor(a.Pod) {
		j.errorf("%s leaves with %d others available or broken and %d failed, of %d", a.Pod, enough, len(failed), w.desired.Replicas)
	}
}

// inFleetAt: the pod's place is one that the fleet keeps.
func (s *scene) inFleetAt(p *Pod) bool { return !s.ordinal() || s.inBase(p.Slot) }
