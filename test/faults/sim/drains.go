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
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/webhook/eviction"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// evictor is a client that wants a pod to go, and tries again by name until it is
// gone, as kubectl drain does: it does not look at the UID.
type evictor struct {
	pod   string
	uid   types.UID
	since time.Time
	// version is that of the cluster when the client began.
	version int64
	due     time.Time
	// generation is that of the fleet when the client began.
	generation int64
	// asked: it was told to wait.
	asked bool
	// through: the API server took the eviction, and the client waits for the pod to go.
	through bool
	// held is since when the webhook has it wait, and last when it asked last.
	held, last time.Time
}

// How often and for how long a client tries.
const (
	retryEviction  = 5 * time.Second
	slowerEviction = 30 * time.Second
	soon           = time.Minute
	// drainTimeout is when the client gives up.
	drainTimeout = 40 * time.Minute
	// maxHold is the operator's --max-eviction-hold.
	maxHold = 20 * time.Minute
	// meansTheNext is the age from which a pod that was made in place of another is meant
	// itself: by name, of one "that was made in place of another less than 2 minutes ago
	// and is on a node that takes new pods", an eviction is answered with 404.
	meansTheNext = 2 * time.Minute
	// forgotten is after how long without a request the next is that of another drain.
	forgotten = 10 * time.Minute
)

// Drain implements scenario.Cluster.
func (w *World) Drain(node string) error {
	found := false
	for _, pod := range w.nodesOf().podsOn(node) {
		found = w.Evict(pod.Name) == nil || found
	}
	if !found {
		return apierrors.NewNotFound(resource("Pod"), "on "+node)
	}
	return nil
}

// Evict implements scenario.Cluster.
func (w *World) Evict(name string) error {
	pod, err := w.server.get(objectKey{"Pod", namespace, name})
	if err != nil {
		return err
	}
	e := &evictor{pod: name, uid: pod.GetUID(), since: w.clock.Now(), version: w.server.version, due: w.clock.Now()}
	if pm := w.surgesFirst(); pm != nil {
		e.generation = pm.Generation
	}
	w.evictors = append(w.evictors, e)
	return nil
}

// drains are the evictions that are due.
func (w *World) drains() []Option {
	if w.calm {
		return nil
	}
	w.evictors = slices.DeleteFunc(w.evictors, w.finished)
	var options []Option
	for _, e := range w.evictors {
		if !e.through && !e.due.After(w.clock.Now()) {
			options = append(options, Option{"a client evicts pod " + e.pod, Fair, func() { w.tryEviction(e) }})
		}
	}
	return options
}

// finished: the pod is gone, or the client gave up.
func (w *World) finished(e *evictor) bool {
	pod, err := w.server.get(objectKey{"Pod", namespace, e.pod})
	if e.through && (err != nil || pod.GetUID() != e.uid) {
		return true
	}
	if !e.through && w.clock.Since(e.since) > drainTimeout {
		w.trace = append(w.trace, "a client gives up to evict pod "+e.pod)
		w.abandoned++
		w.checkEnds(e)
		return true
	}
	return false
}

// nextEviction is when a client tries again, or zero.
func (w *World) nextEviction() time.Time {
	var next time.Time
	if w.calm {
		return next
	}
	for _, e := range w.evictors {
		if !e.through && (next.IsZero() || e.due.Before(next)) {
			next = e.due
		}
	}
	return next
}

// tryEviction asks the webhook, where an operator runs that serves it, and then the
// API server.
func (w *World) tryEviction(e *evictor) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: e.pod}}
	err := w.askWebhook(pod)
	w.checkHeld(e, err)
	if err == nil {
		err = w.server.Client("drain").SubResource("eviction").Create(context.Background(), pod, &policyv1.Eviction{})
	}
	switch {
	case err == nil:
		e.through = true
	case apierrors.IsNotFound(err):
		w.evictors = slices.DeleteFunc(w.evictors, func(other *evictor) bool { return other == e })
	default:
		e.asked = true
		e.due = w.clock.Now().Add(retryEviction)
		if w.clock.Since(e.since) > soon {
			e.due = w.clock.Now().Add(slowerEviction)
		}
	}
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), ". ")
		w.trace = append(w.trace, "a client: "+text)
	}
	w.checkMeant(e)
}

// checkHeld is the last part of E: "the webhook holds none longer than
// --max-eviction-hold", from the first request of a drain on, whatever the deadline says
// meanwhile.
func (w *World) checkHeld(e *evictor, answer error) {
	obj, err := w.server.get(objectKey{"Pod", namespace, e.pod})
	now := w.clock.Now()
	anew := e.held.IsZero() || e.held.After(now) || w.beginsAnew(e, now)
	switch e.last = now; {
	case !apierrors.IsTooManyRequests(answer) || err != nil || obj.GetUID() != e.uid:
		e.held = time.Time{}
	case anew:
		e.held = now
	case now.Sub(e.held) > maxHold+time.Second:
		w.evicted = append(w.evicted, oracle.Violation{Rule: "E", Version: w.server.version, Message: fmt.Sprintf(
			"the eviction of pod %s is held for %s, and %s is the most", e.pod, now.Sub(e.held), maxHold)})
	}
}

// beginsAnew: the time "begins anew when no client has asked for 10 minutes after the
// deadline".
func (w *World) beginsAnew(e *evictor, now time.Time) bool {
	pm := w.surgesFirst()
	if pm == nil {
		return false
	}
	quiet := e.held.Add(min(maxHold, time.Duration(ptr.Deref(pm.Spec.Disruption.DeadlineSeconds, 600))*time.Second))
	for _, other := range w.evictors {
		if other.uid == e.uid && other.last.After(quiet) {
			quiet = other.last
		}
	}
	return now.Sub(quiet) >= forgotten
}

// checkMeant is the first part of E: a client that waits for a pod which is gone does
// not move its successor, while that is new, from a node that stays. A pod that a scale-up made is in the
// place of no other.
func (w *World) checkMeant(e *evictor) {
	obj, err := w.server.get(objectKey{"Pod", namespace, e.pod})
	if err != nil || obj.GetUID() == e.uid || w.surgesFirst() == nil || w.scaledUpSince(e.version) {
		return
	}
	pod := obj.(*corev1.Pod)
	if w.clock.Since(pod.CreationTimestamp.Time) >= meansTheNext {
		return // a new eviction by name could not be told from this one
	}
	node := w.nodesOf().node(pod.Spec.NodeName)
	moved := e.through && pod.DeletionTimestamp != nil || pod.Annotations[appsv1.AnnotationEvictionRequested] != ""
	if node != nil && !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 && moved {
		w.evicted = append(w.evicted, oracle.Violation{Rule: "E", Version: w.server.version, Message: fmt.Sprintf(
			"an eviction of a pod %s that is gone moves its successor from node %s, which stays", e.pod, node.Name)})
	}
}

// scaledUpSince: the number of replicas was raised since a version.
func (w *World) scaledUpSince(version int64) bool {
	return slices.ContainsFunc(w.server.log, func(e entry) bool {
		now, ok := e.Object.(*appsv1.PodManager)
		before, had := e.before.(*appsv1.PodManager)
		return ok && had && e.Version > version && ptr.Deref(now.Spec.Replicas, 3) > ptr.Deref(before.Spec.Replicas, 3)
	})
}

// checkStandIn is the second part of E: a pod that runs and stands in for one whose
// eviction waits stays until that is gone and as many others as replicas serve, or one
// of them could not be scheduled for as long as an eviction may wait. A rollout, and an
// edit since the client asked, may need another.
func (w *World) checkStandIn(e *entry) {
	pod, isPod := e.Object.(*corev1.Pod)
	pm := w.surgesFirst()
	if !isPod || pm == nil || w.split || pm.Status.ObservedGeneration != pm.Generation || !standsIn(pod) ||
		pod.DeletionTimestamp == nil || e.before == nil || e.before.GetDeletionTimestamp() != nil {
		return
	}
	want := int(ptr.Deref(pm.Spec.Replicas, 3))
	for _, waits := range w.evictors {
		if !waits.held.IsZero() && w.beginsAnew(waits, w.clock.Now()) {
			continue // it is forgotten
		}
		if !waits.asked || waits.pod == pod.Name || waits.generation != pm.Generation || w.clock.Since(waits.since) > time.Hour {
			continue
		}
		if serving, rollout := w.servingBeside(pod, waits.uid); !rollout && serving < want && !w.lacksRoom(pm) {
			w.evicted = append(w.evicted, oracle.Violation{Rule: "E", Version: e.Version, Message: fmt.Sprintf(
				"pod %s, which stands in, is deleted while the eviction of pod %s waits; %d of %d others serve", pod.Name, waits.pod, serving, want)})
			return
		}
	}
}

// lacksRoom: a pod that is not to stand in waits for a node longer than an eviction may.
func (w *World) lacksRoom(pm *appsv1.PodManager) bool {
	deadline := min(maxHold, time.Duration(ptr.Deref(pm.Spec.Disruption.DeadlineSeconds, 600))*time.Second)
	return slices.ContainsFunc(w.server.objectsOf("Pod"), func(obj client.Object) bool {
		pod := obj.(*corev1.Pod)
		return pod.Spec.NodeName == "" && pod.Annotations[appsv1.AnnotationSurge] == "" && w.clock.Since(pod.CreationTimestamp.Time) >= deadline
	})
}

// standsIn: the pod was made for another, and runs.
func standsIn(pod *corev1.Pod) bool {
	return pod.Annotations[appsv1.AnnotationSurge] != "" && pod.Status.Phase == corev1.PodRunning
}

// servingBeside counts the pods that serve besides two, and says whether a rollout is
// under way.
func (w *World) servingBeside(pod *corev1.Pod, leaving types.UID) (serving int, rollout bool) {
	for _, obj := range w.server.objectsOf("Pod") {
		other := obj.(*corev1.Pod)
		rollout = rollout || other.Labels[appsv1.LabelRevision] != pod.Labels[appsv1.LabelRevision]
		if other.UID != leaving && other.UID != pod.UID && other.DeletionTimestamp == nil && isReady(other) {
			serving++
		}
	}
	return serving, rollout
}

// surgesFirst is the fleet, if its pods are replaced before they leave.
func (w *World) surgesFirst() *appsv1.PodManager {
	pm, _ := w.server.objects[objectKey{"PodManager", namespace, scenario.Name}].(*appsv1.PodManager)
	if pm == nil || pm.DeletionTimestamp != nil || pm.Spec.Disruption.Policy != appsv1.DisruptionSurgeFirst || len(pm.Spec.VolumeClaimTemplates) > 0 {
		return nil
	}
	return pm
}

// checkEnds is the third part of E: no drain is impossible. A client does not wait
// for ever where a node has room, nothing is refused or held, all other pods can serve
// and a budget asks for no more pods than the fleet has.
func (w *World) checkEnds(e *evictor) {
	obj, err := w.server.get(objectKey{"Pod", namespace, e.pod})
	pm, nodes := w.surgesFirst(), w.nodesOf()
	if err != nil || e.through || obj.GetUID() != e.uid || pm == nil || !w.server.lifted() || nodes.slow > soon {
		return
	}
	if w.clock.Since(e.due) > soon {
		return // time was lost in which it could not ask
	}
	pod := obj.(*corev1.Pod)
	if len(pod.Finalizers) > 0 || oracle.Held(pod, appsv1.LabelHoldDelete) || nodes.place(&corev1.Pod{}) == "" {
		return
	}
	for _, obj := range w.server.objectsOf("Pod") {
		if other := obj.(*corev1.Pod); other.UID != pod.UID && (ended(other) || !isReady(other)) {
			return
		}
	}
	for _, obj := range w.server.objectsOf("PodDisruptionBudget") {
		if obj.(*policyv1.PodDisruptionBudget).Spec.MinAvailable.IntVal > ptr.Deref(pm.Spec.Replicas, 3) {
			return
		}
	}
	w.evicted = append(w.evicted, oracle.Violation{Rule: "E", Version: w.server.version, Message: fmt.Sprintf(
		"the eviction of pod %s waits for ever, %s so far, and nothing is in its way", e.pod, w.clock.Since(e.since))})
}

// askWebhook is what the operator's own webhook answers. Without an operator it
// cannot be reached, and is ignored.
func (w *World) askWebhook(pod *corev1.Pod) error {
	if len(w.processes) == 0 {
		return nil
	}
	asked := policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	raw, err := json.Marshal(asked)
	if err != nil {
		panic(err)
	}
	req := admission.Request{}
	req.Namespace, req.Name, req.Object = pod.Namespace, pod.Name, runtime.RawExtension{Raw: raw}
	all := w.server.Client("webhook")
	cached := &reader{source: w.processes[0].cache, server: w.server, transport: direct{}, indexes: w.indexes}
	handler := eviction.Handler{Live: all, Pods: cached, Writer: all, Clock: w.clock, MaxHold: maxHold}
	answer := handler.Handle(context.Background(), req)
	switch {
	case answer.Allowed:
		return nil
	case answer.Result.Code == http.StatusNotFound:
		return apierrors.NewNotFound(resource("Pod"), pod.Name)
	}
	return apierrors.NewTooManyRequests(answer.Result.Message, 0)
}

// budgeted is what a PodDisruptionBudget says to an eviction, as the API server
// counts: of a pod that is pending or has ended it says nothing, and one that is not
// ready may go when enough others are.
func (s *Server) budgeted(key objectKey, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodPending || ended(pod) {
		return nil
	}
	for _, obj := range s.objectsOf("PodDisruptionBudget") {
		pdb := obj.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			panic(fmt.Sprintf("the selector of PodDisruptionBudget %s: %v", pdb.Name, err))
		}
		if pdb.Namespace != pod.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		healthy, all := s.healthy(pdb.Namespace, selector)
		least, err := intstr.GetScaledValueFromIntOrPercent(pdb.Spec.MinAvailable, all, true)
		if err != nil {
			panic(fmt.Sprintf("PodDisruptionBudget %s: %v", pdb.Name, err))
		}
		if !isReady(pod) && healthy >= least && least > 0 || isReady(pod) && healthy > least {
			continue
		}
		return budgetError(fmt.Sprintf("Cannot evict pod as it would violate the pod's disruption budget. %s needs %d healthy pods and has %d",
			key.name, least, healthy))
	}
	return nil
}

// mostKept is how many pods the strictest PodDisruptionBudget keeps.
func (s *Server) mostKept() int {
	most := 0
	for _, obj := range s.objectsOf("PodDisruptionBudget") {
		most = max(most, obj.(*policyv1.PodDisruptionBudget).Spec.MinAvailable.IntValue())
	}
	return most
}

// budgetError says, as the API server does, that it is no other 429.
func budgetError(message string) error {
	err := apierrors.NewTooManyRequests(message, 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: message}}
	return err
}

func (s *Server) healthy(namespace string, selector labels.Selector) (healthy, all int) {
	for _, obj := range s.objectsOf("Pod") {
		pod := obj.(*corev1.Pod)
		if pod.Namespace != namespace || !selector.Matches(labels.Set(pod.Labels)) || ended(pod) {
			continue
		}
		all++
		if pod.DeletionTimestamp == nil && isReady(pod) {
			healthy++
		}
	}
	return healthy, all
}
