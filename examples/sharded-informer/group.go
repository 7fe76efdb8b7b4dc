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

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

type configMaps = corev1client.ConfigMapInterface

// sharder is a way to share: what is asked of the server, or what the client
// keeps of what it gets.
type sharder struct {
	name  string
	asks  func(o *metav1.ListOptions, shard, shards int)
	keeps func(object *corev1.ConfigMap, shard, shards int) bool
}

// group is the informers that share the load, and what their handlers saw.
type group struct {
	informers []cache.SharedIndexInformer
	stop      func()

	mu   sync.Mutex
	seen []map[string]bool // names, by informer
}

// start returns when all informers hold what was there.
func (s sharder) start(ctx context.Context, maps configMaps, shards int) (*group, error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	g := &group{stop: func() { cancel(); running.Wait() }}
	for i := range shards {
		informer := cache.NewSharedIndexInformerWithOptions(s.listWatch(maps, i, shards), &corev1.ConfigMap{}, cache.SharedIndexInformerOptions{})
		keeps := func(object *corev1.ConfigMap) bool { return s.keeps == nil || s.keeps(object, i, shards) }
		// A transform cannot drop an object, but it can leave of it what the
		// store needs to find it again.
		if err := informer.SetTransform(func(obj any) (any, error) {
			object, ok := obj.(*corev1.ConfigMap)
			if !ok || keeps(object) {
				return obj, nil
			}
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
			}}, nil
		}); err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		if _, err := informer.AddEventHandler(cache.FilteringResourceEventHandler{
			FilterFunc: func(obj any) bool {
				object, ok := obj.(*corev1.ConfigMap) // a tombstone is not one
				return ok && object.Data != nil && keeps(object)
			},
			Handler: cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				g.mu.Lock()
				defer g.mu.Unlock()
				seen[obj.(*corev1.ConfigMap).Name] = true
			}},
		}); err != nil {
			return nil, err
		}
		g.informers, g.seen = append(g.informers, informer), append(g.seen, seen)
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	for _, informer := range g.informers {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, ctx.Err()
		}
	}
	return g, nil
}

func (s sharder) listWatch(maps configMaps, shard, shards int) cache.ListerWatcher {
	ask := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = "bucket" // not what others put into the namespace
		if s.asks != nil {
			s.asks(&o, shard, shards)
		}
		return o
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, ask(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, ask(o))
		},
	}
}

// settle waits until the handlers saw as many objects as there are.
func (g *group) settle(ctx context.Context, objects int) error {
	return demo.Until(ctx, func(context.Context) (bool, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		count := 0
		for _, seen := range g.seen {
			count += len(seen)
		}
		return count >= objects, nil
	})
}

func (g *group) exactlyOnce(objects int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	by := map[string]int{}
	for informer, seen := range g.seen {
		for name := range seen {
			if other, twice := by[name]; twice {
				return fmt.Errorf("%s was seen by informer %d and by informer %d", name, other, informer)
			}
			by[name] = informer
		}
	}
	if len(by) != objects {
		return fmt.Errorf("%d of %d objects were seen", len(by), objects)
	}
	return nil
}

// holdings tells what each informer keeps in memory: its objects, and their size.
func (g *group) holdings() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for i, informer := range g.informers {
		size := 0
		for _, object := range informer.GetStore().List() {
			size += object.(*corev1.ConfigMap).Size()
		}
		out = append(out, fmt.Sprintf("%d objects in %d KiB", len(g.seen[i]), size/1024))
	}
	return strings.Join(out, ", ")
}
