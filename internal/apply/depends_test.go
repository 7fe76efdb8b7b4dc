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

package apply

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// denied is a policy's answer.
func denied(name string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, errors.New("not on a Sunday"))
}

// deny refuses the requests that end with one of the given words.
func deny(words ...string) func(string) error {
	return func(request string) error {
		for _, word := range words {
			if strings.HasSuffix(request, word) {
				return denied(word)
			}
		}
		return nil
	}
}

// TestARefusalHoldsBackOnlyWhatDependsOnIt: the same slot, and what takes the
// place of a pod that does not go.
func TestARefusalHoldsBackOnlyWhatDependsOnIt(t *testing.T) {
	claim := func(slot int, pod string) plan.Action {
		return plan.Action{Verb: plan.CreateClaim, Slot: slot, Claim: "data-" + pod, Template: "data"}
	}
	create := func(slot int, pod string) plan.Action {
		return plan.Action{Verb: plan.CreatePod, Slot: slot, Pod: pod, Revision: "web-1"}
	}
	deletion := plan.Action{Verb: plan.DeletePod, Pod: "web-9", UID: "uid-web-9", Slot: 9}
	instead := create(5, "web-5")
	instead.After = "web-9"
	for name, test := range map[string]struct {
		broken  string
		actions []plan.Action
		want    []plan.Result
	}{
		"a claim holds back its own slot": {
			"data-web-0",
			[]plan.Action{claim(0, "web-0"), claim(1, "web-1"), create(0, "web-0"), create(1, "web-1")},
			[]plan.Result{plan.Refused, plan.Done, plan.Skipped, plan.Done},
		},
		"a pod holds back no other": {
			"create web-0",
			[]plan.Action{create(0, "web-0"), create(1, "web-1"), create(2, "web-2")},
			[]plan.Result{plan.Refused, plan.Done, plan.Done},
		},
		"a delete holds back no slot but its own": {
			"delete web-9",
			[]plan.Action{deletion, create(0, "web-0"), create(9, "web-9")},
			[]plan.Result{plan.Refused, plan.Done, plan.Skipped},
		},
		"a delete holds back the pod that takes its place": {
			"delete web-9", []plan.Action{deletion, create(0, "web-0"), instead}, []plan.Result{plan.Refused, plan.Done, plan.Skipped},
		},
		"an adoption": {
			"patch web-9",
			[]plan.Action{{Verb: plan.AdoptPod, Pod: "web-9", UID: "uid-web-9", Slot: 9}, create(0, "web-0")},
			[]plan.Result{plan.Refused, plan.Done},
		},
		"a release": {
			"patch web-9",
			[]plan.Action{{Verb: plan.ReleasePod, Pod: "web-9", UID: "uid-web-9", Slot: 9}, create(0, "web-0")},
			[]plan.Result{plan.Refused, plan.Done},
		},
		"what a holder is told": {
			"patch web-9",
			[]plan.Action{{Verb: plan.TellHolder, Pod: "web-9", UID: "uid-web-9", Slot: 9}, create(0, "web-0")},
			[]plan.Result{plan.Refused, plan.Done},
		},
		"an old revision that has to go": {
			"delete web-old",
			[]plan.Action{{Verb: plan.DeleteRevision, Revision: "web-old"}, create(0, "web-0")},
			[]plan.Result{plan.Refused, plan.Done},
		},
		"a revision holds back its pods and what is recreated on it": {
			"create web-1",
			[]plan.Action{
				{Verb: plan.CreateRevision, Revision: "web-1"},
				{Verb: plan.DeletePod, Pod: "web-9", UID: "uid-web-9", Slot: 9, Goal: "web-1"},
				{Verb: plan.CreatePod, Slot: 3, Pod: "web-3", Revision: "web-0"},
				create(4, "web-4"),
			},
			[]plan.Result{plan.Refused, plan.Skipped, plan.Done, plan.Skipped},
		},
		"the owner waits for what it leaves behind": {
			"data-web-0",
			[]plan.Action{{Verb: plan.DeleteClaim, Claim: "data-web-0", UID: "uid-data-web-0"}, {Verb: plan.RemoveFinalizer}},
			[]plan.Result{plan.Refused, plan.Skipped},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, owner(), pod("web-9"))
			w.answer = deny(test.broken)
			outcomes, err := w.apply(t, test.actions...)
			if diff := cmp.Diff(test.want, results(outcomes)); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestAFewRefusalsDoNotStarveTheRest: a policy that refuses some pods lets the
// others pass, and one that refuses all costs a few requests.
func TestAFewRefusalsDoNotStarveTheRest(t *testing.T) {
	for name, test := range map[string]struct {
		refused       []string
		asked, denied int
	}{
		"three in a row": {[]string{"web-ab", "web-ac", "web-ad"}, 40, 3},
		"all":            {[]string{""}, maxRefusals, maxRefusals},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = deny(test.refused...)
			outcomes, err := w.apply(t, many(plan.CreatePod, 40)...)
			if err != nil || w.asked("create") != test.asked {
				t.Errorf("%d requests, want %d: %v", w.asked("create"), test.asked, err)
			}
			refused := 0
			for i := range outcomes {
				if outcomes[i].Result == plan.Refused {
					refused++
				}
			}
			if refused != test.denied {
				t.Errorf("%d are refused, want %d", refused, test.denied)
			}
		})
	}
}

// TestWhatWasRefusedIsTriedLater, after the rest, a few at a time, and its
// status lasts meanwhile.
func TestWhatWasRefusedIsTriedLater(t *testing.T) {
	for verb, word := range map[plan.Verb]string{plan.CreatePod: "create", plan.DeletePod: "delete"} {
		t.Run(string(verb), func(t *testing.T) {
			w := newWorld(t, owner())
			w.memory = &Memory{}
			w.clock = clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			w.answer = deny("")
			all := many(verb, 20)
			pass := func() int {
				before := w.asked(word)
				if _, err := w.apply(t, all...); err != nil {
					t.Fatal(err)
				}
				return w.asked(word) - before
			}
			for range len(all) / maxRefusals { // until each of them was refused once
				if got := pass(); got != maxRefusals {
					t.Errorf("%d requests, want %d", got, maxRefusals)
				}
				if got := pass(); got != 0 {
					t.Errorf("%d requests a moment later", got)
				}
				w.clock.SetTime(w.clock.Now().Add(retryRefusal - time.Second))
				if got := pass(); got != 0 {
					t.Errorf("%d requests too early", got)
				}
				w.clock.SetTime(w.clock.Now().Add(time.Second))
			}
			w.clock.SetTime(w.clock.Now().Add(-time.Second))
			outcomes, _ := w.apply(t, all...)
			for i := range outcomes {
				if o := &outcomes[i]; o.Result != plan.Refused || !o.Recalled || !strings.Contains(o.Message, "Sunday") {
					t.Errorf("%s is %s: %s", o.Action.Pod, o.Result, o.Message)
				}
			}
			if wait := w.memory.Wait(w.clock.Now()); wait != time.Second {
				t.Errorf("the next look is in %s", wait)
			}
			w.clock.SetTime(w.clock.Now().Add(time.Second))
			if got := pass(); got != maxRefusals {
				t.Errorf("%d requests in the next try, want %d", got, maxRefusals)
			}
			w.clock.SetTime(w.clock.Now().Add(retryRefusal))
			w.answer = nil
			if got := pass(); got != len(all) {
				t.Errorf("%d of %d were tried when all is well again", got, len(all))
			}
			if wait := w.memory.Wait(w.clock.Now()); wait != 0 {
				t.Errorf("nothing was refused, and the next look is in %s", wait)
			}
		})
	}
}

// TestWhatFailedComesLast: a write that fails for ever does not keep others
// from being tried.
func TestWhatFailedComesLast(t *testing.T) {
	w := newWorld(t)
	w.memory = &Memory{}
	w.answer = func(request string) error {
		if request == "create web-aa" {
			return errors.New("no")
		}
		return nil
	}
	if _, err := w.apply(t, many(plan.CreatePod, 4)...); err == nil || w.asked("create") != 1 {
		t.Errorf("%d requests, error %v", w.asked("create"), err)
	}
	outcomes, _ := w.apply(t, many(plan.CreatePod, 4)...)
	if diff := cmp.Diff([]plan.Result{plan.Failed, plan.Done, plan.Done, plan.Done}, results(outcomes)); diff != "" {
		t.Errorf("the second pass (-want +got):\n%s", diff)
	}
}

// TestMemory: what waits how long.
func TestMemory(t *testing.T) {
	refused := func(cause string) plan.Outcome {
		return plan.Outcome{Action: plan.Action{Verb: plan.CreatePod, Pod: cause}, Result: plan.Refused, Cause: cause}
	}
	now := time.Unix(1000, 0)
	for name, test := range map[string]struct {
		outcomes []plan.Outcome
		want     time.Duration
	}{
		"nothing":    {nil, 0},
		"done":       {[]plan.Outcome{{Result: plan.Done}}, 0},
		"failed":     {[]plan.Outcome{{Result: plan.Failed}}, 0}, // the queue's own backoff
		"refused":    {[]plan.Outcome{refused(appsv1.ReasonPodsRefused)}, 15 * time.Second},
		"a name":     {[]plan.Outcome{refused(appsv1.ReasonNameTaken)}, 15 * time.Second},
		"a quota":    {[]plan.Outcome{refused(appsv1.ReasonPodsRefused), refused(appsv1.ReasonQuotaExceeded)}, 5 * time.Second},
		"a budget":   {[]plan.Outcome{refused(appsv1.BlockedByDisruptionBudget)}, 5 * time.Second},
		"it changed": {[]plan.Outcome{refused(appsv1.ReasonPodsRefused), {Result: plan.Outdated}}, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Memory{}
			m.note(test.outcomes, now)
			if got := m.Wait(now); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	m := &Memory{}
	for range 30 {
		m.note([]plan.Outcome{{Result: plan.Outdated}}, now)
	}
	if got := m.Wait(now); got != retryRefusal {
		t.Errorf("what comes too late for ever is tried again after %s, want %s", got, retryRefusal)
	}
}

// TestAQuotaThatStaysFullIsAskedLessOften, as long as it lets nothing through.
func TestAQuotaThatStaysFullIsAskedLessOften(t *testing.T) {
	create := func(pod string, result plan.Result) plan.Outcome {
		return plan.Outcome{Action: plan.Action{Verb: plan.CreatePod, Pod: pod}, Result: result, Cause: appsv1.ReasonQuotaExceeded}
	}
	refused, recalled := create("web-1", plan.Refused), create("web-1", plan.Refused)
	recalled.Recalled = true
	now := time.Unix(1000, 0)
	m := &Memory{}
	for i, step := range []struct {
		outcomes []plan.Outcome
		want     time.Duration
	}{
		{[]plan.Outcome{refused}, 5 * time.Second},
		{[]plan.Outcome{refused}, 10 * time.Second},
		{[]plan.Outcome{recalled}, 10 * time.Second}, // a look in between asks nothing
		{[]plan.Outcome{refused}, 20 * time.Second},
		{[]plan.Outcome{create("web-0", plan.Done), refused}, 5 * time.Second}, // there was room for one
		{[]plan.Outcome{refused}, 10 * time.Second},
		{[]plan.Outcome{create("web-1", plan.Done)}, 0},
		{[]plan.Outcome{refused}, 5 * time.Second},
		{[]plan.Outcome{refused}, 10 * time.Second},
		{nil, 0}, // the pod was to stand in for one that stays after all
		{[]plan.Outcome{refused}, 5 * time.Second},
	} {
		m.note(step.outcomes, now)
		if got := m.Wait(now); got != step.want {
			t.Errorf("step %d: it waits %s, want %s", i, got, step.want)
		}
	}
	for range 100 {
		m.note([]plan.Outcome{refused}, now)
	}
	if got := m.Wait(now); got != lastQuota {
		t.Errorf("at last it waits %s, want %s", got, lastQuota)
	}
	m.Room()
	if m.recall(&refused.Action) != nil {
		t.Error("the refusal is remembered, though there is room")
	}
	m.note([]plan.Outcome{refused}, now)
	if got := m.Wait(now); got != lastQuota {
		t.Errorf("refused again, it waits %s, want %s", got, lastQuota)
	}
}

// TestMemoryIsOfOneOwnerAndSpec: one that was made again under the name of another
// has not been refused anything.
func TestMemoryIsOfOneOwnerAndSpec(t *testing.T) {
	create := plan.Action{Verb: plan.CreatePod, Pod: "web-0"}
	for name, test := range map[string]struct {
		change func(*appsv1.PodManager)
		want   bool
	}{
		"the same":          {func(*appsv1.PodManager) {}, true},
		"the same, written": {func(o *appsv1.PodManager) { o.ResourceVersion = "1000" }, true},
		"another owner":     {func(o *appsv1.PodManager) { o.UID = "you" }, false},
		"another spec":      {func(o *appsv1.PodManager) { o.Generation++ }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := owner(), owner()
			test.change(after)
			m := &Memory{}
			m.begin(before)
			m.note([]plan.Outcome{{Action: create, Result: plan.Refused}}, time.Unix(1000, 0))
			m.begin(after)
			if got := m.recall(&create) != nil; got != test.want {
				t.Errorf("the refusal is remembered: %t, want %t", got, test.want)
			}
		})
	}
}

// TestANewSpecIsTriedAtOnce: an edit may be the remedy.
func TestANewSpecIsTriedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.memory = &Memory{}
	w.answer = deny("")
	create := plan.Action{Verb: plan.CreatePod, Pod: "web-0"}
	for range 2 {
		if _, err := w.apply(t, create); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.asked("create"); got != 1 {
		t.Fatalf("%d requests, want 1", got)
	}
	w.generation++
	if _, err := w.apply(t, create); err != nil || w.asked("create") != 2 {
		t.Errorf("%d requests after an edit, want 2: %v", w.asked("create"), err)
	}
}
