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

// Package sim runs the operator's real observe, plan, apply and report on a
// simulated cluster, under every order of events that a schedule asks for.
//
// The cluster is one append-only log (server.go). A cache of the operator is a
// cursor into it (cache.go), so how stale it is, is how far the cursor is
// behind. An operator (process.go) is the real fleet reconciler with the real
// predicates and handlers; each of its calls to the API server waits until the
// scheduler answers it, and what it is answered need not be what happened.
//
// The scheduler (world.go) makes a list of everything that could happen next,
// with the fair choice first, and a schedule says where to deviate from it. So
// a schedule is a short list of numbers: it can be drawn at random, enumerated,
// shrunk to what matters, and kept. After the chaos everything is fair again
// and the cluster has to come to rest; then the oracles judge the log.
//
// All goroutines run in a testing/synctest bubble: the scheduler goes on when
// all of them wait, so a schedule gives the same run every time.
package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/mycompany/pod-operator/internal/controller/fleet"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// namespace is where everything happens.
const namespace = "ns"

// Limits of a run.
const (
	// quietTime without a write counts as rest, where timers go on for ever.
	quietTime = 20 * time.Minute
	// stuckTime is how long a watch is stuck at most.
	stuckTime = 10 * time.Second
	// maxSteps is when a run that does not come to rest is given up (L1). Where each
	// read of a cache is a step, a reconcile has up to readSteps as many: an operator
	// whose watch is stuck looks every 20 ms for as long as stuckTime.
	maxSteps, readSteps = 6000, 4
	// standingTime is how long ago a refusal was met that still stands: longer
	// than the operator waits before it asks again.
	standingTime = 5 * time.Minute
)

// Lab is what all runs share.
type Lab struct {
	Scheme  *runtime.Scheme
	Metrics *fleet.Metrics
	// Definition is the CRD that drawn runs need.
	Definition *Definition
}

// Run says what to play.
type Run struct {
	Scenario scenario.Scenario
	Weakness Weakness
	// Hasty: the user does not wait for the cluster to come to rest.
	Hasty bool
	// SlowReads: events may arrive between two reads of a cache.
	SlowReads bool
	// Faults is how many faults a run may have at most.
	Faults int
	// Schedule chooses among the options; nil is always fair.
	Schedule Schedule
	// Refusals are the rules of the API server that the operator meets.
	Refusals []Refusal
	// Meddles: a webhook changes the pods that are created.
	Meddles bool
	// Sharded: the operator's caches show only what carries the label of its
	// shard.
	Sharded bool
	// Jump is by how much the clock of all processes jumps, ahead or back,
	// when the run has made JumpAt steps.
	Jump   time.Duration
	JumpAt int
	// Ahead is by how much the clock of the node is ahead.
	Ahead time.Duration
}

// Schedule chooses one of n options at a decision, counted from 0. The first
// option is the fair one.
type Schedule func(decision int, options []Option) int

// Option is something that could happen next.
type Option struct {
	Text  string
	Class Class
	do    func()
}

// Class groups options, for the random scheduler.
type Class int

// The classes.
const (
	Fair Class = iota
	Time
	User
	Fault
)

// Result is what became of a run.
type Result struct {
	Violations []oracle.Violation
	End        oracle.End
	Tally      map[string]int
	Trace      []string
	// Options is how many options each decision had.
	Options []int
	// Creates counts the requests to create pods, refused ones too.
	Creates int
	// Split: two operators led at once, and one may have undone what the other
	// did.
	Split   bool
	History []oracle.Revision
	// Requests are the operator's writes. Lifted: nothing is refused at the end.
	Requests []oracle.Request
	Lifted   bool
	// GaveUp: the user left a step out, because of what is refused.
	GaveUp bool
	// Recovery is how long the cluster took to come to rest after the last
	// step of the user or the last fault.
	Recovery time.Duration
	// Took is how long it was from the beginning to the last write.
	Took time.Duration
	// Done counts the events that were carried out, and Abandoned the evictions that
	// clients gave up.
	Done      map[string]int
	Abandoned int
}

// World is one run.
type World struct {
	run       Run
	weakness  Weakness
	server    *Server
	clock     *clocktesting.FakePassiveClock
	metrics   *fleet.Metrics
	indexes   indexes
	slowReads bool

	processes []*process
	born      int
	// births are the versions after which a process started.
	births []int64
	// restarts is how often an operator was started after the first, before the
	// run came to rest.
	restarts  int
	floating  []call
	machines  machines
	collector *collector
	steps     []scenario.Step
	// taken is when the last step was, and takenAt after how many choices.
	taken   time.Time
	takenAt int
	// done counts the events that were carried out.
	done map[string]int
	// evictors are the clients that want pods to go; abandoned is how many gave up.
	evictors  []*evictor
	abandoned int
	// evicted is what was wrong with evictions (E).
	evicted []oracle.Violation
	// crowded: at some time the nodes were full.
	crowded bool
	suffix  int

	faults    int
	decisions int
	calm      bool
	began     time.Time
	lastWrite time.Time
	lastFault time.Time
	// changed is how many steps there were up to the last one of the user, the last
	// fault or its end; fresh is how many up to the start of the last operator, at
	// rest.
	changed, fresh int
	written        int64
	trace          []string
	options        []int
	creates        int
	// stuck says why a run could not go on.
	stuck error
	// split: two operators led at once, from this version on.
	split   bool
	splitAt int64
	// gaveUp: the user left a step out.
	gaveUp bool
	// away are the times in which no operator ran for long.
	away []oracle.Span
}

// Play runs to the end. It has to be called in a synctest bubble.
func Play(lab *Lab, run Run) *Result {
	w := newWorld(lab, run)
	rested := w.play()
	result := &Result{Trace: w.trace, Options: w.options}
	if !rested {
		result.Violations = append(result.Violations, oracle.Violation{
			Rule: "L1", Version: w.server.version, Message: w.stuck.Error(),
		})
	}
	result.Took = w.lastWrite.Sub(w.began)
	result.Recovery = max(0, w.lastWrite.Sub(w.lastFault))
	result.Split, result.History = w.split, w.server.history()
	result.Tally, result.Creates = oracle.Tally(w.server.history()), w.creates
	w.restarts = w.born - 1
	if rested {
		for _, e := range w.evictors {
			w.checkEnds(e)
		}
		result.Violations = append(result.Violations, w.checkRest()...)
	}
	result.Violations = append(result.Violations, w.evicted...)
	result.Done, result.Abandoned = w.done, w.abandoned+len(w.evictors)
	result.Requests, result.Lifted, result.GaveUp = w.server.requests, w.server.lifted(), w.gaveUp
	result.Violations = append(result.Violations, w.judge()...)
	result.End = oracle.Normalise(w.server.end(), run.Scenario.Anonymous)
	for _, p := range w.processes {
		p.kill()
	}
	synctest.Wait()
	return result
}

func newWorld(lab *Lab, run Run) *World {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0).UTC())
	server := NewServer(lab.Scheme, clock)
	w := &World{
		run: run, weakness: run.Weakness, server: server, clock: clock, metrics: lab.Metrics, indexes: newIndexes(),
		slowReads: run.SlowReads, steps: run.Scenario.Steps, faults: run.Faults, lastWrite: clock.Now(), lastFault: clock.Now(),
		began: clock.Now(), taken: clock.Now(), done: map[string]int{},
	}
	server.meddles, server.sharded = run.Meddles, run.Sharded
	for _, r := range run.Refusals {
		server.rules = append(server.rules, &standing{Refusal: r})
	}
	kubelet := &kubelet{server: server, client: server.Client("kubelet"), ahead: run.Ahead}
	w.machines = kubelet
	w.collector = &collector{server: server, client: server.Client("gc")}
	nodes := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: scenario.FirstNode}}}
	if run.Scenario.Drawn {
		w.machines, server.definition, nodes = newFleetOfNodes(kubelet), lab.Definition, nil
		for n := range scenario.Nodes {
			nodes = append(nodes, scenario.Node(n))
		}
	}
	for _, node := range nodes {
		if err := server.Client("user").Create(context.Background(), node); err != nil {
			panic(err)
		}
	}
	w.launch(len(server.log))
	return w
}

// deposedCredit is how many reconciles a leader that was stopped and woken up
// begins before it looks at its lease.
const deposedCredit = 1

func (w *World) launch(at int) {
	w.born++
	w.births = append(w.births, w.server.version)
	for _, p := range w.processes {
		w.divide()
		if !p.deposed {
			p.deposed, p.credit = true, deposedCredit
		}
	}
	w.processes = append(w.processes, w.start(fmt.Sprintf("operator-%d", w.born), at))
}

// divide notes that from now on two operators lead.
func (w *World) divide() {
	if !w.split {
		w.split, w.splitAt = true, w.server.version+1
	}
}

// play makes one choice after the other until nothing is left to do.
func (w *World) play() bool {
	limit := maxSteps
	if w.run.SlowReads {
		limit *= readSteps
	}
	for range limit {
		if w.run.Jump != 0 && len(w.trace) == w.run.JumpAt {
			w.jump(w.run.Jump)
		}
		w.settle()
		options := w.choices()
		if len(options) == 0 {
			return true
		}
		pick := 0
		if len(options) > 1 && !w.calm && w.run.Schedule != nil {
			pick = w.run.Schedule(w.decisions, options)
			w.options = append(w.options, len(options))
			w.decisions++
		}
		chosen := options[pick]
		w.trace = append(w.trace, chosen.Text)
		if chosen.Class == Fault {
			w.faults--
			w.lastFault, w.changed = w.clock.Now(), len(w.trace)
		}
		chosen.do()
		if w.stuck != nil {
			return false
		}
	}
	w.stuck = fmt.Errorf("not at rest after %d steps", limit)
	return false
}

// settle waits until all goroutines wait, and tends the queues.
func (w *World) settle() {
	synctest.Wait()
	for _, p := range w.processes {
		p.collect()
		p.queue.due()
	}
	for i := len(w.server.log) - 1; i >= 0 && w.server.log[i].Version > w.written; i-- {
		if actor := w.server.log[i].Actor; actor == oracle.Operator || actor == oracle.Late {
			w.lastWrite = w.clock.Now()
			w.checkStandIn(&w.server.log[i])
		}
	}
	w.written = w.server.version
}

// choices lists what could happen next, the fair choice first: answers, then
// events, then work, then nodes and the garbage collector, then the user, and
// only then time passes.
func (w *World) choices() []Option {
	if w.isDue() {
		return w.user()
	}
	fair := slices.Concat(w.answers(), w.events(), w.work(), w.nodes(), w.garbage(), w.drains())
	if !slices.ContainsFunc(w.processes, func(p *process) bool { return !p.deposed }) {
		fair = append(fair, Option{"the operator starts", Fair, func() { w.launch(len(w.server.log)) }})
	}
	var later []Option
	if len(fair) == 0 {
		fair = append(fair, w.rest()...)
	} else {
		later = append(later, w.passTime("time passes", time.Second))
		if w.run.Hasty {
			later = append(later, w.user()...)
		}
	}
	if w.calm || len(fair) == 0 {
		return fair
	}
	fair = append(fair, later...)
	if w.faults > 0 {
		fair = append(fair, w.mischief()...)
	}
	return fair
}

// rest is what is left to do when nothing is under way: a watch that is stuck
// comes back, the user goes on, or a timer is due.
func (w *World) rest() []Option {
	next := w.nextTimer()
	quiet := next.IsZero() || next.Sub(w.lastWrite) > w.patience()
	for _, p := range w.processes {
		if len(p.frozen) > 0 && (quiet || w.clock.Since(w.lastFault) > stuckTime) {
			return []Option{{p.name + ": its watches come back", Fair, func() {
				clear(p.frozen)
				w.changed = len(w.trace)
			}}}
		}
	}
	if len(w.floating) > 0 && quiet {
		return w.network()
	}
	if at := w.nextStep(); !at.IsZero() && (quiet || at.Before(next)) {
		return []Option{w.passTime("time passes until the user goes on", at.Sub(w.clock.Now()))}
	}
	if !quiet {
		return []Option{w.passTime("time passes until something is due", next.Sub(w.clock.Now()))}
	}
	if len(w.processes) > 1 {
		return []Option{{w.processes[0].name + " finds that it no longer leads and ends", Fair, func() { w.end(w.processes[0]) }}}
	}
	return w.user()
}

// patience is shorter where something is refused for good: the operator asks
// again and again.
func (w *World) patience() time.Duration {
	if w.server.lifted() {
		return quietTime
	}
	return standingTime
}

func (w *World) nextTimer() time.Time {
	next := earlier(w.machines.next(), w.nextEviction())
	for _, p := range w.processes {
		next = earlier(next, p.queue.nextTimer())
	}
	return next
}

// earlier is the first of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// isDue: the next step waits for no rest, and its moment has come.
func (w *World) isDue() bool {
	if len(w.steps) == 0 || w.calm {
		return false
	}
	step := &w.steps[0]
	return step.After > 0 && len(w.trace) >= w.takenAt+step.After ||
		step.Wait > 0 && !w.clock.Now().Before(w.taken.Add(step.Wait))
}

// nextStep is when the next step is due by the clock, or zero.
func (w *World) nextStep() time.Time {
	if len(w.steps) == 0 || w.calm || w.steps[0].Wait == 0 {
		return time.Time{}
	}
	return w.taken.Add(w.steps[0].Wait)
}

func (w *World) passTime(text string, d time.Duration) Option {
	return Option{text, Time, func() { w.clock.SetTime(w.clock.Now().Add(d)) }}
}

// jump sets the clock. Timers run on a clock that is never set, and keep their
// distance.
func (w *World) jump(by time.Duration) {
	w.trace = append(w.trace, fmt.Sprintf("the clock jumps by %s", by))
	w.clock.SetTime(w.clock.Now().Add(by))
	w.server.jumped += by
	w.lastWrite, w.lastFault = w.lastWrite.Add(by), w.lastFault.Add(by)
	for _, p := range w.processes {
		for request, at := range p.queue.timers {
			p.queue.timers[request] = at.Add(by)
		}
	}
}

func must(err error) {
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		panic(err)
	}
}

func (w *World) end(p *process) {
	p.kill()
	w.processes = slices.DeleteFunc(w.processes, func(other *process) bool { return other == p })
}

// Errors that faults answer with.
var (
	errLost = errors.New("read tcp: connection reset by peer")
)
