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

package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// world is a namespace with a workload in it.
type world struct {
	*testing.T
	namespace string
	// before are the pods that have to stay.
	before map[string]types.UID

	mu sync.Mutex
	// seen is every pod that ever was, by UID.
	seen map[types.UID]string
	gone map[types.UID]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{T: t, namespace: suite.Namespace(t), seen: map[types.UID]string{}, gone: map[types.UID]string{}}
}

// deploy makes a Deployment and waits until it is rolled out.
func (w *world) deploy(replicas int32, images ...string) {
	w.Helper()
	labels := map[string]string{"app": "web"}
	d := &kappsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web", Labels: map[string]string{"team": "shop"}},
		Spec: kappsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: images[0]}}},
			},
		},
	}
	suite.Create(w, d)
	w.awaitDeployment(replicas)
	for _, image := range images[1:] {
		suite.Kubectl(w, "set", "image", "-n", w.namespace, "deployment/web", "app="+image)
		w.awaitDeployment(replicas)
	}
}

func (w *world) awaitDeployment(replicas int32) {
	w.Helper()
	testkit.Eventually(w, "the Deployment is rolled out", func() error {
		d := &kappsv1.Deployment{}
		if err := suite.Client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, d); err != nil {
			return err
		}
		s := &d.Status
		if s.ObservedGeneration < d.Generation || s.AvailableReplicas != replicas || s.UpdatedReplicas != replicas || s.Replicas != replicas {
			return fmt.Errorf("generation %d of %d, %d there, %d updated, %d available",
				s.ObservedGeneration, d.Generation, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
		}
		if n := len(w.live()); n != int(replicas) {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
}

func (w *world) live() []corev1.Pod {
	w.Helper()
	pods := suite.Pods(w, w.namespace, nil)
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// witness watches the pods from now on.
func (w *world) witness() {
	w.Helper()
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		w.Fatal(err)
	}
	list, err := clients.CoreV1().Pods(w.namespace).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	w.before = testkit.UIDs(list.Items)
	for i := range list.Items {
		w.seen[list.Items[i].UID] = list.Items[i].Name
	}
	w.watch(list.ResourceVersion, clients.CoreV1().Pods(w.namespace).Watch, w.saw)
}

type watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)

// WatchWithContext makes it what client-go takes.
func (f watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, options)
}

// watch sees everything since a version: a watch that ends goes on where it ended.
func (w *world) watch(version string, begin watcher, saw func(watch.Event)) {
	w.Helper()
	events, err := watchtools.NewRetryWatcherWithContext(w.Context(), version, begin)
	w.must(err)
	go func() {
		for e := range events.ResultChan() {
			saw(e)
		}
	}()
}

func (w *world) saw(e watch.Event) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[pod.UID] = pod.Name
	if pod.DeletionTimestamp != nil || e.Type == watch.Deleted {
		w.gone[pod.UID] = pod.Name
	}
}

// expectUntouched fails if a pod came or went since the witness began.
func (w *world) expectUntouched() {
	w.Helper()
	if now := testkit.UIDs(w.live()); !maps.Equal(now, w.before) {
		w.Errorf("the pods are %v, and were %v", now, w.before)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.gone) > 0 {
		w.Errorf("pods went: %v", w.gone)
	}
	if len(w.seen) != len(w.before) {
		w.Errorf("%d pods were seen, and there were %d: %v", len(w.seen), len(w.before), w.seen)
	}
}

// expectOwner waits until a kind of owner controls all pods.
func (w *world) expectOwner(kind string) {
	w.Helper()
	testkit.Eventually(w, kind+" controls all pods", func() error {
		for _, pod := range w.live() {
			if ref := metav1.GetControllerOf(&pod); ref == nil || ref.Kind != kind {
				return fmt.Errorf("pod %s: %v", pod.Name, ref)
			}
		}
		return nil
	})
}

// expectManager waits until the PodManager is ready with all pods.
func (w *world) expectManager(replicas int32) *appsv1.PodManager {
	w.Helper()
	pm := suite.Fleet(w, w.namespace, "web").ExpectReady(int(replicas))
	w.expectOwner("PodManager")
	return pm
}

// interrupted is what every write answers once a migration was killed.
var errKilled = errors.New("killed")

// writes counts the writes of a migration, and kills it before one of them.
type writes struct {
	client.Client
	mu   sync.Mutex
	n    int
	kill int
	// killAt kills it before the first write that begins so.
	killAt string
	// before is called before each write, with its number and what it is.
	before func(n int, what string)
	log    []string
}

func (c *writes) next(verb string, obj client.Object) error {
	what := fmt.Sprintf("%s %T %s", verb, obj, obj.GetName())
	if strings.Contains(what, "AccessReview") {
		return nil
	}
	c.mu.Lock()
	if what == "patch *v1.ConfigMap "+migrate.RecordName("web") { // a sign of life, at any time
		defer c.mu.Unlock()
		if c.kill > 0 && c.n >= c.kill {
			return errKilled
		}
		return nil
	}
	c.n++
	n := c.n
	c.log = append(c.log, what)
	if c.kill == 0 && c.killAt != "" && strings.HasPrefix(what, c.killAt) {
		c.kill = n
	}
	c.mu.Unlock()
	if c.kill > 0 && n >= c.kill {
		return errKilled
	}
	if c.before != nil {
		c.before(n, what)
	}
	return nil
}

func (c *writes) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if slices.Contains(options, client.CreateOption(client.DryRunAll)) {
		return c.Client.Create(ctx, obj, options...)
	}
	if err := c.next("create", obj); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, options...)
}

func (c *writes) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	if err := c.next("update", obj); err != nil {
		return err
	}
	return c.Client.Update(ctx, obj, options...)
}

func (c *writes) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	if slices.Contains(options, client.PatchOption(client.DryRunAll)) {
		return c.Client.Patch(ctx, obj, patch, options...)
	}
	if err := c.next("patch", obj); err != nil {
		return err
	}
	return c.Client.Patch(ctx, obj, patch, options...)
}

func (c *writes) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if err := c.next("delete", obj); err != nil {
		return err
	}
	return c.Client.Delete(ctx, obj, options...)
}

// mover is a migration of this world's workload.
func (w *world) mover(c client.Client) *migrate.Mover {
	return &migrate.Mover{Client: c, Holder: w.Name(), Patience: time.Minute, Say: func(format string, args ...any) {
		w.Logf(format, args...)
	}}
}

func (w *world) key() client.ObjectKey { return client.ObjectKey{Namespace: w.namespace, Name: "web"} }

// take does what the verb does, past its output.
func (w *world) take(c client.Client, kind *migrate.Kind) error { return w.takeWith(w.mover(c), kind) }

func (w *world) takeWith(m *migrate.Mover, kind *migrate.Kind) error {
	c := m.Client
	found, err := migrate.Find(w.Context(), c, kind, w.key())
	if err != nil {
		return err
	}
	if found != nil {
		if obstacle := found.Obstacle(); obstacle != "" {
			return errors.New(obstacle)
		}
		preview, err := migrate.Look(w.Context(), c, found)
		if err != nil {
			return err
		}
		if n := len(preview.Restarting()); n > 0 {
			return fmt.Errorf("%d pods restart: %v", n, preview.Differences)
		}
	}
	return m.TakeOver(w.Context(), kind, w.key(), found)
}

func (w *world) giveBack(c client.Client) error {
	return w.mover(c).GiveBack(w.Context(), w.key(), nil)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
