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
	"net/http"
	"sync"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

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

// MinWatches is how many watches it takes to read one namespace.
func MinWatches() int { return len(watchedKinds()) }

// Watcher keeps the watches: one stream for each kind and namespace, however many
// Collectors read it.
type Watcher struct {
	config *rest.Config
	http   *http.Client
	mapper meta.RESTMapper
	codecs serializer.CodecFactory
	clock  clock.WithTicker
	// connect is listWatch, but for tests.
	connect func(k watchedKind, namespace string) (cache.ListerWatcher, error)

	mu      sync.Mutex
	streams map[place]*stream
}

// NewWatcher makes a Watcher. The watches share the HTTP client's connections.
func NewWatcher(config *rest.Config, httpClient *http.Client, mapper meta.RESTMapper, scheme *runtime.Scheme, clock clock.WithTicker) *Watcher {
	w := &Watcher{
		config: config, http: httpClient, mapper: mapper, codecs: serializer.NewCodecFactory(scheme), clock: clock,
		streams: map[place]*stream{},
	}
	w.connect = w.listWatch
	return w
}

// listWatch lists and watches one kind in one namespace. It selects nothing: the
// Collectors that share the watch have selectors of their own, and the API
// server does not look at the labels of a workload's pods.
func (w *Watcher) listWatch(k watchedKind, namespace string) (cache.ListerWatcher, error) {
	mapping, err := w.mapper.RESTMapping(k.gvk.GroupKind(), k.gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", k.gvk.Kind, err)
	}
	c, err := apiutil.RESTClientForGVK(k.gvk, false, false, w.config, w.codecs, w.http)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", k.gvk.Kind, err)
	}
	return cache.NewFilteredListWatchFromClient(c, mapping.Resource.Resource, namespace, func(*metav1.ListOptions) {}), nil
}

// enter finds or starts the stream of a place. The first to enter starts it.
func (w *Watcher) enter(ctx context.Context, k watchedKind, namespace string) *stream {
	p := place{kind: k.gvk.Kind, namespace: namespace}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streams[p]
	if s == nil {
		s = newStream(p, k, w.clock)
		s.start(ctx, func() (cache.ListerWatcher, error) { return w.connect(k, namespace) })
		w.streams[p] = s
	}
	s.members++
	return s
}

// exit leaves a stream. The last to leave stops it.
func (w *Watcher) exit(s *stream) {
	w.mu.Lock()
	s.members--
	last := s.members == 0
	if last {
		delete(w.streams, s.place)
	}
	w.mu.Unlock()
	if last {
		s.stop()
	}
}

// watches are one Collector's part in the streams.
type watches struct {
	watcher *Watcher
	book    *book
	taps    map[*tap]*stream

	mu sync.Mutex
	// starting are the watches whose first list is not in, failed the errors
	// of those that do not work.
	starting map[place]bool
	failed   map[place]error
}

// open has a book take part in the streams of some namespaces, until stop.
func (w *Watcher) open(ctx context.Context, namespaces []string, selector labels.Selector, b *book) *watches {
	set := &watches{watcher: w, book: b, taps: map[*tap]*stream{}, starting: map[place]bool{}, failed: map[place]error{}}
	for _, namespace := range namespaces {
		for _, k := range watchedKinds() {
			s := w.enter(ctx, k, namespace)
			set.starting[s.place] = true
			set.taps[&tap{
				kind: k.gvk.Kind, selector: selector, book: b, clock: w.clock, known: map[types.UID]string{},
				works: func() { set.works(s.place) },
				fails: func(err error) { set.fails(s.place, err) },
			}] = s
		}
	}
	// Not before all are noted as starting: counting begins with the last of them.
	for t, s := range set.taps {
		s.join(t)
	}
	return set
}

// stop ends the Collector's part, and the streams that have no other.
func (s *watches) stop() {
	for t, stream := range s.taps {
		stream.leave(t)
	}
	for _, stream := range s.taps {
		s.watcher.exit(stream)
	}
}

// works notes that a watch does what it should. Counting has begun when that is
// so of the last one.
func (s *watches) works(p place) {
	s.mu.Lock()
	news := s.starting[p] || s.failed[p] != nil
	delete(s.starting, p)
	delete(s.failed, p)
	all := len(s.starting) == 0
	s.mu.Unlock()
	if all {
		s.book.begin(s.watcher.clock.Now())
	}
	if news {
		s.book.changed()
	}
}

func (s *watches) fails(p place, err error) {
	s.mu.Lock()
	s.failed[p] = err
	s.mu.Unlock()
	s.book.changed()
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
	first := ""
	var failure error
	for p, err := range s.failed {
		if name := p.String(); first == "" || name < first {
			first, failure = name, err
		}
	}
	return failure
}
