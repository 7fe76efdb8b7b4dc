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

package main

import (
	"fmt"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// counters is the smallest metrics provider there is. A real one hands out
// Prometheus metrics; see k8s.io/component-base/metrics/prometheus/workqueue
// and, for controller-runtime, examples/metrics.
type counters struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *counters) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d adds, %d retries, %d waits and %d works timed, depth %d",
		c.count["adds"], c.count["retries"], c.count["latency"], c.count["work"], c.count["depth"])
}

// metric is all kinds of metric at once.
type metric struct {
	of   *counters
	name string
}

func (m metric) add(n int) {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	m.of.count[m.name] += n
}

func (m metric) Inc()            { m.add(1) }
func (m metric) Dec()            { m.add(-1) }
func (m metric) Observe(float64) { m.add(1) }
func (m metric) Set(float64)     {}

// NewDepthMetric is how many items wait.
func (c *counters) NewDepthMetric(string) workqueue.GaugeMetric { return metric{c, "depth"} }

// NewAddsMetric is how many items were taken in.
func (c *counters) NewAddsMetric(string) workqueue.CounterMetric { return metric{c, "adds"} }

// NewLatencyMetric is how long items wait.
func (c *counters) NewLatencyMetric(string) workqueue.HistogramMetric { return metric{c, "latency"} }

// NewWorkDurationMetric is how long workers take.
func (c *counters) NewWorkDurationMetric(string) workqueue.HistogramMetric { return metric{c, "work"} }

// NewRetriesMetric is how many items were added with a rate limit.
func (c *counters) NewRetriesMetric(string) workqueue.CounterMetric { return metric{c, "retries"} }

// NewUnfinishedWorkSecondsMetric is how long the work in progress has taken.
func (c *counters) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return metric{c, "unfinished"}
}

// NewLongestRunningProcessorSecondsMetric is the longest of them.
func (c *counters) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return metric{c, "longest"}
}
