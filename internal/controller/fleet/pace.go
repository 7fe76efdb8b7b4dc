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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A look at a fleet costs as much as the fleet has pods, and a fleet that moves
// has an event for every pod: looking after each would cost the square of the
// pods. So a pod's event waits a moment for others, longer where there are more
// of them. What an owner asks for never waits.
const (
	waitPerPod  = 100 * time.Microsecond
	longestWait = 250 * time.Millisecond
	// worthWaiting is below which a wait saves nothing.
	worthWaiting = time.Millisecond
)

// pacer knows how large the fleets are.
type pacer struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]int
}

func newPacer() *pacer { return &pacer{pods: map[types.NamespacedName]int{}} }

func (p *pacer) note(owner types.NamespacedName, pods int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods[owner] = pods
}

func (p *pacer) forget(owner types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, owner)
}

// wait is how long an event of one of the owner's pods waits for others.
func (p *pacer) wait(owner types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := min(time.Duration(p.pods[owner])*waitPerPod, longestWait)
	if wait < worthWaiting {
		return 0
	}
	return wait
}
