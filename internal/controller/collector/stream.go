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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// place is what a stream watches: a kind in a namespace.
type place struct{ kind, namespace string }

func (p place) String() string { return p.kind + " in " + p.namespace }

// stream is one watch, shared by the taps of all Collectors that read the same
// place. To the reflector it is a store. It keeps facts of everything in its
// place, selected or not, so that a tap that joins late gets the list at
// once, and no request is sent for it.
type stream struct {
	place  place
	kind   watchedKind
	clock  clock.WithTicker
	cancel context.CancelFunc
	ended  sync.WaitGroup
	// members is guarded by the hub.
	members int

	mu     sync.Mutex
	taps   map[*tap]struct{}
	seen   map[types.UID]thing
	listed bool
	// up: the watch does what it should; err: it does not.
	up  bool
	err error
}

var _ cache.TransformingStore = &stream{}

func newStream(p place, k watchedKind, clock clock.WithTicker) *stream {
	return &stream{place: p, kind: k, clock: clock, taps: map[*tap]struct{}{}, seen: map[types.UID]thing{}}
}

// join adds a tap, with everything that is known by now.
func (s *stream) join(t *tap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taps[t] = struct{}{}
	if s.listed {
		t.replace(s.seen)
	}
	if s.err != nil {
		t.fails(s.err)
	} else if s.up {
		t.works()
	}
}

// leave takes a tap away. Nothing reaches it afterwards.
func (s *stream) leave(t *tap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taps, t)
}

// start runs the watch until stop, or until ctx ends.
func (s *stream) start(ctx context.Context, connect func() (cache.ListerWatcher, error)) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.ended.Go(func() { s.run(ctx, connect) })
}

// stop ends the watch and waits until it has ended.
func (s *stream) stop() {
	s.cancel()
	s.ended.Wait()
}

// run keeps the watch alive, with a growing wait after failures.
func (s *stream) run(ctx context.Context, connect func() (cache.ListerWatcher, error)) {
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 30 * time.Second}
	var reflector *cache.Reflector
	_ = backoff.DelayWithReset(s.clock, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := error(nil)
		if reflector == nil {
			var lw cache.ListerWatcher
			if lw, err = connect(); err == nil {
				reflector = cache.NewReflectorWithOptions(lw, s.kind.new(), s, cache.ReflectorOptions{Name: "collector/" + s.place.kind})
			}
		}
		if err == nil {
			err = reflector.ListAndWatchWithContext(ctx)
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			// A watch whose past is no longer stored lists anew, and that is all.
		case s.kind.ours && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err)):
			// Without its CRD there is nothing of the kind to count.
			s.mu.Lock()
			s.works()
			s.mu.Unlock()
		default:
			s.fails(ctx, err)
		}
		return false, nil
	})
}

// works notes that the watch does what it should. The caller has the lock.
func (s *stream) works() {
	s.up, s.err = true, nil
	for t := range s.taps {
		t.works()
	}
}

// fails notes a failure, and logs it once, not at every try.
func (s *stream) fails(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		log.FromContext(ctx).Info("A watch failed and is tried again", "watch", s.place.String(), "error", err.Error())
	}
	s.err = fmt.Errorf("watch %s: %w", s.place, err)
	for t := range s.taps {
		t.fails(s.err)
	}
}

// Transformer implements cache.TransformingStore.
func (s *stream) Transformer() cache.TransformFunc { return slim }

// Add implements cache.ReflectorStore: a watch event ADDED.
func (s *stream) Add(raw any) error { return s.saw(added, raw) }

// Update implements cache.ReflectorStore: a watch event MODIFIED.
func (s *stream) Update(raw any) error { return s.saw(modified, raw) }

// Delete implements cache.ReflectorStore: a watch event DELETED.
func (s *stream) Delete(raw any) error { return s.saw(deleted, raw) }

// Resync implements cache.ReflectorStore; nothing here needs it.
func (s *stream) Resync() error { return nil }

// Replace implements cache.ReflectorStore.
func (s *stream) Replace(list []any, _ string) error {
	seen := make(map[types.UID]thing, len(list))
	for _, raw := range list {
		one, ok := thingIn(raw)
		if !ok {
			return fmt.Errorf("a list of %s holds a %T", s.place.kind, raw)
		}
		seen[one.uid] = one
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.listed = seen, true
	for t := range s.taps {
		t.replace(seen)
	}
	s.works()
	return nil
}

func (s *stream) saw(v verb, raw any) error {
	seen, ok := thingIn(raw)
	if !ok {
		return fmt.Errorf("a watch of %s delivered a %T", s.place.kind, raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v == deleted {
		delete(s.seen, seen.uid)
	} else {
		s.seen[seen.uid] = seen
	}
	for t := range s.taps {
		t.saw(v, seen)
	}
	return nil
}

// thing is what is kept of a pod or of a workload: facts, and the labels by
// which selectors find it.
type thing struct {
	uid             types.UID
	resourceVersion string
	// One of these is there.
	pod      *pod
	workload *workload
	labels   labels.Set
	// podLabels are those of the pods that a workload makes.
	podLabels labels.Set
}

func thingOf(obj client.Object) thing {
	seen := thing{uid: obj.GetUID(), resourceVersion: obj.GetResourceVersion(), labels: usual(obj.GetLabels())}
	if p, ok := obj.(*corev1.Pod); ok {
		facts := podFacts(p)
		seen.pod = &facts
		return seen
	}
	facts, podLabels := factsOf(obj)
	seen.workload, seen.podLabels = &facts, usual(podLabels)
	return seen
}
