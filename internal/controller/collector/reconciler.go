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

// Package collector counts the events of pods and workloads, for every
// Collector.
//
// The Collectors that read a namespace share its watches (stream.go), one for
// each kind, opened with the first of them and closed with the last. A watch
// hands its events to the taps of the Collectors (tap.go), each of which gives
// what its selector matches to its Collector's book. The book counts them and
// gives them to changes (window.go): a change opens when a workload's spec
// differs from the one before, takes the events of the workload, its ReplicaSets
// and its pods whose resourceVersion is not lower than its own, and is closed
// when the workload is at its goal and nothing happened for a while. The numbers
// are what was delivered, never what should have been. The reconciler copies the
// book into the status, once a second at most while there is something new.
//
// A Collector reads its own namespace, and others only with the rights of a
// service account of its own namespace (scope.go). The API server is asked
// before a watch is opened and again and again while it is open (rights.go);
// without an answer there is no right. Users who may write Collectors in a
// namespace may as a rule make pods under that account, too, so the operator
// reads nothing for them that they could not read themselves. How much is
// watched has bounds, for each namespace with Collectors and for all (room.go).
//
// Invariants: a book holds facts of what matches now and a bounded number of
// changes, no objects; when a Collector is gone, so are its book and the watches
// that it alone needed; a namespace that may no longer be read is no longer in
// the status; a Collector whose pods do not change is not written.
package collector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/controller/statuspatch"
)

// +kubebuilder:rbac:groups=collector.ip.mycompany.com,resources=collectors,verbs=list;watch
// +kubebuilder:rbac:groups=collector.ip.mycompany.com,resources=collectors/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments;replicasets;statefulsets;daemonsets,verbs=list;watch
// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// GVK is the kind of a Collector.
var GVK = collectorv1.GroupVersion.WithKind("Collector")

// Name is the name of the controller.
const Name = "collector"

// coalesce is how long news wait for more before the status is written.
const coalesce = time.Second

// Reconciler keeps the watches and the statuses.
type Reconciler struct {
	client     client.Client
	watcher    *Watcher
	rights     *rights
	room       *room
	recorder   recorder.EventRecorder
	clock      clock.PassiveClock
	namespaces []string

	mu       sync.Mutex
	counters map[types.NamespacedName]*counter
	// base ends the watches; wake asks for a reconcile. Both are the
	// controller's, from when it started.
	base context.Context
	wake func(types.NamespacedName)
}

// counter is a Collector at work.
type counter struct {
	uid        types.UID
	generation int64
	// reads are the namespaces that it counts in.
	reads   []string
	book    *book
	watches *watches
	// last is the status as it was written last, which the cache may not
	// show yet.
	last collectorv1.CollectorStatus
}

// Limits are what the Collectors may do.
type Limits struct {
	// Namespaces are those that the operator was started for; none means all.
	Namespaces []string
	// Watches is how many all Collectors have together.
	Watches int
}

// New makes a Reconciler.
func New(c client.Client, watcher *Watcher, events recorder.EventRecorder, clock clock.PassiveClock, limits Limits) *Reconciler {
	return &Reconciler{
		client: c, watcher: watcher, recorder: events, clock: clock, namespaces: limits.Namespaces,
		rights: newRights(c, clock), room: newRoom(limits.Watches),
		counters: map[types.NamespacedName]*counter{},
	}
}

// Reconcile keeps one Collector counting and writes what it counted.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	col := &collectorv1.Collector{}
	err := r.client.Get(ctx, req.NamespacedName, col)
	if apierrors.IsNotFound(err) || err == nil && col.DeletionTimestamp != nil {
		r.stop(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	selector, refused := r.selector(col)
	if refused != nil {
		r.stop(req.NamespacedName)
		status := col.Status.DeepCopy()
		status.ObservedGeneration = col.Generation
		newBook(nil, nil).status(status) // what is not read now is not shown
		r.setConditions(status, col.Generation, refused, nil)
		return ctrl.Result{}, r.write(ctx, col, &col.Status, *status)
	}
	s := r.scopeOf(ctx, col)
	return r.report(ctx, col, r.counter(col, s.reads, selector), s)
}

// report writes what was counted.
func (r *Reconciler) report(ctx context.Context, col *collectorv1.Collector, c *counter, s scope) (ctrl.Result, error) {
	next := c.book.tick(r.clock.Now())
	if next == 0 || s.again > 0 && s.again < next {
		next = s.again
	}
	status := c.last.DeepCopy()
	status.ObservedGeneration = col.Generation
	c.book.status(status)
	stalled, starting := c.health()
	if s.refused != nil {
		stalled, starting = s.refused, nil
	}
	r.setConditions(status, col.Generation, stalled, starting)
	if err := r.write(ctx, col, &c.last, *status); err != nil {
		return ctrl.Result{}, err
	}
	c.last = *status
	for _, change := range c.book.takeFinished() {
		r.tell(col, change)
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// state is a reason with its sentence.
type state struct{ reason, message string }

// health says what keeps the watches from counting.
func (c *counter) health() (stalled, starting *state) {
	err := c.watches.failure()
	switch {
	case apierrors.IsForbidden(err):
		return &state{collectorv1.ReasonWatchFailed, err.Error()}, nil
	case err != nil:
		return nil, &state{collectorv1.ReasonWatchFailed, err.Error() + "; it is tried again"}
	case !c.watches.ready():
		return nil, &state{collectorv1.ReasonStarting, "the watches are being started"}
	}
	return nil, nil
}

// selector reads the Collector's selector, and says why it cannot be counted.
func (r *Reconciler) selector(col *collectorv1.Collector) (labels.Selector, *state) {
	selector, err := metav1.LabelSelectorAsSelector(&col.Spec.Selector)
	if err != nil {
		return nil, &state{collectorv1.ReasonInvalidSelector, "spec.selector: " + err.Error()}
	}
	return selector, r.outside(namespacesOf(col))
}

// counter finds the counter of a Collector, or starts one. What it counts is
// begun anew when the spec changes or other namespaces may be read, so that
// nothing is left of one that may not.
func (r *Reconciler) counter(col *collectorv1.Collector, reads []string, selector labels.Selector) *counter {
	key := client.ObjectKeyFromObject(col)
	r.mu.Lock()
	c := r.counters[key]
	r.mu.Unlock()
	if c != nil && c.uid == col.UID && c.generation == col.Generation && slices.Equal(c.reads, reads) {
		return c
	}
	last := *col.Status.DeepCopy()
	if c != nil && c.uid == col.UID {
		last = c.last
	}
	r.end(key)
	return r.start(col, last, reads, selector)
}

// outside finds a namespace that the operator was not started for.
func (r *Reconciler) outside(namespaces []string) *state {
	for _, name := range namespaces {
		if len(r.namespaces) > 0 && !slices.Contains(r.namespaces, name) {
			return &state{
				collectorv1.ReasonNamespaceNotWatched,
				fmt.Sprintf("the operator was not started for namespace %s: see its flag --namespaces", name),
			}
		}
	}
	return nil
}

// start opens the watches. What an earlier process or an earlier counter found
// out about changes is kept, as long as it was asked for the same thing and may
// still be read. last is the status as it was written last.
func (r *Reconciler) start(col *collectorv1.Collector, last collectorv1.CollectorStatus, reads []string, selector labels.Selector) *counter {
	key := client.ObjectKeyFromObject(col)
	c := &counter{uid: col.UID, generation: col.Generation, reads: reads, last: last}
	var past []collectorv1.Change
	if last.ObservedGeneration == col.Generation {
		past = slices.DeleteFunc(slices.Clone(last.RecentChanges), func(change collectorv1.Change) bool {
			return !slices.Contains(reads, change.Namespace)
		})
	}
	c.book = newBook(past, func() { r.wake(key) })
	c.watches = r.watcher.open(r.base, reads, selector, c.book)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counters[key] = c
	return c
}

// stop ends a counter and everything that it holds. Its watches end before
// others get their room.
func (r *Reconciler) stop(key types.NamespacedName) {
	r.end(key)
	r.room.leave(key)
}

// end ends a counter.
func (r *Reconciler) end(key types.NamespacedName) {
	r.mu.Lock()
	c := r.counters[key]
	delete(r.counters, key)
	r.mu.Unlock()
	if c != nil {
		c.watches.stop()
	}
}

// stopAll ends all counters.
func (r *Reconciler) stopAll() {
	r.mu.Lock()
	counters := r.counters
	r.counters = map[types.NamespacedName]*counter{}
	r.mu.Unlock()
	for key, c := range counters {
		c.watches.stop()
		r.room.leave(key)
	}
}

// setConditions writes the conditions in the way that kstatus reads.
func (r *Reconciler) setConditions(status *collectorv1.CollectorStatus, generation int64, stalled, starting *state) {
	set := func(kind string, truth metav1.ConditionStatus, s *state) {
		if s == nil {
			meta.RemoveStatusCondition(&status.Conditions, kind)
			return
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: truth, Reason: s.reason, Message: s.message, ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(r.clock.Now().Truncate(time.Second)),
		})
	}
	set(collectorv1.ConditionStalled, metav1.ConditionTrue, stalled)
	set(collectorv1.ConditionReconciling, metav1.ConditionTrue, starting)
	switch {
	case stalled != nil:
		set(collectorv1.ConditionReady, metav1.ConditionFalse, stalled)
	case starting != nil:
		set(collectorv1.ConditionReady, metav1.ConditionFalse, starting)
	default:
		set(collectorv1.ConditionReady, metav1.ConditionTrue, &state{collectorv1.ReasonCounting, "events are counted"})
	}
}

// write writes the status where it says something new. last is what was written
// before; the cache may not have it yet. A stall is warned of once.
func (r *Reconciler) write(ctx context.Context, col *collectorv1.Collector, last *collectorv1.CollectorStatus, status collectorv1.CollectorStatus) error {
	if equality.Semantic.DeepEqual(*last, status) {
		return nil
	}
	before, after := col.DeepCopy(), col.DeepCopy()
	before.Status, after.Status = *last, status
	patch, err := statuspatch.Between(before, after)
	if err != nil {
		return err
	}
	if err := r.client.Status().Patch(ctx, after, patch); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of Collector %s/%s: %w", col.Namespace, col.Name, err))
	}
	was := meta.FindStatusCondition(last.Conditions, collectorv1.ConditionStalled)
	is := meta.FindStatusCondition(status.Conditions, collectorv1.ConditionStalled)
	if is != nil && (was == nil || was.Reason != is.Reason) {
		r.recorder.Eventf(col, nil, corev1.EventTypeWarning, collectorv1.ReasonFailed, "Count", "%s: %s", is.Reason, is.Message)
	}
	return nil
}

// tell sends an event for a change that has settled.
func (r *Reconciler) tell(col *collectorv1.Collector, c collectorv1.Change) {
	if c.State != collectorv1.ChangeSettled {
		return
	}
	e, w := c.Events, c.WorkloadEvents
	workload := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: c.Kind}}
	workload.Namespace, workload.Name = c.Namespace, c.Name
	r.recorder.Eventf(col, workload, corev1.EventTypeNormal, collectorv1.ReasonSettled, "Count",
		"%s %s/%s: %s triggered %d events of pods (%d added, %d modified, %d deleted) and %d of workloads",
		c.Kind, c.Namespace, c.Name, c.Change, e.Total(), e.Added, e.Modified, e.Deleted, w.Total())
}
