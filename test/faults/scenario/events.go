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

package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit/specs"
)

// Event is something that a user, another client or a node does at some moment, so
// that a list of them can be drawn, shrunk and kept. What it means is in the table of
// events.
type Event struct {
	Do string `json:"do"`
	// Pod is which of the pods that live, in the order of their names, and Node which
	// of the nodes.
	Pod  int `json:"pod,omitempty"`
	Node int `json:"node,omitempty"`
	// N and Text are what else the event needs.
	N    int32  `json:"n,omitempty"`
	Text string `json:"text,omitempty"`
	// Field is the field of the spec that is edited, and Spec has its new value.
	Field string                 `json:"field,omitempty"`
	Spec  *appsv1.PodManagerSpec `json:"spec,omitempty"`
	// After is how many choices of the scheduler after the event before it comes, and
	// Wait how many seconds after it. Without them the cluster comes to rest first.
	After int `json:"after,omitempty"`
	Wait  int `json:"wait,omitempty"`
}

// Cluster is what of a cluster is no object of the API: probes, kubelets, admission
// and clients that try again. Only the simulator has one.
type Cluster interface {
	// Probe says whether the readiness probe of a pod succeeds.
	Probe(pod types.UID, succeeds bool)
	// Starts is how long a container takes until its probe succeeds.
	Starts(after time.Duration)
	// Resizes is what a node says to a resize: nothing, Deferred or Infeasible.
	Resizes(node, answer string)
	// Full: no open node takes one more pod.
	Full(full bool)
	// Drain evicts the pods of a node, or one pod, and tries again as kubectl does.
	Drain(node string) error
	Evict(pod string) error
	// Refuse makes the API server refuse writes of the operator, and Allow ends it.
	Refuse(verb, kind, how string)
	Allow()
	// Restart ends the operator and starts one that lists a state which is so many
	// versions old, and whose watch of a kind is stuck for a while.
	Restart(behind int, stuck string)
	// Mend ends everything that the others began.
	Mend()
}

// ErrNothing is the error of an event that finds nothing to happen to.
var ErrNothing = errors.New("there is nothing that this could happen to")

// where says in which tier an event can happen.
type where string

const (
	// anywhere: it needs the objects of a namespace only.
	anywhere where = "anywhere"
	// simulated: it needs a Cluster, or changes nodes, which on a real API server all
	// schedules share.
	simulated where = "simulated"
)

// kind is one line of the table of events.
type kind struct {
	name   string
	weight int
	where
	draw func(rng *rand.Rand, e *Event)
	do   func(ctx context.Context, w World, e *Event) error
}

// Events are the names of all events. An edit counts by its field, and what has a
// text by the text, where that is one of a few.
func Events() []string { return namesOf(table) }

// APIEvents are the names of those that can happen on a real API server.
func APIEvents() []string { return namesOf(onAPI) }

func namesOf(kinds []kind) []string {
	var names []string
	for i := range kinds {
		names = append(names, kinds[i].name)
	}
	for _, field := range specs.Fields() {
		names = append(names, "edit "+field)
	}
	for _, texts := range [][]string{cascades, retemplates, holds} {
		names = append(names, texts...)
	}
	return names
}

// Counts are the names under which an event counts as drawn.
func (e *Event) Counts() []string {
	switch {
	case e.Field != "":
		return []string{e.Do, "edit " + e.Field}
	case slices.Contains(slices.Concat(cascades, retemplates, holds), e.Text):
		return []string{e.Do, e.Text}
	}
	return []string{e.Do}
}

// DrawEvents draws some events. Most lists end with events that mend everything, so
// that the fleet has to become what it asks for.
func DrawEvents(rng *rand.Rand) []Event {
	events := drawSome(rng, table)
	if rng.IntN(4) > 0 || slices.ContainsFunc(events, func(e Event) bool { return e.Do == "delete" }) {
		events = append(events, mended()...)
	}
	return events
}

// DrawOnAPI draws a PodManager and events that can happen on a real API server. Every list
// ends with those that mend everything: a rollout that does not end waits for its deadline,
// and there the clock cannot be set.
func DrawOnAPI(rng *rand.Rand) (*appsv1.PodManagerSpec, []Event) {
	spec := specs.Draw(func(_ string, n int) int { return rng.IntN(n) })
	return &spec, append(drawSome(rng, onAPI), mended()...)
}

// mended is the end of a story in which all is well.
func mended() []Event { return []Event{{Do: "mend"}, {Do: "image", Text: "nginx:1.29"}} }

func drawSome(rng *rand.Rand, kinds []kind) []Event {
	var events []Event
	for range 1 + rng.IntN(7) {
		events = append(events, drawNext(rng, kinds, events))
	}
	return events
}

// drawNext draws an event, every now and then one that undoes another before it: few of
// the independent ones would find what they undo.
func drawNext(rng *rand.Rand, kinds []kind, before []Event) Event {
	e := drawEvent(rng, kinds)
	if len(before) == 0 || rng.IntN(4) > 0 {
		return e
	}
	done := pick(rng, before...)
	if undo := undoings[done.Do]; undo != "" {
		return Event{Do: undo, Pod: done.Pod, Node: done.Node, After: e.After, Wait: e.Wait}
	}
	return e
}

func drawEvent(rng *rand.Rand, kinds []kind) Event {
	sum := 0
	for i := range kinds {
		sum += kinds[i].weight
	}
	at := rng.IntN(sum)
	for i := range kinds {
		if at -= kinds[i].weight; at < 0 {
			e := Event{Do: kinds[i].name}
			if kinds[i].draw != nil {
				kinds[i].draw(rng, &e)
			}
			switch rng.IntN(10) {
			case 0, 1, 2: // at rest
			case 3:
				e.Wait = pick(rng, 5, 31, 61, 301, 541, 661, 3700)
			case 4, 5, 6:
				e.After = 1 + rng.IntN(8)
			default:
				e.After = 1 + rng.IntN(60)
			}
			return e
		}
	}
	panic("an event has a weight below 0")
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// Drawn is the scenario of a PodManager with this spec, and of what happens to it.
func Drawn(spec *appsv1.PodManagerSpec, events []Event) Scenario {
	pm := &appsv1.PodManager{Spec: *spec.DeepCopy()}
	pm.Name = Name
	s := Scenario{Name: "drawn", Anonymous: true, Uncounted: true, Drawn: true, Steps: []Step{create(pm)}}
	for i := range events {
		e := events[i]
		at := slices.IndexFunc(table, func(k kind) bool { return k.name == e.Do })
		if at < 0 {
			panic(fmt.Sprintf("there is no event %q", e.Do))
		}
		s.Steps = append(s.Steps, Step{
			Name: e.String(), After: e.After, Wait: time.Duration(e.Wait) * time.Second, Counts: e.Counts(),
			Do: func(ctx context.Context, w World) error { return table[at].do(ctx, w, &e) },
		})
	}
	return s
}

func (e *Event) String() string {
	text := e.Do
	if e.Field != "" {
		text += " " + e.Field
	}
	if e.Text != "" {
		text += " " + e.Text
	}
	return fmt.Sprintf("%s (pod %d, node %d, n %d)", text, e.Pod, e.Node, e.N)
}

// Nodes of drawn scenarios, in two zones.
var Nodes = []string{FirstNode, secondNode, "node-3"}

func anyPod(rng *rand.Rand, e *Event)  { e.Pod = rng.IntN(6) }
func anyNode(rng *rand.Rand, e *Event) { e.Node = rng.IntN(len(Nodes)) }

// podOf is the pod that an event means, of those of the fleet that live.
func podOf(ctx context.Context, w World, e *Event) (*corev1.Pod, error) {
	var list corev1.PodList
	if err := w.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
		return nil, err
	}
	ours := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || !strings.HasPrefix(p.Name, Name+"-")
	})
	if len(ours) == 0 {
		return nil, ErrNothing
	}
	return &ours[e.Pod%len(ours)], nil
}

// withPod does something to the pod that an event means.
func withPod(do func(ctx context.Context, w World, e *Event, pod *corev1.Pod) error) func(context.Context, World, *Event) error {
	return func(ctx context.Context, w World, e *Event) error {
		pod, err := podOf(ctx, w, e)
		if err != nil {
			return err
		}
		return do(ctx, w, e, pod)
	}
}

// editPod changes the pod that an event means; change says whether it did.
func editPod(change func(e *Event, pod *corev1.Pod) bool) func(context.Context, World, *Event) error {
	return withPod(func(ctx context.Context, w World, e *Event, pod *corev1.Pod) error {
		if !change(e, pod) {
			return ErrNothing
		}
		return w.Update(ctx, pod)
	})
}

// editNode changes the node that an event means; change says whether it did.
func editNode(change func(w World, e *Event, node *corev1.Node) bool) func(context.Context, World, *Event) error {
	return func(ctx context.Context, w World, e *Event) error {
		node := &corev1.Node{}
		if err := w.Get(ctx, client.ObjectKey{Name: Nodes[e.Node]}, node); err != nil {
			return err
		}
		if !change(w, e, node) {
			return ErrNothing
		}
		return w.Update(ctx, node)
	}
}

// editOwner changes the PodManager; change says whether it did.
func editOwner(change func(w World, e *Event, pm *appsv1.PodManager) bool) func(context.Context, World, *Event) error {
	return func(ctx context.Context, w World, e *Event) error {
		pm := &appsv1.PodManager{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: Name}, pm); err != nil {
			return err
		}
		if !change(w, e, pm) {
			return ErrNothing
		}
		return w.Update(ctx, pm)
	}
}
