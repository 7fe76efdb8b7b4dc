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

package fleet

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// sizes are the gauges of every owner. They are made at each scrape: three
// gauges with labels take more than 2 KB of memory, and an operator may have
// thousands of owners.
type sizes struct {
	desired, ready, stalled *prometheus.Desc

	mu   sync.Mutex
	told map[owner]size
}

// owner identifies the object of a gauge.
type owner struct {
	kind string
	key  types.NamespacedName
}

type size struct {
	desired, ready int32
	stalled        bool
}

func newSizes() *sizes {
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"kind", "namespace", "name"}, nil)
	}
	return &sizes{
		desired: gauge("podmanager_replicas_desired", "Pods asked for."),
		ready:   gauge("podmanager_replicas_ready", "Pods that are ready."),
		stalled: gauge("podmanager_stalled", "1 while the fleet is stalled and waits for help."),
		told:    map[owner]size{},
	}
}

// Describe implements prometheus.Collector.
func (s *sizes) Describe(to chan<- *prometheus.Desc) {
	to <- s.desired
	to <- s.ready
	to <- s.stalled
}

// Collect implements prometheus.Collector. It releases the lock before it
// sends, because the receiver may be slow.
func (s *sizes) Collect(to chan<- prometheus.Metric) {
	type line struct {
		owner
		size
	}
	s.mu.Lock()
	lines := make([]line, 0, len(s.told))
	for o, is := range s.told {
		lines = append(lines, line{o, is})
	}
	s.mu.Unlock()
	for _, l := range lines {
		send := func(what *prometheus.Desc, value float64) {
			to <- prometheus.MustNewConstMetric(what, prometheus.GaugeValue, value, l.kind, l.key.Namespace, l.key.Name)
		}
		send(s.desired, float64(l.desired))
		send(s.ready, float64(l.ready))
		stalled := 0.0
		if l.stalled {
			stalled = 1
		}
		send(s.stalled, stalled)
	}
}

func (s *sizes) tell(o owner, is size) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[o] = is
}

func (s *sizes) forget(o owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.told, o)
}

func (s *sizes) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.told)
}
