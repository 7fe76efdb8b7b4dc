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
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/testkit/specs"
	"github.com/mycompany/pod-operator/internal/view"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

var previews = flag.Int("previews", 80, "how many changes are previewed")

// TestPlanIsTrue makes changes of drawn fleets at rest, which nothing disturbs, and
// holds what happens against what kubectl podmanager plan says of the change.
func TestPlanIsTrue(t *testing.T) {
	lab, compared := newLab(t), 0
	for i := range *previews / fewer() {
		seed := *seedFlag + uint64(i)
		rng := rand.New(rand.NewPCG(seed, 3))
		spec := specs.Draw(func(_ string, n int) int { return rng.IntN(n) })
		c := Case{Spec: &spec, Events: drawChanges(rng)}
		result := play(t, lab, Run{Scenario: scenario.Drawn(c.Spec, c.Events)})
		if len(result.Violations) > 0 {
			continue // other tests judge those
		}
		edits, found := foreseen(t, lab, result.History)
		compared += edits
		for _, v := range found {
			t.Errorf("seed %d, %v: %s", seed, c.Events, v)
		}
	}
	if compared < *previews/fewer()/2 {
		t.Errorf("only %d edits were compared with their previews", compared)
	}
}

// drawChanges draws edits of the spec that pods can follow.
func drawChanges(rng *rand.Rand) []scenario.Event {
	var events []scenario.Event
	for range 1 + rng.IntN(3) {
		switch rng.IntN(6) {
		case 0:
			events = append(events, scenario.Event{Do: "scale", N: rng.Int32N(6)})
		case 1:
			events = append(events, scenario.Event{Do: "image", Text: []string{scenario.Old, scenario.New, "nginx:1.29"}[rng.IntN(3)]})
		case 2:
			events = append(events, scenario.Event{Do: "template", Text: []string{"label", "annotation", "env", "size"}[rng.IntN(4)], N: 1 + rng.Int32N(3)})
		case 3:
			events = append(events, scenario.Event{Do: "restart"})
		case 4:
			events = append(events, scenario.Event{Do: "reserve", N: 1 + rng.Int32N(3)})
		case 5:
			events = append(events, scenario.Event{Do: "unreserve"})
		}
	}
	return events
}

// foreseen asks for a preview at each edit of a user in a history, and compares it with
// what happened until the next one.
func foreseen(t *testing.T, lab *Lab, history []oracle.Revision) (edits int, found []oracle.Violation) {
	t.Helper()
	var live *appsv1.PodManager
	for i := range history {
		r := &history[i]
		pm, ok := r.Object.(*appsv1.PodManager)
		if !ok {
			continue
		}
		if r.Actor == "user" && live != nil && !r.Gone {
			edits++
			until := nextEdit(history[i+1:])
			said := foretell(t, lab, history[:i], r.Time, live, pm)
			random := pm.Spec.Identity == appsv1.IdentityRandom
			found = append(found, oracle.Foreseen(history, pm.UID, r.Version, until, said, random)...)
		}
		live = pm
	}
	return edits, found
}

// nextEdit is the version before the next edit of a user.
func nextEdit(history []oracle.Revision) int64 {
	var last int64
	for i := range history {
		if _, ok := history[i].Object.(*appsv1.PodManager); ok && history[i].Actor == "user" {
			break
		}
		last = history[i].Version
	}
	return last
}

// foretell is what plan says of a change on the cluster as it is after a history.
func foretell(t *testing.T, lab *Lab, history []oracle.Revision, now time.Time, live, changed *appsv1.PodManager) []oracle.Foretold {
	t.Helper()
	server := NewServer(lab.Scheme, clocktesting.NewFakePassiveClock(now))
	for i := range history {
		key := server.key(history[i].Object)
		if server.objects[key] = history[i].Object; history[i].Gone {
			delete(server.objects, key)
		}
	}
	kind, ok := change.KindOf(desired.PodManagerGVK)
	if !ok {
		t.Fatal("PodManagers have no plans")
	}
	reader := server.Client("user")
	preview, err := kind.Foresee(context.Background(), change.Look{Reader: reader, Observer: change.Live{Reader: reader}, Now: now},
		untyped(t, live), untyped(t, changed))
	if err != nil {
		t.Fatal(err)
	}
	return plainly(preview)
}

func untyped(t *testing.T, obj client.Object) *unstructured.Unstructured {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(desired.PodManagerGVK)
	return u
}

// plainly is a preview as plain data. The successor of a pod that is recreated under its
// name has no line of its own.
func plainly(preview view.Preview) []oracle.Foretold {
	words := map[string]string{
		view.Create: appsv1.ReasonCreated, view.Delete: appsv1.ReasonDeleted, view.Recreate: oracle.Recreated, view.Move: oracle.Recreated,
		view.InPlace: appsv1.ReasonUpdated, view.Adopt: appsv1.ReasonAdopted, view.Release: appsv1.ReasonReleased,
	}
	var said []oracle.Foretold
	for _, step := range preview.Steps {
		if word := words[step.What]; step.Wave > 0 && word != "" {
			said = append(said, oracle.Foretold{What: word, Pod: step.Pod, Wave: step.Wave})
		}
	}
	return said
}
