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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

// What the program prints is what it saw, so a queue that behaved otherwise
// would print otherwise.
func TestClaims(t *testing.T) {
	for name, test := range map[string]struct {
		try  func() string
		want string
	}{
		"items come in the order of their addition":  {order, "added a b c, got a b c"},
		"an item that waits is not queued twice":     {noDuplicates, "added a b a a, 2 wait, got a b"},
		"different items are worked on in parallel":  {parallelWorkers, "two workers held a and b at the same time"},
		"an item that is worked on comes back once":  {addedWhileProcessing, "0 wait before Done, 1 after it"},
		"the earliest of several delays holds":       {delay, "a after 10s, b after 20s, by a fake clock; 0 wait"},
		"failures slow one item until it is forgot":  {rateLimit, "a waits 10ms 20ms 40ms 80ms after 4 failures, b 10ms; a again 10ms once forgotten"},
		"shutting down hands out what is there":      {shutDown, "got a (the end: false), b was not taken in, then the end: true"},
		"draining waits for what is being worked on": {shutDownWithDrain, "it ended before a was done: false, after: true"},
		"metrics count what went through":            {metrics, "3 adds, 1 retries, 3 waits and 3 works timed, depth 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.try()); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Under load: many workers, few keys, every key added again while it is worked
// on. No key is ever held twice, and the last change of each is worked on.
func TestNoTwoWorkersHaveTheSameItem(t *testing.T) {
	const workers, rounds = 8, 200
	keys := []string{"a", "b", "c"}
	queue := workqueue.NewTyped[string]()
	var mu sync.Mutex
	held, wanted, done := map[string]bool{}, map[string]int{}, map[string]int{}
	parallel := 0

	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				mu.Lock()
				if held[key] {
					t.Errorf("%s is held by two workers", key)
				}
				held[key] = true
				parallel = max(parallel, len(slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !held[k] })))
				version := wanted[key]
				mu.Unlock()
				<-time.After(50 * time.Microsecond) // the work
				mu.Lock()
				held[key], done[key] = false, max(done[key], version)
				mu.Unlock()
				queue.Done(key)
			}
		})
	}
	for range rounds {
		for _, key := range keys {
			mu.Lock()
			wanted[key]++
			mu.Unlock()
			queue.Add(key)
		}
	}
	queue.ShutDownWithDrain()
	running.Wait()
	if diff := cmp.Diff(wanted, done); diff != "" {
		t.Errorf("changes that no worker processed (want -, got +):\n%s", diff)
	}
	if parallel < 2 {
		t.Errorf("at most %d of %s were worked on at once", parallel, strings.Join(keys, ", "))
	}
}
