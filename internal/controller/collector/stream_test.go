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
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

// server is an API server for a Watcher: it answers lists as list says, counts
// the watches that are open, and hands out the events of pods.
type server struct {
	list func(k watchedKind) error
	open atomic.Int32
	most atomic.Int32

	mu   sync.Mutex
	pods []*watch.FakeWatcher
}

func newServer() *server { return &server{list: func(watchedKind) error { return nil }} }

func (s *server) watcher() *Watcher {
	return &Watcher{clock: clock.RealClock{}, streams: map[place]*stream{}, connect: s.connect}
}

// counted is a watch that is no longer open once it is stopped.
type counted struct {
	*watch.FakeWatcher
	stop func()
}

func (c *counted) Stop() { c.stop() }

func (s *server) connect(k watchedKind, _ string) (cache.ListerWatcher, error) {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, s.list(k)
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, errors.New("no streaming lists here")
			}
			w := watch.NewFake()
			if n := s.open.Add(1); n > s.most.Load() {
				s.most.Store(n)
			}
			if k.gvk.Kind == "Pod" {
				s.mu.Lock()
				s.pods = append(s.pods, w)
				s.mu.Unlock()
			}
			return &counted{w, sync.OnceFunc(func() { s.open.Add(-1); w.Stop() })}, nil
		},
	}, nil
}

// emit sends an event to all watches of pods.
func (s *server) emit(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.pods {
		w.Add(p.DeepCopy())
	}
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		t.Fatalf("waited in vain until %s", what)
	}
}

func TestCollectorsOfANamespaceShareItsWatches(t *testing.T) {
	api := newServer()
	w := api.watcher()
	var books []*book
	var sets []*watches
	for range 3 {
		b := newBook(nil, func() {})
		books = append(books, b)
		sets = append(sets, w.open(t.Context(), []string{"a", "b"}, labels.Everything(), b))
		eventually(t, "the watches are up", sets[len(sets)-1].ready)
	}
	eventually(t, "each namespace has its watches", func() bool { return int(api.open.Load()) == 2*MinWatches() })
	api.emit(aPod("1", "2"))
	for _, b := range books {
		// A pod of each namespace, with one UID.
		eventually(t, "all count the pod", func() bool { s := statusOf(b); return s.Events.Added == 2 && s.Since != nil })
	}
	// A late one gets what is there, and no request is sent for it.
	b := newBook(nil, func() {})
	late := w.open(t.Context(), []string{"a"}, labels.Everything(), b)
	if s := statusOf(b); !late.ready() || s.Pods != 1 || s.Events.Total() != 0 {
		t.Errorf("the late one is ready: %t, and counts %d pods, %+v", late.ready(), s.Pods, s.Events)
	}
	late.stop()
	sets[0].stop()
	sets[1].stop()
	if open := api.open.Load(); int(open) != 2*MinWatches() {
		t.Errorf("%d watches are open while one Collector reads", open)
	}
	sets[2].stop() // returns only when the watches have ended
	if open, most := api.open.Load(), api.most.Load(); open != 0 || int(most) != 2*MinWatches() {
		t.Errorf("%d watches are open at the end, and %d were at most", open, most)
	}
	if len(w.streams) != 0 {
		t.Errorf("%d streams are left", len(w.streams))
	}
}

func TestNothingReachesACollectorThatLeft(t *testing.T) {
	api := newServer()
	w := api.watcher()
	stays, leaves := newBook(nil, func() {}), newBook(nil, func() {})
	staying, leaving := w.open(t.Context(), []string{"a"}, labels.Everything(), stays), w.open(t.Context(), []string{"a"}, labels.Everything(), leaves)
	eventually(t, "the watches are up", func() bool { return staying.ready() && leaving.ready() && int(api.open.Load()) == MinWatches() })
	leaving.stop()
	api.emit(aPod("1", "2"))
	eventually(t, "the pod is counted", func() bool { return statusOf(stays).Events.Added == 1 })
	if got := statusOf(leaves).Events.Total(); got != 0 {
		t.Errorf("%d events reached it", got)
	}
	staying.stop()
}

func TestAFailureIsReportedUntilTheWatchWorks(t *testing.T) {
	api := newServer()
	var allowed atomic.Bool
	api.list = func(k watchedKind) error {
		if k.gvk.Kind == "Pod" && !allowed.Load() {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("not yours"))
		}
		return nil
	}
	w := api.watcher()
	early := &counter{watches: w.open(t.Context(), []string{"a"}, labels.Everything(), newBook(nil, func() {}))}
	defer early.watches.stop()
	failed := func(c *counter) func() bool {
		return func() bool {
			stalled, _ := c.health()
			return stalled != nil && stalled.reason == collectorv1.ReasonWatchFailed
		}
	}
	eventually(t, "it is told", failed(early))
	late := &counter{watches: w.open(t.Context(), []string{"a"}, labels.Everything(), newBook(nil, func() {}))}
	defer late.watches.stop()
	if !failed(late)() {
		t.Error("it is not told to one that comes later")
	}
	allowed.Store(true)
	for _, c := range []*counter{early, late} {
		eventually(t, "the failure is forgotten", func() bool {
			stalled, starting := c.health()
			return stalled == nil && starting == nil
		})
	}
}

func TestAKindWithoutCRDKeepsNoneWaiting(t *testing.T) {
	api := newServer()
	w := api.watcher()
	w.connect = func(k watchedKind, namespace string) (cache.ListerWatcher, error) {
		if k.ours {
			return nil, &meta.NoKindMatchError{GroupKind: k.gvk.GroupKind()}
		}
		return api.connect(k, namespace)
	}
	for range 2 { // the second one comes when that is known
		set := w.open(t.Context(), []string{"a"}, labels.Everything(), newBook(nil, func() {}))
		t.Cleanup(set.stop)
		eventually(t, "it counts without the kind", set.ready)
		if err := set.failure(); err != nil {
			t.Errorf("it takes a missing CRD for a failure: %v", err)
		}
	}
}
