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

// Package evictionresponder reports to the API of lifecycle.k8s.io what became of
// evictions that this operator has to respond to. The pods of fleets with
// disruption.policy SurgeFirst name it as a responder. While it is the active one of
// an Eviction, the fleet's controller replaces the pod and evicts it; this one writes
// heartbeats, so that no other responder takes over, and the end: the pod is gone, or
// there is nothing to wait for, and the next responder may evict it.
//
// It reads the pod and its owner past the cache: Evictions are few, and so it works
// for all shards.
package evictionresponder

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Name is the controller's.
const Name = "evictionresponder"

const (
	// heartbeat is how often a wait is reported. After 20 minutes without a report
	// another responder takes over.
	heartbeat = 5 * time.Minute
	// look is how often it is looked whether the wait is over.
	look = 5 * time.Second
)

// Responder reports on Evictions.
type Responder struct {
	client client.Client
	live   client.Reader
	clock  clock.PassiveClock
	// maxHold is the operator's --max-eviction-hold.
	maxHold time.Duration
}

// New makes a Responder. live reads past the cache.
func New(c client.Client, live client.Reader, clk clock.PassiveClock, maxHold time.Duration) *Responder {
	return &Responder{client: c, live: live, clock: clk, maxHold: maxHold}
}

// SetupWithManager watches the Evictions.
func (r *Responder) SetupWithManager(mgr ctrl.Manager) error {
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		Watches(&lifecyclev1alpha1.Eviction{}, &handler.EnqueueRequestForObject{}).
		Complete(r)
}

// Reconcile reports on one Eviction, where it is our turn.
func (r *Responder) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var eviction lifecyclev1alpha1.Eviction
	if err := r.client.Get(ctx, req.NamespacedName, &eviction); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	asked := observe.OurTurn(&eviction)
	if asked.Since.IsZero() || eviction.Spec.Target.Pod == nil {
		return reconcile.Result{}, nil
	}
	state, err := r.look(ctx, &eviction, asked.Since)
	if err != nil {
		return reconcile.Result{}, err
	}
	last := observe.ResponderStatus(&eviction)
	if last == nil {
		return reconcile.Result{}, nil // it is made together with the turn
	}
	now := metav1.NewTime(r.clock.Now())
	report := lifecyclev1alpha1.ResponderStatus{Name: podrender.EvictionResponder, Message: ptr.To(state.message)}
	switch {
	case state.over:
		report.CompletionTime = &now
	case last.HeartbeatTime == nil || now.Sub(last.HeartbeatTime.Time) >= heartbeat:
		report.HeartbeatTime = &now
	default:
		return reconcile.Result{RequeueAfter: look}, nil
	}
	if err := r.write(ctx, &eviction, report); err != nil || state.over {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: look}, nil
}

// state is how far an eviction is.
type state struct {
	over    bool
	message string
}

// look looks whether there is still something to wait for.
func (r *Responder) look(ctx context.Context, eviction *lifecyclev1alpha1.Eviction, since time.Time) (state, error) {
	target := eviction.Spec.Target.Pod
	var pod corev1.Pod
	err := r.live.Get(ctx, client.ObjectKey{Namespace: eviction.Namespace, Name: target.Name}, &pod)
	if apierrors.IsNotFound(err) || err == nil && pod.UID != target.UID {
		return state{over: true, message: "the pod is gone"}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("read pod %s/%s: %w", eviction.Namespace, target.Name, err)
	}
	ref := metav1.GetControllerOf(&pod)
	if ref == nil || ref.Kind != desired.PodManagerGVK.Kind {
		return state{over: true, message: "the pod has no PodManager"}, nil
	}
	var pm appsv1.PodManager
	err = r.live.Get(ctx, client.ObjectKey{Namespace: eviction.Namespace, Name: ref.Name}, &pm)
	if apierrors.IsNotFound(err) {
		return state{over: true, message: "the PodManager of the pod is gone"}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("read PodManager %s/%s: %w", eviction.Namespace, ref.Name, err)
	}
	asks := desired.PodManagerKind{MaxHold: r.maxHold}.Fleet(&pm).Desired.Disruption
	until := since.Add(asks.Deadline)
	switch {
	case !asks.SurgeFirst:
		return state{over: true, message: "PodManager " + pm.Name + " makes no replacement before a pod goes"}, nil
	case pod.DeletionTimestamp != nil:
		return state{message: "the pod terminates"}, nil
	case !observe.Ready(&pod):
		return state{over: true, message: "the pod is not ready: its eviction costs nothing"}, nil
	case !r.clock.Now().Before(until):
		return state{over: true, message: fmt.Sprintf("no replacement of PodManager %s was available within %s", pm.Name, asks.Deadline)}, nil
	}
	return state{message: fmt.Sprintf("waits until a replacement of PodManager %s is available, at most until %s", pm.Name, until.UTC().Format(time.RFC3339))}, nil
}

// write changes our own part of the status.
func (r *Responder) write(ctx context.Context, eviction *lifecyclev1alpha1.Eviction, report lifecyclev1alpha1.ResponderStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": eviction.UID},
		"status":   map[string]any{"responders": []lifecyclev1alpha1.ResponderStatus{report}},
	})
	if err != nil {
		return fmt.Errorf("encode the report on Eviction %s/%s: %w", eviction.Namespace, eviction.Name, err)
	}
	err = r.client.Status().Patch(ctx, eviction.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("report on Eviction %s/%s: %w", eviction.Namespace, eviction.Name, err)
	}
	return nil
}
