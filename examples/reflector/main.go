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

// Command reflector keeps a store in step with the API server by list and
// watch. An informer is a reflector with a queue and handlers behind it.
//
// Look at the requests: the list is itself a watch that begins with all
// objects. When the watch breaks, the reflector watches on from the last
// resourceVersion it saw, so nothing is listed again. When the API server has
// forgotten that resourceVersion (410 Gone), it lists again. In both cases the
// store ends up right.
package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	cut := make(chan struct{})
	var forgotten atomic.Bool
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			fmt.Println("  request: list")
			return maps.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			switch {
			case o.SendInitialEvents != nil && *o.SendInitialEvents:
				fmt.Println("  request: watch, all objects first")
			case forgotten.Swap(false):
				fmt.Println("  request: watch from resourceVersion", o.ResourceVersion, "-> 410 Gone")
				return nil, apierrors.NewResourceExpired("too old resource version")
			default:
				fmt.Println("  request: watch from resourceVersion", o.ResourceVersion)
			}
			o.LabelSelector = "demo"
			return breakable(cut, func() (watch.Interface, error) { return maps.Watch(ctx, o) })
		},
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, client), &corev1.ConfigMap{}, store, cache.ReflectorOptions{})
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	for _, step := range []struct {
		create string
		before string
		do     func()
	}{
		{"one", "the reflector starts", func() { go reflector.RunWithContext(ctx) }},
		{"two", "all is well", func() {}},
		{"three", "the watch breaks", func() { cut <- struct{}{} }},
		{"four", "the watch breaks, and its resourceVersion is too old", func() { forgotten.Store(true); cut <- struct{}{} }},
	} {
		fmt.Println(step.before)
		step.do()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: step.create, Labels: map[string]string{"demo": "yes"}}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := demo.Until(ctx, func(context.Context) (bool, error) {
			return slices.Contains(store.ListKeys(), namespace+"/"+step.create), nil
		}); err != nil {
			return fmt.Errorf("%s never came: %w", step.create, err)
		}
		fmt.Printf("  %s was created, the store holds %d\n", step.create, len(store.ListKeys()))
	}
	return nil
}

// breakable ends a watch as a lost connection does: the channel of events is
// closed, and no event says why.
func breakable(cut <-chan struct{}, open func() (watch.Interface, error)) (watch.Interface, error) {
	from, err := open()
	if err != nil {
		return nil, err
	}
	events := make(chan watch.Event)
	to := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer from.Stop()
		for {
			select {
			case event, ok := <-from.ResultChan():
				if !ok {
					return
				}
				select {
				case events <- event:
				case <-to.StopChan():
					return
				}
			case <-cut:
				return
			case <-to.StopChan():
				return
			}
		}
	}()
	return to, nil
}
