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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// model is a world for the planner: it carries decisions out to the letter and
// plays the kubelet. Created pods run and become ready by the next step,
// deleted ones are gone by then.
type model struct {
	desired   Desired
	now       time.Time
	pods      map[string]Pod
	foreign   map[string]bool // names of pods that are nobody's
	revisions []Revision
	changes   []Change
	claims    map[string]Claim
	status    appsv1.PodManagerStatus

	// crashing: whatever is created fails at once.
	crashing bool
	// gated: pods are created with our readiness gate.
	gated bool
	// rolled: the rollout has touched a pod.
	rolled bool
	// finalized: our finalizer was taken off.
	finalized bool

	uids  int
	total map[Verb]int
}

func newModel(f fleet) *model {
	m := &model{
		desired: f.desired, now: noon(), pods: map[string]Pod{}, foreign: map[string]bool{},
		revisions: slices.Clone(f.observed.Revisions), changes: f.observed.Changes, claims: map[string]Claim{},
		status: *f.observed.Status.DeepCopy(), total: map[Verb]int{},
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
		Revisions: slices.Clone(m.revisions), NewRevision: "web-next", Status: *m.status.DeepCopy(),
		HeldNames: slices.Sorted(maps.Keys(m.foreign)), Changes: m.changes,
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
	m.kubelet()
	return m.pass()
}

func (m *model) pass() Decision {
	seen := m.observed()
	decision := Plan(m.desired, seen, m.now)
	outcomes := make([]Outcome, 0, len(decision.Actions))
	for _, a := range decision.Actions {
		m.rolled = m.rolled || a.Why.Rule == "rollout" || a.Why.Reason == appsv1.WhyRolloutSurge || a.Why.Reason == appsv1.WhySurgeOver
		outcomes = append(outcomes, m.apply(a))
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

func (m *model) kubelet() {
	for name, p := range m.pods {
		switch {
		case p.NodeState != NodePresent && p.Terminating && p.Membership == Orphan:
			delete(m.pods, name) // Kubernetes' own pod garbage collector
			continue
		case p.NodeState != NodePresent:
			continue // nobody is there to do anything
		case p.Terminating:
			delete(m.pods, name)
			continue
		case p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded:
			continue
		case m.crashing:
			p.Phase, p.Ready, p.FailedAt = corev1.PodFailed, false, m.now.Truncate(time.Second)
		default:
			m.run(&p)
		}
		m.pods[name] = p
	}
}

// run is what the kubelet does for a pod that lives, and what its holder does
// when it is told.
func (m *model) run(p *Pod) {
	p.Phase, p.Changing = corev1.PodRunning, false
	if p.Resize == ResizeInProgress {
		p.Resize = ResizeNone
	}
	if p.Node == "" {
		p.Node = "node-" + strconv.Itoa(len(m.pods)%3)
	}
	inService := p.Gate == GateNone || p.Gate == GateOpen
	if inService && !p.Ready {
		p.ReadySince = m.now
	}
	p.Ready = inService
	switch p.Wanted {
	case wantDelete:
		p.HoldDelete = nil
	case wantUpdate:
		p.HoldUpdate = nil
	}
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
		p.Resize, p.ResizeSince = ResizeInProgress, m.now
		m.pods[a.Pod] = p
	case UpdatePod:
		p.Revision, p.Changing = a.Revision, len(a.Replaced) > 0
		m.pods[a.Pod] = p
	case TellHolder:
		p.Wanted = a.Wanted
		m.pods[a.Pod] = p
	case CreateClaim:
		m.claims[a.Claim] = Claim{Name: a.Claim, UID: types.UID(a.Claim), Slot: a.Slot}
	case DeleteClaim:
		delete(m.claims, a.Claim)
	case DeletePod, EvictPod:
		if a.Force {
			delete(m.pods, a.Pod)
			break
		}
		p.Terminating, p.DeletedAt = true, m.now
		m.pods[a.Pod] = p
	case CreatePod:
		if exists || m.foreign[a.Pod] {
			return Outcome{Action: a, Result: Refused, Cause: appsv1.ReasonNameTaken, Message: a.Pod + " exists"}
		}
		m.uids++
		gate := GateNone
		if m.gated {
			gate = GateUnset
		}
		m.pods[a.Pod] = Pod{
			Gate: gate, Containers: []ContainerMark{{Name: "app", ContainerID: "c-" + strconv.Itoa(m.uids)}},
			Name: a.Pod, UID: types.UID("made-" + strconv.Itoa(m.uids)), ResourceVersion: "1", Membership: Member,
			Slot: a.Slot, Surge: a.Surge, Revision: a.Revision, Created: m.now, Phase: corev1.PodPending,
		}
	default:
		panic("the model does not know the verb " + string(a.Verb))
	}
	return o
}
