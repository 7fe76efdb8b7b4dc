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

import "math"

// Line is a straight line through measured points: Base at 0 pods, and PerPod
// for each.
type Line struct{ Base, PerPod float64 }

// fit is the line with the least squares. One point gives a line through 0.
func fit(samples []Growth, value func(*Growth) float64) Line {
	n := float64(len(samples))
	if n == 0 {
		return Line{}
	}
	if n == 1 {
		return Line{PerPod: value(&samples[0]) / float64(samples[0].Pods)}
	}
	var x, y, xx, xy float64
	for i := range samples {
		pods, v := float64(samples[i].Pods), value(&samples[i])
		x, y, xx, xy = x+pods, y+v, xx+pods*pods, xy+pods*v
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	return Line{Base: (y - slope*x) / n, PerPod: slope}
}

// At is the value for so many pods.
func (l Line) At(pods int) float64 { return l.Base + l.PerPod*float64(pods) }

// Reach is how many pods it takes to come to a value; a line that does not rise
// never does.
func (l Line) Reach(value float64) (pods int, ok bool) {
	if l.PerPod <= 0 || value <= l.Base {
		return 0, false
	}
	return int((value - l.Base) / l.PerPod), true
}

// Costs are what pods cost as measured: memory by how many there are, CPU by how
// many are created.
type Costs struct {
	// Largest is the largest size that was measured.
	Largest int
	// Operator, APIServer and Etcd are peaks of resident memory, Database is the
	// size of etcd's file, all in bytes.
	Operator, APIServer, Etcd, Database Line
	// Writes of the operator for each pod that is created.
	Writes float64
	// OperatorCPU, APIServerCPU and EtcdCPU are seconds for each pod that is
	// created, over all sizes.
	OperatorCPU, APIServerCPU, EtcdCPU float64
	// FirstAction is the seconds from the start of the operator to its first action.
	FirstAction Line
	// LostAPIServerCPU is seconds for each pod that was lost and replaced.
	LostAPIServerCPU float64
}

// Costs of PodManager in many objects; false where it was measured at fewer than
// two sizes.
func (s *Scale) Costs() (Costs, bool) {
	series := s.Of(PodManager, Many)
	grown := series.Step(Grow)
	if len(grown) < 2 {
		return Costs{}, false
	}
	last := &grown[len(grown)-1]
	c := Costs{
		Largest:     last.Pods,
		Operator:    fit(grown, func(g *Growth) float64 { return float64(g.AllMemory) }),
		APIServer:   fit(grown, func(g *Growth) float64 { return float64(g.APIServerMemory) }),
		Etcd:        fit(grown, func(g *Growth) float64 { return float64(g.EtcdMemory) }),
		Database:    fit(grown, func(g *Growth) float64 { return float64(g.Database) }),
		FirstAction: fit(series.Step(Restart), func(g *Growth) float64 { return g.Milestones[FirstAction] }),
	}
	for i := range grown {
		c.Writes += float64(grown[i].TotalWrites())
		c.OperatorCPU += grown[i].ControllerCPU
		c.APIServerCPU += grown[i].APIServerCPU
		c.EtcdCPU += grown[i].EtcdCPU
	}
	pods := float64(last.Pods - grown[0].Before)
	c.Writes, c.OperatorCPU, c.APIServerCPU, c.EtcdCPU = c.Writes/pods, c.OperatorCPU/pods, c.APIServerCPU/pods, c.EtcdCPU/pods
	if lost := series.Step(Lost); len(lost) > 0 {
		at := &lost[len(lost)-1]
		c.LostAPIServerCPU = at.APIServerCPU / math.Max(1, float64(at.Pods/100))
	}
	return c, true
}

// Plan is what the calculation on paper is asked for.
type Plan struct {
	Pods int
	// ClusterPods is how many pods one cluster may have.
	ClusterPods int
	// OperatorMemory is what one operator may have, in bytes, and Fill the share
	// of it that is used.
	OperatorMemory float64
	Fill           float64
	// Seconds in which a cluster's pods are all created.
	Seconds float64
}

// Need is the answer. Memory is in bytes.
type Need struct {
	Clusters, ClusterPods int
	// Operators are how many share the pods of a cluster, OperatorPods what each
	// of them has, OperatorMemory what it needs for that, FirstAction how many
	// seconds it takes after its start.
	Operators, OperatorPods     int
	OperatorMemory, FirstAction float64
	// Of the control plane of one cluster.
	APIServerMemory, EtcdMemory, Database float64
	// Cores while the pods of one cluster are created.
	OperatorCores, APIServerCores, EtcdCores float64
	// LostCPU is the API server's, in seconds, when a cluster loses a hundredth
	// of its pods.
	LostCPU float64
}

// Need calculates. It is false where not even one pod fits into an operator.
func (c *Costs) Need(p Plan) (Need, bool) {
	most, ok := c.Operator.Reach(p.OperatorMemory * p.Fill)
	if !ok || most < 1 {
		return Need{}, false
	}
	ceil := func(a, b int) int { return (a + b - 1) / b }
	n := Need{Clusters: ceil(p.Pods, p.ClusterPods)}
	n.ClusterPods = ceil(p.Pods, n.Clusters)
	n.Operators = ceil(n.ClusterPods, most)
	n.OperatorPods = ceil(n.ClusterPods, n.Operators)
	n.OperatorMemory, n.FirstAction = c.Operator.At(n.OperatorPods), math.Max(0, c.FirstAction.At(n.OperatorPods))
	n.APIServerMemory, n.EtcdMemory, n.Database = c.APIServer.At(n.ClusterPods), c.Etcd.At(n.ClusterPods), c.Database.At(n.ClusterPods)
	rate := float64(n.ClusterPods) / p.Seconds
	n.OperatorCores, n.APIServerCores, n.EtcdCores = c.OperatorCPU*rate, c.APIServerCPU*rate, c.EtcdCPU*rate
	n.LostCPU = c.LostAPIServerCPU * float64(n.ClusterPods) / 100
	return n, true
}
