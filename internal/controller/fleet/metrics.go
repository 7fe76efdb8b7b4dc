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
	"errors"
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mycompany/pod-operator/internal/plan"
)

// Results of a reconcile, as podmanager_reconcile_total counts them.
const (
	resultSuccess = "success"
	resultStale   = "stale"
	resultRefused = "refused"
	resultError   = "error"
)

// Metrics count what the operator does.
type Metrics struct {
	reconciles *prometheus.CounterVec
	created    *prometheus.CounterVec
	deleted    *prometheus.CounterVec
	patched    *prometheus.CounterVec
	skips      *prometheus.CounterVec
	cuts       *prometheus.CounterVec
	batch      *prometheus.HistogramVec
	gauges     *gauges
	// own are the fleets of the reconcilers that count here.
	own []*memories
}

// NewMetrics registers the metrics. Where a registry has them already, as with
// two managers in one process, they share them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		reconciles: counter("podmanager_reconcile_total", "Reconciles by result: success, stale (the cache was behind), refused (the API server refused a pod) or error.", "kind", "result"),
		created:    counter("podmanager_pods_created_total", "Pods created, by the reason why.", "kind", "reason"),
		deleted:    counter("podmanager_pods_deleted_total", "Pods deleted or evicted, by the reason why.", "kind", "reason"),
		patched:    counter("podmanager_pods_patched_total", "Writes to pods other than their creation and deletion, by the reason why: adopted, released, orphaned, changed in place.", "kind", "reason"),
		skips:      counter("podmanager_stale_skips_total", "Reconciles put off because the cache had not seen the last write yet.", "kind"),
		cuts:       counter("podmanager_cut_off_total", "Reconciles that were cut off because looking at the object took too long.", "kind"),
		gauges:     newGauges(),
		batch: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "podmanager_pods_per_decision", Help: "Pods touched by one decision that touched any.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}, []string{"kind"}),
	}
	var errs []error
	m.reconciles = register(registry, m.reconciles, &errs)
	m.created = register(registry, m.created, &errs)
	m.deleted = register(registry, m.deleted, &errs)
	m.patched = register(registry, m.patched, &errs)
	m.skips = register(registry, m.skips, &errs)
	m.cuts = register(registry, m.cuts, &errs)
	m.batch = register(registry, m.batch, &errs)
	m.gauges = register(registry, m.gauges, &errs)
	return m, errors.Join(errs...)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func register[C prometheus.Collector](registry prometheus.Registerer, c C, errs *[]error) C {
	err := registry.Register(c)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		if same, ok := already.ExistingCollector.(C); ok {
			return same
		}
	}
	if err != nil {
		*errs = append(*errs, err)
	}
	return c
}

// begin serves the gauges of a kind's fleets, and its counters before anything is
// counted: the rate of a missing counter looks the same as that of a misspelt
// name.
func (m *Metrics) begin(kind string, fleets *memories) {
	m.own = append(m.own, fleets)
	m.gauges.add(kind, fleets)
	m.skips.WithLabelValues(kind)
	m.cuts.WithLabelValues(kind)
	m.batch.WithLabelValues(kind)
	for _, result := range []string{resultSuccess, resultStale, resultRefused, resultError} {
		m.reconciles.WithLabelValues(kind, result)
	}
}

func (m *Metrics) reconciled(kind, result string) {
	m.reconciles.WithLabelValues(kind, result).Inc()
}

func (m *Metrics) skipped(kind string) {
	m.skips.WithLabelValues(kind).Inc()
	m.reconciled(kind, resultStale)
}

// cutOff counts a reconcile that took too long. It is an error, too.
func (m *Metrics) cutOff(kind string) {
	m.cuts.WithLabelValues(kind).Inc()
	m.reconciled(kind, resultError)
}

// decided counts a reconcile that came to a decision.
func (m *Metrics) decided(kind string, outcomes []plan.Outcome, err error) {
	result, touched := resultSuccess, 0
	for i := range outcomes {
		o := &outcomes[i]
		if o.Result == plan.Refused {
			result = resultRefused
		}
		if o.Result != plan.Done || o.Action.Pod == "" {
			continue
		}
		touched++
		switch o.Action.Verb.Facts().Counter {
		case plan.CountsCreated:
			m.created.WithLabelValues(kind, o.Action.Why.Reason).Inc()
		case plan.CountsDeleted:
			m.deleted.WithLabelValues(kind, o.Action.Why.Reason).Inc()
		default:
			m.patched.WithLabelValues(kind, o.Action.Why.Reason).Inc()
		}
	}
	if err != nil {
		result = resultError
	}
	m.reconciled(kind, result)
	if touched > 0 {
		m.batch.WithLabelValues(kind).Observe(float64(touched))
	}
}

// Leave drops the gauges of our owners: another process works on them now.
func (m *Metrics) Leave() { m.gauges.remove(m.own) }

// gauges are made at each scrape from what is remembered of every owner: three
// gauges with labels take more than 2 KB of memory, and an operator may have
// thousands of owners.
type gauges struct {
	desired, ready, stalled *prometheus.Desc

	mu     sync.Mutex
	fleets map[*memories]string // by kind
}

func newGauges() *gauges {
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"kind", "namespace", "name"}, nil)
	}
	return &gauges{
		desired: gauge("podmanager_replicas_desired", "Pods asked for."),
		ready:   gauge("podmanager_replicas_ready", "Pods that are ready."),
		stalled: gauge("podmanager_stalled", "1 while the fleet is stalled and waits for help."),
		fleets:  map[*memories]string{},
	}
}

func (g *gauges) add(kind string, fleets *memories) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fleets[fleets] = kind
}

func (g *gauges) remove(all []*memories) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, fleets := range all {
		delete(g.fleets, fleets)
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	to <- g.desired
	to <- g.ready
	to <- g.stalled
}

// Collect implements prometheus.Collector. It holds no lock while it sends,
// because the receiver may be slow.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	fleets := maps.Clone(g.fleets)
	g.mu.Unlock()
	for of, kind := range fleets {
		for key, is := range of.sizes() {
			send := func(what *prometheus.Desc, value int) {
				to <- prometheus.MustNewConstMetric(what, prometheus.GaugeValue, float64(value), kind, key.Namespace, key.Name)
			}
			send(g.desired, is.desired)
			send(g.ready, is.ready)
			stalled := 0
			if is.stalled {
				stalled = 1
			}
			send(g.stalled, stalled)
		}
	}
}
