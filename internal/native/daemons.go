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

package native

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// daemons plays a DaemonSet forward. Every node that matches has a pod; the pods of an
// old template are replaced, those that are not available at once and the others as far
// as maxUnavailable or maxSurge allows, in no defined order.
type daemons struct {
	plan   *Plan
	set    *kappsv1.DaemonSet
	w      World
	places map[string]*place

	surge, most        int
	onDelete, underWay bool
	before             int
	wave, starts       int
	came               int
	removed            bool
	unordered          bool
	assumed            int
}

// place is a node with its pods: one of an old template and one of the new.
type place struct {
	node string
	// should: the node gets a pod. stays: a pod that is there may stay.
	should, stays bool
	old, fresh    *daemon
	// extra are pods beyond those.
	extra []*daemon
	// replaced: the pod that comes takes the place of one that went.
	replaced bool
}

type daemon struct {
	pod                            *corev1.Pod
	fresh, ready, available, ended bool
}

// sort takes in the pods of a node. Of several the oldest one stays, in a rollout with a
// surge the oldest of each template; those that are bound to the node come first.
func (at *place) sort(found []*daemon, surging bool) {
	slices.SortFunc(found, func(a, b *daemon) int {
		return cmp.Or(
			cmp.Compare(b.pod.Spec.NodeName, a.pod.Spec.NodeName), a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.pod.Name, b.pod.Name),
		)
	})
	for _, d := range found {
		into := &at.old
		if d.fresh {
			into = &at.fresh
		}
		if *into != nil || !surging && (at.old != nil || at.fresh != nil) {
			at.extra = append(at.extra, d)
			continue
		}
		*into = d
	}
}

// daemonTolerations are those that the controller gives every pod.
func (m *daemons) daemonTolerations() []corev1.Toleration {
	with := slices.Clone(m.set.Spec.Template.Spec.Tolerations)
	add := func(key string, effect corev1.TaintEffect) {
		with = append(with, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if m.set.Spec.Template.Spec.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return with
}

// fits reports whether a node gets a pod, and whether a pod that it has may stay.
func (m *daemons) fits(node *corev1.Node) (should, stays bool) {
	spec := &m.set.Spec.Template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name {
		return false, false
	}
	match, err := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity).Match(node)
	if err != nil || !match {
		return false, false
	}
	tolerations := m.daemonTolerations()
	untolerated := func(effects ...corev1.TaintEffect) bool {
		_, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, tolerations, func(t *corev1.Taint) bool {
			return slices.Contains(effects, t.Effect)
		}, true)
		return found
	}
	if untolerated(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute) {
		return false, !untolerated(corev1.TaintEffectNoExecute)
	}
	return true, true
}

// play goes wave by wave, until nothing happens any more.
func (m *daemons) play() {
	for m.wave = 1; ; {
		m.came = 0
		acted, before := false, m.count()
		for m.sync() {
			acted = true
			m.plan.seen(m.available(), m.count())
		}
		m.plan.overlapped(before, m.came)
		if m.came > 0 {
			m.starts++
		}
		settled := m.settle()
		if acted {
			m.wave++
		}
		if !settled {
			return
		}
	}
}

// sorted are the places by the names of their nodes.
func (m *daemons) sorted() []*place {
	var all []*place
	for _, node := range slices.Sorted(maps.Keys(m.places)) {
		all = append(all, m.places[node])
	}
	return all
}

// sync is one pass of the controller; it reports whether it changed something.
func (m *daemons) sync() bool {
	changed := false
	for _, at := range m.sorted() {
		changed = m.manage(at) || changed
	}
	switch {
	case m.onDelete:
		return changed
	case m.surge > 0:
		return m.rollSurging() || changed
	}
	return m.roll() || changed
}

// manage gives a node its pod, or takes it away.
func (m *daemons) manage(at *place) bool {
	for i := range at.extra {
		m.remove(at, &at.extra[i], Deleted, NodeExcluded, fmt.Sprintf("node %s has another", at.node))
	}
	if at.extra != nil {
		at.extra, at.replaced = nil, false
		return true
	}
	if !at.stays {
		gone := at.old != nil || at.fresh != nil
		why := fmt.Sprintf("node %s does not match any more", at.node)
		m.remove(at, &at.old, Deleted, NodeExcluded, why)
		m.remove(at, &at.fresh, Deleted, NodeExcluded, why)
		return gone
	}
	for _, d := range []**daemon{&at.old, &at.fresh} {
		if *d != nil && (*d).ended {
			m.remove(at, d, m.outcome(at), PodEnded, fmt.Sprintf("on node %s, and has ended", at.node))
			return true
		}
	}
	switch {
	case at.old == nil && at.fresh == nil && at.should:
		m.create(at)
		return true
	case m.surge > 0 && at.old != nil && at.fresh != nil && (!at.old.ready || at.fresh.available):
		what := Replaced
		if at.fresh.pod != nil { // its successor is there already
			what = Deleted
		}
		m.remove(at, &at.old, what, NewTemplate, m.because(at.old, at.node))
		return true
	}
	return false
}

// outcome: a pod on a node that is to have one is replaced.
func (m *daemons) outcome(at *place) string {
	if at.should {
		return Replaced
	}
	return Deleted
}

func (m *daemons) create(at *place) {
	at.fresh = &daemon{}
	m.came++
	if !at.replaced && at.old == nil {
		m.plan.add(Step{Wave: m.wave, What: Created, Count: 1, Reason: NodeMatches, Why: fmt.Sprintf("on node %s", at.node)})
	}
	at.replaced = false
}

// roll deletes pods of the old template: those that are not available, and as many
// others as may be unavailable.
func (m *daemons) roll() bool {
	unavailable := 0
	var broken, candidates []*place
	for _, at := range m.sorted() {
		switch {
		case !at.should && at.old == nil && at.fresh == nil:
		case at.old == nil:
			if at.fresh == nil || !at.fresh.available {
				unavailable++
			}
		case at.fresh != nil:
			unavailable++
		case !at.old.available:
			unavailable++
			broken = append(broken, at)
		default:
			candidates = append(candidates, at)
		}
	}
	room := min(max(0, m.most-unavailable), len(candidates))
	for _, at := range broken {
		m.replace(at, true)
	}
	defined := room == len(candidates)
	for _, at := range candidates[:room] {
		m.replace(at, defined && !m.unordered)
	}
	return len(broken)+room > 0
}

// replace deletes the old pod of a node.
func (m *daemons) replace(at *place, defined bool) {
	why := m.because(at.old, at.node)
	wave := m.wave
	if !defined {
		m.wave, m.unordered = 0, true
	}
	m.remove(at, &at.old, m.outcome(at), NewTemplate, why)
	m.wave = wave
}

// rollSurging makes new pods beside the old ones, which go when those are available.
func (m *daemons) rollSurging() bool {
	surging, have := 0, 0
	var candidates, excluded []*place
	changed := false
	for _, at := range m.sorted() {
		if d := at.old; d != nil && d.available || d == nil && at.fresh != nil && at.fresh.available {
			have++
		}
		switch {
		case at.old == nil:
		case at.fresh != nil:
			surging++ // manage takes the old pod when the new one is available
		case !at.old.available && !at.should:
			m.remove(at, &at.old, Deleted, NodeExcluded, fmt.Sprintf("node %s does not match any more", at.node))
			changed = true
		case !at.old.available:
			m.create(at)
			changed = true
		case !at.should:
			excluded = append(excluded, at)
		default:
			candidates = append(candidates, at)
		}
	}
	for _, at := range excluded[:min(len(excluded), max(0, have-m.plan.Replicas))] {
		m.remove(at, &at.old, Deleted, NodeExcluded, fmt.Sprintf("node %s does not match any more", at.node))
		changed = true
	}
	room := min(max(0, m.surge-surging), len(candidates))
	m.unordered = m.unordered || room < len(candidates)
	for _, at := range candidates[:room] {
		m.create(at)
		changed = true
	}
	return changed
}

// remove takes a pod away.
func (m *daemons) remove(at *place, d **daemon, what, reason, why string) {
	if *d == nil {
		return
	}
	wave := m.wave
	if m.surge > 0 && m.unordered && reason == NewTemplate {
		wave = 0
	}
	if (*d).pod != nil {
		m.plan.add(Step{Wave: wave, What: what, Pod: (*d).pod.Name, Reason: reason, Why: why})
		at.replaced = what == Replaced
	}
	*d, m.removed = nil, true
}

// settle ends a wave: what came is available. It reports whether that changed
// anything.
func (m *daemons) settle() bool {
	changed := m.removed
	m.removed = false
	for _, at := range m.places {
		for _, d := range []*daemon{at.old, at.fresh} {
			switch {
			case d == nil || d.available || d.ended:
			case d.pod == nil || d.ready:
				d.available, d.ready, changed = true, true, true
			case d == at.fresh && m.underWay:
				d.available, d.ready, changed = true, true, true
				m.assumed++
			}
		}
	}
	return changed
}

func (m *daemons) available() int {
	n := 0
	for _, at := range m.places {
		for _, d := range append(at.extra, at.old, at.fresh) {
			if d != nil && d.available {
				n++
			}
		}
	}
	return n
}

func (m *daemons) count() int {
	n := 0
	for _, at := range m.places {
		for _, d := range append(at.extra, at.old, at.fresh) {
			if d != nil && !d.ended {
				n++
			}
		}
	}
	return n
}
