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

package collector

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

func aPod(name, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version},
		Status:     corev1.PodStatus{PodIP: "10.0.0." + name},
	}
}

func aDeployment(version string, own, pods map[string]string) *kappsv1.Deployment {
	d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", ResourceVersion: version, Labels: own}}
	d.Spec.Template.Labels = pods
	return d
}

func newTap(kind int, b *book) *tap {
	return &tap{
		kind: watchedKinds()[kind], selector: labels.SelectorFromSet(labels.Set{"app": "web"}), book: b,
		clock: clock.RealClock{}, known: map[types.UID]string{}, replaced: func() {},
	}
}

func statusOf(b *book) collectorv1.CollectorStatus {
	var s collectorv1.CollectorStatus
	b.status(&s)
	return s
}

func TestAListAfterALostWatchTellsWhatCameAndWent(t *testing.T) {
	b := newBook(nil, func() {})
	tap := newTap(0, b)
	err := errors.Join(
		tap.Replace([]any{aPod("1", "10"), aPod("2", "11"), aPod("3", "12")}, "12"),
		tap.Update(aPod("1", "13")),
		tap.Replace([]any{aPod("1", "13"), aPod("2", "14"), aPod("4", "15")}, "15"),
	)
	if err != nil {
		t.Fatal(err)
	}
	got := statusOf(b)
	want := collectorv1.EventCounts{Added: 1, Modified: 2, Deleted: 1}
	if got.Events != want || got.Gaps != 1 || got.Pods != 3 {
		t.Errorf("counted %+v with %d gaps and %d pods", got.Events, got.Gaps, got.Pods)
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.2", "10.0.0.4"}, got.IPs); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestAWorkloadMatchesByItsLabelsOrByThoseOfItsPods(t *testing.T) {
	match, other := map[string]string{"app": "web"}, map[string]string{"app": "other"}
	for name, c := range map[string]struct {
		own, pods map[string]string
		want      int64
	}{
		"its own labels":     {match, other, 1},
		"the labels of pods": {nil, match, 1},
		"neither":            {other, other, 0},
		"no labels at all":   {nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(nil, func() {})
			tap := newTap(1, b)
			if err := errors.Join(tap.Replace(nil, "1"), tap.Add(aDeployment("2", c.own, c.pods))); err != nil {
				t.Fatal(err)
			}
			if got := statusOf(b); got.WorkloadEvents.Added != c.want || int64(got.Workloads) != c.want {
				t.Errorf("counted %+v of %d workloads", got.WorkloadEvents, got.Workloads)
			}
		})
	}
}

func TestAWorkloadThatNoLongerMatchesIsForgotten(t *testing.T) {
	b := newBook(nil, func() {})
	tap := newTap(1, b)
	err := errors.Join(
		tap.Replace([]any{aDeployment("1", map[string]string{"app": "web"}, nil)}, "1"),
		tap.Update(aDeployment("2", nil, nil)),
		tap.Update(aDeployment("3", nil, nil)),
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := statusOf(b); got.Workloads != 0 || got.WorkloadEvents.Total() != 0 || len(tap.known) > 0 {
		t.Errorf("%d workloads, %+v, knows %v", got.Workloads, got.WorkloadEvents, tap.known)
	}
}

// scripted is a lister and watcher for tests.
type scripted struct {
	list  func() (runtime.Object, error)
	watch *watch.FakeWatcher
}

func (s *scripted) listWatch() cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return s.list() },
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, errors.New("no streaming lists here")
			}
			return s.watch, nil
		},
	}
}

func (s *scripted) connect(t *tap) func() (*cache.Reflector, error) {
	return func() (*cache.Reflector, error) { return t.reflector(s.listWatch()), nil }
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		t.Fatalf("waited in vain until %s", what)
	}
}

func TestWatchesEndWhenTheyAreStopped(t *testing.T) {
	b := newBook(nil, func() {})
	tap := newTap(0, b)
	script := &scripted{watch: watch.NewFake(), list: func() (runtime.Object, error) {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	set := newWatches(cancel, b, clock.RealClock{})
	set.starting["pods"] = true
	tap.replaced = func() { set.works("pods") }
	set.group.Go(func() { set.run(ctx, tap.kind, "pods", script.connect(tap)) })
	eventually(t, "the watch is up", set.ready)
	script.watch.Add(aPod("1", "2"))
	eventually(t, "the pod is counted", func() bool { return statusOf(b).Events.Added == 1 })
	set.stop() // returns only when the goroutine has ended
	if statusOf(b).Since == nil {
		t.Error("it does not say since when it counts")
	}
}

func TestAFailureIsToldUntilTheWatchWorks(t *testing.T) {
	var refuse error = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("not yours"))
	refused := make(chan struct{}, 1)
	b := newBook(nil, func() {
		select {
		case refused <- struct{}{}:
		default:
		}
	})
	tap := newTap(0, b)
	allowed := make(chan struct{})
	script := &scripted{watch: watch.NewFake(), list: func() (runtime.Object, error) {
		select {
		case <-allowed:
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		default:
			return nil, refuse
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	set := newWatches(cancel, b, clock.RealClock{})
	set.starting["pods"] = true
	tap.replaced = func() { set.works("pods") }
	set.group.Go(func() { set.run(ctx, tap.kind, "pods", script.connect(tap)) })
	defer set.stop()

	<-refused
	c := &counter{watches: set}
	if stalled, _ := c.health(); stalled == nil || stalled.reason != collectorv1.ReasonWatchFailed {
		t.Errorf("stalled is %+v", stalled)
	}
	close(allowed)
	eventually(t, "the failure is forgotten", func() bool {
		stalled, starting := c.health()
		return stalled == nil && starting == nil
	})
}

func TestAKindWithoutCRDKeepsNobodyWaiting(t *testing.T) {
	b := newBook(nil, func() {})
	ctx, cancel := context.WithCancel(t.Context())
	set := newWatches(cancel, b, clock.RealClock{})
	set.starting["fleets"] = true
	kinds := watchedKinds()
	ours := kinds[len(kinds)-1]
	set.group.Go(func() {
		set.run(ctx, ours, "fleets", func() (*cache.Reflector, error) {
			return nil, &meta.NoKindMatchError{GroupKind: ours.gvk.GroupKind()}
		})
	})
	defer set.stop()
	eventually(t, "it counts without the kind", set.ready)
	if err := set.failure(); err != nil {
		t.Errorf("it takes a missing CRD for a failure: %v", err)
	}
}
