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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/testkit/eventcount"
)

// TestCollectorMeasuresWhatAChangeTriggers drives Deployments through their lives
// and compares the numbers with the table in docs/collector.md. How often the
// controllers of Deployments and ReplicaSets write a status varies; how often
// pods are written does not.
func TestCollectorMeasuresWhatAChangeTriggers(t *testing.T) {
	testkit.Long(t, "it measures for a minute")
	t.Parallel()
	rows := eventcount.Run(t, suite, [3]string{"nginx:1.27", "nginx:1.28", "nginx:1.29"}, func(*corev1.PodSpec) {})
	if !t.Failed() {
		eventcount.Page(t, "measured on kwok", eventcount.Table(rows), *update,
			eventcount.ColumnChange, eventcount.ColumnPod, eventcount.ColumnPodsComeAndGo, eventcount.ColumnSpecs)
	}
}

// updateStep is something that is called an update.
type updateStep struct {
	title string
	// args are those of kubectl.
	args []string
	// replaced is how many pods are created, and as many deleted.
	replaced int64
	// pods is what becomes of the pods.
	pods string
}

func updateSteps(t *testing.T, namespace string) []updateStep {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "pod.yaml")
	body := "apiVersion: v1\nkind: Pod\nmetadata: {name: bare}\nspec: {containers: [{name: c, image: 'nginx:1.28'}]}\n"
	if err := os.WriteFile(manifest, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl := func(args string) []string { return append([]string{"-n", namespace}, strings.Fields(args)...) }
	env := `[{"op":"add","path":"/spec/template/spec/containers/0/env","value":[{"name":"A","value":"B"}]}]`
	return []updateStep{
		{"label of one pod", kubectl("label pod bare note=new"), 0, samePods},
		{"annotation of a Deployment", kubectl("annotate deployment web note=new"), 0, samePods},
		{"image of a Deployment, 2 replicas", kubectl("set image deployment/web c0=nginx:1.28"), 2, newNames},
		{"`kubectl replace --force` of one pod", kubectl("replace --force -f " + manifest), 1, oldNames},
		{"image of a PodManager, 2 replicas", kubectl(`patch podmanager fleet --type=merge -p {"spec":{"image":"nginx:1.28"}}`), 0, samePods},
		{"environment of a PodManager, 2 replicas", kubectl("patch podmanager fleet --type=json -p " + env), 2, oldNames},
	}
}

const (
	samePods = "the same objects"
	oldNames = "new objects, the same names"
	newNames = "new objects, new names"
)

// TestCollectorMeasuresWhatAnUpdateIs compares updates in which pods live on with
// updates in which they are replaced.
func TestCollectorMeasuresWhatAnUpdateIs(t *testing.T) {
	testkit.Long(t, "it waits until nothing happens, six times")
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, web(ns, 2, 1))
	suite.Create(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "bare"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}},
	})
	fleet := testkit.MakePodManager(ns, "fleet").Replicas(2).Image("nginx:1.27").
		PodSpec(func(spec *corev1.PodSpec) { spec.Containers = []corev1.Container{{Name: appsv1.AppContainer}} }).Obj()
	fleet.Spec.Update.MaxUnavailable = ptr.To(intstr.FromInt32(1)) // no extra pod takes part
	suite.Create(t, fleet)
	suite.Create(t, collector(ns, "meter", nil))
	expectCounting(t, ns, "meter")
	testkit.Eventually(t, "all pods run", func() error {
		fleet = testkit.Read(t, suite, fleet)
		if d := testkit.Read(t, suite, deployment(ns, "web")); d.Status.AvailableReplicas != 2 {
			return fmt.Errorf("%+v", d.Status)
		}
		return settled(fleet, fleet.Status.ObservedGeneration, fleet.Status.Conditions)
	})

	var b strings.Builder
	b.WriteString("| update | Deployment | ReplicaSet | PodManager | Pod | the pods afterwards |\n|---|---|---|---|---|---|\n")
	before := restingEvents(t, ns, 0)
	for _, step := range updateSteps(t, ns) {
		pods := suite.Pods(t, ns, nil)
		suite.Kubectl(t, step.args...)
		events := restingEvents(t, ns, before["Pod"].Total()+before["Deployment"].Total()+before["PodManager"].Total())
		counted := minus(events, before)
		before = events
		if got := fate(pods, suite.Pods(t, ns, nil)); got != step.pods || counted["Pod"].Added != step.replaced || counted["Pod"].Deleted != step.replaced {
			t.Errorf("%s: %s, pod events %+v; want %s, %d added and deleted", step.title, got, counted["Pod"], step.pods, step.replaced)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", step.title, eventcount.Sum(counted["Deployment"]),
			eventcount.Sum(counted["ReplicaSet"]), eventcount.Sum(counted["PodManager"]), eventcount.Sum(counted["Pod"]), step.pods)
	}
	if !t.Failed() {
		eventcount.Page(t, "measured updates", b.String(), *update, 0, 4, 5)
	}
}

// restingEvents are the totals of a Collector when there are more than some, no
// pod terminates, and none came for a while.
func restingEvents(t testing.TB, namespace string, more int64) map[string]collectorv1.EventCounts {
	t.Helper()
	const quiet = 4 * time.Second
	var last []collectorv1.KindEvents
	since := time.Now()
	testkit.Eventually(t, "events stop", func() error {
		events := testkit.Read(t, suite, collector(namespace, "meter", nil)).Status.EventsByKind
		if !slices.Equal(events, last) {
			last, since = events, time.Now()
		}
		total := int64(0)
		for _, k := range events {
			if k.Kind != "ReplicaSet" {
				total += k.Total()
			}
		}
		pods := suite.Pods(t, namespace, nil)
		if total <= more || len(testkit.Live(pods)) != len(pods) || time.Since(since) < quiet {
			return fmt.Errorf("%+v", events)
		}
		return nil
	})
	counts := map[string]collectorv1.EventCounts{}
	for _, k := range last {
		counts[k.Kind] = k.EventCounts
	}
	return counts
}

func minus(all, before map[string]collectorv1.EventCounts) map[string]collectorv1.EventCounts {
	rest := map[string]collectorv1.EventCounts{}
	for kind, c := range all {
		b := before[kind]
		rest[kind] = collectorv1.EventCounts{Added: c.Added - b.Added, Modified: c.Modified - b.Modified, Deleted: c.Deleted - b.Deleted}
	}
	return rest
}

// fate tells whether pods are the same objects as before, or have the same names.
func fate(before, after []corev1.Pod) string {
	uids := func(pods []corev1.Pod) (list []string) {
		for _, p := range pods {
			list = append(list, string(p.UID))
		}
		return list
	}
	switch {
	case slices.Equal(uids(before), uids(after)):
		return samePods
	case slices.Equal(testkit.Names(before), testkit.Names(after)):
		return oldNames
	}
	return newNames
}

// listFirst has an informer list and then watch, also where it could stream the
// list.
type listFirst struct{ *cache.ListWatch }

func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

// TestAnInformerCallsAMissedReplacementAnUpdate: here a deletion and a creation
// are one update. The watch of an informer breaks, and until it lists again, one
// pod is replaced under its name and another deleted.
func TestAnInformerCallsAMissedReplacementAnUpdate(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	gated := func(name string) *corev1.Pod { // no other client writes it
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "gated"}},
			Spec: corev1.PodSpec{
				SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
				Containers:      []corev1.Container{{Name: "c", Image: "nginx:1.27"}},
			},
		}
	}
	suite.Create(t, gated("replaced"))
	suite.Create(t, gated("deleted"))
	broken := watch.NewFake()
	calls := startInformer(t, clients.CoreV1().Pods(ns), broken)
	calls.expect(t, "OnAdd deleted", "OnAdd replaced")

	own := newWitness(t, ns, "app=gated")
	for _, name := range []string{"replaced", "deleted"} {
		if err := suite.Client.Delete(t.Context(), gated(name)); err != nil {
			t.Fatal(err)
		}
	}
	suite.Create(t, gated("replaced"))
	broken.Error(&apierrors.NewResourceExpired("the watch is too old").ErrStatus)
	calls.expect(t, "OnDelete deleted as DeletedFinalStateUnknown", "OnUpdate replaced with another UID")
	// A deletion without a grace period writes the pod once, and then removes it.
	testkit.Eventually(t, "a watch that did not break saw every event", func() error {
		if diff := cmp.Diff(collectorv1.EventCounts{Added: 1, Modified: 2, Deleted: 2}, own.peek()); diff != "" {
			return fmt.Errorf("events (-want +got):\n%s", diff)
		}
		return nil
	})
}

// handlerCalls are the calls of an informer's handlers, as sentences.
type handlerCalls struct {
	mu    sync.Mutex
	calls []string
}

func (h *handlerCalls) add(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
}

// expect waits for calls, in any order, and forgets them.
func (h *handlerCalls) expect(t testing.TB, want ...string) {
	t.Helper()
	testkit.Eventually(t, "the handlers are called", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		slices.Sort(h.calls)
		if diff := cmp.Diff(want, h.calls); diff != "" {
			return fmt.Errorf("calls (-want +got):\n%s", diff)
		}
		h.calls = nil
		return nil
	})
}

// startInformer runs an informer for pods whose first watch is given.
func startInformer(t testing.TB, pods typedcorev1.PodInterface, first watch.Interface) *handlerCalls {
	t.Helper()
	calls := &handlerCalls{}
	watches := 0
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ObjectType: &corev1.Pod{},
		ListerWatcher: listFirst{&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if watches++; watches == 1 {
					return first, nil
				}
				return pods.Watch(ctx, o)
			},
		}},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { calls.add("OnAdd " + obj.(client.Object).GetName()) },
			UpdateFunc: func(before, after any) {
				was, is := before.(client.Object), after.(client.Object)
				call := "OnUpdate " + is.GetName()
				if was.GetUID() != is.GetUID() {
					call += " with another UID"
				}
				calls.add(call)
			},
			DeleteFunc: func(obj any) {
				tombstone, missed := obj.(cache.DeletedFinalStateUnknown)
				if !missed {
					calls.add("OnDelete " + obj.(client.Object).GetName())
					return
				}
				calls.add("OnDelete " + tombstone.Obj.(client.Object).GetName() + " as DeletedFinalStateUnknown")
			},
		},
	})
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(t.Context()) }) // it ends before the cleanup
	t.Cleanup(running.Wait)
	return calls
}
