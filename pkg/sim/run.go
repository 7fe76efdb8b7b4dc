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
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// run is one run of a world.
type run struct {
	world     *World
	kinds     *kinds
	server    *server
	clock     *runClock
	processes []*process
	// born counts the processes, acted the user's actions, faults those that may still
	// happen.
	born, acted, faults int
	steps               []Step
	labels              []string
	failing             map[string]error
	recorded            []Recorded
	// written is whether the last step wrote for the operator, and brief leaves out what
	// is only for readers.
	written, brief bool
	// known is what was found out about the state since the last step.
	known known
}

type known struct {
	sums           *sums
	asked, resting bool
	polling        time.Duration
}

// runClock is the clock of a run.
type runClock struct{ now time.Time }

// Now implements clock.PassiveClock.
func (c *runClock) Now() time.Time { return c.now }

// Since implements clock.PassiveClock.
func (c *runClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

func began() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// move is something that can happen next. Its label is unique among the moves of a
// state.
type move struct {
	label string
	fault Fault
	do    func() (Step, error)
}

func newRun(w *World, k *kinds, brief bool) (*run, error) {
	r := &run{world: w, kinds: k, clock: &runClock{began()}, failing: map[string]error{}, brief: brief}
	r.server = newServer(w, k, r.clock.Now)
	r.server.serving = func() bool {
		for _, p := range r.processes {
			if p.serving {
				return true
			}
		}
		return false
	}
	if len(w.Faults) > 0 {
		r.faults = max(w.MaxFaults, 1)
	}
	for _, obj := range w.Objects {
		if err := r.place(obj); err != nil {
			return nil, fmt.Errorf("create %s of the world: %w", obj.GetName(), err)
		}
	}
	r.server.writes = nil
	r.start()
	return r, nil
}

// place stores an object of the world, with its status. The webhooks do not judge what
// was there before them.
func (r *run) place(obj client.Object) error {
	admit := r.world.Admit
	r.world.Admit = nil
	defer func() { r.world.Admit = admit }()
	stored, err := r.server.create(author{}, obj)
	if err != nil || !part(obj, "Status").IsValid() || part(obj, "Status").IsZero() {
		return err
	}
	next := copyOf(stored.obj)
	part(next, "Status").Set(part(copyOf(obj), "Status"))
	_, err = r.server.store(author{}, "update status", "status", stored, next)
	return err
}

// end ends the goroutines of a run.
func (r *run) end() {
	for len(r.processes) > 0 {
		if r.processes[0].kill() != nil {
			return
		}
	}
}

// moves lists what can happen next, the fair choice first.
func (r *run) moves() []move {
	var list []move
	for _, p := range r.processes {
		if !p.deposed {
			list = append(list, r.calls(p)...)
		}
	}
	for _, p := range r.processes {
		if !p.deposed {
			list = append(list, r.deliveries(p)...)
		}
	}
	for _, p := range r.processes {
		if p.current == nil && len(p.queue.ready) > 0 {
			list = append(list, move{label: p.name + " reconcile", do: p.work})
		}
	}
	list = append(list, r.others()...)
	if r.acted < len(r.world.Actions) {
		list = append(list, r.action())
	}
	list = append(list, r.relists()...)
	for _, p := range r.processes {
		if p.deposed {
			list = append(list, r.calls(p)...)
		}
	}
	list = append(list, r.time(len(list) > 0)...)
	if r.faults > 0 {
		list = append(list, r.mischief()...)
	}
	return list
}

// calls is the call that a process waits for.
func (r *run) calls(p *process) []move {
	if p.pending == nil {
		return nil
	}
	c := p.pending
	return []move{{label: p.name + " " + c.verb + " " + c.key.String(), do: func() (Step, error) {
		step := Step{Kind: StepCall, Verb: c.verb, Object: c.key.String()}
		a := p.carry()
		if a.record != nil {
			step.Object = a.record.key.String()
		}
		return step, p.answer(&step, a)
	}}}
}

func (r *run) deliveries(p *process) []move {
	var list []move
	for _, kind := range p.cacheKinds() {
		if c := p.caches[kind]; !c.cut && c.at < len(r.server.log[kind]) {
			list = append(list, move{label: p.name + " deliver " + kind.String(), do: func() (Step, error) { return p.deliver(kind), nil }})
		}
	}
	return list
}

func (r *run) relists() []move {
	var list []move
	for _, p := range r.processes {
		for _, kind := range p.cacheKinds() {
			if p.caches[kind].cut {
				list = append(list, move{label: p.name + " relist " + kind.String(), do: func() (Step, error) { return p.relist(kind), nil }})
			}
		}
	}
	return list
}

// user is the client of users and other controllers.
func (r *run) user() client.Client {
	all := source{
		objects: func(_ groupKind) map[objectKey]*record { return r.server.objects },
		seen:    func(objectKey, *record) {},
	}
	return &api{source: all, server: r.server, via: direct{}}
}

func (r *run) action() move {
	a := r.world.Actions[r.acted]
	return move{label: "user " + a.Name, do: func() (Step, error) {
		r.acted++
		step := Step{Kind: StepAction, Verb: a.Name}
		if err := a.Do(context.Background(), r.user()); err != nil {
			step.Error = err.Error()
		}
		return step, nil
	}}
}

// others are the garbage collector, the kubelet and the world's own controllers.
func (r *run) others() []move {
	var list []move
	for _, rec := range r.server.garbage() {
		list = append(list, move{label: "collect " + rec.key.String(), do: func() (Step, error) {
			step := Step{Kind: StepOther, Verb: "garbage collector deletes", Object: rec.key.String()}
			return step, r.server.remove(author{}, rec.key, &client.DeleteOptions{})
		}})
	}
	if r.world.Kubelet {
		list = append(list, r.kubelet()...)
	}
	for _, o := range r.world.Others {
		if a := o.Next(r.state()); a != nil {
			list = append(list, move{label: o.Name + " " + a.Name, do: func() (Step, error) {
				step := Step{Kind: StepOther, Verb: o.Name, Object: a.Name}
				if err := a.Do(context.Background(), r.user()); err != nil {
					step.Error = err.Error()
				}
				return step, nil
			}})
		}
	}
	return list
}

func (r *run) kubelet() []move {
	var list []move
	for _, rec := range sorted(r.server.objects) {
		pod, ok := rec.obj.(*corev1.Pod)
		if !ok {
			continue
		}
		switch {
		case pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > 0:
			list = append(list, move{label: "end " + rec.key.String(), do: func() (Step, error) {
				next := copyOf(pod)
				next.SetDeletionGracePeriodSeconds(new(int64))
				r.server.write(author{}, "delete", rec, next, len(next.GetFinalizers()) == 0)
				return Step{Kind: StepOther, Verb: "kubelet ends", Object: rec.key.String()}, nil
			}})
		case pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending:
			list = append(list, move{label: "run " + rec.key.String(), do: func() (Step, error) {
				next := pod.DeepCopy()
				next.Status.Phase = corev1.PodRunning
				next.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				r.server.write(author{}, "update status", rec, next, false)
				return Step{Kind: StepOther, Verb: "kubelet runs", Object: rec.key.String()}, nil
			}})
		}
	}
	return list
}

// time lets time pass until the next timer is due. While something else can happen, a
// timer that has fired twice without effect waits: a third time would show nothing new.
func (r *run) time(busy bool) []move {
	var first *process
	var at time.Time
	for _, p := range r.processes {
		if _, t, ok := p.queue.nextTimer(); ok && !p.deposed && (first == nil || t.at.Before(at)) {
			first, at = p, t.at
		}
	}
	if first == nil {
		return nil
	}
	req, _, _ := first.queue.nextTimer()
	if busy && first.queue.fired[req] >= 2 {
		return nil
	}
	return []move{{label: "time", do: func() (Step, error) {
		if at.After(r.clock.now) {
			r.clock.now = at
		}
		delete(first.queue.timers, req)
		first.queue.fired[req]++
		first.queue.Add(req)
		return Step{Kind: StepTime, Process: first.name, Object: req.String()}, nil
	}}}
}

// take makes a move, and completes the step for readers.
func (r *run) take(m *move) (*State, error) {
	r.server.writes, r.recorded, r.written, r.known = nil, nil, false, known{}
	before := r.server.version
	if m.fault != "" {
		r.faults--
	}
	step, err := m.do()
	if step.Process == "" && step.Kind != StepAction && step.Kind != StepOther {
		step.Process, _, _ = cutLabel(m.label)
	}
	if r.server.version != before || step.Kind != StepTime && step.Kind != StepReconcile && step.Kind != StepCall {
		// What a timer starts may have an effect now.
		for _, p := range r.processes {
			clear(p.queue.fired)
		}
	}
	for _, w := range r.server.writes {
		r.written = r.written || w.By != ""
	}
	step.At = r.clock.now.Sub(began())
	step.Recorded = r.recorded
	if !r.brief {
		r.describe(&step)
	}
	r.steps = append(r.steps, step)
	r.labels = append(r.labels, m.label)
	s := r.state()
	s.Writes, s.Recorded = r.server.writes, r.recorded
	return s, err
}

// describe adds what is in the queue, the store and the cache.
func (r *run) describe(step *Step) {
	for _, rec := range sorted(r.server.objects) {
		step.Stored = append(step.Stored, rec.key.String())
	}
	p := r.process(step.Process)
	if p == nil {
		return
	}
	step.Queue = p.queue.snapshot()
	for _, kind := range p.cacheKinds() {
		for _, rec := range sorted(p.caches[kind].objects) {
			step.Cached = append(step.Cached, rec.key.String())
		}
	}
}

// process is the one with a name; the newest one where the name is empty or gone.
func (r *run) process(name string) *process {
	var last *process
	for _, p := range r.processes {
		if last = p; p.name == name {
			return p
		}
	}
	return last
}

func (r *run) state() *State {
	return &State{stored: r.server.objects, kinds: r.kinds, Now: r.clock.now, Failing: r.failing}
}

// rests says whether nothing is left to do, and the shortest interval of what polls.
func (r *run) rests() (polling time.Duration, ok bool) {
	if !r.known.asked {
		r.known.asked = true
		r.known.polling, r.known.resting = r.findRest()
	}
	return r.known.polling, r.known.resting
}

func (r *run) findRest() (polling time.Duration, ok bool) {
	if r.acted < len(r.world.Actions) {
		return 0, false
	}
	for _, p := range r.processes {
		if !p.queue.idle() || p.deposed {
			return 0, false
		}
		for req, t := range p.queue.timers {
			if r.failing[req.String()] == nil && (polling == 0 || t.wait < polling) {
				polling = t.wait
			}
		}
		if len(r.deliveries(p)) > 0 {
			return 0, false
		}
	}
	return polling, len(r.relists()) == 0 && len(r.others()) == 0
}

func tooMany() error {
	return apierrors.NewTooManyRequests("the server has received too many requests", 1)
}
