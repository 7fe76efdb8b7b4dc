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

package oracle

import (
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kappsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// documented are the reasons that docs/reference.md has for each condition. Ready is
// False for a reason that another condition could have, too.
var documented = map[string][]string{
	appsv1.ConditionReady:     {appsv1.ReasonAvailable, appsv1.ReasonOnDelete, appsv1.ReasonPaused, appsv1.ReasonPinned, appsv1.ReasonHeld},
	appsv1.ConditionAvailable: {appsv1.ReasonMinimumAvailable, appsv1.ReasonMinimumUnavailable},
	appsv1.ConditionReconciling: {
		appsv1.ReasonScalingUp, appsv1.ReasonScalingDown, appsv1.ReasonReplacing, appsv1.ReasonWaitingForPods,
		appsv1.ReasonWaitingForTermination, appsv1.ReasonTerminating, appsv1.ReasonRollingOut, appsv1.ReasonMovingPods,
		appsv1.ReasonTakingOver, appsv1.ReasonHeld,
	},
	appsv1.ConditionStalled: {
		appsv1.ReasonPodsRefused, appsv1.ReasonChangesRefused, appsv1.ReasonQuotaExceeded, appsv1.ReasonNamespaceTerminating,
		appsv1.ReasonNameTaken, appsv1.ReasonTakesTooLong, appsv1.ReasonProgressDeadlineExceeded, appsv1.ReasonRolledBack,
		appsv1.ReasonPinnedRevisionMissing, appsv1.ReasonPodsFailing,
	},
	appsv1.ConditionPaused: {appsv1.ReasonPaused},
	appsv1.ConditionPinned: {appsv1.ReasonPinned},
}

// conditions judges the conditions by each other, by the spec and by the counters, which
// are judged by the pods.
func (t *teller) conditions() {
	s := t.status()
	for i := range s.Conditions {
		t.condition(&s.Conditions[i])
	}
	is := func(kind string) bool { return meta.IsStatusConditionTrue(s.Conditions, kind) }
	for _, kind := range []string{appsv1.ConditionReady, appsv1.ConditionAvailable} {
		if meta.FindStatusCondition(s.Conditions, kind) == nil {
			t.report("there is no condition %s, which is always there", kind)
		}
	}
	if is(appsv1.ConditionStalled) && is(appsv1.ConditionReconciling) {
		t.report("it is both Stalled and Reconciling")
	}
	if is(appsv1.ConditionPaused) != t.spec.Paused {
		t.report("the condition Paused is %t, and spec.paused %t", is(appsv1.ConditionPaused), t.spec.Paused)
	}
	needed := max(0, t.spec.Replicas-t.spec.MaxUnavailable)
	if enough := int(s.AvailableReplicas) >= needed; is(appsv1.ConditionAvailable) != enough {
		t.report("Available is %t with %d pods available, and %d have to be", is(appsv1.ConditionAvailable), s.AvailableReplicas, needed)
	}
	t.pins(is(appsv1.ConditionPinned))
	if is(appsv1.ConditionReady) {
		t.ready()
	}
	t.kstatus(is(appsv1.ConditionStalled))
}

// condition: each is of the generation of the status, and those that are there "only
// while they are true" are True.
func (t *teller) condition(c *metav1.Condition) {
	reasons, known := documented[c.Type]
	if c.Type == appsv1.ConditionReady {
		reasons = slices.Concat(reasons, documented[appsv1.ConditionReconciling], documented[appsv1.ConditionStalled])
	}
	always := c.Type == appsv1.ConditionReady || c.Type == appsv1.ConditionAvailable
	switch {
	case !known:
		t.report("there is a condition %s, which is not documented", c.Type)
	case !slices.Contains(reasons, c.Reason):
		t.report("%s has the reason %s, which is not documented", c.Type, c.Reason)
	case !always && c.Status != metav1.ConditionTrue:
		t.report("%s is %s, and is there only while it is True", c.Type, c.Status)
	case c.ObservedGeneration != t.status().ObservedGeneration:
		t.report("%s is of generation %d, and the status of %d", c.Type, c.ObservedGeneration, t.status().ObservedGeneration)
	}
}

// pins: Pinned "is present, and True, while a pin is in force. Where it keeps the pods
// on another revision than the template's, Ready is False."
func (t *teller) pins(says bool) {
	if t.from == 0 || t.spec.Deleted {
		return
	}
	could := false
	for _, v := range versionsOf[*kappsv1.ControllerRevision](t.history, t.from, t.to) {
		for _, m := range t.toldOwners() {
			g := t.goalOf(m.object, v)
			could = could || g.pinned == says || g.lost
			if g.overrides && t.rest && meta.IsStatusConditionTrue(t.status().Conditions, appsv1.ConditionReady) {
				t.report("Ready is True, and a pin keeps the pods on %s", g.name)
			}
		}
	}
	if !could {
		t.report("the condition Pinned is %t, and the pin says otherwise", says)
	}
}

// ready: "True when what this generation asks for is there: every pod that should be is
// available and on the revision that it should be on".
func (t *teller) ready() {
	s := t.status()
	switch {
	case t.spec.Deleted:
		t.report("Ready is True, and the owner is being deleted")
	case t.spec.TakesOver && !t.edited():
		t.report("Ready is True in the middle of a take-over")
	case meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionStalled):
		t.report("Ready is True, and it is stalled")
	case int(s.Replicas) != t.spec.Replicas:
		t.report("Ready is True with %d live pods of %d", s.Replicas, t.spec.Replicas)
	case int(s.AvailableReplicas) < t.spec.Replicas:
		t.report("Ready is True with %d available pods of %d", s.AvailableReplicas, t.spec.Replicas)
	case int(s.UpdatedReplicas) < t.spec.Replicas-t.spec.Partition:
		t.report("Ready is True with %d of %d pods on revision %s", s.UpdatedReplicas, t.spec.Replicas, s.UpdateRevision)
	}
}

// kstatus reads the status as Flux, Helm and kubectl wait do: an object counts as done
// only when this generation is rolled out, and as failed exactly when it is stalled.
func (t *teller) kstatus(stalled bool) {
	pm := t.m.object
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pm)
	if err != nil {
		t.report("the status cannot be read: %v", err)
		return
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.report("kstatus cannot read the status: %v", err)
		return
	}
	ready := meta.IsStatusConditionTrue(pm.Status.Conditions, appsv1.ConditionReady)
	current := pm.Generation == pm.Status.ObservedGeneration && pm.DeletionTimestamp == nil
	switch {
	case result.Status == status.CurrentStatus && (!ready || !current):
		t.report("kstatus takes it for done, and Ready is %t at generation %d of %d", ready, pm.Status.ObservedGeneration, pm.Generation)
	case current && stalled != (result.Status == status.FailedStatus):
		t.report("kstatus takes it for %s, and Stalled is %t", result.Status, stalled)
	}
}
