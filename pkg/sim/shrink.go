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

import "slices"

// follow takes the moves of a list as far as they are possible, and fair ones after that.
type follow struct{ labels []string }

func (f *follow) choose(_ int, r *run, moves []move) (int, bool) {
	for len(f.labels) > 0 {
		label := f.labels[0]
		f.labels = f.labels[1:]
		if i := slices.IndexFunc(moves, func(m move) bool { return m.label == label }); i >= 0 {
			// The fair choice at rest is to stop, so that any move is a deviation there.
			_, rests := r.rests()
			return i, i > 0 || rests
		}
	}
	return 0, false
}

// shrink makes a failure shorter: it leaves out steps as long as the same promise is
// broken, and then looks for shorter schedules breadth first.
func (e *explorer) shrink(failure *Failure) (*Failure, error) {
	best, labels := failure, failure.Schedule
	for again := true; again; {
		again = false
		for size := max(1, len(labels)/2); size > 0; size /= 2 {
			for at := 0; at < len(labels); {
				fewer := slices.Concat(labels[:at], labels[min(at+size, len(labels)):])
				f, err := e.play(&follow{fewer}, true)
				if err != nil {
					return nil, err
				}
				if f == nil || f.Promise != best.Promise || len(f.Steps) > len(best.Steps) {
					at += size
					continue
				}
				again = again || len(f.Steps) < len(best.Steps)
				best, labels = f, fewer
			}
		}
	}
	shorter, proved, err := (*Failure)(nil), false, error(nil)
	if best.Promise != RestPromise {
		shorter, proved, err = e.shorter(best)
	}
	if err != nil {
		return nil, err
	}
	if shorter != nil {
		best = shorter
	}
	told, err := e.play(&follow{slices.Clone(best.Schedule)}, false)
	if err != nil || told == nil || told.Promise != best.Promise {
		// A reconciler that is not deterministic does something else each time.
		best.Message += " (the schedule does not repeat: is the reconciler deterministic?)"
		return best, err
	}
	told.Shortest = proved
	return told, nil
}

// reach is a limit for the search for shorter schedules.
const reach = 4000

// shorter looks for the shortest schedule that breaks a promise, breadth first. It
// serves invariants: what is broken at rest needs the steps until then.
func (e *explorer) shorter(best *Failure) (found *Failure, proved bool, err error) {
	seen := map[uint64]bool{}
	queue := [][]uint8{nil}
	for runs := 0; len(queue) > 0; runs++ {
		if runs == reach {
			return nil, false, nil
		}
		s := &shallow{prefix: queue[0], seen: seen}
		queue[0], queue = nil, queue[1:]
		f, err := e.play(s, true)
		if err != nil {
			return nil, false, err
		}
		if f != nil && f.Promise == best.Promise {
			return f, true, nil
		}
		if len(s.prefix)+1 < len(best.Steps) {
			queue = append(queue, s.found...)
		}
	}
	return nil, true, nil
}

// shallow follows a list of choices and stops there.
type shallow struct {
	prefix []uint8
	seen   map[uint64]bool
	found  [][]uint8
}

func (s *shallow) choose(at int, r *run, moves []move) (int, bool) {
	if at < len(s.prefix) {
		return int(s.prefix[at]), true
	}
	full := r.sums().full
	if s.seen[full] {
		return -1, false
	}
	s.seen[full] = true
	for i := range moves {
		s.found = append(s.found, append(slices.Clone(s.prefix), uint8(i)))
	}
	return -1, false
}
