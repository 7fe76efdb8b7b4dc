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

package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/quarantine"
)

// reasonUnreadable: the object cannot be decoded, so the operator skips it.
const reasonUnreadable = "Unreadable"

// newQuarantine makes the quarantine of all kinds, and has every client of the
// config pass through it.
func newQuarantine(config *rest.Config, scheme *runtime.Scheme) *quarantine.Quarantine {
	var all []quarantine.Kind
	for _, k := range kinds() {
		all = append(all, quarantine.Kind{GroupVersionKind: k.gvk, Resource: k.resource()})
	}
	q := quarantine.New(scheme, all...)
	config.Wrap(q.Wrap)
	return q
}

// quarantineReport reports the objects in quarantine: in the log of every replica, in a
// metric, and, from the leader, in events. It forgets those that are deleted.
type quarantineReport struct {
	quarantine *quarantine.Quarantine
	client     client.Client
	events     events.EventRecorder
	elected    <-chan struct{}
	log        logr.Logger
	count      *prometheus.GaugeVec
	// logged and told are by object and reason.
	logged, told map[string]bool
}

func addQuarantineReport(mgr ctrl.Manager, q *quarantine.Quarantine) error {
	count := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "podmanager_unreadable_objects", Help: "Objects that cannot be decoded and are set aside, by kind.",
	}, []string{"kind"})
	if err := metrics.Registry.Register(count); err != nil {
		already := prometheus.AlreadyRegisteredError{}
		if !errors.As(err, &already) {
			return fmt.Errorf("register metrics: %w", err)
		}
		count, _ = already.ExistingCollector.(*prometheus.GaugeVec)
	}
	for _, k := range kinds() {
		count.WithLabelValues(k.gvk.Kind).Set(0)
	}
	r := &quarantineReport{
		quarantine: q, client: mgr.GetClient(), events: mgr.GetEventRecorder("quarantine"), elected: mgr.Elected(),
		log: mgr.GetLogger().WithName("quarantine"), count: count, logged: map[string]bool{}, told: map[string]bool{},
	}
	ready := func(*http.Request) error { return q.Failing(unansweredFor) }
	return errors.Join(mgr.Add(everyReplica(r.run)), mgr.AddReadyzCheck("watches", ready))
}

// unansweredFor is how long a watch may fail before the operator is not ready.
const unansweredFor = 30 * time.Second

// lookAgain is how often the leader looks, also when nothing changes.
const lookAgain = 15 * time.Second

func (r *quarantineReport) run(ctx context.Context) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		r.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-r.quarantine.Changed():
		case <-r.elected:
			r.elected = nil // once
		case <-ticker.C:
		}
	}
}

// look compares the quarantine with what was reported so far.
func (r *quarantineReport) look(ctx context.Context) {
	numbers := map[string]int{}
	now := map[string]bool{}
	for _, e := range r.quarantine.Entries() {
		numbers[e.Kind.Kind]++
		now[e.String()] = true
		if !r.logged[e.String()] {
			r.log.Info("An object cannot be read and is skipped; all others are reconciled", "kind", e.Kind.Kind,
				"namespace", e.Object.Namespace, "name", e.Object.Name, "error", e.Reason)
		}
		if r.elected == nil {
			r.lead(ctx, e)
		}
	}
	for gone := range r.logged {
		if !now[gone] {
			r.log.Info("An object can be read again, or is gone", "was", gone)
			delete(r.told, gone)
		}
	}
	r.logged = now
	for _, k := range kinds() {
		r.count.WithLabelValues(k.gvk.Kind).Set(float64(numbers[k.gvk.Kind]))
	}
}

// lead is what only the leader does.
func (r *quarantineReport) lead(ctx context.Context, e quarantine.Entry) {
	if !r.told[e.String()] {
		r.told[e.String()] = true
		r.events.Eventf(&e.Object, nil, corev1.EventTypeWarning, reasonUnreadable, "SetAside",
			"%s. Its pods are left as they are until it is mended: kubectl edit it, and correct the field that the message names", e.String())
	}
	if e.Object.DeletionTimestamp == nil || !slices.Contains(e.Object.Finalizers, appsv1.Finalizer) {
		return
	}
	if e.Orphans {
		return // the pods are to stay, and the garbage collector would take them
	}
	if err := r.letGo(ctx, e); client.IgnoreNotFound(err) != nil {
		r.log.Info("The finalizer of a deleted object that cannot be read is not off yet", "object", e.String(), "error", err.Error())
	}
}

// letGo removes the finalizer of an object that is being deleted; the garbage
// collector then deletes its pods.
func (r *quarantineReport) letGo(ctx context.Context, e quarantine.Entry) error {
	finalizers := slices.DeleteFunc(slices.Clone(e.Object.Finalizers), func(f string) bool { return f == appsv1.Finalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": e.Object.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return err
	}
	return r.client.Patch(ctx, &e.Object, client.RawPatch(types.MergePatchType, patch))
}
