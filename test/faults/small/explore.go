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

// link is how a state was found, and what becomes of it when nothing more goes
// wrong.
type link struct {
	parent key
	text   string
	// fair is the next state then, and wrote whether the operator writes on the
	// way there.
	fair  key
	wrote bool
	// rest is the rule that is broken should the world stay as it is.
	rest string
}

// explorer explores a world breadth first.
type explorer struct {
	*world
	seen  map[key]*link
	order []key
	most  int
}

// explore explores everything that can happen from a state on, and tells the
// shortest schedule that breaks a rule, if one does.
func (w *world) explore(start *state, most int) (states int, schedule string) {
	e := &explorer{world: w, seen: map[key]*link{}, most: most}
	queue := []*state{start}
	e.seen[start.key()] = &link{text: "start"}
	e.order = append(e.order, start.key())
	for at := 0; len(queue) > 0; at++ {
		s := queue[0]
		queue[0], queue = nil, queue[1:]
		found, broken := e.expand(s, e.order[at])
		if broken != "" {
			return len(e.seen), broken
		}
		if queue = append(queue, found...); len(e.seen) > most {
			return len(e.seen), fmt.Sprintf("more than %d states: the world is not small", most)
		}
	}
	return len(e.seen), e.judgeEnds()
}

// expand takes every step from a state.
func (e *explorer) expand(s *state, k key) (found []*state, broken string) {
	here := e.seen[k]
	here.fair, here.rest = k, e.judgeRest(s)
	for i, step := range e.steps(s) {
		to := step.next.key()
		if len(step.broken) > 0 {
			return nil, e.schedule(k, step.text) + strings.Join(step.broken, "\n") + step.next.table()
		}
		if i == 0 && step.next.Left == s.Left {
			here.fair, here.wrote = to, step.wrote
		}
		if e.seen[to] != nil {
			continue
		}
		e.seen[to] = &link{parent: k, text: step.text}
		e.order = append(e.order, to)
		found = append(found, step.next)
	}
	return found, ""
}

// judgeEnds follows every state to where it ends when nothing more goes wrong: in
// a round of states. If the operator writes in that round, it writes for ever;
// otherwise the world stays as it is.
func (e *explorer) judgeEnds() string {
	const unknown, onTheWay, known = 0, 1, 2
	marks := make(map[key]int8, len(e.seen))
	for _, k := range e.order {
		var way []key
		at := k
		for ; marks[at] == unknown; at = e.seen[at].fair {
			marks[at] = onTheWay
			way = append(way, at)
		}
		if marks[at] == onTheWay {
			round := way[slices.Index(way, at):]
			if broken := e.judgeRound(round); broken != "" {
				return e.schedule(k, "") + e.then(way) + broken
			}
		}
		for _, k := range way {
			marks[k] = known
		}
	}
	return ""
}

func (e *explorer) judgeRound(round []key) string {
	for _, k := range round {
		switch link := e.seen[k]; {
		case link.wrote:
			return fmt.Sprintf("H: the last %d steps come again for ever, with writes", len(round))
		case link.rest != "":
			return link.rest
		}
	}
	return ""
}

// schedule is the way to a state, in a line for each step.
func (e *explorer) schedule(k key, last string) string {
	var lines []string
	for k != e.order[0] {
		lines = append(lines, e.seen[k].text)
		k = e.seen[k].parent
	}
	slices.Reverse(lines)
	return "\n" + strings.Join(append(lines, last), "\n") + "\n"
}

// then is what follows when nothing more goes wrong.
func (e *explorer) then(way []key) string {
	var b strings.Builder
	for _, k := range way[:min(len(way), 40)] {
		if next := e.seen[k].fair; next != k {
			b.WriteString("  then " + e.seen[next].text + "\n")
		}
	}
	return b.String()
}
