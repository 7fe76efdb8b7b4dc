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
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The world is what the planner is simulated in: an API server, kubelets that
// take their time, an operator that crashes, and users who change their minds.
// Everything that happens follows from the seed.

// recipe is a template as far as the world cares: each part is changed in
// another way.
type recipe struct {
	image string // restarts the container in place; "broken" never runs
	size  int    // resized in place; nodes cannot hold a size of 9
	label int    // changed in place
	shape int    // needs a new pod
	// nowhere: it names a node that does not exist.
	nowhere bool
}

const brokenImage = "broken"

func (r recipe) revision() string {
	name := fmt.Sprintf("web-%s-%d-%d-%d", r.image, r.size, r.label, r.shape)
	if r.nowhere {
		name += "-nowhere"
	}
	return name
}

func changeBetween(from, to recipe) Change {
	c := Change{From: from.revision(), To: to.revision(), Metadata: from.label != to.label}
	if from.shape != to.shape || from.nowhere != to.nowhere {
		c.Recreate = "the shape changed"
	}
	if from.image != to.image {
		c.Images, c.Restarts = []string{"app"}, true
	}
	if from.size != to.size {
		c.Resize = []string{"app"}
	}
	return c
}

// body is a pod with what only its kubelet knows.
type body struct {
	Pod
	spec recipe // what the pod's spec says
	runs recipe // what really runs
	well bool   // the container is ready
	sick int    // for so many steps it is not
	// For so many steps its node is down, no node has room, it terminates.
	down, unscheduled, lingers int
}

// world is the simulated cluster with one fleet on it.
type world struct {
	rng     *rand.Rand
	now     time.Time
	desired Desired
	recipe  recipe
	stored  map[string]recipe // the recipes behind the revisions

	pods      map[string]*body
	revisions []Revision
	// status is what the operator remembers, written what the API server
	// has: a crash loses the difference.
	status, written appsv1.PodManagerStatus

	gated    bool // new pods carry the readiness gate
	curse    curse
	crashes  int  // of the operator
	guarded  int  // evictions must leave so many available
	calm     bool // nothing goes wrong any more
	torn     bool // the second write of a resize often fails
	drains   drains
	births   int
	rollback map[string]int // how often a revision was taken back since the last edit

	last     Decision
	seen     Observed // by the last pass
	outcomes []Outcome
	told     bool // the last pass lived to report
	// watch sees every action before it is carried out.
	watch func(w *world, d *Decision, a Action)
}

func newWorld(seed uint64, desired Desired) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 1)), now: noon(), desired: desired, recipe: recipe{image: "v1"},
		stored: map[string]recipe{}, pods: map[string]*body{}, rollback: map[string]int{},
		watch: func(*world, *Decision, Action) {},
	}
	w.status.ObservedGeneration = -1
	return w
}

// chance is true n times out of a hundred.
func (w *world) chance(n int) bool { return w.rng.IntN(100) < n }

// shuffled are the pods in random order.
func (w *world) shuffled() []*body {
	list := w.sorted()
	w.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (w *world) sorted() []*body {
	list := make([]*body, 0, len(w.pods))
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		list = append(list, w.pods[name])
	}
	return list
}

// edit is a user's change of the spec.
func (w *world) edit(change func()) {
	change()
	w.desired.Generation++
	clear(w.rollback)
}

// kubelets lets each pod's kubelet do its next step, or not yet.
func (w *world) kubelets(busy int) {
	for _, b := range w.shuffled() {
		if w.chance(busy) {
			continue
		}
		w.kubelet(b)
	}
}

func (w *world) kubelet(b *body) {
	if kubelet(&b.Pod, &worldPlace{w, b}, w.now) {
		delete(w.pods, b.Name)
	}
}

// worldPlace is where a pod of the world is.
type worldPlace struct {
	w *world
	b *body
}

func (at *worldPlace) down() bool {
	if !at.b.NodeDown {
		return false
	}
	at.b.down--
	at.b.NodeDown = at.b.down > 0
	return true
}

func (at *worldPlace) lingers() bool {
	at.b.lingers--
	return at.b.lingers >= 0
}

func (at *worldPlace) unplaced() bool {
	if at.b.Node != "" || at.b.unscheduled == 0 {
		return false
	}
	at.b.unscheduled--
	return true
}

func (at *worldPlace) fails() bool {
	if !at.w.cursed(at.b) {
		return false
	}
	at.b.well = false
	return true
}

func (at *worldPlace) runs() bool {
	w, b := at.w, at.b
	switch {
	case b.Node == "":
		w.schedule(b)
	case b.sick > 0:
		b.sick--
		b.well = false
	case b.runs.image != b.spec.image:
		w.restart(b)
	case !b.well && b.runs.image != brokenImage:
		b.well, b.Phase = true, corev1.PodRunning
	}
	w.resize(b)
	b.runs.label, b.runs.shape = b.spec.label, b.spec.shape
	return b.well
}

// restart stops the old container first and starts the new one a step later.
func (w *world) restart(b *body) {
	if b.well {
		b.well = false
		return
	}
	b.runs.image = b.spec.image
	b.Restarts++
	b.Changing, b.Waiting = false, ""
	if b.runs.image == brokenImage {
		b.Waiting = "ImagePullBackOff"
	}
}

func (w *world) resize(b *body) {
	switch {
	case b.runs.size == b.spec.size:
		b.Resize = ResizeNone
	case b.spec.size >= 9:
		w.say(b, ResizeInfeasible)
	case b.Resize == ResizeInProgress && w.chance(30):
		w.say(b, ResizeDeferred)
	case b.Resize != ResizeDeferred || w.chance(20) || w.calm && w.noneIsRecreatedForItsSize():
		b.runs.size, b.Resize = b.spec.size, ResizeNone
	}
}

// noneIsRecreatedForItsSize: its node has to find the room in the end.
func (w *world) noneIsRecreatedForItsSize() bool {
	return w.torn || w.desired.Update.Strategy == appsv1.UpdateOnDelete
}

func (w *world) say(b *body, state ResizeState) {
	if b.Resize != state {
		b.Resize, b.ResizeSince = state, w.now
	}
}

// mishap injects one random fault or hold.
func (w *world) mishap() {
	bodies := w.shuffled()
	if len(bodies) == 0 || w.calm {
		return
	}
	b := bodies[0]
	if b.Terminating || b.dead() {
		return
	}
	switch w.rng.IntN(14) {
	case 10:
		b.NodeDown, b.down = true, 1+w.rng.IntN(20)
		tellReady(&b.Pod, false, w.now) // the node controller says so
	case 11:
		b.lingers = w.rng.IntN(20)
	case 12:
		if b.Node == "" {
			b.unscheduled = w.rng.IntN(20)
		}
	case 13:
		w.layCurse(b)
	case 0:
		b.sick, b.well = 1+w.rng.IntN(4), false
		tellReady(&b.Pod, b.well, w.now)
	case 1:
		b.Phase, b.Ready, b.well, b.FailedAt = corev1.PodFailed, false, false, w.now
	case 2:
		w.terminate(b) // kubectl delete pod
	case 3:
		b.NodeState, b.Ready = NodeGone, false
	case 4:
		b.DeleteRequested = true
	case 5:
		who := "a user"
		b.HoldDelete = &who
	case 6:
		who := "a user"
		b.HoldUpdate = &who
	default:
		b.HoldDelete, b.HoldUpdate = nil, nil
	}
}

func (w *world) terminate(b *body) { b.Terminating, b.DeletedAt = true, w.now }

// observed is what the planner sees, in any order.
func (w *world) observed() Observed {
	o := Observed{NewRevision: w.recipe.revision(), Status: *w.status.DeepCopy(), Revisions: slices.Clone(w.revisions), Nodes: w.openNodes()}
	inUse := map[string]recipe{}
	for _, b := range w.shuffled() {
		b.SizeOf = w.sizeOf(b)
		b.NodeLeaving = w.drains.notices[b.Node]
		if b.Domains = nil; len(w.desired.Disruption.Spread) > 0 {
			b.Domains = []string{b.Zone}
		}
		o.Pods = append(o.Pods, b.Pod)
		inUse[b.Revision] = w.stored[b.Revision]
	}
	w.stored[w.recipe.revision()] = w.recipe
	goals := map[string]recipe{w.recipe.revision(): w.recipe}
	for i := range o.Revisions {
		r := &o.Revisions[i]
		r.Equal = w.stored[r.Name] == w.recipe
		goals[r.Name] = w.stored[r.Name]
	}
	for _, from := range slices.Sorted(maps.Keys(inUse)) {
		for _, to := range slices.Sorted(maps.Keys(goals)) {
			if from != to {
				o.Changes = append(o.Changes, changeBetween(inUse[from], goals[to]))
			}
			o.Changes = append(o.Changes, w.sizedChanges(o.Pods, from, to)...)
		}
	}
	return o
}

// sizeOf is the stored revision whose size a pod has, where it is not that of
// its own revision.
func (w *world) sizeOf(b *body) string {
	if b.spec.size == w.stored[b.Revision].size {
		return ""
	}
	for _, r := range w.revisions {
		if w.stored[r.Name].size == b.spec.size {
			return r.Name
		}
	}
	return ""
}

// sizedChanges are the changes of pods that have the size of another revision.
func (w *world) sizedChanges(pods []Pod, from, to string) []Change {
	var changes []Change
	sizes := map[string]bool{}
	for i := range pods {
		size := pods[i].SizeOf
		if pods[i].Revision != from || size == "" || sizes[size] {
			continue
		}
		sizes[size] = true
		sized := w.stored[from]
		sized.size = w.stored[size].size
		c := changeBetween(sized, w.stored[to])
		c.From, c.SizeOf = from, size
		changes = append(changes, c)
	}
	return changes
}

// pass is one reconcile, with all that can go wrong in one: the operator dies
// after some of the writes, or before it has reported them; or a write fails.
func (w *world) pass() Decision {
	seen := w.observed()
	decision := Plan(w.desired, seen, w.now)
	w.last, w.seen = decision, seen
	crash, done := !w.calm && w.chance(4), len(decision.Actions)
	if crash && done > 0 {
		done = w.rng.IntN(done + 1)
	}
	outcomes := make([]Outcome, 0, done)
	var undone Undone
	for i, a := range decision.Actions[:done] {
		o := Outcome{Action: a, Result: Skipped}
		switch {
		case undone.HoldsBack(&a):
		case i > 0 && w.tears(&decision.Actions[i-1], &a):
			o = Outcome{Action: a, Result: Failed, Message: "another writer was faster"}
		default:
			o = w.carryOut(&decision, a)
		}
		if o.Result != Done {
			undone.Add(&a)
		}
		outcomes = append(outcomes, o)
	}
	if w.told = !crash; crash {
		w.crashes++
		w.status = *w.written.DeepCopy()
		return decision
	}
	w.outcomes = outcomes
	told := Report(w.desired, seen, decision, outcomes, w.now).Status
	if told.Rollback != nil && w.status.Rollback == nil {
		w.rollback[told.Rollback.From]++
	}
	w.status = inSeconds(told)
	if !sameButProgress(w.written, w.status) || w.chance(50) {
		w.written = *w.status.DeepCopy()
	}
	return decision
}

// inSeconds cuts the times that decide to whole seconds, as the API does.
func inSeconds(s appsv1.PodManagerStatus) appsv1.PodManagerStatus {
	s = *s.DeepCopy()
	if s.Rollout != nil {
		s.Rollout.ProgressTime = metav1.NewTime(s.Rollout.ProgressTime.Truncate(time.Second))
	}
	if s.Rebalance != nil {
		s.Rebalance.Time = metav1.NewTime(s.Rebalance.Time.Truncate(time.Second))
	}
	if s.Failures != nil {
		s.Failures.LastTime = metav1.NewTime(s.Failures.LastTime.Truncate(time.Second))
		s.Failures.RetryTime = metav1.NewTime(s.Failures.RetryTime.Truncate(time.Second))
	}
	return s
}

// sameButProgress: the operator may keep such a status to itself for a while.
func sameButProgress(a, b appsv1.PodManagerStatus) bool {
	same := func(x, y *appsv1.RolloutRecord) bool {
		return (x == nil) == (y == nil) && (x == nil || x.Revision == y.Revision && x.Waits == y.Waits && x.ResizeRefused == y.ResizeRefused)
	}
	return a.ObservedGeneration == b.ObservedGeneration && a.CurrentRevision == b.CurrentRevision &&
		a.UpdateRevision == b.UpdateRevision && same(a.Rollout, b.Rollout) &&
		(a.Rollback == nil) == (b.Rollback == nil) && (a.Rebalance == nil) == (b.Rebalance == nil) && sameFailures(a.Failures, b.Failures) && sameFailures(a.CurrentFailures, b.CurrentFailures)
}

// carryOut does what the API server does with a write, unless it fails.
func (w *world) carryOut(d *Decision, a Action) Outcome {
	if !w.calm && w.chance(2) {
		return Outcome{Action: a, Result: Failed, Message: "the API server is busy"}
	}
	if a.Verb == EvictPod && w.guarded > 0 && w.available() <= w.guarded && w.pods[a.Pod].Ready {
		return Outcome{Action: a, Result: Refused, Cause: appsv1.BlockedByDisruptionBudget, Message: "the disruption budget says no"}
	}
	w.watch(w, d, a)
	if b := w.pods[a.Pod]; b != nil && a.Verb != CreatePod {
		w.touch(b, a)
		return Outcome{Action: a, Result: Done}
	}
	switch a.Verb {
	case CreateRevision:
		w.revisions = append(w.revisions, Revision{Name: a.Revision, Number: a.Number})
	case RenumberRevision:
		i := slices.IndexFunc(w.revisions, func(r Revision) bool { return r.Name == a.Revision })
		w.revisions[i].Number = a.Number
	case DeleteRevision:
		w.revisions = slices.DeleteFunc(w.revisions, func(r Revision) bool { return r.Name == a.Revision })
	case CreatePod:
		w.create(a)
	default:
		panic("the world does not know how to " + string(a.Verb) + " " + a.Pod)
	}
	return Outcome{Action: a, Result: Done}
}

func (w *world) create(a Action) {
	w.births++
	b := &body{spec: w.stored[a.Revision], runs: w.stored[a.Revision], Pod: Pod{
		Name: a.Pod, UID: types.UID("pod-" + strconv.Itoa(w.births)), Membership: Member, Slot: a.Slot,
		Surge: a.Surge, Revision: a.Revision, Created: w.now.Truncate(time.Second), Phase: corev1.PodPending,
		Containers: []ContainerMark{{Name: "app"}},
	}}
	if a.Replaces {
		b.Replaces = a.Why.Reason
	}
	if w.gated {
		b.Gate = GateUnset
	}
	if a.Prefer != nil {
		b.RebalancedTo = a.Prefer.String()
	}
	if b.runs.image == brokenImage {
		b.Waiting = "ImagePullBackOff"
	}
	if b.spec.nowhere {
		b.Node, b.NodeState = "nowhere", NodeGone
	}
	w.pods[a.Pod] = b
}

// touch does an action to a pod that is there.
func (w *world) touch(b *body, a Action) {
	switch a.Verb {
	case DeletePod, EvictPod:
		if a.Force {
			delete(w.pods, b.Name)
			return
		}
		w.terminate(b)
	case ShutGate:
		b.Gate = GateShut
	case OpenGate:
		b.Gate = GateOpen
	case ResizePod:
		b.spec.size = w.stored[a.Revision].size
		if b.Resize = ResizeNone; b.spec.size != b.runs.size {
			b.Resize = ResizeInProgress // the kubelet has not answered yet
		}
	case UpdatePod:
		size := b.spec.size
		b.spec, b.Revision = w.stored[a.Revision], a.Revision
		b.spec.size = size
		b.Changing = b.spec.image != b.runs.image
	case KeepPod:
		b.Surge, b.RebalancedTo = false, ""
	case TellHolder:
		b.Wanted = a.Wanted
	default:
		panic("the world does not know how to " + string(a.Verb) + " a pod")
	}
}

// scene classifies the world as the planner would.
func (w *world) scene() *scene {
	o := Observed{Status: w.status}
	for _, b := range w.pods {
		o.Pods = append(o.Pods, b.Pod)
	}
	return newScene(w.desired, o, w.now)
}

// serves is the truth, whatever the planner makes of it: the pod takes traffic
// and nothing is about to stop it.
func (w *world) serves(name string) bool {
	b := w.pods[name]
	return b != nil && !b.Terminating && !b.dead() && b.Ready && b.Gate != GateShut && b.runs.image == b.spec.image
}

// servedFor: it has done so for minReady.
func (w *world) servedFor(name string) bool {
	return w.serves(name) && !w.pods[name].ReadySince.Add(w.desired.MinReady).After(w.now)
}

func (w *world) available() int {
	n := 0
	for name := range w.pods {
		if w.servedFor(name) {
			n++
		}
	}
	return n
}
