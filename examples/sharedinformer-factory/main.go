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

// Command sharedinformer-factory reads our own kinds from caches, through the
// generated informers and listers of pkg/client.
//
// Look at the requests: three handlers on two kinds cost two watches, because
// the factory returns the same informer for the same kind. Reading from a lister
// costs nothing.
package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/examples/internal/demo"
	"github.com/mycompany/pod-operator/pkg/client/clientset/versioned"
	"github.com/mycompany/pod-operator/pkg/client/informers/externalversions"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	cfg, requests := demo.Counted(cfg)
	client, err := versioned.NewForConfig(cfg)
	if err != nil {
		return err
	}
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithNamespace(namespace))
	fleets, hellos := factory.Apps().V1().PodManagers(), factory.Test().V1alpha1().HelloWorlds()
	added := make(chan string, 10)
	tell := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { added <- fmt.Sprintf("%T", obj) }}
	for _, informer := range []cache.SharedIndexInformer{fleets.Informer(), factory.Apps().V1().PodManagers().Informer(), hellos.Informer()} {
		if _, err := informer.AddEventHandler(tell); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer factory.Shutdown()
	defer stop()
	sent, _ := requests.Since(func() error {
		factory.StartWithContext(ctx)
		factory.WaitForCacheSyncWithContext(ctx)
		return nil
	})
	fmt.Println("3 handlers on 2 kinds:", sent, "requests until the caches are filled")

	fleet := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}, Spec: appsv1.PodManagerSpec{Image: "nginx:1.27", Replicas: ptr.To[int32](2)}}
	if _, err := client.AppsV1().PodManagers(namespace).Create(ctx, fleet, metav1.CreateOptions{}); err != nil {
		return err
	}
	fmt.Println("created a PodManager:", <-added, "and", <-added, "by the two handlers")
	hello := &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Name: "hello"}, Spec: testv1alpha1.HelloWorldSpec{Size: ptr.To[int32](1)}}
	if _, err := client.TestV1alpha1().HelloWorlds(namespace).Create(ctx, hello, metav1.CreateOptions{}); err != nil {
		return err
	}
	fmt.Println("created a HelloWorld:", <-added)

	var ready *appsv1.PodManager
	sent, err = requests.Since(func() error {
		return demo.Until(ctx, func(context.Context) (bool, error) {
			all, err := fleets.Lister().PodManagers(namespace).List(labels.Everything())
			if err != nil || len(all) != 1 {
				return false, err
			}
			ready = all[0]
			return ready.Status.ReadyReplicas == 2 && meta.IsStatusConditionTrue(ready.Status.Conditions, "Ready"), nil
		})
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", fleet.Name, err)
	}
	fmt.Println("the lister says", ready.Name, "has the pods", ready.Status.Nodes, "after", sent, "requests")
	return nil
}
