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

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// drawMemory draws what the last report said. It need not fit the pods: a status
// can be old, written by another version, or restored from a backup.
func drawMemory(t *rapid.T, f *fleet) {
	count := func(label string) int32 { return rapid.Int32Range(0, 10).Draw(t, label) }
	f.observed.Status = appsv1.PodManagerStatus{
		ObservedGeneration:  rapid.Int64Range(-1, 2).Draw(t, "observed generation"),
		Replicas:            count("replicas before"),
		CurrentReplicas:     count("live before"),
		ReadyReplicas:       count("ready before"),
		AvailableReplicas:   count("available before"),
		UpdatedReplicas:     count("updated before"),
		TerminatingReplicas: count("terminating before"),
		CurrentRevision:     oneOf(t, "current revision", newRev, oldRev, "", "web-gone"),
		UpdateRevision:      oneOf(t, "update revision", newRev, oldRev, ""),
		Selector:            oneOf(t, "selector before", f.desired.Selector, ""),
		Nodes:               oneOf(t, "nodes before", nil, []string{"web-0"}, []string{"web-0", "web-1"}),
		Failures:            drawFailures(t),
		CurrentFailures:     drawFailures(t),
		Rollout:             drawRollout(t),
		Rollback:            drawRollback(t),
		Rebalance:           drawRebalance(t),
		Held:                drawHeld(t),
		Conditions:          drawConditions(t),
		History:             drawHistory(t),
	}
}

// moments are times as a status can say them.
func drawMoment(t *rapid.T, most int, label string) metav1.Time {
	return metav1.NewTime(ago(drawSeconds(t, most, label)))
}

func drawFailures(t *rapid.T) *appsv1.FailureRecord {
	if !oneIn(t, 2, "failed before") {
		return nil
	}
	last := drawMoment(t, 1200, "last failure")
	return &appsv1.FailureRecord{
		Revision: oneOf(t, "revision that failed", newRev, newRev, oldRev), Count: rapid.Int32Range(1, 8).Draw(t, "failures"),
		LastTime: last, RetryTime: metav1.NewTime(last.Add(drawSeconds(t, 300, "backoff"))),
	}
}

func drawRollout(t *rapid.T) *appsv1.RolloutRecord {
	if !oneIn(t, 3, "was rolling out") {
		return nil
	}
	var counted *metav1.Time
	if rapid.Bool().Draw(t, "was stuck") {
		at := drawMoment(t, 90, "counted up to")
		counted = &at
	}
	return &appsv1.RolloutRecord{
		StuckSeconds: rapid.Int32Range(0, 700).Draw(t, "stuck for"), StuckTime: counted,
		Revision: oneOf(t, "revision that was rolled out", newRev, newRev, oldRev), Done: rapid.Int32Range(0, 10).Draw(t, "done"),
		ProgressTime: drawMoment(t, 900, "last progress"), Waits: oneIn(t, 4, "waited"),
		ResizeRefused: oneOf(t, "resize refused", "", "", "the QoS class would change"),
		Moved:         oneOf(t, "moved", "", "2", "0,3-5", "4-", "x"),
		SmallNodes:    oneOf(t, "small nodes", nil, nil, []string{"node-1"}, []string{"node-1", "node-2"}),
	}
}

func drawRebalance(t *rapid.T) *appsv1.RebalanceRecord {
	if !oneIn(t, 6, "a rebalance was given up") {
		return nil
	}
	return &appsv1.RebalanceRecord{Time: drawMoment(t, 7200, "given up at"), Message: oneOf(t, "why it was given up", "no room", "no node")}
}

func drawRollback(t *rapid.T) *appsv1.RollbackRecord {
	if !oneIn(t, 6, "was rolled back") {
		return nil
	}
	back := &appsv1.RollbackRecord{
		From: newRev, To: oldRev, Time: drawMoment(t, 900, "rolled back at"), Message: oneOf(t, "why it was rolled back", "no progress", ""),
	}
	if oneIn(t, 4, "the other way round") {
		back.From, back.To = back.To, back.From
	}
	return back
}

func drawHeld(t *rapid.T) (held []appsv1.HeldPod) {
	for range oneOf(t, "held before", 0, 0, 1, 2) {
		held = append(held, appsv1.HeldPod{
			Pod: oneOf(t, "pod held before", "web-0", "web-1"), From: oneOf(t, "held from", wantDelete, wantUpdate),
			By: oneOf(t, "held by", "migration", "backup"), Since: drawMoment(t, 900, "held since"),
		})
	}
	return held
}

func drawConditions(t *rapid.T) (conditions []metav1.Condition) {
	reasons := map[string][]string{
		appsv1.ConditionReady:       {appsv1.ReasonAvailable, appsv1.ReasonRollingOut, appsv1.ReasonPodsFailing},
		appsv1.ConditionReconciling: {appsv1.ReasonScalingUp, appsv1.ReasonReplacing, appsv1.ReasonRollingOut},
		appsv1.ConditionStalled:     {appsv1.ReasonPodsFailing, appsv1.ReasonNameTaken, appsv1.ReasonProgressDeadlineExceeded},
		appsv1.ConditionPaused:      {appsv1.ReasonPaused},
	}
	for _, kind := range []string{appsv1.ConditionReady, appsv1.ConditionReconciling, appsv1.ConditionStalled, appsv1.ConditionPaused} {
		if !oneIn(t, 2, kind+" before") {
			continue
		}
		conditions = append(conditions, metav1.Condition{
			Type: kind, Reason: oneOf(t, "reason of "+kind, reasons[kind]...), Message: oneOf(t, "message of "+kind, "1 of 3 pods live", "2 of 3 pods live"),
			Status:             oneOf(t, kind, metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown),
			ObservedGeneration: rapid.Int64Range(0, 2).Draw(t, "generation of "+kind), LastTransitionTime: drawMoment(t, 900, kind+" since"),
		})
	}
	return conditions
}

func drawHistory(t *rapid.T) (history []appsv1.Decision) {
	for range oneOf(t, "entries of the history", 0, 0, 1, 2, appsv1.MaxHistory) {
		pods := oneOf(t, "pods of an entry", nil, []string{"web-0"}, []string{"web-0", "web-1"})
		history = append(history, appsv1.Decision{
			Time: drawMoment(t, 900, "time of an entry"), Generation: rapid.Int64Range(0, 2).Draw(t, "generation of an entry"),
			Revision: oneOf(t, "revision of an entry", "", newRev, oldRev),
			Action:   oneOf(t, "action of an entry", "Created", "Deleted", "Updated"), Pods: pods, Count: int32(len(pods)),
			Reason:  oneOf(t, "reason of an entry", appsv1.WhyScaleUp, appsv1.WhyScaleDown, appsv1.WhyRolloutInPlace),
			Message: oneOf(t, "message of an entry", "", "2 live pods, 3 asked for"),
		})
	}
	return history
}
