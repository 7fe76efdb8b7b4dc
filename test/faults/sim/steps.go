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
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mycompany/pod-operator/test/faults/scenario"
)

func (w *World) user() []Option {
	if len(w.steps) == 0 {
		return nil
	}
	step := w.steps[0]
	return []Option{{"the user: " + step.Name, User, func() {
		err := step.Do(context.Background(), scenario.World{
			Client: w.server.Client("user"), Namespace: namespace, Now: w.clock.Now().Add(w.run.Ahead), Cluster: w,
		})
		w.taken, w.takenAt = w.clock.Now(), len(w.trace)
		waits := apierrors.IsAlreadyExists(err) || errors.Is(err, scenario.ErrNotYet)
		switch {
		case err == nil:
			for _, name := range step.Counts {
				w.done[name]++
			}
		case w.run.Scenario.Drawn:
			w.trace = append(w.trace, "the user: "+err.Error())
		case waits && (!w.server.lifted() || w.gaveUp):
			w.gaveUp = true
			w.trace = append(w.trace, "the user: gives up: "+err.Error())
		case w.run.Hasty && waits:
			w.trace = append(w.trace, "the user: waits: "+err.Error())
			return
		case !w.run.Hasty && w.server.lifted() || !apierrors.IsNotFound(err):
			w.stuck = fmt.Errorf("at rest, and yet the user cannot %s: %w", step.Name, err)
			return
		}
		w.steps = w.steps[1:]
		w.lastWrite, w.lastFault, w.changed = w.clock.Now(), w.clock.Now(), len(w.trace)
	}}}
}

// answers are the calls that wait, answered truly.
func (w *World) answers() []Option {
	var options []Option
	for _, p := range w.processes {
		for _, c := range p.waiting() {
			options = append(options, Option{p.name + ": " + c.text, Fair, func() { w.carryOut(p, c) }})
		}
	}
	return options
}

func (w *World) carryOut(p *process, c *pendingCall) {
	w.count(c)
	obj, err := c.run()
	if c.live && p.task != nil && !p.trusts {
		p.trusts, p.task.floor = true, max(p.task.floor, w.server.version)
		if !p.wrote {
			p.task.cached = max(p.task.cached, w.server.version)
		}
	}
	p.wrote = p.wrote || c.write
	p.answer(c, answer{obj, err})
}

func (w *World) count(c *pendingCall) {
	if pod, ok := c.into.(*corev1.Pod); ok && c.write && pod.UID == "" {
		w.creates++
	}
}

func (w *World) events() []Option {
	var options []Option
	for _, p := range w.processes {
		for _, kind := range kinds {
			if e := p.cache.cursors[kind].next(w.server); e != nil && !p.frozen[kind] {
				options = append(options, Option{
					fmt.Sprintf("%s: sees %s %s at version %d", p.name, kind, e.Object.GetName(), e.Version),
					Fair, func() { p.deliver(kind) },
				})
			}
		}
	}
	return options
}

func (w *World) work() []Option {
	var options []Option
	for _, p := range w.processes {
		if p.task == nil && len(p.queue.ready) > 0 && (!p.deposed || p.credit > 0) {
			options = append(options, Option{p.name + ": reconciles", Fair, p.work})
		}
	}
	return options
}

func (w *World) nodes() []Option {
	var options []Option
	for _, obj := range w.server.objectsOf("Pod") {
		pod := obj.(*corev1.Pod)
		if what := w.machines.busy(pod); what != "" {
			options = append(options, Option{"the node " + what + " pod " + pod.Name, Fair, func() { must(w.machines.step(pod)) }})
		}
	}
	return options
}

func (w *World) garbage() []Option {
	obj := w.collector.garbage()
	if obj == nil {
		return nil
	}
	return []Option{{"the garbage collector tends to " + obj.GetName(), Fair, func() { must(w.collector.step(obj)) }}}
}

// network are writes of a process that crashed, still on their way.
func (w *World) network() []Option {
	var options []Option
	for i, c := range w.floating {
		options = append(options, Option{"the network delivers: " + c.text, Fair, func() {
			w.floating = slices.Delete(w.floating, i, i+1)
			w.divide()     // a dead leader spoke
			_, _ = c.run() // the answer is not awaited
		}})
	}
	return options
}
