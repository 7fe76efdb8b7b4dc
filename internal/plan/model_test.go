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
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// model is a world for the planner: it carries decisions out to the letter and
// lets the kubelets work. Created pods run and become ready by the next step,
// deleted ones are gone by then.
type model struct {
	desired   Desired
	now       time.Time
	pods      map[string]Pod
	foreign   map[string]bool // names of pods outside the fleet
	revisions []Revision
	changes   []Change
	claims    map[string]Claim
	status    appsv1.PodManagerStatus
	// next is the name that a new revision gets.
	next string

	// crashing: whatever is created fails at once; failing are the revisions
	// whose pods do.
	crashing bool
	failing  map[string]bool
	// unready are the revisions whose pods run and never become ready.
	unready map[string]bool
	// refused are the writes that the API server refuses, by verb and slot.
	refused map[refusal]bool
	// keeping: finalizers of others stay on pods that terminate, and nodes put
	// resizes off.
	keeping bool
	// nowhere: new pods name a node that does not exist.
	nowhere bool
	// nodes is what is known of the nodes, and place where a new pod runs.
	nodes *Nodes
	place func(Action) []string
	// gated: pods are created with our readiness gate.
	gated bool
	// rolled: the rollout or a drain has touched a pod.
	rolled bool
	// finalized: our finalizer was taken off.
	finalized bool

	uids  int
	total map[Verb]int
}

// refusal is a kind of write to a slot.
type refusal struct {
	verb Verb
	slot int
}

func newModel(f fleet) *model {
	m := &model{
		desired: f.desired, now: noon(), pods: map[string]Pod{}, foreign: map[string]bool{},
		revisions: slices.Clone(f.observed.Revisions), changes: f.observed.Changes, claims: map[string]Claim{},
		status: *f.observed.Status.DeepCopy(), next: f.observed.NewRevision, total: map[Verb]int{},
		failing: map[string]bool{}, refused: map[refusal]bool{}, keeping: true,
	}
	for _, c := range f.observed.Claims {
		m.claims[c.Name] = c
	}
	for _, p := range f.observed.Pods {
		m.pods[p.Name] = p
	}
	for _, name := range f.observed.HeldNames {
		m.foreign[name] = true
	}
	return m
}

// observed is what the planner sees, in an order that follows from the names.
func (m *model) observed() Observed {
	o := Observed{
		Revisions: slices.Clone(m.revisions), NewRevision: m.next, Status: *m.status.DeepCopy(),
		HeldNames: slices.Sorted(maps.Keys(m.foreign)), Changes: m.changes, Nodes: m.nodes,
	}
	for _, name := range slices.Sorted(maps.Keys(m.claims)) {
		o.Claims = append(o.Claims, m.claims[name])
	}
	for _, name := range slices.Sorted(maps.Keys(m.pods)) {
		o.Pods = append(o.Pods, m.pods[name])
	}
	return o
}

// step lets time pass and the kubelet work, then plans, applies and reports.
func (m *model) step(d time.Duration) Decision {
	m.now = m.now.Add(d)
	m.kubelets()
	return m.pass()
}

func (m *model) pass() Decision {
	seen := m.observed()
	decision := Plan(m.desired, seen, m.now)
	outcomes := make([]Outcome, 0, len(decision.Actions))
	for _, a := range decision.Actions {
		m.rolled = m.rolled || a.Why.Rule == "rollout" || a.Why.Rule == "move" || a.Why.Reason == appsv1.WhyDisruptionSurge ||
			a.Why.Reason == appsv1.WhyRolloutSurge || a.Why.Reason == appsv1.WhySurgeOver
		outcomes = append(outcomes, m.attempt(a, outcomes))
	}
	m.status = stored(Report(m.desired, seen, decision, outcomes, m.now).Status)
	return decision
}

// stored sends a status through the API's encoding, which cuts times to whole
// seconds.
func stored(status appsv1.PodManagerStatus) appsv1.PodManagerStatus {
	raw, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	var back appsv1.PodManagerStatus
	if err := json.Unmarshal(raw, &back); err != nil {
		panic(err)
	}
	return back
}

// attempt carries an action out, unless the API server refuses it or it needs
// what was refused: a pod needs its claims, the rest of a change its beginning,
// and a new pod the room that a deletion makes.
func (m *model) attempt(a Action, before []Outcome) Outcome {
	for _, o := range before {
		sameSlot := o.Action.Slot == a.Slot && a.Slot != NoSlot && (o.Action.Pod == a.Pod || o.Action.Verb == CreateClaim)
		makesRoom := a.Verb == CreatePod && (o.Action.Verb == DeletePod || o.Action.Verb == EvictPod)
		if o.Result == Refused && (sameSlot || makesRoom) {
			return Outcome{Action: a, Result: Skipped}
		}
	}
	if m.refused[refusal{a.Verb, a.Slot}] {
		return Outcome{Action: a, Result: Refused, Cause: appsv1.ReasonPodsRefused, Message: "a policy says no"}
	}
	return m.apply(a)
}

// kubelets lets the kubelets and the holders do all that they have to do.
func (m *model) kubelets() {
	for name, c := range m.claims {
		if c.Terminating && m.occupant(c.Slot) == nil {
			delete(m.claims, name)
		}
	}
	for name, p := range m.pods {
		m.told(&p)
		at := &modelPlace{m, &p}
		if kubelet(&p, at, m.now) || p.Ended && !at.lingers() { // the API server waits for no kubelet
			delete(m.pods, name)
			continue
		}
		m.pods[name] = p
	}
}

// told: the holder of a pod lets go of it when it is told.
func (m *model) told(p *Pod) {
	if p.Terminating {
		return
	}
	switch p.Wanted {
	case wantDelete:
		p.HoldDelete = nil
	case wantUpdate:
		p.HoldUpdate = nil
	}
}

// occupant is the pod in a slot.
func (m *model) occupant(slot int) *Pod {
	for _, p := range m.pods {
		if p.Slot == slot && slot != NoSlot {
			return &p
		}
	}
	return nil
}

// lacksClaim: a claim that the pod's spec names does not exist, so the pod cannot
// be scheduled.
func (m *model) lacksClaim(p *Pod) bool {
	return slices.ContainsFunc(m.desired.Claims.Templates, func(template string) bool {
		_, exists := m.claims[ClaimName(template, p.Name)]
		return p.Membership == Member && !exists
	})
}

// modelPlace is where a pod of the model is.
type modelPlace struct {
	m *model
	p *Pod
}

func (at *modelPlace) down() bool    { return false }
func (at *modelPlace) lingers() bool { return at.p.KeptBy != "" && at.m.keeping }
func (at *modelPlace) unplaced() bool {
	return at.p.Phase == corev1.PodPending && at.m.lacksClaim(at.p)
}
func (at *modelPlace) fails() bool { return at.m.crashing || at.m.failing[at.p.Revision] }

func (at *modelPlace) runs() bool {
	p := at.p
	p.Phase, p.Changing = corev1.PodRunning, false
	if p.Resize == ResizeInProgress || p.Resize == ResizeDeferred && !at.m.keeping {
		p.Resize = ResizeNone
	}
	if p.Node == "" {
		p.Node = "node-" + strconv.Itoa(len(at.m.pods)%3)
	}
	return !at.m.unready[p.Revision]
}

// apply carries out one action as the API server would have it.
func (m *model) apply(a Action) Outcome {
	o := Outcome{Action: a, Result: Done}
	m.total[a.Verb]++
	p, exists := m.pods[a.Pod]
	if a.Pod != "" && a.UID != "" && p.UID != a.UID {
		panic(fmt.Sprintf("%s of pod %q with uid %q, but it has %q", a.Verb, a.Pod, a.UID, p.UID))
	}
	switch a.Verb {
	case AddFinalizer:
		m.desired.Finalizer = FinalizerPresent
	case RemoveFinalizer:
		m.desired.Finalizer, m.finalized = FinalizerMissing, true
	case CreateRevision:
		m.revisions = append(m.revisions, Revision{Name: a.Revision, Number: a.Number, Equal: true})
	case RenumberRevision:
		i := slices.IndexFunc(m.revisions, func(r Revision) bool { return r.Name == a.Revision })
		m.revisions[i].Number = a.Number
	case DeleteRevision:
		m.revisions = slices.DeleteFunc(m.revisions, func(r Revision) bool { return r.Name == a.Revision })
	case AdoptPod:
		p.Membership = Member
		m.pods[a.Pod] = p
	case ReleasePod:
		delete(m.pods, a.Pod)
		m.foreign[a.Pod] = true
	case OrphanPod:
		delete(m.pods, a.Pod)
	case OpenGate:
		p.Gate = GateOpen
		m.pods[a.Pod] = p
	case ShutGate:
		p.Gate = GateShut
		m.pods[a.Pod] = p
	case ResizePod:
		p.Resize, p.ResizeSince, p.SizeOf = ResizeInProgress, m.now, a.Revision
		if a.Revision == p.Revision {
			p.SizeOf = ""
		}
		m.pods[a.Pod] = p
	case UpdatePod:
		p.Revision, p.Changing = a.Revision, len(a.Replaced) > 0
		if p.SizeOf == a.Revision {
			p.SizeOf = ""
		}
		m.pods[a.Pod] = p
	case KeepPod:
		p.Surge, p.RebalancedTo = false, ""
		m.pods[a.Pod] = p
	case TellHolder:
		p.Wanted = a.Wanted
		m.pods[a.Pod] = p
	case CreateClaim:
		m.claims[a.Claim] = Claim{Name: a.Claim, UID: types.UID(a.Claim), Slot: a.Slot, Owner: m.desired.UID, Surge: a.Surge}
	case CondemnClaim:
		if c, there := m.claims[a.Claim]; there {
			c.CondemnedBy = m.desired.UID
			m.claims[a.Claim] = c
		}
	case AdoptClaim:
		c := m.claims[a.Claim]
		c.Owner, c.CondemnedBy, c.Surge = m.desired.UID, "", false
		m.claims[a.Claim] = c
	case DeleteClaim:
		c := m.claims[a.Claim]
		if c.UID != a.UID {
			panic(fmt.Sprintf("DeleteClaim of %q with uid %q, but it has %q", a.Claim, a.UID, c.UID))
		}
		c.Terminating = true
		m.claims[a.Claim] = c
	case DeletePod, EvictPod:
		if a.Force {
			if p.Ended = true; p.Terminating && (&modelPlace{m, &p}).lingers() {
				m.pods[a.Pod] = p
			} else {
				delete(m.pods, a.Pod)
			}
			break
		}
		p.Terminating, p.DeletedAt = true, m.now
		m.pods[a.Pod] = p
	case CreatePod:
		if exists || m.foreign[a.Pod] {
			return Outcome{Action: a, Result: Refused, Cause: appsv1.ReasonNameTaken, Message: a.Pod + " exists"}
		}
		m.uids++
		gate, node, state := GateNone, "", NodePresent
		if m.gated {
			gate = GateUnset
		}
		if m.nowhere {
			node, state = "node-nowhere", NodeGone
		}
		made := Pod{
			Gate: gate, Containers: []ContainerMark{{Name: "app", ContainerID: "c-" + strconv.Itoa(m.uids)}},
			Name: a.Pod, UID: types.UID("made-" + strconv.Itoa(m.uids)), ResourceVersion: "1", Membership: Member,
			Slot: a.Slot, Surge: a.Surge, Revision: a.Revision, Created: m.now, Phase: corev1.PodPending,
			Node: node, NodeState: state,
		}
		if m.place != nil {
			made.Domains = m.place(a)
			made.Node = "node-" + strings.Join(made.Domains, "-")
		}
		if a.Prefer != nil {
			made.RebalancedTo = a.Prefer.String()
		}
		m.pods[a.Pod] = made
	default:
		panic("the model does not know the verb " + string(a.Verb))
	}
	return o
}
