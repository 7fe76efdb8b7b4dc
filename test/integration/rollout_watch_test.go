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

package integration

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// podWitness watches the pods of a fleet and checks a rule after every event: what
// a poll would miss, it sees.
type podWitness struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	events int
	broken []string
}

// watch begins to check a rule. The rule says what is wrong, or nothing.
func (f *fleet) watch(rule func(pods map[string]*corev1.Pod) string) *podWitness {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		f.Fatal(err)
	}
	pods := clients.CoreV1().Pods(f.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		f.Fatalf("list pods: %v", err)
	}
	watcher, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		f.Fatalf("watch pods: %v", err)
	}
	known := map[string]*corev1.Pod{}
	for i := range list.Items {
		known[list.Items[i].Name] = &list.Items[i]
	}
	w := &podWitness{stop: cancel}
	if wrong := rule(known); wrong != "" {
		f.Errorf("from the start: %s", wrong)
	}
	w.done.Go(func() {
		defer watcher.Stop()
		for e := range watcher.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if ctx.Err() != nil {
				return
			}
			if !ok {
				w.note("the watch ended: " + fmt.Sprint(e.Object))
				return
			}
			if known[pod.Name] = pod; e.Type == watch.Deleted {
				delete(known, pod.Name)
			}
			w.note(rule(known))
		}
	})
	f.Cleanup(cancel)
	return w
}

func (w *podWitness) note(wrong string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	if wrong != "" {
		w.broken = append(w.broken, wrong)
	}
}

// hear ends the watch and reports what was wrong.
func (w *podWitness) hear(f *fleet) {
	f.Helper()
	w.stop()
	w.done.Wait()
	if w.events == 0 {
		f.Error("the witness saw nothing")
	}
	for _, wrong := range w.broken {
		f.Error(wrong)
	}
}

// within is the rule of a budget: no more than most live pods, no fewer than
// least ready ones.
func within(least, most int) func(map[string]*corev1.Pod) string {
	return func(pods map[string]*corev1.Pod) string {
		live, ready := 0, 0
		for _, p := range pods {
			if testkit.Lives(p) {
				live++
				if testkit.IsReady(p) {
					ready++
				}
			}
		}
		if live > most || ready < least {
			return fmt.Sprintf("%d pods live, %d are ready; between %d ready and %d live may be", live, ready, least, most)
		}
		return ""
	}
}
