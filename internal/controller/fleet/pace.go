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

package fleet

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/apply"
	"github.com/mycompany/pod-operator/internal/plan"
)

// A look at a fleet costs as much as the fleet has pods, and a fleet that moves
// has an event for every pod: looking after each would cost the square of the
// pods. So a pod's event waits a moment for others, longer where there are more
// of them, and shorter where few pods are still on their way: the last one that
// gets ready is reported soon. A pod that is gone waits less where another waits
// for its name. What an owner asks for never waits.
const (
	waitPerPod    = 500 * time.Microsecond
	waitIfGone    = 25 * time.Microsecond
	waitPerMoving = 5 * time.Millisecond
	longestWait   = 500 * time.Millisecond
	// worthWaiting is below which a wait saves nothing.
	worthWaiting = 2 * time.Millisecond
	// startsFast is for how long a pass that went well lets the next one
	// start with many pods at once.
	startsFast = 10 * time.Second
)

// pacer knows how large the fleets are and how their last pods were made.
type pacer struct {
	mu     sync.Mutex
	fleets map[types.NamespacedName]*pace
}

// pace is what the last look at a fleet says about the next.
type pace struct {
	look
	// arrived counts the pods that became ready, by their events.
	arrived int
	// created is how many pods a pass made of late, if all that were tried could
	// be made; under which newest revision, and when.
	created  int
	revision string
	at       time.Time
	// generation is the newest that an event showed of the owner with this UID.
	uid        types.UID
	generation int64
	// memory is what the last passes were refused.
	memory apply.Memory
}

// look is what was seen of a fleet.
type look struct {
	// pods is how many there are or will be, moving how many of those are not
	// what they should be yet.
	pods, moving int
	// names says that pods wait for the names of others that go.
	names bool
}

func newPacer() *pacer { return &pacer{fleets: map[types.NamespacedName]*pace{}} }

// note remembers what was seen when so many pods had arrived. Those that have
// arrived meanwhile are not on their way any more.
func (p *pacer) note(owner types.NamespacedName, seen look, arrived int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fleet(owner)
	f.look = seen
	f.moving = max(0, seen.moving-(f.arrived-arrived))
}

// arrivals is how many pods have become ready so far.
func (p *pacer) arrivals(owner types.NamespacedName) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.fleets[owner]; f != nil {
		return f.arrived
	}
	return 0
}

// arrive notes that a pod became ready, so that the last of many is reported as
// soon as a single one.
func (p *pacer) arrive(owner types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.fleets[owner]; f != nil {
		f.arrived++
		f.moving = max(0, f.moving-1)
	}
}

// fleet is called with the lock held.
func (p *pacer) fleet(owner types.NamespacedName) *pace {
	f := p.fleets[owner]
	if f == nil {
		f = &pace{}
		p.fleets[owner] = f
	}
	return f
}

func (p *pacer) forget(owner types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.fleets, owner)
}

// memory is what the owner's last passes were refused. One pass of an owner runs
// at a time, and only passes use it.
func (p *pacer) memory(owner types.NamespacedName) *apply.Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &p.fleet(owner).memory
}

// wait is how long an event of one of the owner's pods waits for others.
func (p *pacer) wait(owner types.NamespacedName, gone bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fleets[owner]
	if f == nil {
		return 0
	}
	perPod := waitPerPod
	if gone && f.names {
		perPod = waitIfGone
	}
	wait := min(time.Duration(f.pods)*perPod, time.Duration(f.moving+1)*waitPerMoving, longestWait)
	if wait < worthWaiting {
		return 0
	}
	return wait
}

// made remembers how the creates of a pass went. A few pods that went well do
// not replace the larger number of a pass before.
func (p *pacer) made(owner types.NamespacedName, revision string, outcomes []plan.Outcome, now time.Time) {
	created, well := 0, true
	for i := range outcomes {
		if outcomes[i].Action.Verb == plan.CreatePod {
			created++
			well = well && outcomes[i].Result == plan.Done
		}
	}
	if created == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fleet(owner)
	if well && f.begin(revision, now) > created {
		return
	}
	f.created, f.revision, f.at = created, revision, now
	if !well {
		f.created = 0
	}
}

// begin is the number of pods with which a pass may start at once.
func (f *pace) begin(revision string, now time.Time) int {
	if f.revision != revision || now.Sub(f.at) > startsFast {
		return 0
	}
	return f.created
}

// firstBatch is how many pods may be created before the first answer: as many
// as were made just before under the same newest revision; 0 says nothing.
func (p *pacer) firstBatch(owner types.NamespacedName, revision string, now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.fleets[owner]; f != nil {
		return f.begin(revision, now)
	}
	return 0
}

// asked remembers that an owner asks for something new.
func (p *pacer) asked(owner client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fleet(client.ObjectKeyFromObject(owner))
	f.uid, f.generation = owner.GetUID(), owner.GetGeneration()
}

// asksAnew reports whether an owner asks for something else than it did when it
// was read.
func (p *pacer) asksAnew(owner client.Object) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fleets[client.ObjectKeyFromObject(owner)]
	return f != nil && f.uid == owner.GetUID() && f.generation > owner.GetGeneration()
}

// looked is what a pass saw. Pods that are not yet what they should be, or that
// go, are on their way.
func looked(desired, pods int, decision plan.Decision, status *appsv1.PodManagerStatus) look {
	all := max(desired, pods)
	settled := min(int(status.ReadyReplicas), int(status.UpdatedReplicas), desired)
	return look{pods: all, moving: all - settled, names: slices.ContainsFunc(decision.Blocked, func(b plan.Blocked) bool {
		return b.By == appsv1.BlockedByTermination
	})}
}
