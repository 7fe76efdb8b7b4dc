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

// watches are the watches of one Collector.
type watches struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	book   *book
	clock  clock.WithTicker

	mu sync.Mutex
	// starting are the watches whose first list is not in, failed the errors
	// of those that do not work; both by kind and namespace.
	starting map[string]bool
	failed   map[string]error
}

func newWatches(cancel context.CancelFunc, b *book, clock clock.WithTicker) *watches {
	return &watches{cancel: cancel, book: b, clock: clock, starting: map[string]bool{}, failed: map[string]error{}}
}

// open starts the watches of a Collector. They end when ctx does, or by stop.
func (w *Watcher) open(ctx context.Context, namespaces []string, selector labels.Selector, b *book) *watches {
	ctx, cancel := context.WithCancel(ctx)
	set := newWatches(cancel, b, w.clock)
	var runs []func()
	for _, namespace := range namespaces {
		for _, k := range watchedKinds() {
			what := k.gvk.Kind + " in " + namespace
			set.starting[what] = true
			t := &tap{kind: k, selector: selector, book: b, clock: w.clock, known: map[types.UID]string{}}
			t.replaced = func() { set.works(what) }
			runs = append(runs, func() {
				set.run(ctx, k, what, func() (*cache.Reflector, error) {
					lw, err := w.listWatch(k, namespace, selector)
					if err != nil {
						return nil, err
					}
					return t.reflector(lw), nil
				})
			})
		}
	}
	for _, run := range runs {
		set.group.Go(run)
	}
	return set
}

// stop ends the watches and waits until they have ended.
func (s *watches) stop() {
	s.cancel()
	s.group.Wait()
}

// run keeps one watch alive, with a growing wait after failures.
func (s *watches) run(ctx context.Context, k watchedKind, what string, connect func() (*cache.Reflector, error)) {
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 30 * time.Second}
	var reflector *cache.Reflector
	_ = backoff.DelayWithReset(s.clock, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		var err error
		if reflector == nil {
			reflector, err = connect()
		}
		if err == nil {
			err = reflector.ListAndWatchWithContext(ctx)
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			// A watch whose past is no longer stored lists anew, and that is all.
		case k.ours && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err)):
			// Without its CRD there is nothing of the kind to count.
			s.works(what)
		default:
			s.fails(ctx, what, err)
		}
		return false, nil
	})
}

// works notes that a watch does what it should. Counting has begun when that is
// so of the last one.
func (s *watches) works(what string) {
	s.mu.Lock()
	news := s.starting[what] || s.failed[what] != nil
	delete(s.starting, what)
	delete(s.failed, what)
	all := len(s.starting) == 0
	s.mu.Unlock()
	if all {
		s.book.begin(s.clock.Now())
	}
	if news {
		s.book.changed()
	}
}

// fails remembers a failure and logs it once, not at every try.
func (s *watches) fails(ctx context.Context, what string, err error) {
	s.mu.Lock()
	defer s.book.changed()
	defer s.mu.Unlock()
	if s.failed[what] == nil {
		log.FromContext(ctx).Info("A watch failed and is tried again", "watch", what, "error", err.Error())
	}
	s.failed[what] = fmt.Errorf("watch %s: %w", what, err)
}

func (s *watches) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.starting) == 0
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
