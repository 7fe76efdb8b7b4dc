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

package collector

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// watchedKind is a kind of objects that a Collector watches.
type watchedKind struct {
	gvk schema.GroupVersionKind
	new func() client.Object
	// ours: the kind's CRD may be missing.
	ours bool
}

func watchedKinds() []watchedKind {
	apps := kappsv1.SchemeGroupVersion
	return []watchedKind{
		{gvk: corev1.SchemeGroupVersion.WithKind("Pod"), new: func() client.Object { return &corev1.Pod{} }},
		{gvk: apps.WithKind("Deployment"), new: func() client.Object { return &kappsv1.Deployment{} }},
		{gvk: apps.WithKind("ReplicaSet"), new: func() client.Object { return &kappsv1.ReplicaSet{} }},
		{gvk: apps.WithKind("StatefulSet"), new: func() client.Object { return &kappsv1.StatefulSet{} }},
		{gvk: apps.WithKind("DaemonSet"), new: func() client.Object { return &kappsv1.DaemonSet{} }},
		{gvk: appsv1.GroupVersion.WithKind("PodManager"), new: func() client.Object { return &appsv1.PodManager{} }, ours: true},
	}
}

// Watcher opens watches.
type Watcher struct {
	config *rest.Config
	http   *http.Client
	mapper meta.RESTMapper
	codecs serializer.CodecFactory
	clock  clock.WithTicker
}

// NewWatcher makes a Watcher. The watches share the HTTP client's connections.
func NewWatcher(config *rest.Config, httpClient *http.Client, mapper meta.RESTMapper, scheme *runtime.Scheme, clock clock.WithTicker) *Watcher {
	return &Watcher{config: config, http: httpClient, mapper: mapper, codecs: serializer.NewCodecFactory(scheme), clock: clock}
}

// listWatch lists and watches one kind in one namespace. Pods are selected by
// the API server; workloads by us, because it does not look at the labels of
// their pods.
func (w *Watcher) listWatch(k watchedKind, namespace string, selector labels.Selector) (cache.ListerWatcher, error) {
	mapping, err := w.mapper.RESTMapping(k.gvk.GroupKind(), k.gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", k.gvk.Kind, err)
	}
	c, err := apiutil.RESTClientForGVK(k.gvk, false, false, w.config, w.codecs, w.http)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", k.gvk.Kind, err)
	}
	return cache.NewFilteredListWatchFromClient(c, mapping.Resource.Resource, namespace, func(o *metav1.ListOptions) {
		if k.gvk.Kind == "Pod" {
			o.LabelSelector = selector.String()
		}
	}), nil
}

// complete tells whether all kinds can be watched.
func (w *Watcher) complete() bool {
	for _, k := range watchedKinds() {
		if _, err := w.mapper.RESTMapping(k.gvk.GroupKind(), k.gvk.Version); err != nil {
			return false
		}
	}
	return true
}

// watches are the watches of one Collector.
type watches struct {
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	synced int
	total  int
	// failed are the errors of watches that do not work, by kind and
	// namespace.
	failed map[string]error
	// missing are our kinds whose CRD is not there.
	missing bool
}

// open starts the watches of a Collector. They end when ctx does, or by stop.
func (w *Watcher) open(ctx context.Context, namespaces []string, selector labels.Selector, b *book) (*watches, error) {
	ctx, cancel := context.WithCancel(ctx)
	set := &watches{cancel: cancel, failed: map[string]error{}}
	for _, namespace := range namespaces {
		for _, k := range watchedKinds() {
			lw, err := w.listWatch(k, namespace, selector)
			if k.ours && meta.IsNoMatchError(err) {
				set.missing = true
				continue
			}
			if err != nil {
				set.stop()
				return nil, err
			}
			set.total++
			what := k.gvk.Kind + " in " + namespace
			t := &tap{kind: k, selector: selector, book: b, clock: w.clock, known: map[types.UID]string{}}
			t.replaced = func(first bool) { set.works(what, first, b, w.clock) }
			set.group.Go(func() { set.run(ctx, w.clock, what, t.reflector(lw), b) })
		}
	}
	return set, nil
}

// stop ends the watches and waits until they have ended.
func (s *watches) stop() {
	s.cancel()
	s.group.Wait()
}

// works is called by each tap when a list is in. Counting has begun when the
// first list of the last one is.
func (s *watches) works(what string, first bool, b *book, clock clock.PassiveClock) {
	s.mu.Lock()
	delete(s.failed, what)
	if first {
		s.synced++
	}
	all := s.synced == s.total
	s.mu.Unlock()
	if all {
		b.begin(clock.Now())
	}
	b.changed()
}

func (s *watches) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced == s.total
}

// failure is one of the errors, the same each time, or nil.
func (s *watches) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(s.failed)) {
		return s.failed[what]
	}
	return nil
}

// run keeps one watch alive, with a growing wait after failures.
func (s *watches) run(ctx context.Context, clock clock.WithTicker, what string, r *cache.Reflector, b *book) {
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 30 * time.Second}
	_ = backoff.DelayWithReset(clock, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := r.ListAndWatchWithContext(ctx)
		// A watch whose past is no longer stored lists anew, and that is all.
		if err != nil && ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			s.fails(ctx, what, err)
			b.changed()
		}
		return false, nil
	})
}

// fails remembers a failure and logs it once, not at every try.
func (s *watches) fails(ctx context.Context, what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed[what] == nil {
		log.FromContext(ctx).Info("A watch failed and is tried again", "watch", what, "error", err.Error())
	}
	s.failed[what] = fmt.Errorf("watch %s: %w", what, err)
}
