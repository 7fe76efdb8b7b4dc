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
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/shardlabels"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/shard"
)

// maxShards bounds the Leases that have to be renewed.
const maxShards = 256

// minLease is the shortest duration of a Lease that we allow.
const minLease = 2 * time.Second

// Shards are the options of an operator of which many are active at once.
type Shards struct {
	// Count is how many shards there are; 0 means none, and one leader.
	Count int
	// Timing is how long their Leases last.
	Timing shard.Timing
}

func (s *Shards) bindFlags(fs *flag.FlagSet) {
	fs.IntVar(&s.Count, "shards", 0,
		"Share the PodManagers out among all replicas, in this many shards, instead of having one replica lead. "+
			"All replicas need the same number; 32 suits up to 16 of them. 0 turns it off.")
	s.Timing = shard.DefaultTiming()
	fs.DurationVar(&s.Timing.LeaseDuration, "shard-lease-duration", s.Timing.LeaseDuration,
		"How long the shards of a replica that died wait for another. A third of it is how often a Lease is renewed.")
}

func (s *Shards) validate(o *Options) error {
	if s.Count == 0 {
		return nil
	}
	var errs []error
	if s.Count < 0 || s.Count > maxShards {
		errs = append(errs, fmt.Errorf("--shards is %d: give a number from 1 to %d, or 0 for none", s.Count, maxShards))
	}
	if s.Timing.LeaseDuration < minLease {
		errs = append(errs, fmt.Errorf("--shard-lease-duration is %s: it must be at least %s", s.Timing.LeaseDuration, minLease))
	}
	for _, name := range o.Controllers {
		if name != (desired.PodManagerKind{}).Name() {
			errs = append(errs, fmt.Errorf("--shards is for PodManagers: run --controllers=%s in an operator of its own, with --leader-elect", name))
		}
	}
	if o.LeaderElection {
		errs = append(errs, errors.New("--shards and --leader-elect exclude each other: with shards every replica is active"))
	}
	if o.Explain.enabled() {
		errs = append(errs, errors.New("--explain-bind-address shows one replica's records, which with --shards are a part of the story: "+
			"leave it out; kubectl podmanager why tells from status and events"))
	}
	return errors.Join(errs...)
}

// timing derives the two other times as the defaults have them.
func (s *Shards) timing() shard.Timing {
	return shard.Timing{
		LeaseDuration: s.Timing.LeaseDuration,
		RenewDeadline: s.Timing.LeaseDuration * 2 / 3,
		RetryPeriod:   s.Timing.LeaseDuration / 3,
	}
}

// addShards makes the manager hold its share of the shards, with a manager of
// its own for each: a cache that the API server filters, a queue and workers.
// So a shard comes and goes whole, and the others do not notice.
func addShards(mgr ctrl.Manager, o Options, records *records) error {
	namespace, err := ownNamespace(o)
	if err != nil {
		return fmt.Errorf("--shards keeps its leases in the operator's namespace: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a client for leases: %w", err)
	}
	held, err := shardsHeld()
	if err != nil {
		return err
	}
	identity := identity()
	holder := shard.New(shard.Config{
		Client: clients, Namespace: namespace, Name: "pod-operator", Identity: identity,
		Shards: o.Shards.Count, Timing: o.Shards.timing(), Guard: leaderElectionID,
		Clock: clock.RealClock{}, Log: mgr.GetLogger().WithName("shards").WithValues("replica", identity),
		Work: func(ctx context.Context, n int) error { return workOnShard(ctx, mgr, o, records, n) },
		Held: func(_ int, yes bool) {
			if yes {
				held.Inc()
			} else {
				held.Dec()
			}
		},
	})
	return mgr.Add(everyReplica(holder.Run))
}

func shardsHeld() (prometheus.Gauge, error) {
	held := prometheus.NewGauge(prometheus.GaugeOpts{Name: "podmanager_shards_held", Help: "Shards that this replica works on."})
	err := metrics.Registry.Register(held)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		return already.ExistingCollector.(prometheus.Gauge), nil
	}
	return held, err
}

// namespaceFile is where a pod finds its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is the one that the operator runs in.
func ownNamespace(o Options) (string, error) {
	if o.LeaderElectionNamespace != "" {
		return o.LeaderElectionNamespace, nil
	}
	raw, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("outside a cluster give it with --leader-election-namespace: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// identity is this process's, and fit to end a Lease's name.
func identity() string {
	id := string(uuid.NewUUID())[:8]
	if host, err := os.Hostname(); err == nil {
		if named := strings.ToLower(host) + "-" + id; len(validation.IsDNS1123Label(named)) == 0 {
			return named
		}
	}
	return id
}

// workOnShard runs the PodManager controller on one shard.
func workOnShard(ctx context.Context, root ctrl.Manager, o Options, records *records, n int) error {
	shared := newSharedCache(root.GetCache())
	defer shared.leave()
	plain, err := ctrl.NewManager(root.GetConfig(), ctrl.Options{
		Scheme:                  root.GetScheme(),
		Logger:                  root.GetLogger().WithValues("shard", n),
		Cache:                   shardCacheOptions(o, records, n),
		NewCache:                shared.with,
		NewClient:               records.newClient(),
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: ptr.To(shutdownGrace),
		Controller:              root.GetControllerOptions(),
	})
	if err != nil {
		return fmt.Errorf("make the manager of shard %d: %w", n, err)
	}
	mgr, err := withDatedEvents(plain)
	if err != nil {
		return err
	}
	keeper := shardlabels.New(mgr.GetClient(), mgr.GetAPIReader(), o.Shards.Count)
	var strays cache.Cache
	if n == 0 {
		if strays, err = strayCache(mgr, o); err != nil {
			return err
		}
	}
	if err := keeper.SetupWithManager(mgr, strays); err != nil {
		return fmt.Errorf("keep the labels of shard %d: %w", n, err)
	}
	w, err := newWiring(mgr, o, records)
	if err != nil {
		return err
	}
	w.mine = keeper.Mine
	w.first = n == 0
	if err := addControllers(ctx, w); err != nil {
		return err
	}
	defer w.counts.Leave() // the next holder of the shard counts its fleets now
	return mgr.Start(ctx)
}

// shardCacheOptions are cacheOptions for one shard's objects alone.
func shardCacheOptions(o Options, records *records, n int) cache.Options {
	options := cacheOptions(o, records)
	in := shardlabels.In(n)
	for obj, by := range options.ByObject {
		switch obj.(type) {
		case *corev1.Pod:
			by.Label = in
		case *kappsv1.ControllerRevision, *corev1.PersistentVolumeClaim:
			requirements, _ := in.Requirements()
			by.Label = by.Label.Add(requirements...)
		default:
			continue
		}
		options.ByObject[obj] = by
	}
	options.ByObject[&appsv1.PodManager{}] = cache.ByObject{Label: in, Transform: options.DefaultTransform}
	return options
}

// strayCache holds the metadata of what is in no shard.
func strayCache(mgr ctrl.Manager, o Options) (cache.Cache, error) {
	strays, err := shardlabels.Strays(o.Shards.Count)
	if err != nil {
		return nil, err
	}
	options := cacheOptions(o, nil)
	options.ByObject, options.Scheme, options.Mapper = strays, mgr.GetScheme(), mgr.GetRESTMapper()
	options.HTTPClient = mgr.GetHTTPClient()
	c, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("watch for objects in no shard: %w", err)
	}
	return c, mgr.Add(c)
}
