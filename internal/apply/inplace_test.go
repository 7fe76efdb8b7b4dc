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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/plan"
)

// A patch holds for the very pod that was read: one that was asked to go since
// is another.
func TestPatchesCarryTheResourceVersion(t *testing.T) {
	for _, verb := range []plan.Verb{plan.UpdatePod, plan.TellHolder} {
		t.Run(string(verb), func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			seen := plan.Action{Verb: verb, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "999", Wanted: "delete"}
			outcomes, err := w.apply(t, seen)
			if diff := cmp.Diff([]plan.Result{plan.Done}, results(outcomes)); diff != "" || err != nil {
				t.Errorf("error %v, results (-want +got):\n%s", err, diff)
			}
			if body := decode(t, w.patches["web-0"]); body.Metadata.UID != "uid-web-0" || body.Metadata.ResourceVersion != "999" {
				t.Errorf("the patch carries uid %q and version %q", body.Metadata.UID, body.Metadata.ResourceVersion)
			}
		})
	}
}

// The second patch of a pod in one run holds for what the first one left.
func TestAPatchFollowsAnother(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy(me)))
	first := plan.Action{Verb: plan.TellHolder, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "999", Wanted: "update"}
	second := first
	second.Verb, second.Revision = plan.UpdatePod, "web-2"
	outcomes, err := w.apply(t, first, second)
	if diff := cmp.Diff([]plan.Result{plan.Done, plan.Done}, results(outcomes)); diff != "" || err != nil {
		t.Errorf("error %v, results (-want +got):\n%s", err, diff)
	}
	if body := decode(t, w.patches["web-0"]); body.Metadata.ResourceVersion != "1000" {
		t.Errorf("the second patch carries version %q, want 1000", body.Metadata.ResourceVersion)
	}
}

// A patch that comes too late is no error: the next look decides anew. What
// follows from it in this run is not done, and the rest is.
func TestAPatchThatComesTooLate(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy(me)), pod("web-1", controlledBy(me)))
	w.answer = func(request string) error {
		if request == "patch web-0" {
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-0", nil)
		}
		return nil
	}
	actions := []plan.Action{
		{Verb: plan.UpdatePod, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "5"},
		{Verb: plan.UpdatePod, Pod: "web-1", UID: "uid-web-1", ResourceVersion: "999"},
		{Verb: plan.CreatePod, Pod: "web-2", Slot: 2},
		{Verb: plan.RemoveFinalizer},
	}
	outcomes, err := w.apply(t, actions...)
	want := []plan.Result{plan.Outdated, plan.Done, plan.Done, plan.Skipped}
	if diff := cmp.Diff(want, results(outcomes)); diff != "" || err != nil {
		t.Errorf("error %v, results (-want +got):\n%s", err, diff)
	}
	if slices.Contains(w.ledger.list, "wrote web-0") {
		t.Error("the ledger waits for a write that was not done")
	}
	if _, ok := w.patches["web-1"]; !ok {
		t.Error("the other pod was not changed")
	}
}

// Actions of one verb run in parallel, also when the plan names them in turn with
// others.
func TestActionsThatAlternateRunInParallel(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy(me)), pod("web-1", controlledBy(me)))
	met := make(chan struct{})
	w.answer = func(request string) error {
		if request == "patch web-1" && w.asked("patch web-1") == 1 {
			close(met)
			return nil
		}
		select {
		case <-met:
			return nil
		case <-time.After(10 * time.Second):
			return errors.New("web-1 was not patched meanwhile")
		}
	}
	var actions []plan.Action
	for _, name := range []string{"web-0", "web-1"} {
		update := plan.Action{Verb: plan.UpdatePod, Pod: name, UID: types.UID("uid-" + name), ResourceVersion: "999", Revision: "web-2"}
		tell := update
		tell.Verb, tell.Wanted = plan.TellHolder, "delete"
		actions = append(actions, update, tell)
	}
	outcomes, err := w.apply(t, actions...)
	if diff := cmp.Diff([]plan.Result{plan.Done, plan.Done, plan.Done, plan.Done}, results(outcomes)); diff != "" || err != nil {
		t.Errorf("error %v, results (-want +got):\n%s", err, diff)
	}
	for i := range actions {
		if outcomes[i].Action.Verb != actions[i].Verb || outcomes[i].Action.Pod != actions[i].Pod {
			t.Errorf("outcome %d is of %s %s", i, outcomes[i].Action.Verb, outcomes[i].Action.Pod)
		}
	}
}
