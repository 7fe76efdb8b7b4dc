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

	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// judge asks the oracles. Where something is still refused, what waits for it is
// no leftover: P says what it may be.
func (w *World) judge() []oracle.Violation {
	rules := oracle.Rules{
		Restarts:          w.restarts,
		FinalizerStripped: w.run.Scenario.Stripped, Undeletable: map[string]bool{}, Split: w.split, SplitAt: w.splitAt, Away: w.away, Lapses: w.born - 1,
		Budget: w.server.mostKept(), Jumped: w.run.Jump != 0, Requests: w.server.requests, Starts: w.births,
		Full: w.crowded, MaxHold: maxHold,
	}
	for _, r := range w.server.requests {
		if r.Refused && r.Kind == "Pod" && r.Verb != "create" {
			rules.Undeletable[r.Name] = true
		}
	}
	history := w.server.history()
	found := slices.Concat(oracle.Check(history, rules), oracle.Rate(w.server.requests), oracle.Told(history, rules), oracle.Needless(history, rules))
	if w.server.lifted() && w.stuck == nil {
		return slices.Concat(found, oracle.Leftovers(w.server.end()),
			oracle.AtRest(history, rules, w.server.elapsed()), oracle.ClaimsAtRest(history, rules), oracle.ToldAtRest(history, rules, w.server.elapsed()),
			oracle.SpreadAtRest(history, rules, w.server.elapsed()))
	}
	if w.stuck != nil {
		return found
	}
	return append(found, oracle.Possible(w.server.end(), w.server.inForce(w.changed, w.fresh))...)
}

// checkRest is L2: at rest there are no writes, by any operator. A new operator
// comes up and finds nothing to do. While something is refused, it may name
// another pod in the status than the operator before it did.
func (w *World) checkRest() []oracle.Violation {
	w.calm = true
	before := w.server.version
	for _, p := range slices.Clone(w.processes) {
		w.end(p)
	}
	w.fresh = len(w.trace)
	w.launch(len(w.server.log))
	rested := w.play()
	refused := len(w.server.inForce(w.changed, w.fresh)) > 0
	var found []oracle.Violation
	if !rested {
		found = append(found, oracle.Violation{Rule: "L2", Version: before, Message: "a new operator does not come to rest"})
	}
	for i := range w.server.log {
		if e := &w.server.log[i]; e.Version > before && (!refused || e.kind != "PodManager") {
			found = append(found, oracle.Violation{
				Rule: "L2", Version: e.Version, Message: fmt.Sprintf("%s wrote %s %s at rest", e.Actor, e.kind, e.Object.GetName()),
			})
		}
	}
	return found
}
