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
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// conditionsOf writes conditions as lines: type, status, reason.
func conditionsOf(s appsv1.PodManagerStatus) map[string]string {
	lines := map[string]string{}
	for _, c := range s.Conditions {
		lines[c.Type] = string(c.Status) + " " + c.Reason
	}
	return lines
}

type told struct {
	Ready, Reconciling, Stalled, Paused string
	// Unavailable: the condition Available is False.
	Unavailable bool
}

func toldOf(s appsv1.PodManagerStatus) told {
	c := conditionsOf(s)
	return told{
		c[appsv1.ConditionReady], c[appsv1.ConditionReconciling], c[appsv1.ConditionStalled], c[appsv1.ConditionPaused],
		c[appsv1.ConditionAvailable] != "True "+appsv1.ReasonMinimumAvailable,
	}
}

// kstatusOf asks what Flux and Helm ask.
func kstatusOf(t interface{ Fatalf(string, ...any) }, d Desired, s appsv1.PodManagerStatus) status.Status {
	pm := &appsv1.PodManager{Status: s}
	pm.APIVersion, pm.Kind = "apps.mycompany.com/v1", "PodManager"
	pm.Name, pm.Namespace, pm.Generation = d.Name, d.Namespace, d.Generation
	if d.Deletion != DeletionNone {
		now := metav1.NewTime(noon())
		pm.DeletionTimestamp = &now
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pm)
	if err != nil {
		t.Fatalf("convert: %v", err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatalf("kstatus: %v", err)
	}
	return result.Status
}

func TestConditions(t *testing.T) {
	refusal := func(cause string) func(Decision) []Outcome {
		return func(d Decision) []Outcome {
			outcomes := outcomesOf(d, Skipped)
			outcomes[0] = Outcome{Action: d.Actions[0], Result: Refused, Cause: cause, Message: "no"}
			return outcomes
		}
	}
	wasReady := func(f fleet) fleet {
		return f.condition(appsv1.ConditionReady, appsv1.ReasonAvailable, metav1.ConditionTrue)
	}
	for name, test := range map[string]struct {
		given    fleet
		outcomes func(Decision) []Outcome // all done, where nil
		want     told
		kstatus  status.Status
	}{
		"a fleet at its goal is ready": {
			given:   aFleet(1, ordinal(0)),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"so is one of no pods": {
			given:   aFleet(0),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"so is one that keeps a corpse": {
			given:   aFleet(1, random(0), random(1).failed(time.Hour)).random().failures(1, time.Hour, 0),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"a new one scales up": {
			given:   aFleet(2).generation(2),
			want:    told{Ready: "False ScalingUp", Reconciling: "True ScalingUp", Unavailable: true},
			kstatus: status.InProgressStatus,
		},
		"and goes on with it until its pods are available": {
			given: aFleet(2, ordinal(0), ordinal(1).pending()).
				condition(appsv1.ConditionReconciling, appsv1.ReasonScalingUp, metav1.ConditionTrue),
			want:    told{Ready: "False ScalingUp", Reconciling: "True ScalingUp"},
			kstatus: status.InProgressStatus,
		},
		"pods that are not ready are waited for": {
			given:   wasReady(aFleet(2, ordinal(0), ordinal(1).unready())),
			want:    told{Ready: "False WaitingForPods", Reconciling: "True WaitingForPods"},
			kstatus: status.InProgressStatus,
		},
		"so are those that are ready for less than minReady": {
			given:   aFleet(1, ordinal(0).readyFor(time.Second)).minReady(time.Minute),
			want:    told{Ready: "False WaitingForPods", Reconciling: "True WaitingForPods"},
			kstatus: status.InProgressStatus,
		},
		"a complete fleet that lost pods replaces them": {
			given:    wasReady(aFleet(2, ordinal(0))),
			outcomes: func(d Decision) []Outcome { return outcomesOf(d, Failed) },
			want:     told{Ready: "False Replacing", Reconciling: "True Replacing"},
			kstatus:  status.InProgressStatus,
		},
		"also on a backoff": {
			given:   aFleet(1, ordinal(0).failed(time.Second)).failures(1, time.Minute, 0),
			want:    told{Ready: "False Replacing", Reconciling: "True Replacing"},
			kstatus: status.InProgressStatus,
		},
		"an ordinal that waits for its old pod": {
			given:   wasReady(aFleet(2, ordinal(0), ordinal(1).terminating())),
			want:    told{Ready: "False WaitingForTermination", Reconciling: "True WaitingForTermination"},
			kstatus: status.InProgressStatus,
		},
		"or for an orphan that is on its way out": {
			given:   aFleet(1, ordinal(0).orphan().terminating()),
			want:    told{Ready: "False WaitingForTermination", Reconciling: "True WaitingForTermination"},
			kstatus: status.InProgressStatus,
		},
		"too many pods are scaled down": {
			given:    aFleet(1, ordinal(0), ordinal(1)),
			outcomes: func(d Decision) []Outcome { return outcomesOf(d, Failed) },
			want:     told{Ready: "False ScalingDown", Reconciling: "True ScalingDown"},
			kstatus:  status.InProgressStatus,
		},
		"until the last one is gone": {
			given:   aFleet(1, ordinal(0), ordinal(1).terminating()),
			want:    told{Ready: "True Available", Reconciling: "True ScalingDown"},
			kstatus: status.InProgressStatus,
		},
		"a rollout is not ready, however many pods are available": {
			given:   wasReady(aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev), ordinal(2).surge())).rollingOut().budget(0, 1),
			want:    told{Ready: "False RollingOut", Reconciling: "True RollingOut"},
			kstatus: status.InProgressStatus,
		},
		"nor is one whose last surge pod is still there": {
			given:    aFleet(2, ordinal(0), ordinal(1), ordinal(2).surge()).rollingOut().budget(0, 1),
			outcomes: func(d Decision) []Outcome { return outcomesOf(d, Failed) },
			want:     told{Ready: "False ScalingDown", Reconciling: "True ScalingDown"},
			kstatus:  status.InProgressStatus,
		},
		"nor one that a pause keeps on the old revision": {
			given:   aFleet(2, ordinal(0).revision(oldRev), ordinal(1).revision(oldRev)).rollingOut().paused(),
			want:    told{Ready: "False Paused", Paused: "True Paused"},
			kstatus: status.InProgressStatus,
		},
		"nor one that waits for its user to delete the old pods": {
			given: func() fleet {
				f := aFleet(2, ordinal(0).revision(oldRev), ordinal(1)).rollingOut()
				f.desired.Update.Strategy = appsv1.UpdateOnDelete
				return f
			}(),
			want:    told{Ready: "False OnDelete"},
			kstatus: status.InProgressStatus,
		},
		"a kind without rollouts is ready with whatever pods it took in": {
			given: func() fleet {
				f := aFleet(2, ordinal(0).revision(oldRev), ordinal(1))
				f.desired.Update.Strategy, f.desired.Update.Fixed = appsv1.UpdateOnDelete, true
				return f
			}(),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"a pod behind the partition is where it should be": {
			given:   aFleet(2, ordinal(0).revision(oldRev), ordinal(1)).rollingOut().partition(1),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"too few pods are unavailable to matter": {
			given:   aFleet(2, ordinal(0), ordinal(1).unready()).budget(1, 0),
			want:    told{Ready: "False WaitingForPods", Reconciling: "True WaitingForPods"},
			kstatus: status.InProgressStatus,
		},
		"too many are": {
			given:   aFleet(2, ordinal(0), ordinal(1).unready()).budget(0, 1),
			want:    told{Ready: "False WaitingForPods", Reconciling: "True WaitingForPods", Unavailable: true},
			kstatus: status.InProgressStatus,
		},
		"paused is told besides": {
			given:   aFleet(1, ordinal(0)).paused(),
			want:    told{Ready: "True Available", Paused: "True Paused"},
			kstatus: status.CurrentStatus,
		},
		"a paused fleet that scales": {
			given:   aFleet(1).generation(2).paused(),
			want:    told{Ready: "False ScalingUp", Reconciling: "True ScalingUp", Paused: "True Paused"},
			kstatus: status.InProgressStatus,
		},
		"pods that fail once or twice are no reason for alarm": {
			given:   aFleet(1, ordinal(0).failed(time.Second)).failures(2, time.Second, time.Minute),
			want:    told{Ready: "False Replacing", Reconciling: "True Replacing"},
			kstatus: status.InProgressStatus,
		},
		"the third time is": {
			given:   aFleet(1, ordinal(0).failed(time.Second)).failures(3, time.Second, time.Minute),
			want:    told{Ready: "False PodsFailing", Stalled: "True PodsFailing"},
			kstatus: status.FailedStatus,
		},
		"and stays one through the next try": {
			given: aFleet(1, ordinal(0).unready()).failures(3, time.Second, time.Minute).
				condition(appsv1.ConditionStalled, appsv1.ReasonPodsFailing, metav1.ConditionTrue),
			want:    told{Ready: "False PodsFailing", Stalled: "True PodsFailing"},
			kstatus: status.FailedStatus,
		},
		"until the try succeeds": {
			given: aFleet(1, ordinal(0)).failures(3, time.Second, time.Minute).
				condition(appsv1.ConditionStalled, appsv1.ReasonPodsFailing, metav1.ConditionTrue),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"or the status has no failures, edited by hand or restored from a backup": {
			given: aFleet(1, ordinal(0).unready()).
				condition(appsv1.ConditionStalled, appsv1.ReasonPodsFailing, metav1.ConditionTrue),
			want:    told{Ready: "False WaitingForPods", Reconciling: "True WaitingForPods"},
			kstatus: status.InProgressStatus,
		},
		"or the spec is edited": {
			given: aFleet(1, ordinal(0).unready()).failures(3, time.Second, time.Minute).
				condition(appsv1.ConditionStalled, appsv1.ReasonPodsFailing, metav1.ConditionTrue).generation(2),
			want:    told{Ready: "False WaitingForPods", Reconciling: "True WaitingForPods"},
			kstatus: status.InProgressStatus,
		},
		"but not in a fleet that has all its pods": {
			given:   aFleet(1, random(0), random(1).failed(time.Second)).random().failures(3, time.Second, time.Minute),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"a name that a foreign pod has needs help": {
			given:   aFleet(1).held("web-0"),
			want:    told{Ready: "False NameTaken", Stalled: "True NameTaken"},
			kstatus: status.FailedStatus,
		},
		"pods that are refused need help": {
			given: aFleet(1), outcomes: refusal(appsv1.ReasonPodsRefused),
			want:    told{Ready: "False PodsRefused", Stalled: "True PodsRefused"},
			kstatus: status.FailedStatus,
		},
		"so does a quota": {
			given: aFleet(3, ordinal(0)), outcomes: refusal(appsv1.ReasonQuotaExceeded),
			want:    told{Ready: "False QuotaExceeded", Stalled: "True QuotaExceeded", Unavailable: true},
			kstatus: status.FailedStatus,
		},
		"what stalled goes on when it can": {
			given:   aFleet(1, ordinal(0)).condition(appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded, metav1.ConditionTrue),
			want:    told{Ready: "True Available"},
			kstatus: status.CurrentStatus,
		},
		"what was refused, in a pass that did not come to it": {
			given:    aFleet(1).condition(appsv1.ConditionStalled, appsv1.ReasonPodsRefused, metav1.ConditionTrue),
			outcomes: func(d Decision) []Outcome { return outcomesOf(d, Skipped) },
			want:     told{Ready: "False PodsRefused", Stalled: "True PodsRefused"},
			kstatus:  status.FailedStatus,
		},
		"an owner that goes": {
			given:   aFleet(1, ordinal(0)).deleting(DeletionDelete),
			want:    told{Ready: "False Terminating", Reconciling: "True Terminating"},
			kstatus: status.TerminatingStatus,
		},
		"an owner that goes and whose pods may not": {
			given:    aFleet(1, ordinal(0)).deleting(DeletionDelete),
			outcomes: refusal(appsv1.ReasonChangesRefused),
			want:     told{Ready: "False ChangesRefused", Stalled: "True ChangesRefused"},
			kstatus:  status.TerminatingStatus,
		},
		"a change that a policy refuses": {
			given:    aFleet(1, ordinal(0), ordinal(1)),
			outcomes: refusal(appsv1.ReasonChangesRefused),
			want:     told{Ready: "False ChangesRefused", Stalled: "True ChangesRefused"},
			kstatus:  status.FailedStatus,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.given.plan()
			outcomes := outcomesOf(d, Done)
			if test.outcomes != nil {
				outcomes = test.outcomes(d)
			}
			got := Report(test.given.desired, test.given.observed, d, outcomes, noon()).Status
			if diff := cmp.Diff(test.want, toldOf(got)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if k := kstatusOf(t, test.given.desired, got); k != test.kstatus {
				t.Errorf("kstatus says %s, want %s", k, test.kstatus)
			}
		})
	}
}

// What Ready says in the words that people read, with the right numbers.
func TestWhatConditionsSay(t *testing.T) {
	old := func(slot int) podBuilder { return ordinal(slot).revision(oldRev) }
	oldRandom := func(slot int) podBuilder { return random(slot).revision(oldRev) }
	onDelete := func(f fleet) fleet { f.desired.Update.Strategy = appsv1.UpdateOnDelete; return f }
	stillFailing := func(f fleet) fleet {
		f.observed.Status.CurrentFailures = failureRecord(oldRev, 3, time.Second, time.Minute)
		return f.condition(appsv1.ConditionStalled, appsv1.ReasonPodsFailing, metav1.ConditionTrue)
	}
	for name, test := range map[string]struct {
		given  fleet
		result Result // of every action
		want   string
	}{
		"a paused fleet scales down, however long a holder keeps the surplus": {
			given: aFleet(2, oldRandom(0), oldRandom(1), oldRandom(2).holdDelete()).random().rollingOut().paused(),
			want:  "ScalingDown: 3 live pods, 2 asked for",
		},
		"so does one whose pods follow when they are deleted": {
			given: onDelete(aFleet(2, oldRandom(0), oldRandom(1), oldRandom(2).holdDelete()).random().rollingOut()),
			want:  "ScalingDown: 3 live pods, 2 asked for",
		},
		"one that rolls out as well says that": {
			given:  aFleet(2, oldRandom(0), oldRandom(1), oldRandom(2)).random().rollingOut(),
			result: Failed,
			want:   "RollingOut: 0 of 2 pods are on revision web-new, 3 available",
		},
		"orphans beyond those asked for are taken in to be deleted": {
			given: aFleet(1, ordinal(0), ordinal(1).orphan(), ordinal(2).orphan()),
			want:  "ScalingDown: 3 live pods, 1 asked for",
		},
		"a pod that stands in for others is none of those asked for": {
			given:  aFleet(2, ordinal(0), ordinal(2).surge()).rollingOut().budget(0, 1).progress(1, time.Minute),
			result: Failed,
			want:   "ScalingUp: 1 of 2 pods live",
		},
		"a pod that terminates is waited for": {
			given: aFleet(2, ordinal(0), ordinal(1).terminating()),
			want:  "WaitingForTermination: 1 of 2 pods live; successors wait for 1 terminating pod to be gone",
		},
		"so is one whose node is gone, and that cannot be deleted yet": {
			given:  aFleet(2, ordinal(0), ordinal(1).nodeGone()),
			result: Failed,
			want:   "WaitingForTermination: 1 of 2 pods live; successors wait for their predecessors to be gone",
		},
		"nothing is missing as long as a pod that should go is there": {
			given:  aFleet(1, ordinal(0).requested()),
			result: Failed,
			want:   "Available: 1 of 1 pods are available",
		},
		"a fleet that never had its pods scales up": {
			given:  aFleet(2, ordinal(0)),
			result: Failed,
			want:   "ScalingUp: 1 of 2 pods live",
		},
		"the deadline, and not what it holds back": {
			given: aFleet(2, old(0), ordinal(1).unready()).rollingOut().progress(1, time.Hour).stuck(10*time.Minute, 20*time.Second),
			want:  "ProgressDeadlineExceeded: revision web-new made no progress for 10m0s: 1 of 2 pods are available on it; 1 of 2 pods is running and not ready",
		},
		"pods of the revision before that fail, through the next try": {
			given: stillFailing(aFleet(2, old(0).unready(), ordinal(1)).rollingOut().partition(1)),
			want:  "PodsFailing: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.given.plan()
			result := test.result
			if result == "" {
				result = Done
			}
			got := Report(test.given.desired, test.given.observed, d, outcomesOf(d, result), noon()).Status
			ready := meta.FindStatusCondition(got.Conditions, appsv1.ConditionReady)
			if said := ready.Reason + ": " + ready.Message; said != test.want {
				t.Errorf("Ready says %q, want %q", said, test.want)
			}
		})
	}
}

// A refused create is tried again and again; its warning comes when the cause
// appears or changes, once.
func TestStalledWarnsOncePerEpisode(t *testing.T) {
	f := aFleet(1)
	steps := []struct {
		outcome Outcome
		want    int // warnings
	}{
		{Outcome{Result: Refused, Cause: appsv1.ReasonQuotaExceeded, Message: "exceeded quota: 3 of 3"}, 1},
		{Outcome{Result: Refused, Cause: appsv1.ReasonQuotaExceeded, Message: "exceeded quota: 3 of 3"}, 0},
		{Outcome{Result: Refused, Cause: appsv1.ReasonQuotaExceeded, Message: "exceeded quota: 4 of 3"}, 0},
		{Outcome{Result: Refused, Cause: appsv1.ReasonPodsRefused, Message: "denied"}, 1},
		{Outcome{Result: Done}, 0},
		{Outcome{Result: Refused, Cause: appsv1.ReasonPodsRefused, Message: "denied"}, 1},
	}
	for i, step := range steps {
		d := f.plan()
		step.outcome.Action = d.Actions[0]
		got := Report(f.desired, f.observed, d, []Outcome{step.outcome}, noon())
		warnings := 0
		for _, e := range got.Events {
			if e.Type == "Warning" {
				warnings++
				if want := step.outcome.Cause + ": 1 of 1 pods cannot be created: " + step.outcome.Message; e.Note != want {
					t.Errorf("step %d: the warning says %q, want %q", i, e.Note, want)
				}
			}
		}
		if warnings != step.want {
			t.Errorf("step %d: %d warnings, want %d", i, warnings, step.want)
		}
		f.observed.Status = got.Status
	}
}

func TestATransitionKeepsItsTime(t *testing.T) {
	f := aFleet(1, ordinal(0)).condition(appsv1.ConditionReady, appsv1.ReasonAvailable, metav1.ConditionTrue)
	ready := func() *metav1.Condition {
		return meta.FindStatusCondition(f.done(f.plan()).Status.Conditions, appsv1.ConditionReady)
	}
	if got, want := ready().LastTransitionTime.Time, ago(time.Minute); !got.Equal(want) {
		t.Errorf("still ready, since %s, want %s", got, want)
	}
	f.observed.Pods[0].Ready = false
	if got, want := ready().LastTransitionTime.Time, noon(); !got.Equal(want) {
		t.Errorf("no longer ready, since %s, want %s", got, want)
	}
}

// The rules of kstatus, for any fleet and any outcome: Ready is always there,
// Reconciling and Stalled are there only while they are true and never both,
// and no condition says that a fleet is done while it is not.
func TestConditionsAreSafeForKstatus(t *testing.T) {
	causes := []string{appsv1.ReasonPodsRefused, appsv1.ReasonQuotaExceeded, appsv1.ReasonNameTaken}
	rapid.Check(t, func(t *rapid.T) {
		f := fleetGenerator().Draw(t, "fleet")
		d := f.plan()
		outcomes := outcomesOf(d, Done)
		for i := range outcomes {
			outcomes[i].Result = rapid.SampledFrom([]Result{Done, Done, Done, Failed, Refused, Skipped}).Draw(t, "result")
			if outcomes[i].Result == Refused {
				outcomes[i].Cause, outcomes[i].Message = rapid.SampledFrom(causes).Draw(t, "cause"), "refused"
			}
		}
		got := Report(f.desired, f.observed, d, outcomes, noon()).Status
		checkConditions(t, f.desired, got)
	})
}

func checkConditions(t *rapid.T, d Desired, s appsv1.PodManagerStatus) {
	t.Helper()
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(s.Conditions, kind) }
	ready, reconciling, stalled := find(appsv1.ConditionReady), find(appsv1.ConditionReconciling), find(appsv1.ConditionStalled)
	if ready == nil {
		t.Fatalf("no Ready condition in %v", conditionsOf(s))
	}
	if reconciling != nil && stalled != nil {
		t.Errorf("both Reconciling and Stalled: %v", conditionsOf(s))
	}
	for _, c := range s.Conditions {
		if c.Type != appsv1.ConditionReady && c.Type != appsv1.ConditionAvailable && c.Status != metav1.ConditionTrue {
			t.Errorf("%s is there and not True", c.Type)
		}
		if c.ObservedGeneration != d.Generation || c.LastTransitionTime.IsZero() || c.Message == "" || c.Reason == "" ||
			strings.ContainsAny(c.Reason, " -") {
			t.Errorf("condition %+v is incomplete", c)
		}
	}
	if s.ObservedGeneration != d.Generation {
		t.Errorf("observedGeneration %d, want %d", s.ObservedGeneration, d.Generation)
	}
	n := numbersOf(s)
	if n.Available < 0 || n.Terminating < 0 || n.Available > n.Ready || n.Ready > n.Live || n.Updated > n.Live {
		t.Errorf("counts %+v contradict each other", n)
	}
	behind := 0
	if s.CurrentRevision != "" && s.CurrentRevision != s.UpdateRevision {
		behind = min(d.Update.Partition, d.Replicas)
	}
	rolledOut := int(n.Live) == d.Replicas && int(n.Available) == d.Replicas && int(n.Updated) >= d.Replicas-behind
	isReady := ready.Status == metav1.ConditionTrue
	if isReady && !rolledOut {
		t.Errorf("ready with %+v of %d, of which %d may stay behind", n, d.Replicas, behind)
	}
	if k := kstatusOf(t, d, s); (k == status.CurrentStatus) != (isReady && reconciling == nil && d.Deletion == DeletionNone) || k == status.CurrentStatus && n.Terminating > 0 {
		t.Errorf("kstatus says %s with %v and %+v of %d", k, conditionsOf(s), n, d.Replicas)
	}
	available := find(appsv1.ConditionAvailable)
	if available == nil || (available.Status == metav1.ConditionTrue) != (int(n.Available) >= d.Replicas-d.Update.MaxUnavailable) {
		t.Errorf("available: %+v with %d of %d, %d may be missing", available, n.Available, d.Replicas, d.Update.MaxUnavailable)
	}
}

// A pod that is missing from a fleet that was complete is replaced; otherwise the
// fleet is still being scaled up.
func TestRepairOrScaleUp(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		status metav1.ConditionStatus
		want   string
	}{
		"it was ready":                       {appsv1.ReasonAvailable, metav1.ConditionTrue, appsv1.ReasonReplacing},
		"its rollout was paused":             {appsv1.ReasonPaused, metav1.ConditionFalse, appsv1.ReasonReplacing},
		"its rollout waited for deletions":   {appsv1.ReasonOnDelete, metav1.ConditionFalse, appsv1.ReasonReplacing},
		"it was pinned to another revision":  {appsv1.ReasonPinned, metav1.ConditionFalse, appsv1.ReasonReplacing},
		"it was never complete":              {appsv1.ReasonScalingUp, metav1.ConditionFalse, appsv1.ReasonScalingUp},
		"it did not say anything about that": {"", "", appsv1.ReasonScalingUp},
	} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(2, ordinal(0))
			if test.reason != "" {
				f = f.condition(appsv1.ConditionReady, test.reason, test.status)
			}
			d := f.plan()
			d.Actions = nil // the pod could not be created yet
			c := meta.FindStatusCondition(f.done(d).Status.Conditions, appsv1.ConditionReconciling)
			if c == nil || c.Reason != test.want {
				t.Errorf("the condition is %+v, want reason %s", c, test.want)
			}
		})
	}
}

// TestAMessageFits: the API server would refuse the whole status for one that is too
// long.
func TestAMessageFits(t *testing.T) {
	f := aFleet(3)
	d := f.plan()
	o := outcomesOf(d, Refused)
	for i := range o {
		o[i].Cause, o[i].Message = appsv1.ReasonPodsRefused, strings.Repeat("ä", 40000)
	}
	for _, c := range Report(f.desired, f.observed, d, o, noon()).Status.Conditions {
		if len(c.Message) > 32768 || !utf8.ValidString(c.Message) {
			t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}
