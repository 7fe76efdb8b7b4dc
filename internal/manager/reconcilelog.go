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

package manager

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reconcileLevel is the -v at which each reconcile has a line in the log. From 5 on,
// controller-runtime logs the beginning and the end of each.
const reconcileLevel = 4

// newQueue makes the queue of a controller.
type newQueue = func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

// logReconciles logs a line for each reconcile, where the log is that verbose. The queue
// hands out every object and gets it back, whichever reconciler works on it.
func logReconciles(log logr.Logger, clock clock.PassiveClock, plain newQueue) newQueue {
	log = log.V(reconcileLevel)
	if !log.Enabled() {
		return plain
	}
	return func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		made := plain(name, limiter)
		queue, ok := made.(priorityqueue.PriorityQueue[reconcile.Request])
		if !ok {
			return made
		}
		return &loggedQueue{PriorityQueue: queue, log: log.WithValues("controller", name), clock: clock, running: map[reconcile.Request]*pass{}}
	}
}

// loggedQueue is a queue whose passes are logged.
type loggedQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	log   logr.Logger
	clock clock.PassiveClock

	mu      sync.Mutex
	running map[reconcile.Request]*pass
}

// pass is one reconcile.
type pass struct {
	began  time.Time
	failed bool
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *loggedQueue) GetWithPriority() (r reconcile.Request, priority int, shutdown bool) {
	r, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if !shutdown {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.running[r] = &pass{began: q.clock.Now()}
	}
	return r, priority, shutdown
}

// Get implements workqueue.TypedInterface.
func (q *loggedQueue) Get() (r reconcile.Request, shutdown bool) {
	r, _, shutdown = q.GetWithPriority()
	return r, shutdown
}

// AddWithOpts implements priorityqueue.PriorityQueue. Only a reconcile that failed comes
// back with a rate limit.
func (q *loggedQueue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	if o.RateLimited {
		q.mu.Lock()
		for _, r := range requests {
			if p := q.running[r]; p != nil {
				p.failed = true
			}
		}
		q.mu.Unlock()
	}
	q.PriorityQueue.AddWithOpts(o, requests...)
}

// Done implements workqueue.TypedInterface.
func (q *loggedQueue) Done(r reconcile.Request) {
	q.mu.Lock()
	p := q.running[r]
	delete(q.running, r)
	q.mu.Unlock()
	if p != nil {
		q.log.Info("Reconciled", "namespace", r.Namespace, "name", r.Name, "took", q.clock.Since(p.began).String(), "failed", p.failed)
	}
	q.PriorityQueue.Done(r)
}
