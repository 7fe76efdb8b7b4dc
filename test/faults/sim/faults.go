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
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// lags are how many versions an API server may be behind.
var lags = []int{1, 2, 3, 4, 6, 8, 12, 16}

// maxProcesses is how many operators may believe that they lead.
const maxProcesses = 2

// mischief lists the faults that could happen next.
func (w *World) mischief() []Option {
	var options []Option
	for _, p := range w.processes {
		options = append(options, w.badAnswers(p)...)
		options = append(options, w.crashes(p)...)
		options = append(options, w.badWatches(p)...)
	}
	if len(w.floating) > 0 {
		options = append(options, w.network()...)
	}
	if len(w.processes) < maxProcesses {
		options = append(options, w.starts()...)
	}
	if len(w.processes) > 0 {
		options = append(options, Option{"the operators are away for hours", Fault, w.leave})
	}
	return append(options, w.hardships()...)
}

// absence is for how long an operator is away at a time, and slowness how long
// everything takes once.
const (
	absence  = 3 * time.Hour
	slowness = 30 * time.Minute
)

// hardships are what takes long without being the revision's fault: no operator
// runs for hours, also in the middle of a rollout, or everything is slow.
func (w *World) hardships() []Option {
	options := []Option{{"everything takes half an hour", Fault, func() { w.loseTime(slowness) }}}
	for _, p := range w.processes {
		options = append(options, Option{p.name + ": crashes, and no other starts for hours", Fault, func() {
			w.end(p)
			w.loseTimeAway()
		}})
	}
	return options
}

// loseTime lets time pass in which nothing happens. It is no rest.
func (w *World) loseTime(d time.Duration) {
	w.clock.SetTime(w.clock.Now().Add(d))
	w.lastWrite, w.lastFault = w.clock.Now(), w.clock.Now()
}

// loseTimeAway lets hours pass in which no operator works.
func (w *World) loseTimeAway() {
	from := w.server.elapsed()
	w.loseTime(absence)
	w.away = append(w.away, oracle.Span{From: from, To: w.server.elapsed()})
}

// badAnswers are answers that are not true, or true answers that get lost.
func (w *World) badAnswers(p *process) []Option {
	var options []Option
	add := func(c *pendingCall, text string, do func()) {
		options = append(options, Option{fmt.Sprintf("%s: %s: %s", p.name, c.text, text), Fault, do})
	}
	for _, c := range p.waiting() {
		key := objectKey{kind: "object", name: c.text}
		add(c, "the request is lost", func() { p.answer(c, answer{err: errLost}) })
		if !c.write {
			continue
		}
		add(c, "the answer is lost", func() {
			w.count(c)
			_, _ = c.run()
			p.answer(c, answer{err: errLost})
		})
		add(c, "409", func() { p.answer(c, answer{err: conflict(key, "a fault")}) })
		add(c, "429", func() { p.answer(c, answer{err: apierrors.NewTooManyRequests("a fault", 1)}) })
	}
	return options
}

// crashes end a process. What it had sent is lost, done, or still on its way.
func (w *World) crashes(p *process) []Option {
	options := []Option{{p.name + ": crashes", Fault, func() { w.end(p) }}}
	var writes []*pendingCall
	for _, c := range p.waiting() {
		if c.write {
			writes = append(writes, c)
		}
	}
	if len(writes) == 0 {
		return options
	}
	return append(options,
		Option{p.name + ": crashes, its last writes are done", Fault, func() {
			for _, c := range writes {
				w.count(c)
				_, _ = c.run()
			}
			w.end(p)
		}},
		Option{p.name + ": crashes, its last writes are on their way", Fault, func() {
			for _, c := range writes {
				w.floating = append(w.floating, c.call)
			}
			w.end(p)
		}})
}

// badWatches: a watch gets stuck, or was cut for so long that it begins anew.
func (w *World) badWatches(p *process) []Option {
	var options []Option
	watched := []string{"Pod", "PodManager", "ControllerRevision"}
	if len(w.server.objectsOf("PersistentVolumeClaim")) > 0 {
		watched = append(watched, "PersistentVolumeClaim")
	}
	for _, kind := range watched {
		if !p.frozen[kind] {
			options = append(options, Option{p.name + ": its watch of " + kind + " is stuck", Fault, func() { p.frozen[kind] = true }})
		}
		if p.cache.cursors[kind].next(w.server) != nil {
			options = append(options, Option{p.name + ": lists " + kind + " again", Fault, func() { p.relist(kind) }})
		}
	}
	return options
}

// leave ends all operators, and time passes before the next one starts.
func (w *World) leave() {
	for _, p := range slices.Clone(w.processes) {
		w.end(p)
	}
	w.loseTimeAway()
}

// starts begin an operator: a second one beside the first, or a new one that
// an API server tells an old state first.
func (w *World) starts() []Option {
	var options []Option
	head := len(w.server.log)
	if len(w.processes) > 0 {
		options = append(options, Option{"a second operator takes the lead", Fault, func() { w.launch(head) }})
	}
	for _, lag := range lags {
		if lag < head {
			options = append(options, Option{
				fmt.Sprintf("an operator starts %d versions behind", lag), Fault, func() { w.launch(head - lag) },
			})
		}
	}
	return options
}
