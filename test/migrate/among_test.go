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
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/migrate/judge"
)

var (
	seed  = flag.Uint64("seed", 1, "The first seed of TestMigrationsAmongOthers.")
	seeds = flag.Uint64("seeds", 4, "How many of them it plays for each kind.")
)

// judged are the resources whose history is judged.
var judged = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "configmaps"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	{Group: appsv1.GroupVersion.Group, Version: "v1", Resource: "podmanagers"},
}

// chronicle is the history of a namespace.
type chronicle struct {
	*world
	client dynamic.Interface
	before []judge.Version

	lock    sync.Mutex
	history []judge.Version
	// now are the versions that the history ends with.
	now map[types.UID]string
}

func (w *world) chronicle() *chronicle {
	w.Helper()
	c := &chronicle{world: w, now: map[types.UID]string{}}
	var err error
	c.client, err = dynamic.NewForConfig(suite.Cluster.RESTConfig())
	w.must(err)
	for _, resource := range judged {
		list, err := c.client.Resource(resource).Namespace(w.namespace).List(w.Context(), metav1.ListOptions{})
		w.must(err)
		for i := range list.Items {
			c.before = append(c.before, judge.Version{Unstructured: &list.Items[i]})
			c.now[list.Items[i].GetUID()] = list.Items[i].GetResourceVersion()
		}
		w.watch(list.GetResourceVersion(), c.client.Resource(resource).Namespace(w.namespace).Watch, c.saw)
	}
	w.Cleanup(func() {
		if w.Failed() {
			w.Log(c.account())
		}
	})
	return c
}

func (c *chronicle) saw(e watch.Event) {
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok || e.Type == watch.Error {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.history = append(c.history, judge.Version{Unstructured: u, Gone: e.Type == watch.Deleted})
	c.now[u.GetUID()] = u.GetResourceVersion()
	if e.Type == watch.Deleted {
		delete(c.now, u.GetUID())
	}
}

// judge waits until the history is complete and ends as it should, and prints what
// it breaks.
func (c *chronicle) judge() {
	c.Helper()
	var broken []string
	testkit.Eventually(c, "nothing is under way any more", func() error {
		live := map[types.UID]string{}
		for _, resource := range judged {
			list, err := c.client.Resource(resource).Namespace(c.namespace).List(c.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range list.Items {
				live[list.Items[i].GetUID()] = list.Items[i].GetResourceVersion()
			}
		}
		c.lock.Lock()
		defer c.lock.Unlock()
		if !maps.Equal(live, c.now) {
			return errors.New("the watches are behind")
		}
		broken = judge.Judge(c.before, c.history)
		for _, b := range broken {
			if strings.HasPrefix(b, "at the end") {
				return errors.New(b)
			}
		}
		return nil
	})
	for _, b := range broken {
		c.Errorf("%s", b)
	}
	c.Logf("%d versions judged", len(c.history))
}

// account is the history in short, a line for each version: what became of the pods and of
// what keeps them.
func (c *chronicle) account() string {
	c.lock.Lock()
	defer c.lock.Unlock()
	slices.SortStableFunc(c.history, func(a, b judge.Version) int {
		return cmp.Or(cmp.Compare(len(a.GetResourceVersion()), len(b.GetResourceVersion())), cmp.Compare(a.GetResourceVersion(), b.GetResourceVersion()))
	})
	var out strings.Builder
	for _, v := range c.history {
		out.WriteString(line(v) + "\n")
	}
	return out.String()
}

func line(v judge.Version) string {
	words := []string{v.GetResourceVersion(), v.GetKind(), v.GetName()}
	for _, path := range [][]string{
		{"metadata", "deletionTimestamp"},
		{"metadata", "finalizers"},
		{"metadata", "annotations", appsv1.AnnotationTakeOver},
		{"metadata", "annotations", "apps.mycompany.com/migrating"},
		{"metadata", "labels", appsv1.LabelRevision},
		{"spec", "replicas"},
		{"status", "phase"},
	} {
		if value, ok, _ := unstructured.NestedFieldNoCopy(v.Object, path...); ok {
			words = append(words, fmt.Sprintf("%s=%v", path[len(path)-1], value))
		}
	}
	for _, ref := range v.GetOwnerReferences() {
		words = append(words, "of", ref.Kind, ref.Name)
	}
	for _, path := range [][]string{{"spec", "containers"}, {"spec", "template", "spec", "containers"}} {
		if list, ok, _ := unstructured.NestedSlice(v.Object, path...); ok {
			words = append(words, fmt.Sprint(list[0].(map[string]any)["image"]))
		}
	}
	if raw, _ := v.MarshalJSON(); bytes.Contains(raw, []byte("EvictionByEvictionAPI")) {
		words = append(words, "evicted")
	}
	if v.Gone {
		words = append(words, "GONE")
	}
	return strings.Join(words, " ")
}

// user is what others do meanwhile: an autoscaler, a drain, and a person who edits.
type user struct {
	*world
	*rand.Rand
}

// top is the workload that a user finds, or nil.
func (u *user) top(ctx context.Context) client.Object {
	for _, gvk := range []schema.GroupVersionKind{
		migrate.Deployments.GroupVersionKind, migrate.StatefulSets.GroupVersionKind, appsv1.GroupVersion.WithKind("PodManager"),
	} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		if suite.Client.Get(ctx, u.key(), object) == nil && object.GetDeletionTimestamp() == nil {
			return object
		}
	}
	return nil
}

// scale does what an autoscaler does; that it finds nothing is no fault.
func (u *user) scale(ctx context.Context) {
	if top := u.top(ctx); top != nil {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: u.Int32N(3) + 2}}
		_ = suite.Client.SubResource("scale").Update(ctx, top, client.WithSubResourceBody(scale))
	}
}

// edit sets the image in the template, as kubectl edit does.
func (u *user) edit(ctx context.Context) {
	top, ok := u.top(ctx).(*unstructured.Unstructured)
	if !ok {
		return
	}
	containers, _, _ := unstructured.NestedSlice(top.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return
	}
	containers[0].(map[string]any)["image"] = fmt.Sprintf("nginx:1.%d", 20+u.IntN(5))
	_ = unstructured.SetNestedSlice(top.Object, containers, "spec", "template", "spec", "containers")
	_ = suite.Client.Update(ctx, top)
}

// evict takes a pod, as a drain does; that a budget forbids it is no fault.
func (u *user) evict(ctx context.Context) {
	var pods corev1.PodList
	if suite.Client.List(ctx, &pods, client.InNamespace(u.namespace)) == nil && len(pods.Items) > 0 {
		_ = suite.Client.SubResource("eviction").Create(ctx, &pods.Items[u.IntN(len(pods.Items))], &policyv1.Eviction{})
	}
}

// act does things until the end.
func (u *user) act(ctx context.Context) {
	for ctx.Err() == nil {
		switch u.IntN(8) {
		case 0:
			u.edit(ctx)
		case 1, 2:
			u.evict(ctx)
		default:
			u.scale(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(u.IntN(1500)) * time.Millisecond):
		}
	}
}

// sleepy is a client of a process that is stopped at one of its reads, for longer than
// its signs of life last.
type sleepy struct {
	client.Client
	asleep sync.RWMutex
	reads  atomic.Int32
	at     int32
}

func (c *sleepy) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	if c.reads.Add(1) == c.at {
		c.asleep.Lock()
		select {
		case <-ctx.Done():
		case <-time.After(9 * time.Second):
		}
		c.asleep.Unlock()
	}
	return c.Client.Get(ctx, key, obj, options...)
}

func (c *sleepy) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	c.asleep.RLock()
	defer c.asleep.RUnlock()
	return c.Client.Patch(ctx, obj, patch, options...)
}

// Migrations there and back are killed at random writes, stopped at random reads and run
// by two people, beside an autoscaler, a drain and edits, and the judge reads the
// history.
func TestMigrationsAmongOthers(t *testing.T) {
	testkit.Long(t, "it migrates in both directions again and again")
	for name, s := range subjects {
		for i := range *seeds {
			t.Run(fmt.Sprintf("%s seed %d", name, *seed+i), func(t *testing.T) {
				t.Parallel()
				s.amongOthers(t, *seed+i)
			})
		}
	}
}

func (s subject) amongOthers(t *testing.T, seed uint64) {
	w := newWorld(t)
	s.drawn(w, rand.New(rand.NewPCG(seed, 3))) // #nosec G404 -- it is a test
	suite.Create(t, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: s.kind.Kind, Name: "web"},
			MinReplicas:    ptr.To[int32](1), MaxReplicas: 9,
		},
	})
	c := w.chronicle()
	draw := rand.New(rand.NewPCG(seed, seed)) // #nosec G404 -- it is a test
	others, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	u := &user{w, rand.New(rand.NewPCG(seed, 2))} // #nosec G404 -- it is a test
	go func() {
		defer close(done)
		u.act(others)
	}()
	for range 4 {
		s.people(w, draw)
	}
	stop()
	<-done
	there := func() error { return w.take(suite.Client, s.kind) }
	back := func() error { return s.back(w, w.mover(suite.Client)) }
	for _, way := range []struct {
		what string
		run  func() error
	}{{"it is given back", back}, {"it is taken over", there}, {"it is given back", back}} {
		testkit.EventuallyEvery(t, poll, way.what, func() error {
			u.relent(t.Context())
			return way.run()
		})
	}
	u.relent(t.Context())
	c.judge()
}

const poll = 500 * time.Millisecond

// people run the command, mostly in the direction in which there is something to do. One
// is killed, or stopped, or neither, and may have company.
func (s subject) people(w *world, draw *rand.Rand) {
	run := func(holder string, c client.Client, how string, back bool) {
		m := w.mover(c)
		m.Holder, m.Patience = holder, 20*time.Second
		if back {
			w.Logf("%s gives it back, %s: %v", holder, how, s.back(w, m))
			return
		}
		w.Logf("%s takes it over, %s: %v", holder, how, w.takeWith(m, s.kind))
	}
	way := func() bool { return (draw.IntN(4) == 0) == w.back() }
	kill, otherKill, at := draw.IntN(3)*draw.IntN(12), draw.IntN(2)*draw.IntN(12), draw.Int32N(30)+1
	back, other, stopped, company := way(), way(), draw.IntN(3) == 0, draw.IntN(2) == 0
	var all sync.WaitGroup
	if stopped {
		all.Go(func() {
			run("a sleeper", &sleepy{Client: suite.Client, at: at}, fmt.Sprintf("stopped at read %d", at), back)
		})
		all.Go(func() {
			for range 3 { // it goes on in the sleeper's place, and further
				run("another", suite.Client, "to the end", way())
			}
		})
	} else {
		all.Go(func() {
			run("one", &writes{Client: suite.Client, kill: kill}, fmt.Sprintf("killed at write %d", kill), back)
		})
	}
	if company && !stopped {
		all.Go(func() {
			run("another", &writes{Client: suite.Client, kill: otherKill}, fmt.Sprintf("killed at write %d", otherKill), other)
		})
	}
	all.Wait()
}

// back gives back what is unchanged, and exports what is not.
func (s subject) back(w *world, m *migrate.Mover) error {
	if w.back() {
		return nil
	}
	err := m.GiveBack(w.Context(), w.key(), nil)
	if err != nil && strings.Contains(err.Error(), "was changed since the migration") {
		err = m.Export(w.Context(), w.key(), s.kind)
	}
	if err != nil && strings.Contains(err.Error(), "run kubectl podmanager migrate again") {
		return errors.Join(err, w.takeWith(m, s.kind))
	}
	return err
}
