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
	"errors"
	"fmt"
	"slices"
	"strings"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/controller/collector"
	"github.com/mycompany/pod-operator/internal/controller/crdgate"
	"github.com/mycompany/pod-operator/internal/controller/evictionresponder"
	"github.com/mycompany/pod-operator/internal/controller/evictionscope"
	"github.com/mycompany/pod-operator/internal/controller/fleet"
	"github.com/mycompany/pod-operator/internal/controller/helloworld"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/fairqueue"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// kind is one of the operator's controllers.
type kind struct {
	// name is what --controllers calls it.
	name string
	gvk  schema.GroupVersionKind
	crd  string
	new  func() client.Object
	// add adds the controller to the manager.
	add func(ctx context.Context, w *wiring, gate *crdgate.Gate) error
}

// resource is the kind's name in paths: a CRD is named RESOURCE.GROUP.
func (k *kind) resource() string { return strings.TrimSuffix(k.crd, "."+k.gvk.Group) }

// kinds are all controllers, in the order in which they are added.
func kinds() []kind {
	return []kind{
		{
			name: "podmanager", gvk: desired.PodManagerGVK, crd: "podmanagers.apps.mycompany.com",
			new: func() client.Object { return &appsv1.PodManager{} },
			add: addPodManagers,
		},
		{
			name: "imoocpod", gvk: desired.ImoocPodGVK, crd: "imoocpods.batch.tutorial.kubebuilder.io",
			new: func() client.Object { return &batchv1alpha1.ImoocPod{} },
			add: addFleet(desired.ImoocPodKind{}, desired.ImoocPodGVK, batchv1alpha1.LabelName),
		},
		{
			name: helloworld.Name, gvk: desired.HelloWorldGVK, crd: "helloworlds.test.jiaozi.com",
			new: func() client.Object { return &testv1alpha1.HelloWorld{} },
			add: addHelloWorld,
		},
		{
			name: collector.Name, gvk: collector.GVK, crd: "collectors.collector.ip.mycompany.com",
			new: func() client.Object { return &collectorv1.Collector{} },
			add: addCollector,
		},
	}
}

// kindNames are the names that --controllers knows.
func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// chosenKinds are the controllers that the options ask for.
func chosenKinds(o Options) []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool {
		if o.Shards.Count > 0 {
			return k.gvk != desired.PodManagerGVK
		}
		return len(o.Controllers) > 0 && !slices.Contains(o.Controllers, k.name)
	})
}

// checkControllers reports a name that --controllers does not know.
func checkControllers(names []string) error {
	for _, name := range names {
		if !slices.Contains(kindNames(), name) {
			return fmt.Errorf("--controllers: there is no controller %q, choose from %s", name, strings.Join(kindNames(), ", "))
		}
	}
	return nil
}

// wiring is what the controllers share.
type wiring struct {
	mgr     ctrl.Manager
	options Options
	ledger  *observe.Ledger
	pods    *observe.PodIndex
	counts  *fleet.Metrics
	// records is nil where nothing is recorded.
	records *records
	// evictions: the API server serves lifecycle.k8s.io.
	evictions bool
	// first: of several shards this is the one that does what is done once.
	first bool
	// mine says which owners to work on; nil means all.
	mine func(owner client.Object) bool
}

func newWiring(mgr ctrl.Manager, o Options, records *records) (*wiring, error) {
	counts, err := fleet.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return &wiring{
		mgr: mgr, options: o, ledger: observe.NewLedger(clock.RealClock{}), counts: counts, records: records,
		first: true,
	}, nil
}

// workers are those of a controller. Where there is one namespace, it has all of them.
func (w *wiring) workers() controller.Options {
	workers := w.options.ConcurrentReconciles
	share := fairqueue.Share(workers)
	if len(w.options.Namespaces) == 1 {
		share = workers
	}
	queue := logReconciles(w.mgr.GetLogger(), clock.RealClock{}, fairqueue.New(share, clock.RealClock{}))
	return controller.Options{MaxConcurrentReconciles: workers, NewQueue: queue}
}

// addControllers adds the controllers that were chosen. Those whose CRD is not
// installed wait behind a closed gate until it is.
func addControllers(ctx context.Context, w *wiring) error {
	mgr := w.mgr
	err := observe.AddIndexes(ctx, mgr.GetFieldIndexer(), appsv1.LabelName, batchv1alpha1.LabelName)
	if err != nil {
		return fmt.Errorf("index the cache: %w", err)
	}
	if w.pods, err = observe.NewPodIndex(ctx, mgr.GetCache(), appsv1.LabelName, batchv1alpha1.LabelName); err != nil {
		return err
	}
	gatekeeper, err := newGatekeeper(mgr)
	if err != nil {
		return err
	}
	if w.evictions, err = gatekeeper.served(ctx, lifecyclev1alpha1.SchemeGroupVersion.WithKind("EvictionRequest")); err != nil {
		return err
	}
	for _, k := range chosenKinds(w.options) {
		gate := crdgate.New(mgr.GetCache(), k.new(), k.gvk)
		w.records.shows(gate)
		if err := k.add(ctx, w, gate); err != nil {
			return fmt.Errorf("set up the controller %s: %w", k.name, err)
		}
		if k.gvk == desired.PodManagerGVK && w.first {
			if err := addEvictions(w, gate); err != nil {
				return err
			}
		}
		if err := gatekeeper.admit(ctx, k.crd, gate); err != nil {
			return err
		}
	}
	return errors.Join(gatekeeper.setup(mgr), mgr.AddReadyzCheck("versions", gatekeeper.ready))
}

// addPodManagers adds the controller of PodManagers.
func addPodManagers(ctx context.Context, w *wiring, gate *crdgate.Gate) error {
	k := desired.PodManagerKind{MaxHold: w.options.MaxEvictionHold}
	return addFleet(k, desired.PodManagerGVK, appsv1.LabelName)(ctx, w, gate)
}

// addFleet adds the controller of a kind that keeps pods.
func addFleet(k desired.Kind, gvk schema.GroupVersionKind, nameLabel string) func(context.Context, *wiring, *crdgate.Gate) error {
	return func(ctx context.Context, w *wiring, gate *crdgate.Gate) error {
		reconciler := fleet.New(k, fleet.Parts{
			Client:    gate.Client(w.mgr.GetClient()),
			Live:      w.mgr.GetAPIReader(),
			Pods:      w.pods,
			Ledger:    w.ledger,
			Recorder:  w.mgr.GetEventRecorder(k.Name()),
			Metrics:   w.counts,
			Clock:     clock.RealClock{},
			Mine:      w.mine,
			Evictions: w.evictions && gvk == desired.PodManagerGVK,
		})
		tap, err := w.records.tap(w.mgr, k.Name(), gate, k.New())
		if err != nil {
			return err
		}
		return reconciler.SetupWithManager(ctx, w.mgr, w.ledger, fleet.Watched{
			GVK: gvk, NameLabel: nameLabel, Options: w.workers(), Gate: gate, Tap: tap,
		})
	}
}

// addEvictions adds what is there for evictions besides the fleets.
func addEvictions(w *wiring, gate *crdgate.Gate) error {
	if w.evictions {
		err := evictionresponder.New(w.mgr.GetClient(), w.mgr.GetAPIReader(), clock.RealClock{}, w.options.MaxEvictionHold).SetupWithManager(w.mgr)
		if err != nil {
			return fmt.Errorf("set up the controller %s: %w", evictionresponder.Name, err)
		}
	}
	if w.options.scopesEvictions() {
		return addEvictionScope(w, gate)
	}
	return nil
}

// addEvictionScope keeps the webhook for evictions to the namespaces that need it.
func addEvictionScope(w *wiring, gate *crdgate.Gate) error {
	options := cacheOptions(w.options, nil)
	options.ByObject = evictionscope.Cached(w.options.Webhooks.Configuration)
	options.Scheme, options.Mapper, options.HTTPClient = w.mgr.GetScheme(), w.mgr.GetRESTMapper(), w.mgr.GetHTTPClient()
	c, err := cache.New(w.mgr.GetConfig(), options)
	if err != nil {
		return fmt.Errorf("watch the PodManagers that surge first: %w", err)
	}
	if err := w.mgr.Add(c); err != nil {
		return fmt.Errorf("watch the PodManagers that surge first: %w", err)
	}
	keeper := evictionscope.New(c, w.mgr.GetAPIReader(), w.mgr.GetClient(), w.options.Webhooks.Configuration, paths.Evictions, gate, clock.RealClock{})
	if err := keeper.SetupWithManager(w.mgr); err != nil {
		return fmt.Errorf("set up the controller %s: %w", evictionscope.Name, err)
	}
	return nil
}

func addHelloWorld(ctx context.Context, w *wiring, gate *crdgate.Gate) error {
	if err := helloworld.AddIndexes(ctx, w.mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index the cache: %w", err)
	}
	reconciler := helloworld.New(gate.Client(w.mgr.GetClient()), w.mgr.GetEventRecorder(helloworld.Name), clock.RealClock{})
	return reconciler.SetupWithManager(w.mgr, gate, w.workers())
}

func addCollector(_ context.Context, w *wiring, gate *crdgate.Gate) error {
	watcher := collector.NewWatcher(w.mgr.GetConfig(), w.mgr.GetHTTPClient(), w.mgr.GetRESTMapper(), w.mgr.GetScheme(), clock.RealClock{})
	reconciler := collector.New(gate.Client(w.mgr.GetClient()), watcher, w.mgr.GetEventRecorder(collector.Name),
		clock.RealClock{}, collector.Limits{Namespaces: w.options.Namespaces, Watches: w.options.CollectorWatches})
	return reconciler.SetupWithManager(w.mgr, gate, w.workers())
}
