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

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// scribe is a status writer whose writes and events are written down.
type scribe struct {
	*statusWriter
	client  client.Client
	patches []string
	broken  error
	events  []string
}

func newScribe(t *testing.T) *scribe {
	t.Helper()
	return newScribeOf(t, fleetOwner("web"))
}

func newScribeOf(t *testing.T, owner *appsv1.PodManager) *scribe {
	t.Helper()
	s := &scribe{}
	_, w := newReconcilerWith(t, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, o ...client.SubResourcePatchOption) error {
			raw, err := patch.Data(obj)
			if err != nil {
				return err
			}
			if s.broken != nil {
				return s.broken
			}
			s.patches = append(s.patches, string(raw))
			return c.SubResource(name).Patch(ctx, obj, patch, o...)
		},
	}, owner)
	s.client = w.Client
	s.statusWriter = &statusWriter{
		client: w.Client, ledger: w.Ledger, kind: testKind{}, memories: newMemories(),
		send: func(_ client.Object, e report.Event) { s.events = append(s.events, e.Note) },
	}
	return s
}

// tell reports a status at a time, as a reconcile does that reads the owner
// anew.
func (s *scribe) tell(t *testing.T, at time.Duration, status appsv1.PodManagerStatus, events ...report.Event) (time.Duration, error) {
	t.Helper()
	owner := &appsv1.PodManager{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web"}, owner); err != nil {
		t.Fatal(err)
	}
	return s.write(t.Context(), owner, report.Reported{Status: status, Events: events}, time.Unix(1000, 0).Add(at))
}

// moving is the status of a fleet of 100 under way, with n pods ready.
func moving(n int32) appsv1.PodManagerStatus {
	return appsv1.PodManagerStatus{
		ObservedGeneration: 1, Replicas: 100, CurrentReplicas: 100, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []metav1.Condition{
			{Type: appsv1.ConditionReady, Status: metav1.ConditionFalse, Reason: appsv1.ReasonScalingUp},
			{Type: appsv1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: appsv1.ReasonScalingUp},
		},
	}
}

func reached() appsv1.PodManagerStatus {
	s := moving(100)
	s.Conditions = []metav1.Condition{{Type: appsv1.ConditionReady, Status: metav1.ConditionTrue, Reason: appsv1.ReasonAvailable}}
	return s
}

// TestStatusWindow: counters of a fleet under way are written at most once in a
// window that grows; the goal does not wait.
func TestStatusWindow(t *testing.T) {
	s := newScribe(t)
	ready := int32(0)
	// A pod becomes ready every 20 ms for two seconds.
	var waited bool
	for at := time.Duration(0); at < 2*time.Second; at += 20 * time.Millisecond {
		ready++
		wait, err := s.tell(t, at, moving(min(ready, 99)))
		if err != nil {
			t.Fatal(err)
		}
		waited = waited || wait > 0
		if wait > lastWindow {
			t.Fatalf("a wait of %s", wait)
		}
	}
	if !waited {
		t.Error("nothing ever waited")
	}
	// At 0, then after 200, 200 (the first window), 400, 800 ms …
	if n := len(s.patches); n < 3 || n > 6 {
		t.Errorf("%d writes in two seconds", n)
	}
	before := len(s.patches)
	if wait, err := s.tell(t, 2*time.Second, reached()); err != nil || wait != 0 || len(s.patches) != before+1 {
		t.Errorf("the goal: wait %s, %d writes, %v", wait, len(s.patches)-before, err)
	}
	// Nor does a fleet at its goal wait to tell what changed meanwhile.
	named := reached()
	named.Nodes = []string{"web-0"}
	if wait, err := s.tell(t, 2*time.Second+time.Millisecond, named); err != nil || wait != 0 || len(s.patches) != before+2 {
		t.Errorf("at the goal: wait %s, %d writes, %v", wait, len(s.patches)-before, err)
	}
}

// A clock that is set back does not stretch a window.
func TestTheClockIsSetBackDuringAWindow(t *testing.T) {
	s := newScribe(t)
	for i, at := range []time.Duration{time.Hour, time.Hour + time.Millisecond} {
		if _, err := s.tell(t, at, moving(int32(i+1))); err != nil { // #nosec G115 -- 1 and 2
			t.Fatal(err)
		}
	}
	wait, err := s.tell(t, 0, moving(3))
	if err != nil || wait <= 0 || wait > lastWindow {
		t.Fatalf("a wait of %s, %v", wait, err)
	}
	before := len(s.patches)
	if wait, err = s.tell(t, wait, moving(4)); err != nil || wait != 0 || len(s.patches) != before+1 {
		t.Errorf("after the window: wait %s, %d writes, %v", wait, len(s.patches)-before, err)
	}
}

// TestWhatIsWrittenAtOnce: anything but progress.
func TestWhatIsWrittenAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*appsv1.PodManagerStatus)
		want   bool
	}{
		"nothing new": {func(*appsv1.PodManagerStatus) {}, false},
		"a counter":   {func(s *appsv1.PodManagerStatus) { s.ReadyReplicas++ }, false},
		"the names":   {func(s *appsv1.PodManagerStatus) { s.Nodes = []string{"web-0"} }, false},
		"a sentence":  {func(s *appsv1.PodManagerStatus) { s.Conditions[0].Message = "2 of 100" }, false},
		"the history": {func(s *appsv1.PodManagerStatus) { s.History = []appsv1.Decision{{Action: "Created"}} }, false},

		"another generation": {func(s *appsv1.PodManagerStatus) { s.ObservedGeneration = 2 }, true},
		"a reason":           {func(s *appsv1.PodManagerStatus) { s.Conditions[1].Reason = appsv1.ReasonReplacing }, true},
		"a condition": {func(s *appsv1.PodManagerStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: appsv1.ConditionPaused, Status: metav1.ConditionTrue})
		}, true},
		"a failure":  {func(s *appsv1.PodManagerStatus) { s.Failures = &appsv1.FailureRecord{Count: 1} }, true},
		"a revision": {func(s *appsv1.PodManagerStatus) { s.UpdateRevision = "web-2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScribe(t)
			if _, err := s.tell(t, 0, moving(1)); err != nil {
				t.Fatal(err)
			}
			next := moving(1)
			test.change(&next)
			if _, err := s.tell(t, time.Millisecond, next); err != nil {
				t.Fatal(err)
			}
			if got := len(s.patches) == 2; got != test.want {
				t.Errorf("written at once: %t, want %t", got, test.want)
			}
		})
	}
}

// TestAFleetThatLosesPodsMakesNewOnesFirst: that it has left its goal is told a
// moment later, unless it is there again by then.
func TestAFleetThatLosesPodsMakesNewOnesFirst(t *testing.T) {
	lost := func(n int32) appsv1.PodManagerStatus {
		s := moving(100 - n)
		s.TerminatingReplicas = n
		return s
	}
	stalled, failed, edited, crashed := lost(3), lost(3), lost(3), lost(3)
	stalled.Conditions = append(stalled.Conditions, metav1.Condition{Type: appsv1.ConditionStalled, Status: metav1.ConditionTrue})
	failed.Failures = &appsv1.FailureRecord{Count: 1}
	edited.ObservedGeneration = 2
	crashed.TerminatingReplicas = 0
	for name, test := range map[string]struct {
		next, then appsv1.PodManagerStatus
		after      time.Duration
		// writes after the first look, and after the second.
		first, second int
	}{
		"its successors are on their way":   {lost(3), moving(97), leavingWindow, 0, 1},
		"it loses more":                     {lost(3), lost(9), leavingWindow / 2, 0, 0},
		"it loses more and more":            {lost(3), lost(9), leavingWindow, 0, 1},
		"it is complete again":              {lost(3), reached(), leavingWindow / 2, 0, 0},
		"it is stalled":                     {stalled, stalled, leavingWindow, 1, 1},
		"a failure is to be remembered":     {failed, failed, leavingWindow, 1, 1},
		"something else was asked for":      {edited, edited, leavingWindow, 1, 1},
		"its pods are there, and not ready": {crashed, crashed, leavingWindow, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScribe(t)
			if _, err := s.tell(t, 0, reached()); err != nil {
				t.Fatal(err)
			}
			before := len(s.patches)
			wait, err := s.tell(t, time.Minute, test.next)
			if got := len(s.patches) - before; err != nil || got != test.first || (wait == leavingWindow) != (got == 0) {
				t.Errorf("%d writes and a wait of %s, %v; want %d writes", got, wait, err, test.first)
			}
			_, err = s.tell(t, time.Minute+test.after, test.then)
			if got := len(s.patches) - before; err != nil || got != test.second {
				t.Errorf("later %d writes, %v; want %d", got, err, test.second)
			}
		})
	}
}

// TestTheFirstStatusOfANewOwner waits for its goal, but not long, and not if a
// user has to know.
func TestTheFirstStatusOfANewOwner(t *testing.T) {
	for name, test := range map[string]struct {
		others int
		at     []time.Duration
		last   appsv1.PodManagerStatus
		want   int
	}{
		"is its goal, when that comes soon":     {0, []time.Duration{0, 50 * time.Millisecond}, reached(), 1},
		"waits a moment":                        {0, []time.Duration{0, 50 * time.Millisecond, 199 * time.Millisecond}, moving(9), 0},
		"is told after the window":              {0, []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond}, moving(9), 1},
		"waits longer among many":               {100, []time.Duration{0, time.Second}, moving(9), 0},
		"waits never longer than the maximum":   {10_000, []time.Duration{0, newWindow}, moving(9), 1},
		"is told at once when it stalls":        {0, []time.Duration{0, time.Millisecond}, stalled(), 1},
		"is told at once when its pods fail":    {0, []time.Duration{0, time.Millisecond}, failing(), 1},
		"is told at once when it is there soon": {10_000, []time.Duration{0}, reached(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			owner := fleetOwner("web")
			owner.Status.ObservedGeneration = -1
			s := newScribeOf(t, owner)
			for i := range test.others {
				s.memories.wait(s.memories.of(fleetOwner(strconv.Itoa(i))), true)
			}
			for i, at := range test.at {
				status := moving(int32(i))
				if i == len(test.at)-1 {
					status = test.last
				}
				wait, err := s.tell(t, at, status)
				if err != nil {
					t.Fatal(err)
				}
				if wait == 0 && len(s.patches) == 0 {
					t.Fatal("nothing was written, and nothing is scheduled")
				}
			}
			if got := len(s.patches); got != test.want {
				t.Errorf("%d writes, want %d", got, test.want)
			}
			if s.memories.forget("uid-web"); s.memories.waiting() != test.others {
				t.Errorf("%d owners wait, want %d", s.memories.waiting(), test.others)
			}
		})
	}
}

func stalled() appsv1.PodManagerStatus {
	s := moving(0)
	s.Conditions[1] = metav1.Condition{Type: appsv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: appsv1.ReasonQuotaExceeded}
	return s
}

func failing() appsv1.PodManagerStatus {
	s := moving(0)
	s.Failures = &appsv1.FailureRecord{Count: 1}
	return s
}

// TestAStatusThatSaysNothingNewIsNotWritten, ever.
func TestAStatusThatSaysNothingNewIsNotWritten(t *testing.T) {
	s := newScribe(t)
	for i := range 5 {
		wait, err := s.tell(t, time.Duration(i)*time.Hour, reached())
		if err != nil || wait != 0 {
			t.Fatalf("wait %s, %v", wait, err)
		}
	}
	if len(s.patches) != 1 {
		t.Errorf("%d writes of one status", len(s.patches))
	}
}

// TestAStatusPatchCarriesTheUID and nothing but the status: a successor of the
// owner's name must not get it, and an edit of the spec must not refuse it.
func TestAStatusPatchCarriesTheUID(t *testing.T) {
	s := newScribe(t)
	if _, err := s.tell(t, 0, moving(1)); err != nil {
		t.Fatal(err)
	}
	var body []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal([]byte(s.patches[0]), &body); err != nil {
		t.Fatal(err)
	}
	if first := body[0]; first.Op != "test" || first.Path != "/metadata/uid" || first.Value != "uid-web" {
		t.Errorf("the patch begins with %+v", first)
	}
	for _, line := range body[1:] {
		if !strings.HasPrefix(line.Path, "/status") {
			t.Errorf("the patch also holds %+v", line)
		}
	}
}

// TestAMixedStatusIsForeign: a patch on top of a write that we had not seen
// makes a status that neither writer meant, so its event has to wake the owner.
func TestAMixedStatusIsForeign(t *testing.T) {
	s := newScribe(t)
	read := func() *appsv1.PodManager {
		owner := &appsv1.PodManager{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web"}, owner); err != nil {
			t.Fatal(err)
		}
		return owner
	}
	before := read()
	if _, err := s.tell(t, 0, reached()); err != nil {
		t.Fatal(err)
	}
	if s.foreign(before, read()) {
		t.Error("a status of our own counts as foreign")
	}
	before = read()
	late := before.DeepCopy()
	late.Status.TerminatingReplicas = 7
	if err := s.client.Status().Update(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	next := reached()
	next.Nodes = []string{"web-0"}
	if _, err := s.write(t.Context(), before, report.Reported{Status: next}, time.Unix(5000, 0)); err != nil {
		t.Fatal(err)
	}
	after := read()
	if after.Status.TerminatingReplicas != 7 || len(after.Status.Nodes) != 1 {
		t.Fatalf("the two writes are not mixed, so nothing is tested: %+v", after.Status)
	}
	if !s.foreign(before, after) {
		t.Error("a status that is half another client's counts as ours, and stays")
	}
}

// TestWhatWaitsIsRemembered: the planner's memory is what was last reported,
// written or not, also when the write fails.
func TestWhatWaitsIsRemembered(t *testing.T) {
	owner := fleetOwner("web")
	s := newScribe(t)
	if _, err := s.tell(t, 0, moving(1)); err != nil {
		t.Fatal(err)
	}
	if wait, err := s.tell(t, time.Millisecond, moving(2)); wait == 0 || err != nil {
		t.Fatalf("wait %s, %v", wait, err)
	}
	if got := s.reported(owner).ReadyReplicas; got != 2 {
		t.Errorf("the memory is of %d ready pods", got)
	}
	s.broken = errors.New("broken")
	if _, err := s.tell(t, time.Hour, moving(3)); !errors.Is(err, s.broken) || !strings.Contains(err.Error(), "ns/web") {
		t.Errorf("the error is %v", err)
	}
	if got := s.reported(owner).ReadyReplicas; got != 3 {
		t.Errorf("after a write that failed the memory is of %d ready pods", got)
	}
	s.memories.forget(owner.UID)
	if got := s.reported(owner).ReadyReplicas; got != 0 {
		t.Errorf("of an owner that is gone the memory is of %d ready pods", got)
	}
}

// TestEventsOfOneDecisionAreSentOnce: pods that one decision touches in many
// passes are one event; a warning and the goal do not wait for more.
func TestEventsOfOneDecisionAreSentOnce(t *testing.T) {
	s := newScribe(t)
	created := report.Event{Type: corev1.EventTypeNormal, Reason: "Created", Note: "Created"}
	if _, err := s.tell(t, 0, moving(1), created); err != nil || len(s.events) != 0 {
		t.Fatalf("told at once: %v, %v", s.events, err)
	}
	warning := report.Event{Type: corev1.EventTypeWarning, Reason: "Failed", Note: "Stalled"}
	if _, err := s.tell(t, time.Millisecond, moving(2), warning); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Created", "Stalled"}, s.events); diff != "" {
		t.Errorf("with a warning (-want +got):\n%s", diff)
	}
	if _, err := s.tell(t, 2*time.Millisecond, reached(), created); err != nil || len(s.events) != 3 {
		t.Errorf("at the goal: %v, %v", s.events, err)
	}
	wait, err := s.tell(t, time.Hour, moving(5), created)
	if err != nil || wait <= 0 || wait > firstEventWindow || len(s.events) != 3 {
		t.Errorf("under way: wait %s, %v, %v", wait, s.events, err)
	}
	if _, err := s.tell(t, time.Hour+firstEventWindow, moving(5)); err != nil || len(s.events) != 4 {
		t.Errorf("after its window: %v, %v", s.events, err)
	}
}

// TestAnEventCountsNoPodTwice, not even one of those beyond the ten that it names.
func TestAnEventCountsNoPodTwice(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var d draft
	pass := func(pods ...int) {
		var outcomes []plan.Outcome
		for _, i := range pods {
			outcomes = append(outcomes, plan.Outcome{Result: plan.Done, Action: plan.Action{
				Verb: plan.CreatePod, Pod: fmt.Sprintf("web-%d", i), Why: plan.Why{Reason: appsv1.WhyMissing, Message: "missing"},
			}})
		}
		d.take(report.Report(plan.Desired{Replicas: 20}, plan.Observed{}, plan.Decision{}, outcomes, noon), noon)
	}
	pass(0, 1, 2, 3, 4, 5, 6, 7)
	pass(8, 9, 10, 11)
	pass(11)
	pass(12)
	const named = "web-0, web-1, web-2, web-3, web-4, web-5, web-6, web-7, web-8, web-9"
	var got []string
	for _, e := range d.events {
		got = append(got, e.Note)
	}
	want := []string{"Created 12 pods: " + named + " and 2 more (missing)", "Created 2 pods: web-11, web-12 (missing)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestTheEventsOfALongWayAreFew: while nothing but progress is told, events
// wait longer each time; the goal ends it.
func TestTheEventsOfALongWayAreFew(t *testing.T) {
	s := newScribe(t)
	created := report.Event{Type: corev1.EventTypeNormal, Reason: "Created", Note: "Created"}
	var told []time.Duration
	for at := time.Duration(0); at < 20*time.Second; at += 100 * time.Millisecond {
		before := len(s.events)
		if _, err := s.tell(t, at, moving(1), created); err != nil {
			t.Fatal(err)
		}
		if len(s.events) > before {
			told = append(told, at.Truncate(time.Second))
		}
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}, told); diff != "" {
		t.Errorf("events are told at (-want +got):\n%s", diff)
	}
	before := len(s.events)
	if _, err := s.tell(t, 21*time.Second, reached(), created); err != nil || len(s.events) <= before {
		t.Errorf("the goal waits: %v", err)
	}
	if wait, err := s.tell(t, time.Minute, moving(1), created); err != nil || wait > firstEventWindow {
		t.Errorf("after the goal events wait %s, %v", wait, err)
	}
}

// TestTheClockOfAStuckRolloutIsKeptInMemory: the time that pods are stuck grows
// with every look, and is written so seldom that a stuck rollout costs a handful
// of writes. What was counted since is remembered all the same.
func TestTheClockOfAStuckRolloutIsKeptInMemory(t *testing.T) {
	s := newScribe(t)
	stuck := func(at time.Duration) appsv1.PodManagerStatus {
		status, now := moving(50), metav1.NewTime(time.Unix(1000, 0).Add(at))
		status.Rollout = &appsv1.RolloutRecord{Revision: "web-1", Done: 50, StuckSeconds: int32(at / time.Second), StuckTime: &now}
		return status
	}
	if _, err := s.tell(t, 0, stuck(0)); err != nil {
		t.Fatal(err)
	}
	for at := 30 * time.Second; at <= 10*time.Minute; at += 30 * time.Second {
		if _, err := s.tell(t, at, stuck(at)); err != nil {
			t.Fatal(err)
		}
		owner := &appsv1.PodManager{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web"}, owner); err != nil {
			t.Fatal(err)
		}
		remembered, written := s.reported(owner).Rollout.StuckSeconds, int32(0)
		if owner.Status.Rollout != nil {
			written = owner.Status.Rollout.StuckSeconds
		}
		if want := int32(at / time.Second); remembered != want || written < want-max(60, want/4)-30 {
			t.Errorf("after %s %d seconds are remembered and %d written", at, remembered, written)
		}
	}
	if n := len(s.patches); n > 8 {
		t.Errorf("%d status writes of a rollout that is stuck for ten minutes, want at most 8", n)
	}
}
