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

package upgrade

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// life is what a watch saw of one pod.
type life struct {
	namespace, name string
	// revision is the one that it had last.
	revision string
	// leaving: it was deleted, and may be gone.
	leaving bool
}

// census counts pods by UID: a pod that was replaced under its name counts twice.
type census struct {
	mu   sync.Mutex
	pods map[types.UID]life
	lost error
}

// takeCensus watches the pods of all fleets from now on, until the test ends.
func takeCensus(t *testing.T) *census {
	t.Helper()
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	all := clients.CoreV1().Pods(metav1.NamespaceAll)
	list, err := all.List(t.Context(), metav1.ListOptions{LabelSelector: appsv1.LabelName})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = appsv1.LabelName
			return all.Watch(ctx, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &census{pods: map[types.UID]life{}}
	go func() {
		for e := range watcher.ResultChan() {
			c.saw(e)
		}
	}()
	return c
}

func (c *census) saw(e watch.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		c.lost = fmt.Errorf("the watch of pods was lost: %v", e.Object)
		return
	}
	c.pods[pod.UID] = life{
		pod.Namespace, pod.Name, pod.Labels[appsv1.LabelRevision],
		e.Type == watch.Deleted || pod.DeletionTimestamp != nil || c.pods[pod.UID].leaving,
	}
}

// of are the pods that a fleet had since the census began.
func (c *census) of(f *fleet) map[types.UID]life {
	f.Helper()
	f.upToDate(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost != nil {
		f.Fatal(c.lost)
	}
	pods := maps.Clone(c.pods)
	maps.DeleteFunc(pods, func(_ types.UID, l life) bool { return l.namespace != f.Namespace })
	return pods
}

// upToDate waits until the watch has seen what the fleet has.
func (f *fleet) upToDate(c *census) {
	f.Helper()
	testkit.Eventually(f, "the watch is up to date", func() error {
		live := map[types.UID]life{}
		for _, pod := range f.Live() {
			live[pod.UID] = life{pod.Namespace, pod.Name, pod.Labels[appsv1.LabelRevision], false}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		seen := map[types.UID]life{}
		for uid, l := range c.pods {
			if l.namespace == f.Namespace && !l.leaving {
				seen[uid] = l
			}
		}
		if c.lost == nil && !maps.Equal(live, seen) {
			return fmt.Errorf("it saw %v of %v", seen, live)
		}
		return nil
	})
}
