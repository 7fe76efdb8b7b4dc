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

package plan

import (
	"fmt"
	"testing"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TestResizesThatAreTornApart: the resize of a pod and its revision label are two
// writes, and here the second one often fails. Meanwhile the user takes the size
// back, or wants a third one. At rest every pod has the size of its revision, and
// none was recreated that could be resized.
func TestResizesThatAreTornApart(t *testing.T) {
	seeds, from := envOr("SIMULATE_SEEDS", seedsEach), envOr("SIMULATE_FROM", 1)
	if testing.Short() {
		seeds = min(seeds, 100)
	}
	for _, strategy := range strategies {
		for _, identity := range []appsv1.Identity{appsv1.IdentityOrdinal, appsv1.IdentityRandom} {
			t.Run(fmt.Sprintf("%s/%s", strategy, identity), func(t *testing.T) {
				t.Parallel()
				for seed := from; seed < from+seeds && !t.Failed(); seed++ {
					simulateTorn(t, uint64(seed), strategy, identity)
				}
			})
		}
	}
}

func simulateTorn(t *testing.T, seed uint64, strategy appsv1.UpdateStrategy, identity appsv1.Identity) {
	w := newWorld(seed, aFleet(0).desired)
	j := &judge{t: t, seed: fmt.Sprintf("seed %d of %s/%s", seed, strategy, identity)}
	w.watch, w.torn, w.gated = j.watch, true, w.chance(40)
	w.desired.Identity = identity
	w.desired.Update = Update{Strategy: strategy, ProgressDeadline: 10 * time.Minute, ResizeDeadline: time.Minute, OnFailure: appsv1.FailurePause}
	w.drawBudget()
	w.desired.Replicas = 1 + w.rng.IntN(4)
	w.desired.RevisionHistoryLimit = w.rng.IntN(3)
	for range 10 {
		j.step(w)
	}
	for edits := 1 + w.rng.IntN(4); edits > 0; edits-- {
		before := w.recipe
		w.edit(w.changeOfSize)
		for range 1 + w.rng.IntN(3) {
			j.step(w)
		}
		if w.chance(50) {
			w.edit(func() { w.recipe = before })
			j.step(w)
		}
	}
	w.settleDown(strategy)
	j.expectRest(w, 600)
}

// changeOfSize is one edit of the spec, mostly of the size.
func (w *world) changeOfSize() {
	switch w.rng.IntN(8) {
	case 0:
		w.recipe.label = w.rng.IntN(3)
	case 1:
		w.recipe.image = []string{"v1", "v2"}[w.rng.IntN(2)]
	case 2:
		w.desired.Paused = !w.desired.Paused
	case 3:
		w.drawBudget()
	default:
		w.recipe.size = w.rng.IntN(3)
	}
}

// tears: the first write of a change in place was made, and the second one fails.
func (w *world) tears(first, second *Action) bool {
	return w.torn && !w.calm && first.Verb == ResizePod && second.Verb == UpdatePod && first.Pod == second.Pod && w.chance(40)
}
