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

// Command clientset lists nodes, creates a pod, watches it until it runs, and
// deletes it, with the typed clients of client-go.
//
// Look at the watch: it begins at the resourceVersion that the create returned,
// so it misses nothing and repeats nothing, and it ends because the program
// has seen what it waited for, not because a time is over.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		fmt.Println("node", node.Name, "runs", node.Status.NodeInfo.OperatingSystem)
	}

	pods := client.CoreV1().Pods(namespace)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod: %w", err)
	}
	fmt.Println("created pod", pod.Name, "in phase", pod.Status.Phase)

	// A watch may break at any time; the retrying one goes on where it broke.
	lw := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", pod.Name).String()
		return pods.Watch(ctx, o)
	}}
	events, err := watchtools.NewRetryWatcherWithContext(ctx, pod.ResourceVersion, lw)
	if err != nil {
		return err
	}
	defer events.Stop()
	scheduled, running := false, false
	for event := range events.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		switch {
		case !ok:
			return fmt.Errorf("watch pod web: %w", apiError(event.Object))
		case event.Type == watch.Modified && pod.Spec.NodeName != "" && !scheduled:
			scheduled = true
			fmt.Println(event.Type, "the scheduler chose a node")
		case event.Type == watch.Modified && pod.Status.Phase == corev1.PodRunning && !running:
			running = true
			fmt.Println(event.Type, "it is", pod.Status.Phase)
			if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
				return fmt.Errorf("delete pod: %w", err)
			}
		case event.Type == watch.Deleted:
			fmt.Println(event.Type, "it is gone")
			return nil
		}
	}
	return ctx.Err()
}

func apiError(object runtime.Object) error { return fmt.Errorf("unexpected %T: %v", object, object) }
