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

// Command indexer finds pods by phase and by node in an informer's store
// without looking at all of them.
//
// Look at the index functions: they run once for each change, and a lookup is a
// map access. The pod that no node can take is under the phase Pending and
// under no node, because its index function returns no value for it.
package main

import (
	"context"
	"fmt"
	"slices"

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
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	if err := informer.AddIndexers(cache.Indexers{
		"phase": func(obj any) ([]string, error) { return []string{string(obj.(*corev1.Pod).Status.Phase)}, nil },
		"node": func(obj any) ([]string, error) {
			if node := obj.(*corev1.Pod).Spec.NodeName; node != "" {
				return []string{node}, nil
			}
			return nil, nil
		},
	}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer factory.Shutdown()
	defer stop()
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)

	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 2})
	if err != nil {
		return err
	}
	for i, name := range []string{"web-0", "web-1", "web-2", "stuck"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
		}
		if name == "stuck" {
			pod.Spec.NodeSelector = map[string]string{"no": "such-node"}
		} else {
			pod.Spec.NodeName = nodes.Items[i%len(nodes.Items)].Name // past the scheduler, so that we know where
		}
		if _, err := client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create pod %s: %w", name, err)
		}
	}
	if err := demo.Until(ctx, func(context.Context) (bool, error) {
		running, err := informer.GetIndexer().IndexKeys("phase", string(corev1.PodRunning))
		return len(running) == 3 && len(informer.GetIndexer().ListKeys()) == 4, err
	}); err != nil {
		return err
	}

	for _, index := range []string{"phase", "node"} {
		values := informer.GetIndexer().ListIndexFuncValues(index)
		slices.Sort(values)
		for _, value := range values {
			pods, err := informer.GetIndexer().ByIndex(index, value)
			if err != nil {
				return err
			}
			var names []string
			for _, pod := range pods {
				names = append(names, pod.(*corev1.Pod).Name)
			}
			slices.Sort(names)
			if len(names) > 0 {
				fmt.Println(index, value, "has", names)
			}
		}
	}
	return nil
}
