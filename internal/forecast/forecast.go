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

// Package forecast plays a fleet forward with the planner itself: what a change
// would do, before it is applied.
package forecast

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// Forecast is what a fleet would go through if every write worked and every
// kubelet did at once what it was told.
type Forecast struct {
	// First is the decision of the first pass: what happens at once.
	First plan.Decision `json:"first"`
	// Actions are all actions, in the order in which they would be taken.
	Actions []plan.Action `json:"actions,omitempty"`
	// Blocked is what is still held back when nothing moves any more.
	Blocked []plan.Blocked `json:"blocked,omitempty"`
	// Passes is how many passes it took; Complete is false when it was cut
	// off before the fleet came to rest.
	Passes   int  `json:"passes"`
	Complete bool `json:"complete"`
}

// Run is a forecast with its passes, each of which begins when the pods of the
// one before are available.
type Run struct {
	Forecast
	Passes [][]plan.Action
}

// Of is the forecast of Play.
func Of(desired plan.Desired, observed plan.Observed, now time.Time) Forecast {
	return Play(desired, observed, now).Forecast
}

// Play plays the fleet forward until it rests: it plans, does what was
// planned to a model of the fleet, and plans again. It is pure like Plan, and
// it is Plan: the forecast and the controller cannot differ in what they would
// do, only in what the world does meanwhile.
func Play(desired plan.Desired, observed plan.Observed, now time.Time) Run {
	// Each pass moves at least one pod one step, and no pod needs more than
	// a handful of steps.
	return Within(8*(len(observed.Pods)+desired.Replicas)+16, desired, observed, now)
}

// Within is Play, cut off after so many passes.
func Within(limit int, desired plan.Desired, observed plan.Observed, now time.Time) Run {
	m := rehearsal{desired: desired, observed: observed, now: now}
	m.observed.Pods = slices.Clone(observed.Pods)
	m.observed.Revisions = slices.Clone(observed.Revisions)
	m.observed.Claims = slices.Clone(observed.Claims)
	f := Run{}
	for range limit {
		decision := plan.Plan(m.desired, m.observed, m.now)
		if len(f.Passes) == 0 {
			f.First = decision
		}
		f.Blocked = decision.Blocked
		if len(decision.Actions) == 0 {
			f.Complete = true
			break
		}
		f.Actions = append(f.Actions, decision.Actions...)
		f.Passes = append(f.Passes, decision.Actions)
		m.carryOut(decision)
	}
	f.Forecast.Passes = len(f.Passes)
	return f
}

// Settled is a fleet after what is under way now: pods that need only time are
// available, and those that terminate are gone. A forecast that begins there shows
// what a rollout has still to do, and not only that it waits.
//
// The time is that which ready pods still need to be available.
func Settled(desired plan.Desired, observed plan.Observed, now time.Time) (plan.Observed, time.Duration) {
	m := rehearsal{desired: desired, now: now}
	var left time.Duration
	pods := slices.DeleteFunc(slices.Clone(observed.Pods), func(p plan.Pod) bool { return p.Terminating })
	for i := range pods {
		p := &pods[i]
		ended := p.Phase == corev1.PodFailed || p.Phase == corev1.PodSucceeded
		if ended || p.NodeState != plan.NodePresent || p.NodeDown || p.Waiting != "" {
			continue
		}
		switch {
		case p.Ready && !p.Changing:
			left = max(left, desired.MinReady-now.Sub(p.ReadySince))
		default:
			left = max(left, desired.MinReady)
		}
		p.Phase, p.Changing, p.SettlesAt = corev1.PodRunning, false, time.Time{}
		m.serve(p)
	}
	observed.Pods = pods
	return observed, left
}

// rehearsal is the fleet that Of plays with.
type rehearsal struct {
	desired  plan.Desired
	observed plan.Observed
	now      time.Time
	births   int
}

// carryOut does what was decided and lets the kubelets follow.
func (m *rehearsal) carryOut(decision plan.Decision) {
	m.now = m.now.Add(time.Second)
	outcomes := make([]plan.Outcome, len(decision.Actions))
	places := make(map[string]int, len(m.observed.Pods))
	for i := range m.observed.Pods {
		places[m.observed.Pods[i].Name] = i
	}
	gone := map[string]bool{}
	for i, action := range decision.Actions {
		outcomes[i] = plan.Outcome{Action: action, Result: plan.Done}
		if at, ok := places[action.Pod]; ok && action.Verb != plan.CreatePod {
			if m.touch(&m.observed.Pods[at], action) {
				gone[action.Pod] = true
			}
			continue
		}
		m.do(action)
	}
	m.observed.Pods = slices.DeleteFunc(m.observed.Pods, func(p plan.Pod) bool { return gone[p.Name] || p.Terminating })
	m.observed.Status = report.Report(m.desired, m.observed, decision, outcomes, m.now).Status
}

// touch applies an action to a pod and reports whether the pod is gone then.
func (m *rehearsal) touch(p *plan.Pod, action plan.Action) (gone bool) {
	switch action.Verb {
	case plan.DeletePod, plan.EvictPod, plan.ReleasePod, plan.OrphanPod:
		return true
	case plan.AdoptPod:
		p.Membership = plan.Member
	case plan.UpdatePod:
		p.Revision, p.Changing, p.SettlesAt = action.Revision, false, time.Time{}
		m.serve(p)
	case plan.ResizePod:
		p.Resize, p.SizeOf = plan.ResizeNone, "" // the label follows at once
	case plan.ShutGate:
		p.Gate, p.Ready = plan.GateShut, false
	case plan.OpenGate:
		p.Gate = plan.GateOpen
		m.serve(p)
	case plan.KeepPod:
		p.Surge, p.RebalancedTo = false, ""
	case plan.TellHolder:
		p.Wanted = action.Wanted
	}
	return false
}

// serve makes a pod ready, for long enough to be available.
func (m *rehearsal) serve(p *plan.Pod) {
	p.Ready = p.Gate == plan.GateNone || p.Gate == plan.GateOpen
	p.ReadySince = m.now.Add(-m.desired.MinReady)
}

// do carries out an action that concerns no existing pod.
func (m *rehearsal) do(action plan.Action) {
	switch action.Verb {
	case plan.AddFinalizer:
		m.desired.Finalizer = plan.FinalizerPresent
	case plan.RemoveFinalizer:
		m.desired.Finalizer = plan.FinalizerUnused
	case plan.CreateRevision:
		m.observed.Revisions = append(m.observed.Revisions, plan.Revision{Name: action.Revision, Number: action.Number, Equal: true})
	case plan.RenumberRevision:
		for i := range m.observed.Revisions {
			if m.observed.Revisions[i].Name == action.Revision {
				m.observed.Revisions[i].Number = action.Number
			}
		}
	case plan.DeleteRevision:
		m.observed.Revisions = slices.DeleteFunc(m.observed.Revisions, func(r plan.Revision) bool { return r.Name == action.Revision })
	case plan.CreateClaim:
		m.observed.Claims = append(m.observed.Claims, plan.Claim{
			Name: action.Claim, Slot: action.Slot, Owner: m.desired.UID, Surge: action.Surge,
		})
	case plan.CondemnClaim:
		m.changeClaim(action, func(c *plan.Claim) { c.CondemnedBy = m.desired.UID })
	case plan.AdoptClaim:
		m.changeClaim(action, func(c *plan.Claim) { c.Owner, c.CondemnedBy, c.Surge = m.desired.UID, "", false })
	case plan.DeleteClaim:
		m.observed.Claims = slices.DeleteFunc(m.observed.Claims, func(c plan.Claim) bool { return c.Name == action.Claim })
	case plan.CreatePod:
		m.births++
		p := plan.Pod{
			Name: action.Pod, UID: types.UID("forecast-" + strconv.Itoa(m.births)), Membership: plan.Member, Slot: action.Slot,
			Revision: action.Revision, Created: m.now, Phase: corev1.PodRunning, Node: "forecast", Surge: action.Surge,
		}
		if action.Replaces {
			p.Replaces = action.Why.Reason
		}
		m.settle(&p, action.Prefer)
		m.serve(&p)
		m.observed.Pods = append(m.observed.Pods, p)
	}
}

// settle puts a new pod where the planner would have it. Without a wish the
// scheduler decides, which is not foreseen.
func (m *rehearsal) settle(p *plan.Pod, wish *plan.Place) {
	if wish == nil {
		return
	}
	p.RebalancedTo = wish.String()
	p.Domains = make([]string, len(m.desired.Disruption.Spread))
	for i, s := range m.desired.Disruption.Spread {
		if s.Key == wish.Key {
			p.Domains[i] = wish.Value
		}
	}
}

func (m *rehearsal) changeClaim(action plan.Action, change func(*plan.Claim)) {
	for i := range m.observed.Claims {
		if m.observed.Claims[i].Name == action.Claim {
			change(&m.observed.Claims[i])
		}
	}
}
