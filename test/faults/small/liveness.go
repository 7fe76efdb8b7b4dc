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

import "fmt"

// Liveness is a rule and not a time-out: from every state, steps that are fair
// lead to rest. The fair steps make a graph; once a run is in a part of it that it
// can go round in but not leave, it stays there for ever, and takes each of its
// steps again and again. So each such part has to be a rest: the operator writes
// nothing in it, and every state of it is what the spec asks for. Every other state
// has a way to one of these parts, and a run that is fair takes it.

// judgeEnds looks at the parts of the graph that cannot be left, the one that was
// found first at first: its schedule is the shortest.
func (e *explorer) judgeEnds() string {
	worst, message := int32(len(e.places)), ""
	for _, part := range e.ends() {
		first := part[0]
		for _, at := range part {
			first = min(first, at)
		}
		if broken := e.judgeEnd(part); broken != "" && first < worst {
			worst, message = first, broken
		}
	}
	if message == "" {
		return ""
	}
	return e.schedule(worst, "") + message
}

func (e *explorer) judgeEnd(part []int32) string {
	for _, at := range part {
		if e.places[at].wrote {
			return fmt.Sprintf("H: %d states come again for ever, with writes: no fair step leads to rest%s", len(part), e.round(part))
		}
	}
	for _, at := range part {
		rest := e.places[at].rest
		if calm := e.places[at].calm; calm != nil {
			rest = e.restText(calm)
		}
		if rest != "" {
			return rest
		}
	}
	return ""
}

// round shows some steps of a part of the graph that is never left.
func (e *explorer) round(part []int32) string {
	const most = 12
	text, at := "", part[0]
	for range min(most, len(part)) {
		if len(e.places[at].fair) == 0 {
			break
		}
		next := e.places[at].fair[0]
		text += "\n  then " + e.places[next].text
		at = next
	}
	return text
}

// ends are the strongly connected components of the fair graph that no edge
// leaves, by Tarjan's algorithm, with a stack of its own: the graph is deep.
func (e *explorer) ends() [][]int32 {
	t := &tarjan{places: e.places, index: make([]int32, len(e.places)), low: make([]int32, len(e.places)), leaves: make([]bool, len(e.places))}
	for at := range e.places {
		if t.index[at] == 0 {
			t.visit(int32(at))
		}
	}
	return t.ends
}

type tarjan struct {
	places []place
	// index is when a state was visited, from 1, and done when its component is
	// known; low is the earliest index that it reaches.
	index, low []int32
	count      int32
	stack      []int32
	// leaves: an edge leads from the state, or from one that is visited through it,
	// to another component.
	leaves []bool
	ends   [][]int32
}

const done = -1

type frame struct{ at, edge int32 }

func (t *tarjan) visit(root int32) {
	frames := []frame{{at: t.enter(root)}}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if int(f.edge) == len(t.places[f.at].fair) {
			frames = frames[:len(frames)-1]
			t.leave(f.at, frames)
			continue
		}
		to := t.places[f.at].fair[f.edge]
		f.edge++
		switch t.index[to] {
		case 0:
			frames = append(frames, frame{at: t.enter(to)})
		case done:
			t.leaves[f.at] = true
		default:
			t.low[f.at] = min(t.low[f.at], t.index[to])
		}
	}
}

func (t *tarjan) enter(at int32) int32 {
	t.count++
	t.index[at], t.low[at] = t.count, t.count
	t.stack = append(t.stack, at)
	return at
}

// leave ends the visit of a state, and its component where it is the first of it.
func (t *tarjan) leave(at int32, frames []frame) {
	if t.low[at] == t.index[at] {
		from := len(t.stack) - 1
		for t.stack[from] != at {
			from--
		}
		component := t.stack[from:]
		ends := true
		for _, member := range component {
			t.index[member] = done
			ends = ends && !t.leaves[member]
		}
		if ends {
			t.ends = append(t.ends, append([]int32(nil), component...))
		}
		t.stack = t.stack[:from]
		if len(frames) > 0 {
			t.leaves[frames[len(frames)-1].at] = true
		}
		return
	}
	if len(frames) > 0 {
		parent := frames[len(frames)-1].at
		t.low[parent] = min(t.low[parent], t.low[at])
	}
}
