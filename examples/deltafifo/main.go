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

// Command deltafifo shows the queue between a reflector and an informer's
// handlers: first what the API server's events become in the queue that
// client-go uses today, then the same calls on that queue and on DeltaFIFO, the
// one it used for years.
//
// Look at the order. DeltaFIFO gathers the deltas of an object and hands them
// out at once, so b's waits behind a's last. The real FIFO hands them out in
// the order in which they came, across objects, so its consumer can name one
// resourceVersion up to which it has seen everything.
package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	if err := fromTheServer(ctx, cfg, namespace); err != nil {
		return err
	}
	today := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
	if err := compare("RealFIFO ", today); err != nil {
		return err
	}
	return compare("DeltaFIFO", cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: cache.NewStore(cache.MetaNamespaceKeyFunc)}))
}

// fromTheServer prints the deltas of one object, from the list to its deletion.
func fromTheServer(ctx context.Context, cfg *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true})
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", namespace, fields.OneTermEqualSelector("metadata.name", "a"))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, queue.Close)()
	go cache.NewReflectorWithOptions(lw, &corev1.ConfigMap{}, queue, cache.ReflectorOptions{}).RunWithContext(ctx)

	maps := client.CoreV1().ConfigMaps(namespace)
	next := map[cache.DeltaType]func() error{
		cache.ReplacedAll: func() error { _, err := maps.Create(ctx, object("a", "1"), metav1.CreateOptions{}); return err },
		cache.Added:       func() error { _, err := maps.Update(ctx, object("a", "2"), metav1.UpdateOptions{}); return err },
		cache.Updated:     func() error { return maps.Delete(ctx, "a", metav1.DeleteOptions{}) },
	}
	for done := false; !done; {
		if _, err := queue.Pop(func(popped any, _ bool) error {
			delta := popped.(cache.Deltas)[0]
			switch of := delta.Object.(type) {
			case cache.BookmarkInfo:
				return nil // it moves the resourceVersion, and no object
			case cache.ReplacedAllInfo:
				fmt.Println("from the server:", delta.Type, "by a list of", len(of.Objects), "objects")
			case *corev1.ConfigMap:
				fmt.Println("from the server:", delta.Type, of.Name, of.Data)
			}
			done = delta.Type == cache.Deleted
			if done {
				return nil
			}
			return next[delta.Type]()
		}); err != nil {
			return fmt.Errorf("pop: %w", err)
		}
	}
	return nil
}

// compare makes the same calls on any queue and prints what comes out.
func compare(name string, queue cache.Queue) error {
	calls := []func() error{
		func() error { return queue.Add(object("a", "1")) },
		func() error { return queue.Add(object("b", "1")) },
		func() error { return queue.Update(object("a", "2")) },
		func() error { return queue.Delete(object("a", "2")) },
	}
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	var out []string
	for deltas := 0; deltas < len(calls); {
		if _, err := queue.Pop(func(popped any, _ bool) error {
			var types []string
			for _, delta := range popped.(cache.Deltas) {
				types = append(types, string(delta.Type))
			}
			deltas += len(types)
			out = append(out, popped.(cache.Deltas).Newest().Object.(*corev1.ConfigMap).Name+" "+strings.Join(types, "+"))
			return nil
		}); err != nil {
			return err
		}
	}
	fmt.Println(name, "hands out", strings.Join(out, ", "))
	return nil
}

func object(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"version": version}}
}
