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

package fairqueue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func aQueue(t testing.TB, share int) (*queue, *testclock.FakeClock) {
	t.Helper()
	fake := testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute), share, fake)
	t.Cleanup(q.ShutDown)
	return q, fake
}

func named(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// order takes everything that can be taken, each done before the next.
func order(q *queue) (names []string) {
	for q.turns.Len() > 0 {
		r, _ := q.Get()
		names = append(names, r.String())
		q.Done(r)
	}
	return names
}

// The fault: a namespace with a thousand objects in the queue was worked off before an object of another
// one had its turn.
func TestAnObjectWaitsForOneOfEachOtherNamespace(t *testing.T) {
	q, _ := aQueue(t, 2)
	for i := range 1000 {
		q.Add(named("noise", fmt.Sprint(i)))
		q.Add(named("noise-too", fmt.Sprint(i)))
	}
	q.Add(named("victim", "web"))
	at := slices.Index(order(q), "victim/web")
	if at < 0 || at > 2 {
		t.Errorf("%d others went first, want one of each namespace", at)
	}
}

func TestTheObjectsOfANamespaceKeepTheirOrder(t *testing.T) {
	q, _ := aQueue(t, 2)
	for _, name := range []string{"a", "b", "c", "a"} {
		q.Add(named("one", name))
	}
	if got, want := order(q), []string{"one/a", "one/b", "one/c"}; !slices.Equal(got, want) {
		t.Errorf("in the order %v, want %v", got, want)
	}
}

// A pass may take long: one namespace never has all workers.
func TestANamespaceHasNoMoreThanItsShareOfTheWorkers(t *testing.T) {
	q, _ := aQueue(t, Share(4))
	for i := range 10 {
		q.Add(named("slow", fmt.Sprint(i)))
	}
	first, _ := q.Get()
	q.Get()
	if n := q.turns.Len(); n != 0 {
		t.Fatal("a third worker was given to the namespace, whose share are two of four")
	}
	q.Add(named("victim", "web"))
	if r, _ := q.Get(); r != named("victim", "web") {
		t.Errorf("%s was given to the third worker, want the object of the other namespace", r)
	}
	q.Done(first)
	if r, _ := q.Get(); r.Namespace != "slow" {
		t.Errorf("%s was given to the worker that is free again", r)
	}
	if got := q.Len(); got != 7 {
		t.Errorf("%d are in the queue, want 7", got)
	}
}

// What changes goes before what is looked at because the operator starts, and does not starve it.
func TestALookAtTheStartWaitsButNotForEver(t *testing.T) {
	q, _ := aQueue(t, 4)
	low := priorityqueue.AddOpts{Priority: ptr.To(-100)}
	q.AddWithOpts(low, named("quiet", "a"), named("quiet", "b"))
	for i := range 20 {
		q.Add(named("busy", fmt.Sprint(i)))
	}
	q.Add(named("quiet", "b")) // it changed: urgent now
	got := order(q)
	if at := slices.Index(got, "quiet/b"); at > 1 {
		t.Errorf("what changed had turn %d: %v", at, got)
	}
	if at := slices.Index(got, "quiet/a"); at < 2 || at > onePatientOf {
		t.Errorf("what is looked at because of the start had turn %d: %v", at, got)
	}
}

func TestARequestKeepsItsPriorityUntilItIsTaken(t *testing.T) {
	q, fake := aQueue(t, 4)
	q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(-100), After: time.Second}, named("a", "a"))
	fake.Step(time.Second)
	if _, priority, _ := q.GetWithPriority(); priority != -100 {
		t.Errorf("priority %d, want -100", priority)
	}
	q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(3)}, named("a", "a"))
	q.Done(named("a", "a"))
	if _, priority, _ := q.GetWithPriority(); priority != 3 {
		t.Errorf("priority %d, want that of the second add", priority)
	}
}

func TestWaits(t *testing.T) {
	web := named("a", "web")
	cases := map[string]struct {
		do   func(q *queue, step func(time.Duration))
		want int // passes
	}{
		"an add that waits comes when it is due": {func(q *queue, step func(time.Duration)) {
			q.AddAfter(web, time.Minute)
			step(time.Minute)
		}, 1},
		"and not before": {func(q *queue, step func(time.Duration)) {
			q.AddAfter(web, time.Minute)
			step(time.Minute - 1)
		}, 0},
		"the soonest of several counts": {func(q *queue, step func(time.Duration)) {
			q.AddAfter(web, time.Minute)
			q.AddAfter(web, time.Second)
			q.AddAfter(web, time.Hour)
			step(time.Second)
			step(2 * time.Hour)
		}, 1},
		"an add now takes the place of one that waits": {func(q *queue, step func(time.Duration)) {
			q.AddAfter(web, time.Minute)
			q.Add(web)
			step(time.Minute)
		}, 1},
		"what is in the queue does not wait as well": {func(q *queue, step func(time.Duration)) {
			q.Add(web)
			q.AddAfter(web, time.Minute)
			step(time.Minute)
		}, 1},
		"what failed waits for the limiter, longer each time": {func(q *queue, step func(time.Duration)) {
			q.AddRateLimited(web)
			step(time.Second)
			r, _ := q.Get()
			q.AddRateLimited(web)
			q.Done(r)
			step(time.Second)
			if q.turns.Len() != 0 {
				t.Error("the second wait was as short as the first")
			}
			step(time.Second)
		}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			q, fake := aQueue(t, 4)
			c.do(q, fake.Step)
			if got := len(order(q)); got != c.want {
				t.Errorf("%d passes, want %d", got, c.want)
			}
			if len(q.waiting) != 0 && c.want > 0 {
				t.Errorf("%d adds still wait", len(q.waiting))
			}
		})
	}
}

func TestNothingIsTakenAfterTheEnd(t *testing.T) {
	q, fake := aQueue(t, 1)
	q.Add(named("a", "a"))
	q.AddAfter(named("a", "b"), time.Second)
	q.ShutDown()
	q.AddAfter(named("a", "c"), time.Second)
	fake.Step(time.Minute)
	if r, shutdown := q.Get(); !shutdown {
		t.Errorf("%s was taken after the end", r)
	}
}

// model is what a queue has to do, said without one.
type model struct {
	due     map[reconcile.Request]time.Time // when a pass is owed
	running map[reconcile.Request]bool
	// passed counts, for a namespace that could be served, the turns of each other one meanwhile.
	passed map[string]map[string]int
}

// Whatever is added, taken and done in whatever order: nothing is lost, nothing is worked on twice at
// once, no namespace has more than its share, and each has its turn before another has a second one.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.IntRange(1, 3).Draw(t, "share")
		fake := testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
		q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute), share, fake)
		defer q.ShutDown()
		m := model{due: map[reconcile.Request]time.Time{}, running: map[reconcile.Request]bool{}, passed: map[string]map[string]int{}}
		request := rapid.Custom(func(t *rapid.T) reconcile.Request {
			return named(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "namespace"), rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}).Draw(t, "name"))
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				r := request.Draw(t, "request")
				after := rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute}).Draw(t, "after")
				q.AddWithOpts(priorityqueue.AddOpts{After: after}, r)
				if at, owed := m.due[r]; !owed || at.After(fake.Now().Add(after)) {
					m.due[r] = fake.Now().Add(after)
				}
			},
			"step": func(t *rapid.T) {
				fake.Step(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(t, "time"))
			},
			"take": func(t *rapid.T) { m.take(t, q, share, fake.Now()) },
			"done": func(*rapid.T) {
				for _, r := range slices.SortedFunc(maps.Keys(m.running), byName) {
					delete(m.running, r)
					q.Done(r)
					break
				}
			},
		})
		for n := 0; len(m.due) > 0; n++ {
			if n > 1000 {
				t.Fatalf("%v was lost", m.due)
			}
			fake.Step(time.Minute)
			for r := range m.running {
				q.Done(r)
			}
			clear(m.running)
			m.take(t, q, share, fake.Now())
		}
	})
}

func (m *model) take(t *rapid.T, q *queue, share int, now time.Time) {
	busy := map[string]int{}
	for r := range m.running {
		busy[r.Namespace]++
	}
	could := map[string]bool{}
	for r, at := range m.due {
		if !at.After(now) && !m.running[r] && busy[r.Namespace] < share {
			could[r.Namespace] = true
		}
	}
	if (q.turns.Len() > 0) != (len(could) > 0) {
		t.Fatalf("the queue has something to take: %v, want %v of %v, running %v", q.turns.Len() > 0, could, m.due, m.running)
	}
	if len(could) == 0 {
		return
	}
	r, _ := q.Get()
	switch at, owed := m.due[r]; {
	case !owed || at.After(now):
		t.Fatalf("%s was taken, which is not owed", r)
	case m.running[r]:
		t.Fatalf("%s is worked on twice at once", r)
	case !could[r.Namespace]:
		t.Fatalf("%s has more than its share", r.Namespace)
	}
	delete(m.due, r)
	m.running[r] = true
	delete(m.passed, r.Namespace)
	for other := range could {
		if other == r.Namespace {
			continue
		}
		if m.passed[other] == nil {
			m.passed[other] = map[string]int{}
		}
		if m.passed[other][r.Namespace]++; m.passed[other][r.Namespace] > 1 {
			t.Fatalf("%s had a second turn before %s had its first", r.Namespace, other)
		}
	}
	for other := range m.passed {
		if !could[other] {
			delete(m.passed, other) // it left the line, and comes back at its end
		}
	}
}

func byName(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) }

// The workers and the events of a controller, all at once: every object is worked on after its last
// event, and by one worker at a time.
func TestWorkersAtOnce(t *testing.T) {
	q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Microsecond, time.Millisecond), 2, clock.RealClock{})
	var mu sync.Mutex
	asked, seen, busy, share := map[reconcile.Request]int{}, map[reconcile.Request]int{}, map[reconcile.Request]bool{}, map[string]int{}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				r, shutdown := q.Get()
				if shutdown {
					return
				}
				mu.Lock()
				share[r.Namespace]++
				if busy[r] || share[r.Namespace] > 2 {
					t.Errorf("%s is worked on twice: %v, or its namespace has %d workers", r, busy[r], share[r.Namespace])
				}
				busy[r], seen[r] = true, asked[r]
				mu.Unlock()
				mu.Lock()
				busy[r] = false
				share[r.Namespace]--
				mu.Unlock()
				q.Done(r)
			}
		})
	}
	var events sync.WaitGroup
	for i := range 3 {
		events.Go(func() {
			for n := range 3000 {
				r := named(fmt.Sprint(n%3), fmt.Sprint(n%7))
				mu.Lock()
				asked[r]++
				mu.Unlock()
				q.AddAfter(r, time.Duration((n+i)%4)*20*time.Microsecond)
			}
		})
	}
	events.Wait()
	deadline := time.Now().Add(time.Minute)
	for behind := 1; behind > 0; {
		mu.Lock()
		behind = 0
		for r, n := range asked {
			if seen[r] != n {
				behind++
			}
		}
		mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatalf("%d objects were not worked on after their last event", behind)
		}
	}
	q.ShutDown()
	workers.Wait()
}
