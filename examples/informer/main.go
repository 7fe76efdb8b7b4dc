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

// Command informer follows ConfigMaps with a shared informer and its three
// handlers.
//
// Look at the resync: once a period the informer hands every object it holds to
// the update handler again, without asking the API server. Old and new then
// have the same resourceVersion, and a handler that only cares about changes
// drops them. And look at the delete handler: where the informer missed the
// deletion, it gets a tombstone in place of the object.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
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
	happened := make(chan string)
	var once sync.Once
	changed := false // handlers are called one after the other
	factory := informers.NewSharedInformerFactoryWithOptions(client, time.Second, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "demo" }))
	if _, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			added := obj.(*corev1.ConfigMap)
			happened <- fmt.Sprintf("added %s: %s (in the initial list: %t)", added.Name, added.Data["text"], isInInitialList)
		},
		UpdateFunc: func(before, after any) {
			was, is := before.(*corev1.ConfigMap), after.(*corev1.ConfigMap)
			if was.ResourceVersion == is.ResourceVersion {
				if changed { // on a slow day there is one before it, too
					once.Do(func() {
						happened <- fmt.Sprintf("a resync of %s, dropped: resourceVersion is %s before and after", is.Name, is.ResourceVersion)
					})
				}
				return
			}
			changed = true
			happened <- fmt.Sprintf("updated %s: %s -> %s", is.Name, was.Data["text"], is.Data["text"])
		},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj // its last known state, which may be old
			}
			happened <- "deleted " + obj.(*corev1.ConfigMap).Name
		},
	}); err != nil {
		return err
	}

	maps := client.CoreV1().ConfigMaps(namespace)
	greeting := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "greeting", Labels: map[string]string{"demo": "yes"}},
		Data:       map[string]string{"text": "hello"},
	}
	if greeting, err = maps.Create(ctx, greeting, metav1.CreateOptions{}); err != nil {
		return err
	}
	defer factory.Shutdown()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	factory.StartWithContext(ctx)
	fmt.Println(<-happened)

	greeting.Data["text"] = "good morning"
	if _, err = maps.Update(ctx, greeting, metav1.UpdateOptions{}); err != nil {
		return err
	}
	fmt.Println(<-happened)
	fmt.Println(<-happened)
	if err := maps.Delete(ctx, greeting.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	fmt.Println(<-happened)
	return nil
}
