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

package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Options bound an exploration.
type Options struct {
	// Schedules is how many runs are made at most, those that shrink a failure not
	// counted; 0 means 3000. Two thirds of them are systematic and the rest random, unless
	// the systematic search is complete earlier.
	Schedules int
	// Steps is how many fair steps a world may take to come to rest; 0 means 120.
	Steps int
	// Seed chooses the random schedules.
	Seed uint64
}

// Result is what an exploration found.
type Result struct {
	// Schedules is how many runs were made and Steps how many steps in them. States is
	// how many different states they reached.
	Schedules, Steps, States int
	// Complete: every state that the world can reach was reached.
	Complete bool
	// Failure is nil if every promise held.
	Failure *Failure
}

// Failure is a schedule that breaks a promise.
type Failure struct {
	// Promise is the name of the promise, and Message how it is broken.
	Promise, Message string
	// Steps is the schedule.
	Steps []Step
	// Shortest: no shorter schedule breaks the promise.
	Shortest bool
	// Schedule can be given to Replay.
	Schedule []string
}

// String is the failure for a reader.
func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", f.Promise, f.Message)
	for i, step := range f.Steps {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, step)
	}
	return b.String()
}

// Check fails a test if a promise can be broken, and shows how.
func Check(t testing.TB, w World, options Options) {
	t.Helper()
	result, err := Explore(w, options)
	if err != nil {
		t.Fatal(err)
	}
	if result.Failure != nil {
		t.Fatalf("after %d schedules: %s", result.Schedules, result.Failure)
	}
}

// Explore looks for a schedule that breaks a promise of the world.
func Explore(w World, options Options) (*Result, error) {
	if options.Schedules == 0 {
		options.Schedules = 3000
	}
	if options.Steps == 0 {
		options.Steps = 120
	}
	e := &explorer{world: &w, kinds: newKinds(w.Scheme, w.ClusterScoped), options: options, seen: map[uint64]bool{}, result: &Result{}}
	failure, err := e.systematic()
	if err == nil && failure == nil && !e.result.Complete {
		failure, err = e.random()
	}
	e.result.States = len(e.seen)
	if err != nil || failure == nil {
		return e.result, err
	}
	e.result.Failure, err = e.shrink(failure)
	return e.result, err
}

// Replay runs a schedule again; steps that are not possible are left out, and fair ones
// follow. It returns nil if no promise is broken.
func Replay(w World, schedule []string) (*Failure, error) {
	e := &explorer{world: &w, kinds: newKinds(w.Scheme, w.ClusterScoped), options: Options{Steps: 120}, result: &Result{}}
	return e.play(&follow{schedule}, false)
}

type explorer struct {
	world   *World
	kinds   *kinds
	options Options
	seen    map[uint64]bool
	result  *Result
}

// chooser picks moves. at is the number of steps so far.
type chooser interface {
	// choose returns the index of a move, and whether the choice was given rather than
	// fair. Below zero ends the run.
	choose(at int, r *run, moves []move) (pick int, given bool)
}

// play makes one run and returns the promise that it breaks, if it does.
func (e *explorer) play(c chooser, brief bool) (*Failure, error) {
	r, err := newRun(e.world, e.kinds, brief)
	if err != nil {
		return nil, err
	}
	defer r.end()
	defer func() { e.result.Steps += len(r.steps) }()
	var loop loop
	for at := 0; ; at++ {
		polling, rests := r.rests()
		if rests {
			if f := e.judge(r, e.world.Goals, polling); f != nil {
				return f, nil
			}
		}
		moves := r.moves()
		pick, given := c.choose(at, r, moves)
		switch {
		case pick < 0, !given && (rests || len(moves) == 0):
			return nil, nil
		case given:
			loop = nil
		default:
			if f := e.watchdog(&loop, r); f != nil {
				return f, nil
			} else if len(loop) > e.options.Steps {
				return nil, nil
			}
		}
		s, err := r.take(&moves[pick])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", moves[pick].label, err)
		}
		for _, promise := range e.world.Invariants {
			if err := promise.Check(s); err != nil {
				return r.failure(promise.Name, err.Error()), nil
			}
		}
	}
}

// judge checks the goals at rest.
func (e *explorer) judge(r *run, goals []Promise, polling time.Duration) *Failure {
	s := r.state()
	s.Polling = polling
	for _, goal := range goals {
		if err := goal.Check(s); err != nil {
			return r.failure(goal.Name, err.Error())
		}
	}
	return nil
}

func (r *run) failure(promise, message string) *Failure {
	return &Failure{Promise: promise, Message: message, Steps: r.steps, Schedule: r.labels}
}

// loop has the calm states of a fair run, each with how often the operator had written.
type loop []struct {
	calm   uint64
	writes int
}

// watchdog notices a world that does not come to rest.
func (e *explorer) watchdog(l *loop, r *run) *Failure {
	if e.world.MayRunForever {
		*l = append(*l, struct {
			calm   uint64
			writes int
		}{})
		return nil
	}
	writes := 0
	if n := len(*l); n > 0 {
		writes = (*l)[n-1].writes
	}
	if r.written {
		writes++
	}
	calm := r.sums().calm
	idle := !slices.ContainsFunc(r.processes, func(p *process) bool { return p.current != nil })
	if idle {
		for i, old := range *l {
			if old.calm == calm && old.writes < writes {
				return r.failure(RestPromise, fmt.Sprintf("the last %d steps repeat for ever, with %d writes in each round", len(*l)-i, writes-old.writes))
			}
		}
	} else {
		calm = 0
	}
	*l = append(*l, struct {
		calm   uint64
		writes int
	}{calm, writes})
	if len(*l) > e.options.Steps {
		return r.failure(RestPromise, fmt.Sprintf("no rest after %d steps in which nothing goes wrong, with %d writes", len(*l), writes))
	}
	return nil
}

// systematic tries the fair schedule, then all with one deviation from it, and so on.
func (e *explorer) systematic() (*Failure, error) {
	queue := [][]uint8{nil}
	for len(queue) > 0 {
		if e.result.Schedules >= e.options.Schedules*2/3 {
			return nil, nil
		}
		d := &deviate{explorer: e, prefix: queue[0]}
		queue[0], queue = nil, queue[1:]
		e.result.Schedules++
		failure, err := e.play(d, true)
		if failure != nil || err != nil {
			return failure, err
		}
		queue = append(queue, d.found...)
	}
	e.result.Complete = true
	return nil, nil
}

// deviate follows a list of choices and is fair after that, up to a state that is known.
type deviate struct {
	*explorer
	prefix []uint8
	found  [][]uint8
}

func (d *deviate) choose(at int, r *run, moves []move) (int, bool) {
	if at < len(d.prefix) {
		return int(d.prefix[at]), true
	}
	full := r.sums().full
	if d.seen[full] {
		return -1, false
	}
	d.seen[full] = true
	_, rests := r.rests()
	path := slices.Concat(d.prefix, make([]uint8, at-len(d.prefix)))
	for i := range moves {
		// At rest, the fair choice is to stop; what only time does is known by then.
		if i > 0 && (!rests || moves[i].fault != "") || i == 0 && rests && moves[i].fault != "" {
			d.found = append(d.found, append(slices.Clone(path), uint8(i)))
		}
	}
	return 0, false
}

// random tries random schedules.
func (e *explorer) random() (*Failure, error) {
	rng := rand.New(rand.NewPCG(e.options.Seed, 1)) //nolint:gosec // schedules, not secrets
	for e.result.Schedules < e.options.Schedules {
		e.result.Schedules++
		often := []float64{0.1, 0.3, 0.6}[rng.IntN(3)]
		failure, err := e.play(&gamble{rng, often}, true)
		if failure != nil || err != nil {
			return failure, err
		}
	}
	return nil, nil
}

type gamble struct {
	rng   *rand.Rand
	often float64
}

func (g *gamble) choose(at int, _ *run, moves []move) (int, bool) {
	if at > 100 || len(moves) < 2 || g.rng.Float64() > g.often {
		return 0, false
	}
	return g.rng.IntN(len(moves)), true
}
