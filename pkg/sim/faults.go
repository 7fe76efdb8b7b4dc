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
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type groupKind = schema.GroupKind

// cutLabel takes the process off a label.
func cutLabel(label string) (process, rest string, ok bool) { return strings.Cut(label, " ") }

// mischief lists the faults that can happen next.
func (r *run) mischief() []move {
	var list []move
	for _, p := range r.processes {
		list = append(list, r.badAnswers(p)...)
		list = append(list, r.crashes(p)...)
		list = append(list, r.cuts(p)...)
		if r.may(SecondLeader) && len(r.processes) == 1 && p.pending != nil && p.pending.write {
			list = append(list, move{label: p.name + " second leader", fault: SecondLeader, do: func() (Step, error) {
				p.deposed = true
				r.start()
				return Step{Kind: StepFault, Fault: SecondLeader}, nil
			}})
		}
	}
	if r.may(ClockJump) {
		list = append(list, move{label: "clock jump", fault: ClockJump, do: func() (Step, error) {
			jump := r.world.Jump
			if jump == 0 {
				jump = time.Hour
			}
			r.clock.now = r.clock.now.Add(jump)
			return Step{Kind: StepFault, Fault: ClockJump, Process: r.process("").name}, nil
		}})
	}
	return list
}

func (r *run) may(f Fault) bool { return slices.Contains(r.world.Faults, f) }

// badAnswers are answers that are not true, or true ones that are lost.
func (r *run) badAnswers(p *process) []move {
	c := p.pending
	if c == nil || !c.write {
		return nil
	}
	var list []move
	add := func(f Fault, reply func() error) {
		if !r.may(f) {
			return
		}
		list = append(list, move{label: fmt.Sprintf("%s %s %s %s", p.name, f, c.verb, c.key), fault: f, do: func() (Step, error) {
			step := Step{Kind: StepFault, Fault: f, Verb: c.verb, Object: c.key.String()}
			return step, p.answer(&step, answer{err: reply()})
		}})
	}
	if c.update {
		add(Conflict, func() error {
			return r.server.conflict(c.key, "the object has been modified; please apply your changes to the latest version and try again")
		})
	}
	add(Throttle, tooMany)
	add(LostAnswer, func() error {
		p.carry()
		return apierrors.NewTimeoutError("the answer was lost", 1)
	})
	return list
}

// crashes end a process; another one starts.
func (r *run) crashes(p *process) []move {
	if !r.may(Crash) || p.deposed {
		return nil
	}
	crash := func(verb, object string, first func()) move {
		return move{label: p.name + " " + verb, fault: Crash, do: func() (Step, error) {
			first()
			step := Step{Kind: StepFault, Fault: Crash, Verb: verb, Object: object, Process: p.name}
			if err := p.kill(); err != nil {
				return step, err
			}
			r.start()
			return step, nil
		}}
	}
	if p.pending == nil {
		return []move{crash("crash", "", func() {})}
	}
	object := p.pending.verb + " " + p.pending.key.String()
	return []move{
		crash("crash before", object, func() {}),
		crash("crash after", object, func() { p.carry() }),
	}
}

// cuts end a watch that has something to tell.
func (r *run) cuts(p *process) []move {
	if !r.may(CutWatch) || p.deposed {
		return nil
	}
	var list []move
	for _, kind := range p.cacheKinds() {
		if c := p.caches[kind]; !c.cut && c.at < len(r.server.log[kind]) {
			list = append(list, move{label: p.name + " cut " + kind.String(), fault: CutWatch, do: func() (Step, error) {
				c.cut = true
				return Step{Kind: StepFault, Fault: CutWatch, Object: kind.Kind}, nil
			}})
		}
	}
	return list
}
