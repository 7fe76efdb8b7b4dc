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
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// expectKstatus asks kstatus what Flux and Helm take an object for.
func expectKstatus(t testing.TB, obj client.Object, want status.Status) {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatalf("kstatus of %T %s: %v", obj, obj.GetName(), err)
	}
	if result.Status != want {
		t.Errorf("kstatus takes %T %s for %s (%s), not %s; status: %v", obj, obj.GetName(), result.Status, result.Message, want, object["status"])
	}
}

// statusWitness sees every version of every PodManager on the shared cluster and
// holds what kstatus says of it against what the version itself says.
type statusWitness struct {
	watcher *toolswatch.RetryWatcher
	done    chan struct{}

	mu       sync.Mutex
	versions int
	states   sets.Set[string]
	errs     []error
}

func newStatusWitness(ctx context.Context, config *rest.Config) (*statusWitness, error) {
	clients, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	resource := clients.Resource(appsv1.GroupVersion.WithResource("podmanagers"))
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, o)
		},
	})
	if err != nil {
		return nil, err
	}
	w := &statusWitness{watcher: watcher, done: make(chan struct{}), states: sets.New[string]()}
	go w.look()
	return w, nil
}

func (w *statusWitness) look() {
	defer close(w.done)
	for e := range w.watcher.ResultChan() {
		switch object := e.Object.(type) {
		case *unstructured.Unstructured:
			if e.Type != watch.Deleted {
				w.see(object)
			}
		default:
			w.object(fmt.Errorf("the witness lost its watch: %v", e))
		}
	}
}

func (w *statusWitness) object(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

func (w *statusWitness) see(u *unstructured.Unstructured) {
	pm := &appsv1.PodManager{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, pm); err != nil {
		w.object(err)
		return
	}
	result, err := status.Compute(u)
	if err != nil {
		w.object(fmt.Errorf("kstatus of %s/%s: %w", pm.Namespace, pm.Name, err))
		return
	}
	if err := judge(pm, result.Status); err != nil {
		w.object(fmt.Errorf("%s/%s at generation %d: kstatus says %s: %w; status: %+v",
			pm.Namespace, pm.Name, pm.Generation, result.Status, err, pm.Status))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions++
	w.states.Insert(string(result.Status) + " " + reasonOf(pm))
}

// reasonOf is the reason of the condition that says most.
func reasonOf(pm *appsv1.PodManager) string {
	if pm.Status.ObservedGeneration != pm.Generation {
		return "Unseen"
	}
	for _, kind := range []string{appsv1.ConditionStalled, appsv1.ConditionReconciling, appsv1.ConditionReady} {
		if c := meta.FindStatusCondition(pm.Status.Conditions, kind); c != nil {
			return c.Reason
		}
	}
	return ""
}

// judge says what is wrong with kstatus's answer, knowing the numbers.
func judge(pm *appsv1.PodManager, got status.Status) error {
	s, want := &pm.Status, ptr.Deref(pm.Spec.Replicas, 0)
	stalled := meta.FindStatusCondition(s.Conditions, appsv1.ConditionStalled)
	reconciling := meta.FindStatusCondition(s.Conditions, appsv1.ConditionReconciling)
	complete := s.AvailableReplicas == want && s.CurrentReplicas == want && s.TerminatingReplicas == 0
	switch {
	case pm.DeletionTimestamp != nil:
		return mustBe(got, status.TerminatingStatus)
	case s.ObservedGeneration != pm.Generation:
		return mustBe(got, status.InProgressStatus)
	case stalled != nil:
		return errors.Join(mustBe(got, status.FailedStatus), checkConditions(s, reconciling, stalled, metav1.ConditionFalse))
	case reconciling != nil:
		ready := metav1.ConditionFalse
		if complete := s.AvailableReplicas == want && s.CurrentReplicas == want; complete && s.TerminatingReplicas > 0 {
			ready = "" // all is there, and what went is not gone yet
		}
		return errors.Join(mustBe(got, status.InProgressStatus), checkConditions(s, reconciling, stalled, ready))
	case !complete:
		return fmt.Errorf("nothing is under way, but %d of %d pods are available", s.AvailableReplicas, want)
	case s.UpdatedReplicas < want && (pm.Spec.Paused || pm.Spec.Update.Strategy == appsv1.UpdateOnDelete), pinnedAway(s):
		return errors.Join(mustBe(got, status.InProgressStatus), checkConditions(s, reconciling, stalled, metav1.ConditionFalse))
	}
	return errors.Join(mustBe(got, status.CurrentStatus), checkConditions(s, reconciling, stalled, metav1.ConditionTrue))
}

// pinnedAway: a pin keeps the pods from what the template says.
func pinnedAway(s *appsv1.PodManagerStatus) bool {
	ready := meta.FindStatusCondition(s.Conditions, appsv1.ConditionReady)
	return meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionPinned) && ready != nil && ready.Reason == appsv1.ReasonPinned
}

func mustBe(got, want status.Status) error {
	if got != want {
		return fmt.Errorf("it should be %s", want)
	}
	return nil
}

// checkConditions checks the rules that conditions follow among themselves.
func checkConditions(s *appsv1.PodManagerStatus, reconciling, stalled *metav1.Condition, ready metav1.ConditionStatus) error {
	var errs []error
	c := meta.FindStatusCondition(s.Conditions, appsv1.ConditionReady)
	if c == nil || ready != "" && c.Status != ready {
		errs = append(errs, fmt.Errorf("Ready is %+v", c))
	}
	if reconciling != nil && stalled != nil {
		errs = append(errs, errors.New("it progresses and is stalled"))
	}
	for _, c := range s.Conditions {
		if strings.Contains(c.Type, "/") {
			continue // not the operator's
		}
		if c.Type != appsv1.ConditionReady && c.Type != appsv1.ConditionAvailable && c.Status != metav1.ConditionTrue {
			errs = append(errs, fmt.Errorf("%s is %s, not absent", c.Type, c.Status))
		}
		if c.ObservedGeneration != s.ObservedGeneration {
			errs = append(errs, fmt.Errorf("%s is of generation %d", c.Type, c.ObservedGeneration))
		}
	}
	return errors.Join(errs...)
}

func (w *statusWitness) stop() error {
	w.watcher.Stop()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.errs) > 5 {
		w.errs = append(w.errs[:5], fmt.Errorf("and %d more", len(w.errs)-5))
	}
	return errors.Join(w.errs...)
}

// checkStates makes sure that the tests reached every state there is, or the
// witness would have nothing to say about it.
func (w *statusWitness) checkStates() error {
	want := sets.New(
		"InProgress Unseen",
		"InProgress "+appsv1.ReasonScalingUp,
		"InProgress "+appsv1.ReasonScalingDown,
		"InProgress "+appsv1.ReasonReplacing,
		"InProgress "+appsv1.ReasonWaitingForPods,
		"InProgress "+appsv1.ReasonWaitingForTermination,
		"Current "+appsv1.ReasonAvailable,
		"Failed "+appsv1.ReasonQuotaExceeded,
		"Failed "+appsv1.ReasonPodsRefused,
		"Failed "+appsv1.ReasonNameTaken,
		"Failed "+appsv1.ReasonPodsFailing,
		"Failed "+appsv1.ReasonNamespaceTerminating,
		"Terminating "+appsv1.ReasonTerminating,
	)
	if missing := want.Difference(w.states); len(missing) > 0 {
		return fmt.Errorf("states that no test reached: %s (%d versions were seen)", strings.Join(sets.List(missing), ", "), w.versions)
	}
	return nil
}
