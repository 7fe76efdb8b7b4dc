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
	"net/http"
	"sync/atomic"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	appsv1alpha1 "github.com/mycompany/pod-operator/api/apps/v1alpha1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/controller/collector"
	"github.com/mycompany/pod-operator/internal/controller/helloworld"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/podrender"
)

const leaderElectionID = "pod-operator.mycompany.com"

// shutdownGrace is how long a SIGTERM waits for what is in flight.
const shutdownGrace = 20 * time.Second

// AddToScheme adds every type that the operator reads and writes.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme),
		appsv1.AddToScheme(scheme), appsv1alpha1.AddToScheme(scheme),
		batchv1alpha1.AddToScheme(scheme), collectorv1.AddToScheme(scheme), testv1alpha1.AddToScheme(scheme))
}

// Scheme knows every type the operator reads and writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, AddToScheme(scheme)
}

// New makes the operator. The config's throttle is set from the options.
func New(ctx context.Context, config *rest.Config, o Options) (ctrl.Manager, error) {
	scheme, err := o.scheme()
	if err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = float32(o.QPS), o.Burst
	config.UserAgent = podrender.ManagedBy // the field manager follows from it
	// Packing and unpacking costs both sides more than a cluster's own network
	// saves.
	config.DisableCompression = true
	unreadable := newQuarantine(config, scheme)

	records, err := newRecords(o)
	if err != nil {
		return nil, err
	}
	own := newOwnCertificate(o)
	options := ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(o, records),
		NewClient:                     records.newClient(),
		Metrics:                       metricsserver.Options{BindAddress: "0"}, // addMetrics
		HealthProbeBindAddress:        "0",                                     // withProbes
		PprofBindAddress:              o.ProfileAddress,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       ptr.To(shutdownGrace),
		// The names are ours and fixed. The check would only keep a second
		// operator out of a process, or one that was stopped from starting
		// again.
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	}
	var webhooks *webhookServer
	if o.Webhooks.enabled() {
		if webhooks, err = newWebhookServer(o, own, scheme); err != nil {
			return nil, err
		}
		options.WebhookServer = webhooks
	}
	plain, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	probes := withProbes(plain)
	mgr, err := withDatedEvents(probes)
	if err != nil {
		return nil, err
	}
	if own != nil {
		if err := own.keep(mgr, o); err != nil {
			return nil, fmt.Errorf("keep the operator's certificate: %w", err)
		}
	}
	if webhooks != nil && webhooks.own != nil && webhooks.own != own {
		if err := webhooks.own.keep(mgr, o); err != nil {
			return nil, fmt.Errorf("keep the paths of the webhooks: %w", err)
		}
	}
	if err := errors.Join(addQuarantineReport(mgr, unreadable), addMemoryWatch(mgr), addWork(ctx, mgr, o, records)); err != nil {
		return nil, err
	}
	if webhooks != nil {
		if err := addWebhooks(mgr, webhooks, o); err != nil {
			return nil, err
		}
	}
	if o.Explain.enabled() {
		if err := addExplain(mgr, records, own, o); err != nil {
			return nil, fmt.Errorf("set up the explanations: %w", err)
		}
	}
	if err := addMetrics(mgr, own, o); err != nil {
		return nil, fmt.Errorf("set up the metrics: %w", err)
	}
	return mgr, errors.Join(addProbes(mgr, o), probes.listen(o.ProbeAddress))
}

// addWork adds the controllers: all of them, or those of the shards that this
// replica will hold.
func addWork(ctx context.Context, mgr ctrl.Manager, o Options, records *records) error {
	if o.Shards.Count > 0 {
		return addShards(mgr, o, records)
	}
	w, err := newWiring(mgr, o, records)
	if err != nil {
		return err
	}
	return addControllers(ctx, w)
}

// cacheOptions keep the cache small: pods and nodes without what no planner
// reads, of the revisions and volume claims only ours, and all objects without
// what is large in them.
func cacheOptions(o Options, records *records) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{podrender.LabelManagedBy: podrender.ManagedBy})
	options := cache.Options{
		DefaultTransform: records.strip(slimOurs),
		// What is named here has to be there when the operator starts, so our kinds are not.
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Transform: records.strip(observe.NewSlim())},
			&corev1.Node{}:                  {Transform: records.strip(observe.NewSlimNode(o.NodeNotices))},
			crdMetadata():                   {Transform: slimCRD},
			&kappsv1.Deployment{}:           {Transform: helloworld.Slim},
			&kappsv1.ControllerRevision{}:   {Label: ours, Transform: records.strip(observe.SlimRevision)},
			&corev1.PersistentVolumeClaim{}: {Label: ours, Transform: records.strip(observe.SlimClaim)},
			&corev1.ResourceQuota{}:         {Transform: observe.SlimQuota},
		},
	}
	if len(o.Namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range o.Namespaces {
			options.DefaultNamespaces[name] = cache.Config{}
		}
	}
	return options
}

// slimOurs keeps no more than a part of objects of our kinds, however large they are.
func slimOurs(raw any) (any, error) {
	switch raw.(type) {
	case *appsv1.PodManager:
		return observe.SlimOwner(raw)
	case *collectorv1.Collector:
		return collector.Slim(raw)
	}
	return observe.SlimMeta(raw)
}

// addProbes makes /readyz true only when the caches are synced: before that
// the operator would answer for a cluster it has not seen.
//
// Webhooks that are called through a Service must not wait for that. Objects
// that are stored as v1alpha1 reach the caches only through the conversion, the
// conversion is called only on pods that are ready, and neither would ever be.
func addProbes(mgr ctrl.Manager, o Options) error {
	if o.Webhooks.enabled() && o.Webhooks.URL == "" {
		return mgr.AddHealthzCheck("ping", healthz.Ping)
	}
	var synced atomic.Bool
	err := mgr.Add(everyReplica(func(ctx context.Context) error {
		synced.Store(mgr.GetCache().WaitForCacheSync(ctx))
		return nil
	}))
	if err != nil {
		return fmt.Errorf("watch the cache sync: %w", err)
	}
	ready := func(*http.Request) error {
		if !synced.Load() {
			return errors.New("the caches are not synced yet")
		}
		return nil
	}
	return errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", ready))
}

// everyReplica is a runnable that does not wait to be elected.
type everyReplica func(ctx context.Context) error

// Start implements manager.Runnable.
func (f everyReplica) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everyReplica) NeedLeaderElection() bool { return false }
