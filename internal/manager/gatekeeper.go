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
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/mycompany/pod-operator/internal/controller/crdgate"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch

// How often discovery is asked whether a CRD that exists is served. The API
// server needs a moment for a new one, and longer only when something is wrong
// with it.
const (
	servedSoon = 250 * time.Millisecond
	servedLate = 30 * time.Second
	newFor     = time.Minute
)

// gatekeeper opens and closes the gates of the kinds. Discovery says what is
// served; it is asked at the start and then only when the CRD of a closed gate
// shows up. A metadata-only watch shows CRDs come and go.
type gatekeeper struct {
	cache     client.Reader
	discovery discovery.CachedDiscoveryInterfaceWithContext
	log       logr.Logger
	// gates are by the name of their CRD. They are all there before the
	// gatekeeper starts.
	gates map[string]*crdgate.Gate
	// live reads whole CRDs past the cache, which has only their metadata.
	live client.Reader

	mu sync.Mutex
	// refused says, by CRD, why its objects are not worked on; looked is the
	// version of the CRD that was looked at.
	refused, looked map[string]string
}

func newGatekeeper(mgr ctrl.Manager) (*gatekeeper, error) {
	c, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	return &gatekeeper{
		cache:     mgr.GetClient(),
		discovery: memory.NewMemCacheClientWithContext(c),
		log:       mgr.GetLogger().WithName("kinds"),
		gates:     map[string]*crdgate.Gate{},
		live:      mgr.GetAPIReader(),
		refused:   map[string]string{},
		looked:    map[string]string{},
	}, nil
}

// admit adds a gate and opens it if its kind is served already.
func (d *gatekeeper) admit(ctx context.Context, crd string, gate *crdgate.Gate) error {
	d.gates[crd] = gate
	served, err := d.served(ctx, gate.GVK())
	if err != nil {
		return err
	}
	if served {
		// Where the CRD cannot be read yet, Reconcile looks again and opens.
		if refused, err := d.refuses(ctx, crd, ""); refused || err != nil {
			if err != nil {
				d.log.Info("Not picked up yet", "kind", gate.GVK().Kind, "why", err.Error())
			}
			return nil
		}
		return gate.Open(ctx)
	}
	d.log.Info("Controller not started: CRD not installed; it starts when the CRD is", "kind", gate.GVK().Kind, "CustomResourceDefinition", crd)
	return nil
}

// served asks the cached discovery.
func (d *gatekeeper) served(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	list, err := d.discovery.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) || errors.Is(err, memory.ErrCacheNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find out whether %s is served: %w", gvk, err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind }), nil
}

func crdMetadata() *metav1.PartialObjectMetadata {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return crd
}

// slimCRD drops what the gatekeeper does not read: the annotation that kubectl
// apply leaves on a CRD is as large as the CRD.
func slimCRD(raw any) (any, error) {
	if crd, ok := raw.(client.Object); ok {
		crd.SetAnnotations(nil)
		crd.SetManagedFields(nil)
		crd.SetLabels(nil)
	}
	return raw, nil
}

// setup adds the gatekeeper to the manager. It runs on every replica, elected or
// not, so that a new leader knows already what is served.
func (d *gatekeeper) setup(mgr ctrl.Manager) error {
	ours := predicate.NewPredicateFuncs(func(crd client.Object) bool { return d.gates[crd.GetName()] != nil })
	all := source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for crd := range d.gates {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: crd}})
		}
		return nil
	})
	return builder.ControllerManagedBy(mgr).
		Named("kinds").
		Watches(crdMetadata(), &handler.EnqueueRequestForObject{}, builder.WithPredicates(ours)).
		// Once for each, because one may have gone before the watch began.
		WatchesRawSource(all).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, NeedLeaderElection: ptr.To(false)}).
		Complete(d)
}

// Reconcile opens or closes the gate of one CRD.
func (d *gatekeeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	gate := d.gates[req.Name]
	crd := crdMetadata()
	err := d.cache.Get(ctx, req.NamespacedName, crd)
	if apierrors.IsNotFound(err) {
		if gate.IsOpen() {
			d.log.Info("Controller stopped: CRD removed", "kind", gate.GVK().Kind, "CustomResourceDefinition", req.Name)
		}
		d.forget(req.Name)
		return ctrl.Result{}, gate.Close(ctx)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	refused, err := d.refuses(ctx, req.Name, crd.ResourceVersion)
	if err != nil {
		return ctrl.Result{}, err // it stays as it is until the CRD can be read
	}
	if refused {
		return ctrl.Result{RequeueAfter: servedLate}, gate.Close(ctx)
	}
	if gate.IsOpen() {
		return ctrl.Result{}, nil
	}
	d.discovery.InvalidateWithContext(ctx)
	served, err := d.served(ctx, gate.GVK())
	if err != nil {
		return ctrl.Result{}, err
	}
	if !served {
		if time.Since(crd.CreationTimestamp.Time) < newFor {
			return ctrl.Result{RequeueAfter: servedSoon}, nil
		}
		return ctrl.Result{RequeueAfter: servedLate}, nil
	}
	d.log.Info("Controller started: CRD installed", "kind", gate.GVK().Kind, "CustomResourceDefinition", req.Name)
	return ctrl.Result{}, gate.Open(ctx)
}

// refuses looks at a CRD, and remembers whether its objects are worked on. A version
// of the CRD that it knows is not looked at again.
func (d *gatekeeper) refuses(ctx context.Context, name, version string) (bool, error) {
	if refused, known := d.known(name, version); known {
		return refused, nil
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := d.live.List(ctx, &list, client.MatchingFields{"metadata.name": name}); err != nil {
		return false, fmt.Errorf("look at CustomResourceDefinition %s: %w", name, err)
	}
	why := ""
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range list.Items {
		why, d.looked[name] = lossy(&list.Items[i]), list.Items[i].ResourceVersion
	}
	before := d.refused[name]
	delete(d.refused, name)
	if why != "" {
		d.refused[name] = why
	}
	switch why {
	case before:
	case "":
		d.log.Info("Controller may run: the CRD loses no fields any more", "CustomResourceDefinition", name)
	default:
		d.log.Info("Controller stopped: "+why, "CustomResourceDefinition", name)
	}
	return why != "", nil
}

// forget: a CRD that is gone is no reason not to be ready.
func (d *gatekeeper) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.refused, name)
	delete(d.looked, name)
}

// known is what was found out about a version of a CRD.
func (d *gatekeeper) known(name, version string) (refused, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused[name] != "", version != "" && d.looked[name] == version
}

// lossy says why the objects of a CRD lose fields: they are served or stored in a
// version that nothing converts.
func lossy(crd *apiextensionsv1.CustomResourceDefinition) string {
	if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		return ""
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		stored := slices.Contains(crd.Status.StoredVersions, v.Name)
		if !v.Storage && (v.Served || stored) {
			return fmt.Sprintf("%s is served or stored as %s, and nothing converts it, so that fields would get lost: "+
				"serve %[2]s with its conversion (component config/v1alpha1, chart value crds.v1alpha1) or not at all; docs/versions.md says more", crd.Name, v.Name)
		}
	}
	return ""
}

// ready is a readiness probe: it fails while a kind is refused.
func (d *gatekeeper) ready(*http.Request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.refused)) {
		return errors.New(d.refused[name])
	}
	return nil
}
