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
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

var updateStories = flag.Bool("update", false, "write the stories under testdata/stories anew")

// story is a simulated rollout to be read: what the user does, and what the
// planner makes of it, step by step.
type story struct {
	title string
	given func(w *world)
	// edits happen before the step of that number.
	edits map[int]edit
	steps int
}

// edit is what a user, or the cluster, does.
type edit struct {
	says string
	does func(w *world)
}

func stories() map[string]story {
	return map[string]story{
		"in-place-image": {
			title: "An image changes in place, one pod at a time, and no pod is replaced",
			given: func(w *world) { w.desired.Replicas = 4 },
			edits: map[int]edit{1: {"the user changes the image to v2", func(w *world) { w.recipe.image = "v2" }}},
			steps: 40,
		},
		"in-place-with-gate": {
			title: "With the readiness gate a pod leaves service before its container restarts",
			given: func(w *world) { w.desired.Replicas, w.gated = 3, true },
			edits: map[int]edit{1: {"the user changes the image to v2", func(w *world) { w.recipe.image = "v2" }}},
			steps: 50,
		},
		"recreate-with-surge": {
			title: "Nothing may be missing: a pod more comes first, stands in, and goes when the last one is back",
			given: func(w *world) { w.desired.Replicas = 3; w.setBudget(0, 1) },
			edits: map[int]edit{1: {"the user changes an environment variable", func(w *world) { w.recipe.shape = 1 }}},
			steps: 50,
		},
		"broken-then-fixed": {
			title: "A revision that never runs does not block the one that fixes it",
			given: func(w *world) { w.desired.Replicas = 4; w.setBudget(2, 0) },
			edits: map[int]edit{
				1: {"the user changes an environment variable and misspells the image", func(w *world) { w.recipe = recipe{image: brokenImage, shape: 1} }},
				7: {"the user corrects the image", func(w *world) { w.recipe.image = "v2" }},
			},
			steps: 50,
		},
		"rollback": {
			title: "A revision that makes no progress is taken back, once",
			given: func(w *world) {
				w.desired.Replicas = 3
				w.desired.Update.OnFailure, w.desired.Update.ProgressDeadline = appsv1.FailureRollback, 30*time.Second
			},
			edits: map[int]edit{1: {"the user misspells the image", func(w *world) { w.recipe.image = brokenImage }}},
			steps: 30,
		},
		"partition": {
			title: "A partition keeps three of five pods on the old revision until the user is content",
			given: func(w *world) { w.desired.Replicas = 5; w.setBudget(1, 0); w.desired.Update.Partition = 3 },
			edits: map[int]edit{
				1:  {"the user changes an environment variable", func(w *world) { w.recipe.shape = 1 }},
				13: {"the user sets the partition to 0", func(w *world) { w.desired.Update.Partition = 0 }},
			},
			steps: 60,
		},
		"pause": {
			title: "A pause stops the rollout in the middle, and repair goes on",
			given: func(w *world) {
				w.desired.Replicas, w.desired.Identity = 4, appsv1.IdentityRandom
				w.setBudget(1, 1)
			},
			edits: map[int]edit{
				1:  {"the user changes an environment variable", func(w *world) { w.recipe.shape = 1 }},
				3:  {"the user pauses", func(w *world) { w.desired.Paused = true }},
				7:  {"a user deletes a pod", func(w *world) { w.terminate(w.sorted()[0]) }},
				11: {"the user goes on", func(w *world) { w.desired.Paused = false }},
			},
			steps: 50,
		},
		"resize-infeasible": {
			title: "What a node can never hold is recreated, within the budget",
			given: func(w *world) { w.desired.Replicas = 3; w.setBudget(1, 0) },
			edits: map[int]edit{1: {"the user asks for nine times the memory", func(w *world) { w.recipe.size = 9 }}},
			steps: 50,
		},
		"change-of-mind": {
			title: "A change that is taken back in the middle touches only the pods that had followed it",
			given: func(w *world) { w.desired.Replicas = 4; w.setBudget(0, 2) },
			edits: map[int]edit{
				1: {"the user changes an environment variable", func(w *world) { w.recipe.shape = 1 }},
				5: {"the user takes it back", func(w *world) { w.recipe.shape = 0 }},
			},
			steps: 50,
		},
		"eviction": {
			title: "A disruption budget refuses the evictions until it allows them",
			given: func(w *world) {
				w.desired.Replicas = 3
				w.setBudget(1, 0)
				w.desired.Update.UseEviction, w.guarded = true, 3
			},
			edits: map[int]edit{
				1: {"the user changes an environment variable", func(w *world) { w.recipe.shape = 1 }},
				5: {"a user relaxes the disruption budget by one pod", func(w *world) { w.guarded = 2 }},
			},
			steps: 50,
		},
	}
}

func (w *world) setBudget(unavailable, surge int) {
	w.desired.Update.MaxUnavailable, w.desired.Update.MaxSurge = unavailable, surge
}

// TestStories tells ten simulated rollouts and compares them with the files
// under testdata/stories; -update writes them.
func TestStories(t *testing.T) {
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "stories", name+".txt")
			got := s.tell(t)
			if *updateStories {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the story goes on another way now; go test -update tells it anew (-before +now):\n%s", diff)
			}
		})
	}
}

// tell plays a story until it rests, under the same judge as the simulation.
func (s story) tell(t *testing.T) string {
	w := newWorld(7, aFleet(0).desired)
	w.calm = true
	w.desired.Update.ResizeDeadline = time.Minute
	s.given(w)
	j := &judge{t: t, seed: s.title}
	w.watch = j.watch
	for w.status.CurrentRevision == "" || w.last.NextLook != 0 {
		w.now = w.now.Add(5 * time.Second)
		w.kubelets(20)
		w.pass()
	}
	n := &narrator{world: w, start: w.now, table: "-"}
	n.line("%s\n", s.title)
	n.line("Given %d pods, identity %s, maxUnavailable %d, maxSurge %d.", w.desired.Replicas, w.desired.Identity,
		w.desired.Update.MaxUnavailable, w.desired.Update.MaxSurge)
	for i := range s.steps {
		edit, ok := s.edits[i]
		if ok {
			w.edit(func() { edit.does(w) })
		}
		w.now = w.now.Add(5 * time.Second)
		w.kubelets(20)
		d := w.pass()
		n.step(d, edit.says)
	}
	n.end()
	return n.text.String()
}

// narrator writes down what happens.
type narrator struct {
	*world
	start time.Time
	text  strings.Builder
	table string
}

func (n *narrator) line(format string, args ...any) { fmt.Fprintf(&n.text, format+"\n", args...) }

// step tells one pass, unless nothing happens in it.
func (n *narrator) step(d Decision, says string) {
	var lines []string
	if says != "" {
		lines = append(lines, strings.ToUpper(says[:1])+says[1:]+".")
	}
	for _, o := range n.outcomes {
		lines = append(lines, n.sentence(o))
	}
	table := n.fleetLine()
	if len(lines) == 0 && table == n.table {
		return
	}
	n.table = table
	lines = append(lines, table)
	for _, b := range d.Blocked {
		if b.Count > 0 {
			lines = append(lines, fmt.Sprintf("waits: %s, %s (%s)", counted(b), b.Message, b.By))
		}
	}
	n.line("\nafter %3.0fs  %s", n.now.Sub(n.start).Seconds(), strings.Join(lines, "\n            "))
}

// counted names the pods that a blocker holds back.
func counted(b Blocked) string {
	switch {
	case b.Pod == "":
		return NumberOf(b.Count, "pod")
	case b.Count > 1:
		return fmt.Sprintf("%s and %d more", b.Pod, b.Count-1)
	}
	return b.Pod
}

var words = map[Verb]string{
	CreatePod: "Creates", DeletePod: "Deletes", EvictPod: "Evicts", UpdatePod: "Changes in place", ResizePod: "Resizes",
	ShutGate: "Takes out of service", OpenGate: "Puts in service", TellHolder: "Tells the holder of",
}

func (n *narrator) sentence(o Outcome) string {
	a := o.Action
	if o.Result == Refused {
		return fmt.Sprintf("Is refused to evict %s: %s.", a.Pod, o.Message)
	}
	switch a.Verb {
	case CreateRevision:
		return fmt.Sprintf("Stores %s as revision %d.", n.stored[a.Revision], a.Number)
	case RenumberRevision:
		return fmt.Sprintf("Makes %s revision %d again.", n.stored[a.Revision], a.Number)
	case CreatePod:
		return fmt.Sprintf("Creates %s of %s: %s (%s).", a.Pod, n.stored[a.Revision], a.Why.Message, a.Why.Reason)
	}
	return fmt.Sprintf("%s %s: %s (%s).", words[a.Verb], a.Pod, a.Why.Message, a.Why.Reason)
}

// fleetLine is the fleet in a line.
func (n *narrator) fleetLine() string {
	parts := make([]string, 0, len(n.pods))
	for _, b := range n.sorted() {
		parts = append(parts, fmt.Sprintf("%s %s %s", b.Name, n.stored[b.Revision], n.stateOf(b)))
	}
	return strings.Join(parts, " | ")
}

func (n *narrator) stateOf(b *body) string {
	switch {
	case b.Terminating:
		return "goes"
	case b.Phase == corev1.PodFailed:
		return "failed"
	case b.Gate == GateShut:
		return "is out of service"
	case b.Changing || b.runs.image != b.spec.image:
		return "changes"
	case b.Resize != ResizeNone:
		return "serves, resize " + string(b.Resize)
	case b.Waiting != "":
		return b.Waiting
	case b.Ready:
		return "serves"
	}
	return "starts"
}

// end says how it ended.
func (n *narrator) end() {
	n.line("\nIn the end %d of %d pods are available and %s is the goal.", n.available(), n.desired.Replicas, n.stored[n.last.UpdateRevision])
	for _, kind := range []string{appsv1.ConditionReady, appsv1.ConditionReconciling, appsv1.ConditionStalled} {
		if c := meta.FindStatusCondition(n.status.Conditions, kind); c != nil {
			n.line("%s is %s, %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
}

// String names a recipe by what sets it apart.
func (r recipe) String() string {
	text := r.image
	for _, part := range []struct {
		name  string
		value int
	}{{"size", r.size}, {"label", r.label}, {"shape", r.shape}} {
		if part.value != 0 {
			text += fmt.Sprintf("+%s%d", part.name, part.value)
		}
	}
	return text
}
