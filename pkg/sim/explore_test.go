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

package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reconciler is a reconciler for a test, with a memory.
type reconciler struct {
	Process
	do    func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error)
	wrote int
}

func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var pod corev1.Pod
	if err := r.Client.Get(ctx, req.NamespacedName, &pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return r.do(ctx, r, &pod)
}

type do = func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error)

// aWorld has one pod, which is reconciled.
func aWorld(f do) World {
	return World{
		Scheme: scheme.Scheme, Objects: []client.Object{pod("a")}, Watches: []Watch{For(&corev1.Pod{})},
		New: func(p Process) reconcile.Reconciler { return &reconciler{Process: p, do: f} },
	}
}

func label(ctx context.Context, r *reconciler, pod *corev1.Pod, value string) (reconcile.Result, error) {
	if pod.Labels["x"] == value {
		return reconcile.Result{}, nil
	}
	before := pod.DeepCopy()
	pod.Labels = map[string]string{"x": value}
	return reconcile.Result{}, r.Client.Patch(ctx, pod, client.MergeFrom(before))
}

func labelled(want string) Promise {
	return Promise{Name: "labelled", Check: func(s *State) error {
		if got := All[*corev1.Pod](s)[0].Labels["x"]; got != want {
			return fmt.Errorf("the label is %q, want %q", got, want)
		}
		return nil
	}}
}

func explore(t *testing.T, w World, options Options) *Result {
	t.Helper()
	result, err := Explore(w, options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func expect(t *testing.T, w World, promise string) *Result {
	t.Helper()
	result := explore(t, w, Options{Schedules: 300})
	switch {
	case result.Failure == nil && promise != "":
		t.Fatalf("%d schedules keep all promises, want %q broken", result.Schedules, promise)
	case result.Failure != nil && result.Failure.Promise != promise:
		t.Fatalf("want %q broken, and it is %s", promise, result.Failure)
	}
	return result
}

func TestAQuietWorldIsExploredCompletely(t *testing.T) {
	w := aWorld(func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		return label(ctx, r, pod, "y")
	})
	w.Goals = []Promise{labelled("y")}
	w.Faults = AllFaults()
	if result := expect(t, w, ""); !result.Complete {
		t.Errorf("%d schedules were not enough", result.Schedules)
	}
}

func TestALoopIsFound(t *testing.T) {
	flip := func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		if pod.Labels["x"] == "y" {
			return label(ctx, r, pod, "z")
		}
		return label(ctx, r, pod, "y")
	}
	if result := expect(t, aWorld(flip), RestPromise); len(result.Failure.Steps) > 12 {
		t.Errorf("a round has 6 steps, and it takes %d to show it", len(result.Failure.Steps))
	}
	count := func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		return label(ctx, r, pod, fmt.Sprint(len(pod.Labels["x"]))+pod.Labels["x"])
	}
	expect(t, aWorld(count), RestPromise)
}

// Each fault breaks a reconciler that is made to break of it, and of no other.
func TestEachFaultHasItsVictim(t *testing.T) {
	giveUp := func(want func(error) bool) do {
		return func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
			_, err := label(ctx, r, pod, "y")
			if want(err) {
				return reconcile.Result{}, nil
			}
			return reconcile.Result{}, err
		}
	}
	refused := func(err error) bool { return err != nil }
	early := func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		if r.Clock.Now().After(began().Add(time.Minute)) {
			return reconcile.Result{}, nil
		}
		return label(ctx, r, pod, "y")
	}
	first := func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		if r.Term > 1 && pod.Labels == nil {
			return reconcile.Result{}, nil
		}
		return label(ctx, r, pod, "y")
	}
	for fault, victim := range map[Fault]do{Conflict: giveUp(refused), Throttle: giveUp(refused), ClockJump: early, Crash: first} {
		t.Run(string(fault), func(t *testing.T) {
			w := aWorld(victim)
			w.Goals = []Promise{labelled("y")}
			expect(t, w, "")
			w.Faults = []Fault{fault}
			result := expect(t, w, "labelled")
			if n := faultsIn(result.Failure); n != 1 {
				t.Errorf("%d faults, want 1: %s", n, result.Failure)
			}
		})
	}
}

func faultsIn(f *Failure) int {
	n := 0
	for _, step := range f.Steps {
		if step.Kind == StepFault {
			n++
		}
	}
	return n
}

// A pod for each answer that is lost.
func TestALostAnswerWasCarriedOut(t *testing.T) {
	w := aWorld(func(ctx context.Context, r *reconciler, a *corev1.Pod) (reconcile.Result, error) {
		if a.Name != "a" {
			return reconcile.Result{}, nil
		}
		var pods corev1.PodList
		if err := r.APIReader.List(ctx, &pods); err != nil || r.wrote > 0 {
			return reconcile.Result{}, err
		}
		created := pod("")
		created.GenerateName = "b-"
		err := r.Client.Create(ctx, created)
		if err == nil {
			r.wrote++
		}
		return reconcile.Result{}, err
	})
	w.Invariants = []Promise{{Name: "two pods", Check: func(s *State) error {
		if n := len(All[*corev1.Pod](s)); n > 2 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	}}}
	expect(t, w, "")
	w.Faults = []Fault{LostAnswer}
	expect(t, w, "two pods")
}

// A second leader overtakes the first one, unless there is a fence.
func TestASecondLeader(t *testing.T) {
	w := aWorld(func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		if pod.Labels["x"] >= r.Name {
			return reconcile.Result{}, nil
		}
		return label(ctx, r, pod, r.Name)
	})
	w.Faults = []Fault{SecondLeader}
	w.Invariants = []Promise{{Name: "forward", Check: func(s *State) error {
		for _, write := range s.Writes {
			if write.Before.GetLabels()["x"] > write.After.GetLabels()["x"] {
				return errors.New("an old leader wrote last")
			}
		}
		return nil
	}}}
	expect(t, w, "forward")
	w.Fenced = true
	expect(t, w, "")
}

// A watch that was cut shows the newest state after the next list, not what was between.
func TestACutWatchForgetsWhatWasBetween(t *testing.T) {
	w := aWorld(nil)
	var last *watching
	w.Watches = nil
	w.New = func(Process) reconcile.Reconciler {
		last = &watching{}
		return last
	}
	w.Actions = []Action{
		{Name: "create", Do: func(ctx context.Context, c client.Client) error { return c.Create(ctx, pod("b")) }},
		{Name: "delete", Do: func(ctx context.Context, c client.Client) error { return c.Delete(ctx, pod("b")) }},
	}
	w.Faults = []Fault{CutWatch}
	for _, c := range []struct {
		schedule []string
		want     int
	}{
		{[]string{"user create", "user delete"}, 2},
		{[]string{"user create", "a cut Pod", "user delete", "a relist Pod"}, 1},
	} {
		if failure, err := Replay(w, c.schedule); err != nil || failure != nil {
			t.Fatal(failure, err)
		}
		if last.added != c.want {
			t.Errorf("%v: the handler saw %d pods, want %d", c.schedule, last.added, c.want)
		}
	}
}

// watching counts what its handler sees.
type watching struct {
	idle
	added int
}

func (w *watching) Watches() []Watch {
	return []Watch{Watches(&corev1.Pod{}, handler.Funcs{
		CreateFunc: func(context.Context, event.CreateEvent, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			w.added++
		},
	})}
}

// A schedule is the same every time, and can be repeated by its labels.
func TestAScheduleIsTheSameEveryTime(t *testing.T) {
	w := aWorld(func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		return label(ctx, r, pod, "y")
	})
	w.Goals = []Promise{labelled("never")}
	first, again := explore(t, w, Options{Seed: 3}).Failure, explore(t, w, Options{Seed: 3}).Failure
	if diff := gocmp.Diff(first, again); diff != "" {
		t.Errorf("-first +again:\n%s", diff)
	}
	replayed, err := Replay(w, first.Schedule)
	if err != nil || replayed == nil || replayed.String() != first.String() {
		t.Errorf("%v: want %s, got %s", err, first, replayed)
	}
}

func TestARandomReconcilerIsNoticed(t *testing.T) {
	w := aWorld(func(ctx context.Context, r *reconciler, pod *corev1.Pod) (reconcile.Result, error) {
		return label(ctx, r, pod, fmt.Sprint(rand.IntN(1000000)))
	})
	if result := explore(t, w, Options{Schedules: 20, Steps: 20}); result.Failure == nil {
		t.Error("a reconciler that writes random values keeps its promises")
	}
}

func TestAPanicIsAnError(t *testing.T) {
	w := aWorld(func(context.Context, *reconciler, *corev1.Pod) (reconcile.Result, error) { panic("oh") })
	w.Goals = []Promise{{Name: "no errors", Check: func(s *State) error { return s.Failing["default/a"] }}}
	expect(t, w, "no errors")
}

func TestPollingIsReported(t *testing.T) {
	w := aWorld(func(context.Context, *reconciler, *corev1.Pod) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	})
	w.Goals = []Promise{{Name: "quiet", Check: func(s *State) error {
		if s.Polling != time.Second {
			t.Errorf("it polls every %s", s.Polling)
		}
		return errors.New("it polls")
	}}}
	expect(t, w, "quiet")
}

// The README shows the example as it is.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must(t, err)
	example, err := os.ReadFile("example_test.go")
	must(t, err)
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("the README has %d blocks of Go, want 2", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(string(example), code) {
			t.Errorf("example_test.go does not have this:\n%s", code)
		}
	}
}
