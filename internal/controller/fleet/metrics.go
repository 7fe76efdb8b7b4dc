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

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
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
	sizes      *sizes
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
		sizes:      newSizes(),
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
	m.sizes = register(registry, m.sizes, &errs)
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

// begin serves the counters of a kind before anything is counted: the rate of a
// missing counter looks the same as that of a misspelt name.
func (m *Metrics) begin(kind string) {
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
func (m *Metrics) decided(kind string, key types.NamespacedName, desired plan.Desired, reported plan.Reported, outcomes []plan.Outcome, err error) {
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
	m.sizes.tell(owner{kind, key}, size{
		desired: int32(desired.Replicas), ready: reported.Status.ReadyReplicas,
		stalled: meta.IsStatusConditionTrue(reported.Status.Conditions, appsv1.ConditionStalled),
	})
}

// Leave drops the gauges of all owners: another process works on them now.
func (m *Metrics) Leave() { m.sizes.leave() }

// forget drops the gauges of an owner that is gone.
func (m *Metrics) forget(kind string, key types.NamespacedName) { m.sizes.forget(owner{kind, key}) }
