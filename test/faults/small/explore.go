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

package small

import (
	"fmt"
	"slices"
	"strings"
)

// place is a state that was found: how, and what follows when nothing more goes
// wrong.
type place struct {
	parent int32
	text   string
	// fair are the next states then: every step that is sure to be taken some day
	// unless another one makes it needless. wrote: the operator writes on the way to
	// one of them.
	fair  []int32
	wrote bool
	// calm is the state where nothing but time moves it: should the world stay there,
	// it is judged. rest is the rule that is broken then.
	calm *state
	rest string
}

// explorer explores a world breadth first.
type explorer struct {
	*world
	*hasher
	at     map[key]int32
	places []place
	// calm counts the states that are kept to be judged later. Few of them are ends,
	// but in a large world they need too much room.
	calm int
}

const mostCalm = 50_000

// explore explores everything that can happen from a state on, and returns the
// shortest schedule that breaks a rule, if one does.
func (w *world) explore(start *state, most int) (states int, schedule string) {
	e := &explorer{world: w, hasher: newHasher(), at: map[key]int32{}}
	e.find(start, 0, "start")
	queue := []*state{start}
	for here := int32(0); len(queue) > 0; here++ {
		s := queue[0]
		queue[0], queue = nil, queue[1:]
		found, broken := e.expand(s, here)
		if broken != "" {
			return len(e.places), broken
		}
		if queue = append(queue, found...); len(e.places) > most {
			return len(e.places), fmt.Sprintf("more than %d states: the world is not small", most)
		}
	}
	return len(e.places), e.judgeEnds()
}

// find is the number of a state, and whether it is new.
func (e *explorer) find(s *state, parent int32, text string) (at int32, isNew bool) {
	k := e.key(s)
	if at, known := e.at[k]; known {
		return at, false
	}
	at = int32(len(e.places))
	e.at[k] = at
	e.places = append(e.places, place{parent: parent, text: text})
	return at, true
}

// expand takes every step from a state.
func (e *explorer) expand(s *state, here int32) (found []*state, broken string) {
	moves := false
	for _, step := range e.steps(s) {
		if len(step.broken) > 0 {
			return nil, e.schedule(here, step.text) + strings.Join(step.broken, "\n") + step.next.table()
		}
		to, isNew := e.find(step.next, here, step.text)
		if isNew {
			found = append(found, step.next)
		}
		if step.fair {
			e.places[here].wrote = e.places[here].wrote || step.wrote
			moves = moves || step.wrote || step.acts
		}
		if step.fair && to != here {
			e.places[here].fair = append(e.places[here].fair, to)
		}
	}
	if moves { // no world rests where a kubelet or the operator has something to do
		return found, ""
	}
	if e.calm++; e.calm <= mostCalm {
		e.places[here].calm = s
		return found, ""
	}
	e.places[here].rest = e.restText(s)
	return found, ""
}

// restText is what is wrong with a state that stays as it is.
func (e *explorer) restText(s *state) string {
	if broken := e.judgeRest(s); len(broken) > 0 {
		return strings.Join(broken, "\n") + s.table()
	}
	return ""
}

// schedule is the way to a state, in a line for each step.
func (e *explorer) schedule(at int32, last string) string {
	var lines []string
	for ; at != 0; at = e.places[at].parent {
		lines = append(lines, e.places[at].text)
	}
	slices.Reverse(lines)
	return "\n" + strings.Join(append(lines, last), "\n") + "\n"
}
