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
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
)

// numbered are actions of one verb for the pods web-FROM to web-TO, without the last.
func numbered(verb plan.Verb, from, to int) []plan.Action {
	var actions []plan.Action
	for slot := from; slot < to; slot++ {
		name := fmt.Sprintf("web-%d", slot)
		actions = append(actions, plan.Action{Verb: verb, Pod: name, UID: types.UID("uid-" + name), Slot: slot, ResourceVersion: "999", Revision: "web-2"})
	}
	return actions
}

// TestRefusedWritesStayUnderThePublishedRate: whatever is refused of a fleet of 600
// pods, and however often it is looked at, no more than 60 of its writes are refused
// in any minute, and each quarter of a minute something is tried, but for what a quota refuses.
func TestRefusedWritesStayUnderThePublishedRate(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	policy := func() error { return apierrors.NewForbidden(pods, "", errors.New("not on a Sunday")) }
	quota := func() error { return apierrors.NewForbidden(pods, "", errors.New("exceeded quota: few")) }
	noWebhook := func() error {
		return apierrors.NewInternalError(errors.New(`failed calling webhook "guard.example.com"`))
	}
	every := func(int) bool { return true }
	several := append(append(numbered(plan.CreatePod, 0, 150), numbered(plan.DeletePod, 150, 300)...),
		append(numbered(plan.TellHolder, 300, 450), append(numbered(plan.AdoptPod, 450, 500), numbered(plan.EvictPod, 500, 600)...)...)...)
	for name, test := range map[string]struct {
		actions []plan.Action
		answer  func() error
		// refused says which slots are.
		refused func(slot int) bool
		// after is how many writes pass before the first is refused.
		after int
		// edits: the owner is edited before every look.
		edits bool
	}{
		"creates that the quota has no room for":          {numbered(plan.CreatePod, 0, 600), quota, every, 0, false},
		"creates, when the quota has become full":         {numbered(plan.CreatePod, 0, 600), quota, every, 300, false},
		"creates that a policy refuses":                   {numbered(plan.CreatePod, 0, 600), policy, every, 0, false},
		"creates whose webhook does not answer":           {numbered(plan.CreatePod, 0, 600), noWebhook, every, 0, false},
		"deletes without the right to":                    {numbered(plan.DeletePod, 0, 600), policy, every, 0, false},
		"deletes, when the right is taken away":           {numbered(plan.DeletePod, 0, 600), policy, every, 400, false},
		"deletes of a hundred pods":                       {numbered(plan.DeletePod, 0, 600), policy, func(slot int) bool { return slot >= 300 && slot < 400 }, 0, false},
		"every fifth delete":                              {numbered(plan.DeletePod, 0, 600), policy, func(slot int) bool { return slot%5 == 0 }, 0, false},
		"evictions that a budget holds back":              {numbered(plan.EvictPod, 0, 600), budgetError, every, 0, false},
		"evictions that a policy refuses":                 {numbered(plan.EvictPod, 0, 600), policy, every, 0, false},
		"adoptions":                                       {numbered(plan.AdoptPod, 0, 600), policy, every, 0, false},
		"changes in place":                                {numbered(plan.UpdatePod, 0, 600), policy, every, 0, false},
		"resizes":                                         {numbered(plan.ResizePod, 0, 600), policy, every, 0, false},
		"some of several verbs":                           {several, policy, func(slot int) bool { return slot%3 > 0 }, 0, false},
		"several verbs at once":                           {several, policy, every, 0, false},
		"deletes of an owner that changes all the time":   {numbered(plan.DeletePod, 0, 600), policy, every, 0, true},
		"creates of an owner that an autoscaler keeps on": {numbered(plan.CreatePod, 0, 600), quota, every, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{owner()}
			for _, action := range numbered(plan.AdoptPod, 0, 600) {
				objects = append(objects, pod(action.Pod, controlledBy(me)))
			}
			w := newWorld(t, objects...)
			w.memory = &Memory{}
			var mu sync.Mutex
			passed := 0
			var refused []time.Time
			w.answer = func(request string) error {
				mu.Lock()
				defer mu.Unlock()
				slot := -1
				if _, err := fmt.Sscanf(request[strings.Index(request, " web-")+1:], "web-%d", &slot); err != nil {
					t.Errorf("%s: %v", request, err)
				}
				if passed++; passed <= test.after || !test.refused(slot) {
					return nil
				}
				refused = append(refused, w.clock.Now())
				return test.answer()
			}
			begin := w.clock.Now()
			for at := time.Duration(0); at < 2*time.Minute; at += 200 * time.Millisecond {
				w.clock.SetTime(begin.Add(at))
				if test.edits {
					w.generation++
				}
				_, _ = w.apply(t, test.actions...)
			}
			longest := retryRefusal
			if !test.edits && strings.Contains(test.answer().Error(), "quota") {
				longest = 40 * time.Second // twice as long each time, and 80 s end after the test
			}
			checkRate(t, refused, begin, longest)
		})
	}
}

// checkRate judges when writes were refused.
func checkRate(t *testing.T, refused []time.Time, begin time.Time, longest time.Duration) {
	t.Helper()
	first, last := 0, begin
	for i, at := range refused {
		for at.Sub(refused[first]) >= time.Minute {
			first++
		}
		if i-first >= 60 {
			t.Fatalf("more than 60 writes were refused in the minute to %s", at.Sub(begin))
		}
		if gap := at.Sub(last); gap > longest+time.Second {
			t.Errorf("nothing was tried for %s, until %s", gap, at.Sub(begin))
		}
		last = at
	}
	if len(refused) == 0 {
		t.Error("nothing was refused: the story cannot fail")
	}
}
