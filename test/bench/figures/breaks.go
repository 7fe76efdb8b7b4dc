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
	"strings"
)

// etcdQuota is what etcd recommends as the largest database.
const etcdQuota = 8 << 30

// scalePlan is what docs/scale.md calculates: clusters of the size that
// Kubernetes documents as its largest.
func (s *Scale) scalePlan() Plan {
	return Plan{Pods: 1_000_000, ClusterPods: 150_000, OperatorMemory: float64(s.MemoryLimit), Fill: 0.8, Seconds: 600}
}

func sorted(numbers []int) []int {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// Breaks is a paragraph on what breaks first, with its number: the smallest size
// at which a step did not reach its goal or, where all did, the smallest that the
// measured costs come to a limit at.
func (s *Scale) Breaks() string {
	var first *Growth
	var of *Series
	for i := range s.Series {
		if g := s.Series[i].broken(); g != nil && (first == nil || g.Pods < first.Pods) {
			first, of = g, &s.Series[i]
		}
	}
	if first == nil {
		return s.limits()
	}
	return fmt.Sprintf("%s with %s broke first, at **%s pods**, in the step %q: when %s s were over, %s pods were ready. It was: %s.",
		Title(of.Contender), s.shapeName(of.Shape), Thousands(first.Pods), first.Step, decimals(first.Seconds, 0), Thousands(first.Ready),
		strings.TrimRight(first.Unfinished, "."))
}

// limits is where the costs lead to when nothing broke.
func (s *Scale) limits() string {
	costs, ok := s.Costs()
	if !ok {
		return "All steps reached their goals. It takes two sizes to calculate what breaks beyond them."
	}
	type limit struct {
		pods int
		text string
	}
	var limits []limit
	add := func(line Line, value float64, format string) {
		if pods, ok := line.Reach(value); ok {
			limits = append(limits, limit{pods, fmt.Sprintf(format, decimals(value/1e9, 1))})
		}
	}
	add(costs.Operator, float64(s.MemoryLimit), "the operator's memory limit as it is shipped (%s GB; the measured operator had none, and with one Go collects more often before it is reached)")
	add(costs.Database, etcdQuota, "the size of etcd's file (%s GB at most; it holds earlier versions of objects until they are compacted)")
	add(Line{
		Base:   costs.Operator.Base + costs.APIServer.Base + costs.Etcd.Base,
		PerPod: costs.Operator.PerPod + costs.APIServer.PerPod + costs.Etcd.PerPod,
	}, float64(s.Memory), "the memory of the machine (%s GB, for the API server, etcd and the operator)")
	slices.SortFunc(limits, func(a, b limit) int { return a.pods - b.pods })
	var b strings.Builder
	fmt.Fprintf(&b, "All steps reached their goals, for PodManager up to %s pods.", Thousands(costs.Largest))
	for i, l := range limits {
		word := "Then comes"
		if i == 0 {
			word = "By the measured costs, what breaks first is"
		}
		fmt.Fprintf(&b, " %s %s: at about **%s pods**.", word, l.text, Thousands(round(l.pods)))
	}
	return b.String()
}

// round keeps two digits.
func round(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// share says who used the machine at the largest size.
func (s *Scale) share() string {
	grown := s.Of(PodManager, Many).Step(Grow)
	if len(grown) == 0 {
		return ""
	}
	g := &grown[len(grown)-1]
	all := g.Seconds * float64(s.CPUs)
	percent := func(cpu float64) string { return decimals(100*cpu/all, 0) + " %" }
	return fmt.Sprintf("Most of the CPU is the API server's: while the last %s pods of PodManager were added, %s a second, it used %s of the "+
		"machine's CPU, etcd %s, kwok %s, the operator %s and programs that do not belong to the measurement %s.", Thousands(g.Pods-g.Before), decimals(float64(g.Pods-g.Before)/g.Seconds, 0),
		percent(g.APIServerCPU), percent(g.EtcdCPU), percent(g.KwokCPU), percent(g.ControllerCPU), percent(all*g.Others))
}

// paper is the section with the calculation.
func (s *Scale) paper() string {
	costs, ok := s.Costs()
	if !ok {
		return ""
	}
	plan := s.scalePlan()
	need, ok := costs.Need(plan)
	if !ok {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### On paper: %s pods\n\nThe costs, from PodManager in %s up to %s pods. Memory is a straight line through the peaks:\n\n",
		Thousands(plan.Pods), s.shapeName(Many), Thousands(costs.Largest))
	line := func(l Line) string {
		return decimals(l.Base/1e6, 0) + " MB and " + decimals(l.PerPod/1e3, 1) + " kB a pod"
	}
	b.WriteString(markdown([][]string{
		{"cost", "measured"},
		{"operator, memory", line(costs.Operator)},
		{"API server, memory", line(costs.APIServer)},
		{"etcd, memory", line(costs.Etcd)},
		{"etcd, file", line(costs.Database)},
		{"operator, writes", decimals(costs.Writes, 2) + " a pod created"},
		{"operator, CPU", decimals(1e3*costs.OperatorCPU, 2) + " ms a pod created, " + decimals(1e3*costs.OperatorCPU/costs.Writes, 2) + " ms a write"},
		{"API server, CPU", decimals(1e3*costs.APIServerCPU, 2) + " ms a pod created"},
		{"etcd, CPU", decimals(1e3*costs.EtcdCPU, 2) + " ms a pod created"},
		{"operator, restart to first action", decimals(costs.FirstAction.Base, 1) + " s and " + decimals(1e3*costs.FirstAction.PerPod, 2) + " ms a pod"},
		{"API server, CPU for a lost pod", decimals(1e3*costs.LostAPIServerCPU, 1) + " ms"},
	}))
	fmt.Fprintf(&b, "\nWhat %s pods need, in clusters of at most %s pods (the largest that Kubernetes documents), with operators that use at most %s %% of "+
		"their memory limit of %s MB:\n\n", Thousands(plan.Pods), Thousands(plan.ClusterPods), decimals(100*plan.Fill, 0), decimals(plan.OperatorMemory/1e6, 0))
	b.WriteString(markdown(needRows(need, plan)))
	return b.String()
}

func needRows(n Need, p Plan) [][]string {
	gb := func(bytes float64) string { return decimals(bytes/1e9, 1) + " GB" }
	total := func(perCluster float64) float64 { return perCluster * float64(n.Clusters) }
	operators := float64(n.Operators)
	return [][]string{
		{"", "one cluster", "all"},
		{"clusters", "1", Thousands(n.Clusters)},
		{"pods", Thousands(n.ClusterPods), Thousands(p.Pods)},
		{"operators that share them by `--shards`", Thousands(n.Operators), Thousands(n.Operators * n.Clusters)},
		{"pods of one operator", Thousands(n.OperatorPods), ""},
		{"memory of one operator", gb(n.OperatorMemory), gb(total(operators * n.OperatorMemory))},
		{"its restart to first action", decimals(n.FirstAction, 0) + " s", ""},
		{"memory of the API server", gb(n.APIServerMemory), gb(total(n.APIServerMemory))},
		{"memory of etcd", gb(n.EtcdMemory), gb(total(n.EtcdMemory))},
		{"etcd's file", gb(n.Database), gb(total(n.Database))},
		{
			fmt.Sprintf("cores to create all pods in %s minutes: API server", decimals(p.Seconds/60, 0)),
			decimals(n.APIServerCores, 1), decimals(total(n.APIServerCores), 0),
		},
		{"the same: etcd", decimals(n.EtcdCores, 1), decimals(total(n.EtcdCores), 0)},
		{"the same: operators", decimals(n.OperatorCores, 1), decimals(total(n.OperatorCores), 0)},
		{"API server CPU when 1 % of the pods is lost", decimals(n.LostCPU, 0) + " s", decimals(total(n.LostCPU), 0) + " s"},
	}
}
