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

// Package grade runs the exercises of the lab: a world of pkg/sim for each, with
// sentences in two languages, and a goal on a real API server. What breaks a reconciler
// comes back as a walk that the page of the lab draws.
package grade

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise is how one exercise is graded.
type Exercise struct {
	// Number is that of the index.
	Number string
	// World is the world in which the reconciler is explored.
	World   sim.World
	Options sim.Options
	// Simulate replaces the exploration, where there are no interleavings.
	Simulate func() (*Verdict, error)
	// Says has a sentence for each promise, and for each action of the world.
	Says map[string]trace.Text
	// Real runs on a real API server, in a namespace of its own, while the reconciler
	// runs as well: it creates objects and waits for the goal. It is nil where a real
	// server adds nothing.
	Real func(ctx context.Context, c client.Client, namespace string) error

	// Breaks is the promise that the file to edit breaks before it is edited, with a
	// schedule of at most Within steps.
	Breaks string
	Within int
}

// New makes the reconciler, for the world and for the real API server.
type New = func(sim.Process) reconcile.Reconciler

// Verdict is the result of a simulation.
type Verdict struct {
	// Schedules, Steps and States say what was tried. Complete: nothing else can happen.
	Schedules, Steps, States int
	Complete                 bool
	// Broken is the name of the promise that was broken, empty if all held. Message says
	// how, and Walk shows the shortest schedule that breaks it.
	Broken, Message string
	Shortest        bool
	Walk            *trace.Walk
}

// Run explores the world of an exercise.
func (e *Exercise) Run() (*Verdict, error) {
	if e.Simulate != nil {
		return e.Simulate()
	}
	options := e.Options
	if options.Schedules == 0 {
		options.Schedules = 1200
	}
	result, err := sim.Explore(e.World, options)
	if err != nil {
		return nil, fmt.Errorf("explore exercise %s: %w", e.Number, err)
	}
	v := &Verdict{Schedules: result.Schedules, Steps: result.Steps, States: result.States, Complete: result.Complete}
	if f := result.Failure; f != nil {
		v.Broken, v.Message, v.Shortest = f.Promise, f.Message, f.Shortest
		v.Walk = e.walk(f)
	}
	return v, nil
}

// Say is the sentence for a promise or an action.
func (e *Exercise) Say(name string) trace.Text {
	if text, ok := e.Says[name]; ok {
		return text
	}
	if name == sim.RestPromise {
		return trace.Text{
			EN: "When nothing changes any more, the operator stops writing.",
			ZH: "外部不再有变化时，operator 不再写入。",
		}
	}
	return trace.Text{EN: name, ZH: name}
}
