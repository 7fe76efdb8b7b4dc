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

package observe

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/plan"
)

// clocks correct the times that others wrote, by clocks that may be ahead of
// ours: a node's, or the API server's. A time that is yet to come when it is
// first seen counts as that moment, from then on: were it cut to the present at
// every look, whatever is counted from it would begin only when our clock has
// caught up.
type clocks struct {
	mu sync.Mutex
	// ahead are, for each owner, the times that were ahead when they were first
	// seen, as long as their pods name them.
	ahead map[types.UID]map[stamp]time.Time
}

// stamp is a time that a pod names.
type stamp struct {
	pod types.UID
	at  time.Time
}

// correct puts the times of an owner's pods right. A zero now corrects nothing.
func (c *clocks) correct(owner types.UID, pods []plan.Pod, now time.Time) {
	if now.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.ahead[owner]
	var after map[stamp]time.Time
	for i := range pods {
		p := &pods[i]
		for _, at := range []*time.Time{&p.Created, &p.ReadySince, &p.UnreadySince, &p.FailedAt, &p.ResizeSince, &p.DeletedAt} {
			if len(before) == 0 && !at.After(now) {
				continue
			}
			key := stamp{p.UID, at.UTC()}
			first, known := before[key]
			switch {
			case !known && !at.After(now):
				continue
			case !known:
				first = now.Truncate(time.Second) // as the API writes times
			}
			if after == nil {
				after = map[stamp]time.Time{}
			}
			after[key], *at = first, first
		}
	}
	if after == nil {
		delete(c.ahead, owner)
		return
	}
	if c.ahead == nil {
		c.ahead = map[types.UID]map[stamp]time.Time{}
	}
	c.ahead[owner] = after
}
