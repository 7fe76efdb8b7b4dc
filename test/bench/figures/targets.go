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

package figures

import (
	"fmt"
	"slices"
)

// The contenders that targets name.
const (
	PodManager         = "podmanager"
	PodManagerRecreate = "podmanager-recreate"
	ReplicaSet         = "replicaset"
	Deployment         = "deployment"
	StatefulSet        = "statefulset"
	CloneSet           = "cloneset"
	CloneSetRecreate   = "cloneset-recreate"
	// RawLoop is followed by the number of workers.
	RawLoop = "raw-"
	// RawOpen, RawTyped and RawServed are the least that a controller of a custom
	// resource can do: of one that takes everything, of one with PodManager's
	// schema, and of one with its webhooks, versions, history and events, too.
	RawOpen   = "raw-open"
	RawTyped  = "raw-typed"
	RawServed = "raw-served"
)

// Title is what people call a contender.
func Title(contender string) string {
	titles := map[string]string{
		PodManager: "PodManager", PodManagerRecreate: "PodManager, recreate", ReplicaSet: "ReplicaSet", Deployment: "Deployment",
		StatefulSet: "StatefulSet, parallel", CloneSet: "CloneSet", CloneSetRecreate: "CloneSet, recreate",
		RawLoop + "1": "bare loop, 1 worker", RawLoop + "8": "bare loop, 8 workers", RawLoop + "32": "bare loop, 32 workers",
		RawOpen: "bare loop, custom resource", RawTyped: "bare loop, custom resource with a schema",
		RawServed: "bare loop, with webhooks and versions, too", PodManagerShards: "PodManager, shards",
	}
	if title, ok := titles[contender]; ok {
		return title
	}
	return contender
}

func ours() []string { return []string{PodManager, PodManagerRecreate} }

func peers() []string {
	return []string{ReplicaSet, Deployment, StatefulSet, CloneSet, CloneSetRecreate}
}

// Verdict is a target and what was measured of it.
type Verdict struct {
	Step string
	// What is measured, Limit what it may be at most.
	What     string
	Limit    string
	Measured string
	Met      bool
}

// judge collects verdicts on what was measured; what was not has none.
type judge struct {
	results  *Results
	verdicts []Verdict
}

func (j *judge) add(step, what, measured string, value, limit float64, precision int) {
	j.verdicts = append(j.verdicts, Verdict{
		Step: step, What: what, Limit: "≤ " + Summarize([]float64{limit}).digits(precision), Measured: measured, Met: value <= limit,
	})
}

// most holds the largest of all repetitions against a limit: a count that is
// too high once is too high.
func (j *judge) most(step, contender, what string, m Measure, limit float64) {
	s := j.results.Step(step)
	if s == nil {
		return
	}
	if got := s.Summary(contender, m); got.Count > 0 {
		j.add(step, what, got.digits(0), got.Max, limit, 0)
	}
}

// ratio holds PodManager's median ratio to the best of the others against a
// limit.
func (j *judge) ratio(step, what string, others []string, m Measure, limit float64) {
	s := j.results.Step(step)
	if s == nil {
		return
	}
	if best, ok := s.Best(others, m); ok {
		if got := s.Ratio(PodManager, best, m); got.Count > 0 {
			j.add(step, fmt.Sprintf("%s, to %s's", what, Title(best)), got.digits(2)+" ×", got.Median, limit, 2)
		}
	}
}

// Verdicts hold the results against the targets, which are for a full run.
func (r *Results) Verdicts() []Verdict {
	j := &judge{results: r}
	replicaSet := []string{ReplicaSet}
	j.ratio("a", "time until all are ready", peers(), Seconds, 1.1)
	j.ratio("a", "controller CPU", replicaSet, ControllerCPU, 1)
	j.most("a", PodManager, "writes", Writes, 1020)
	j.most("a", PodManager, "status writes", StatusWrites, 12)
	j.ratio("a", "peak memory at 1,000 pods", replicaSet, PeakMB, 0.75)
	j.ratio("b", "time until all are terminating", peers(), Seconds, 1.1)
	j.most("b", PodManager, "writes", Writes, 1010)
	j.ratio("c", "time until all are ready again", peers(), Seconds, 1.1)
	j.most("c", PodManager, "writes", Writes, 106)
	j.ratio("d", "time, in place", peers(), Seconds, 1.1)
	j.most("d", PodManager, "writes, in place", Writes, 315)
	j.most("d", PodManager, "pods created or deleted, in place", replacedPods, 0)
	j.most("d", PodManagerRecreate, "writes, recreate", Writes, 215)
	j.ratio("e", "time until all are ready", replicaSet, Seconds, 1.3)
	j.ratio("e", "controller CPU", replicaSet, ControllerCPU, 2)
	j.most("e", PodManager, "writes", Writes, 3000)
	j.most("f", PodManager, "mutating requests", Writes, 0)
	j.most("f", PodManager, "LIST requests", Lists, 0)
	j.planner()
	return j.verdicts
}

func replacedPods(s *Sample) float64 {
	return float64(s.Writes["create pods"] + s.Writes["delete pods"] + s.Writes["create pods/eviction"])
}

// planner looks for the fleet whose pods grow most expensive with its size.
func (j *judge) planner() {
	worst, where := 0.0, ""
	for _, fleet := range plannerFleets(j.results.Planner) {
		if g := growth(j.results.Planner, fleet); g > worst {
			worst, where = g, fleet
		}
	}
	if where != "" {
		j.add("planner", fmt.Sprintf("growth of the time per pod, 10 to 100,000 pods (worst: %s)", where),
			fmt.Sprintf("%.2f ×", worst), worst, 3, 2)
	}
}

func plannerFleets(costs []PlannerCost) []string {
	var fleets []string
	for _, c := range costs {
		if !slices.Contains(fleets, c.Fleet) {
			fleets = append(fleets, c.Fleet)
		}
	}
	return fleets
}

// growth is by how much a pod costs more in a larger fleet than in a smaller
// one, at most.
func growth(costs []PlannerCost, fleet string) float64 {
	worst, cheapest := 0.0, 0.0
	for _, c := range costs { // from few pods to many
		if c.Fleet != fleet || c.NanosPerPod <= 0 {
			continue
		}
		if cheapest == 0 || c.NanosPerPod < cheapest {
			cheapest = c.NanosPerPod
		}
		worst = max(worst, c.NanosPerPod/cheapest)
	}
	return worst
}
