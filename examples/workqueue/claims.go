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

package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
)

func newQueue() workqueue.TypedInterface[string] { return workqueue.NewTyped[string]() }

// take gets n items and finishes each at once.
func take(queue workqueue.TypedInterface[string], n int) string {
	var out []string
	for range n {
		item, _ := queue.Get()
		out = append(out, item)
		queue.Done(item)
	}
	return strings.Join(out, " ")
}

// order: what was added first comes out first.
func order() string {
	queue := newQueue()
	defer queue.ShutDown()
	for _, item := range []string{"a", "b", "c"} {
		queue.Add(item)
	}
	return "added a b c, got " + take(queue, 3)
}

// noDuplicates: an item that waits already is not queued a second time. That
// is why a controller's key names an object and not an event.
func noDuplicates() string {
	queue := newQueue()
	defer queue.ShutDown()
	for _, item := range []string{"a", "b", "a", "a"} {
		queue.Add(item)
	}
	length := queue.Len()
	return fmt.Sprintf("added a b a a, %d wait, got %s", length, take(queue, length))
}

// parallelWorkers: two workers hold two different items at the same time. Each
// waits for the other to have begun, so this returns only if that is so.
func parallelWorkers() string {
	queue := newQueue()
	queue.Add("a")
	queue.Add("b")
	queue.ShutDown() // no more will come; what is there is still handed out
	var both, workers sync.WaitGroup
	both.Add(2)
	for range 2 {
		workers.Go(func() {
			for {
				item, shutdown := queue.Get()
				if shutdown {
					return
				}
				both.Done()
				both.Wait()
				queue.Done(item)
			}
		})
	}
	workers.Wait()
	return "two workers held a and b at the same time"
}

// addedWhileProcessing: an item that is added while a worker has it is handed
// out again, but not before that worker is done. So no two workers ever have
// the same item, and no change is lost.
func addedWhileProcessing() string {
	queue := newQueue()
	defer queue.ShutDown()
	queue.Add("a")
	item, _ := queue.Get()
	queue.Add("a")
	queue.Add("a")
	during := queue.Len()
	queue.Done(item)
	return fmt.Sprintf("%d wait before Done, %d after it", during, queue.Len())
}

// delay: the item waits elsewhere until its time has come. An earlier time wins.
func delay() string {
	clock := testclock.NewFakeClock(time.Now())
	queue := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: clock})
	defer queue.ShutDown()
	queue.AddAfter("a", time.Minute)
	queue.AddAfter("a", 10*time.Second)
	queue.AddAfter("b", 20*time.Second)
	begin := clock.Now()
	var out []string
	for range 2 {
		clock.Step(10 * time.Second)
		out = append(out, fmt.Sprintf("%s after %s", take(queue, 1), clock.Since(begin)))
	}
	return fmt.Sprintf("%s, by a fake clock; %d wait", strings.Join(out, ", "), queue.Len())
}

// rateLimit: each failure doubles the delay of that item alone; Forget ends it.
func rateLimit() string {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](10*time.Millisecond, time.Second)
	var delays []string
	for range 4 {
		delays = append(delays, limiter.When("a").String())
	}
	other := limiter.When("b")
	failures := limiter.NumRequeues("a")
	limiter.Forget("a")
	return fmt.Sprintf("a waits %s after %d failures, b %s; a again %s once forgotten",
		strings.Join(delays, " "), failures, other, limiter.When("a"))
}

// shutDown: nothing new is taken in, and Get tells the workers to end when the
// rest is handed out.
func shutDown() string {
	queue := newQueue()
	queue.Add("a")
	queue.ShutDown()
	queue.Add("b")
	item, before := queue.Get()
	queue.Done(item)
	_, after := queue.Get()
	return fmt.Sprintf("got %s (the end: %t), b was not taken in, then the end: %t", item, before, after)
}

// shutDownWithDrain waits until every item that was handed out is done.
func shutDownWithDrain() string {
	queue := newQueue()
	queue.Add("a")
	item, _ := queue.Get()
	drained := make(chan struct{})
	go func() {
		queue.ShutDownWithDrain()
		close(drained)
	}()
	early := false
	select {
	case <-drained:
		early = true
	case <-time.After(50 * time.Millisecond): // long enough for a queue that does not wait
	}
	queue.Done(item)
	<-drained
	return fmt.Sprintf("it ended before a was done: %t, after: true", early)
}

// metrics: a queue with a name counts and times what goes through it.
func metrics() string {
	seen := &counters{count: map[string]int{}}
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Microsecond, time.Microsecond),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "demo", MetricsProvider: seen})
	defer queue.ShutDown()
	queue.Add("a")
	queue.Add("b")
	take(queue, 1)
	queue.AddRateLimited("c") // a retry, and an addition when its time has come
	take(queue, 2)
	return seen.String()
}
