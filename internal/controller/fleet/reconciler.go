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

// Package fleet is the reconciler that every kind which keeps pods shares. A
// kind brings a small adapter that says what its object asks for and where its
// status goes; the reconcile itself is four calls: observe, plan, apply,
// report.
//
// It decides nothing about pods: package plan does. This package only moves
// values between the parts, writes the status no more often than it says
// something new, and counts.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/apply"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/report"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// staleRetry is the wait before a look at a cache that is behind. Its next
// event wakes the owner sooner.
const staleRetry = 20 * time.Millisecond

// behindRetry is when an owner is looked at again whose cache was behind the API server.
// Each look may ask the API server again, so it is longer than staleRetry.
const behindRetry = 100 * time.Millisecond

// refusedLook is the longest that a look waits because of refusals: what it is for
// may be another thing than what is refused.
const refusedLook = time.Second

// Reconciler keeps the fleets of one kind.
type Reconciler struct {
	kind      desired.Kind
	cache     client.Reader
	observer  *observe.Observer
	applier   *apply.Applier
	status    *statusWriter
	recorder  recorder.EventRecorder
	metrics   *Metrics
	clock     clock.PassiveClock
	mine      func(client.Object) bool
	evictions bool
	memories  *memories
	limits    limits
}

// Parts is what a Reconciler is made of.
type Parts struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Pods finds pods faster than Client does; nil where it cannot.
	Pods     *observe.PodIndex
	Ledger   *observe.Ledger
	Recorder recorder.EventRecorder
	Metrics  *Metrics
	Clock    clock.PassiveClock
	// Mine reports whether an owner is this reconciler's to work on; nil means
	// that all are.
	Mine func(owner client.Object) bool
	// Evictions: the API server serves lifecycle.k8s.io.
	Evictions bool
	// FirstBatch is how many pods are created before the first answer; 0
	// means one.
	FirstBatch int
}

// New makes the Reconciler of a kind.
func New(kind desired.Kind, p Parts) *Reconciler {
	r := &Reconciler{
		kind:      kind,
		cache:     p.Client,
		observer:  observe.New(p.Client, p.Live, p.Ledger).WithIndex(p.Pods).WithEvictions(p.Evictions),
		applier:   apply.New(p.Client, p.Live, p.Ledger, p.Clock).StartWith(p.FirstBatch),
		recorder:  p.Recorder,
		metrics:   p.Metrics,
		clock:     p.Clock,
		mine:      p.Mine,
		evictions: p.Evictions,
		memories:  newMemories(),
		limits:    limits{look: lookLimit, write: writeLimit},
	}
	r.status = &statusWriter{client: p.Client, ledger: p.Ledger, kind: kind, memories: r.memories, send: r.send}
	r.metrics.begin(kind.Name(), r.memories)
	return r
}

// Reconcile brings one fleet closer to what its owner asks for.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	owner := r.kind.New()
	if err := r.cache.Get(ctx, req.NamespacedName, owner); err != nil {
		if apierrors.IsNotFound(err) {
			r.memories.forgetNamed(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.mine != nil && !r.mine(owner) {
		r.memories.forget(owner.GetUID())
		return ctrl.Result{}, nil
	}
	p := r.begin(owner)
	seen, err := r.observe(ctx, p.fleet)
	if err != nil {
		return r.notObserved(ctx, p, err)
	}
	decision := plan.Plan(p.fleet.Desired, seen.Observed, p.now)
	target := r.target(ctx, p, seen)
	outcomes, applyErr := r.applier.Apply(ctx, target, decision.Actions)
	if !slices.ContainsFunc(outcomes, tried) && isBehind(applyErr) {
		return r.behind(ctx, applyErr)
	}
	reported := report.Report(p.fleet.Desired, seen.Observed, decision, outcomes, p.now)
	if len(outcomes) == 0 && r.status.needsProof(owner, reported.Status) {
		if err := r.applier.Confirm(ctx, target); err != nil {
			return r.behind(ctx, err)
		}
	}
	flightrecorder.SetPayload(ctx, flight.New(p.fleet.Desired, seen.Observed, decision, outcomes, p.now))
	later, statusErr := r.report(ctx, p, reported, outcomes)
	r.measure(p, &seen.Observed, &reported.Status)

	err = errors.Join(applyErr, statusErr)
	r.metrics.decided(r.kind.Name(), outcomes, err)
	if err != nil {
		return ctrl.Result{}, err
	}
	if p.tooLong() {
		return ctrl.Result{RequeueAfter: staleRetry}, nil // there may be more to write; others go first
	}
	return ctrl.Result{RequeueAfter: soonest(p.nextLook(decision.NextLook, outcomes), later, reported.LookAgain, p.memory.refused.Wait(p.now))}, nil
}

// nextLook is when the planner looks again. Where the API server refuses what the
// planner would do right away, and nothing got done, it waits a little.
func (p *pass) nextLook(planned time.Duration, outcomes []plan.Outcome) time.Duration {
	wait := min(p.memory.refused.Wait(p.now), refusedLook)
	if planned == 0 || slices.ContainsFunc(outcomes, func(o plan.Outcome) bool { return o.Result == plan.Done }) {
		return planned
	}
	return max(planned, wait)
}

func tried(o plan.Outcome) bool { return o.Result != plan.Skipped }

func isBehind(err error) bool {
	behind := (*apply.BehindError)(nil)
	return errors.As(err, &behind)
}

// behind ends a pass in which the API server was asked, before the first write, whether
// the cache shows what it has. No status is written: it would be that of a fleet which
// has changed since. A cache that is behind is no error: every restart meets it.
func (r *Reconciler) behind(ctx context.Context, err error) (ctrl.Result, error) {
	r.metrics.skipped(r.kind.Name())
	if isBehind(err) {
		log.FromContext(ctx).V(1).Info("The cache is behind", "reason", err.Error())
		return ctrl.Result{RequeueAfter: behindRetry}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// begin begins a pass.
func (r *Reconciler) begin(owner client.Object) *pass {
	p := &pass{
		owner: owner, fleet: r.kind.Fleet(owner), memory: r.memories.of(owner),
		now: r.clock.Now(), began: time.Now(), writes: r.limits.write,
	}
	p.fleet.Status, p.fleet.Now = r.status.reported(owner), p.now
	if r.memories.takeRoom(p.memory) {
		p.memory.refused.Room()
	}
	if r.evictions && p.fleet.Desired.Disruption.SurgeFirst {
		p.fleet.Finish = responding(p.fleet.Finish)
	}
	return p
}

// responding makes new pods name us as a responder to their evictions. What another
// API server would not know is not part of their revision.
func responding(finish func(*corev1.Pod)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		if finish != nil {
			finish(pod)
		}
		podrender.WithResponder(pod)
	}
}

// notObserved ends a pass that could not look at its fleet.
func (r *Reconciler) notObserved(ctx context.Context, p *pass, err error) (ctrl.Result, error) {
	if timedOut(ctx, err) {
		return r.cutOff(ctx, p.owner, p.now)
	}
	if stale := (*observe.StaleError)(nil); errors.As(err, &stale) {
		r.metrics.skipped(r.kind.Name())
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	r.metrics.reconciled(r.kind.Name(), resultError)
	return ctrl.Result{}, err
}

// measure notes how large the fleet is.
func (r *Reconciler) measure(p *pass, observed *plan.Observed, status *appsv1.PodManagerStatus) {
	r.memories.measure(p.memory, size{
		pods: max(p.fleet.Desired.Replicas, len(observed.Pods)), countsNodes: observed.Nodes != nil, desired: p.fleet.Desired.Replicas, ready: int(status.ReadyReplicas),
		stalled: meta.IsStatusConditionTrue(status.Conditions, appsv1.ConditionStalled), full: p.memory.refused.Full(),
	})
}

// observe looks at a fleet, within a time limit.
func (r *Reconciler) observe(ctx context.Context, fleet desired.Fleet) (observe.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limits.look)
	defer cancel()
	return r.observer.Observe(ctx, fleet)
}

// target is what apply needs to know of a fleet.
func (r *Reconciler) target(ctx context.Context, p *pass, seen observe.Seen) apply.Target {
	fleet := p.fleet
	return apply.Target{
		Outdated:       func() bool { return r.memories.outdated(fleet.Owner) || p.tooLong() },
		Memory:         &p.memory.refused,
		Owner:          fleet.Owner,
		Ref:            fleet.Ref,
		Finalizer:      r.kind.Finalizer(),
		Encoded:        seen.Encoded,
		Deletion:       fleet.Desired.Deletion,
		ReservedLabels: r.kind.ReservedLabels(),
		Pods:           seen.Observed.Pods,
		New:            fleet.Desired.Identity == appsv1.IdentityOrdinal && len(seen.Observed.Pods) == 0 && fleet.Status.ObservedGeneration <= 0,
		Finish:         fleet.Finish,
		Claim:          fleet.Claim,
		Template: func(revision string) (*corev1.PodTemplateSpec, error) {
			for i, stored := range seen.Observed.Revisions {
				if stored.Name == revision && !stored.Equal {
					whole, err := seen.Whole(ctx, seen.Revisions[i])
					if err != nil {
						return nil, err
					}
					return podrender.Decode(whole)
				}
			}
			return fleet.Template, nil
		},
	}
}

// report writes the status and sends the events. An owner whose finalizer was
// just taken off is gone, so there is nothing left to write to.
func (r *Reconciler) report(ctx context.Context, p *pass, reported report.Reported, outcomes []plan.Outcome) (later time.Duration, err error) {
	r.log(ctx, outcomes)
	if ownerGone(p.fleet.Desired, outcomes) {
		r.status.last(p.owner, reported, p.now)
		return 0, nil
	}
	return r.status.write(ctx, p.owner, reported, p.now)
}

// ownerGone: the finalizer is off, now or before, and the owner with it.
func ownerGone(desired plan.Desired, outcomes []plan.Outcome) bool {
	if desired.Deletion != plan.DeletionNone && desired.Finalizer != plan.FinalizerPresent {
		return true
	}
	for i := range outcomes {
		if outcomes[i].Action.Verb == plan.RemoveFinalizer && outcomes[i].Result == plan.Done {
			return true
		}
	}
	return false
}

// log writes one line for each thing that was done to a pod or refused.
func (r *Reconciler) log(ctx context.Context, outcomes []plan.Outcome) {
	logger := log.FromContext(ctx)
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Recalled:
			// It was logged when it was refused.
		case o.Result == plan.Done:
			logger.Info(string(o.Action.Verb), "pod", o.Action.Pod, "revision", o.Action.Revision,
				"reason", o.Action.Why.Reason, "rule", o.Action.Why.Rule, "why", o.Action.Why.Message)
		case o.Result == plan.Refused:
			logger.Info("Refused", "verb", o.Action.Verb, "pod", o.Action.Pod, "cause", o.Cause, "message", o.Message)
		}
		// A failure is returned as an error and logged there; what came too
		// late is tried again.
	}
}

// send hands an event to the recorder. The event's pod is the related object:
// its UID also keeps the recorder from folding two decisions of the same reason
// into one event with the first one's text.
func (r *Reconciler) send(owner client.Object, e report.Event) {
	if e.Pod == "" {
		r.recorder.Eventf(owner, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
		return
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = owner.GetNamespace(), e.Pod, e.UID
	r.recorder.Eventf(owner, pod, e.Type, e.Reason, e.Action, "%s", e.Note)
}

// soonest is the smallest wait that is set.
func soonest(waits ...time.Duration) time.Duration {
	var least time.Duration
	for _, w := range waits {
		if w > 0 && (least == 0 || w < least) {
			least = w
		}
	}
	return least
}

// String names the reconciler in errors.
func (r *Reconciler) String() string { return fmt.Sprintf("%s reconciler", r.kind.Name()) }
