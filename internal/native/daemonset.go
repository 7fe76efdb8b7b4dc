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
	"fmt"
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DaemonSet foresees a change of a DaemonSet. live is nil where it is new.
func DaemonSet(live, changed *kappsv1.DaemonSet, w World) Plan {
	p := newPlan()
	if live != nil && live.DeletionTimestamp != nil {
		p.warn(BeingDeleted, "the DaemonSet is being deleted: its controller does nothing more")
		return p
	}
	if missing(&p, w, Pods) || live != nil && missing(&p, w, Revisions) {
		return p
	}
	m := newDaemons(&p, live, changed, w)
	m.play()
	m.tell()
	m.notes(live)
	var uids []types.UID
	if live != nil {
		uids = []types.UID{live.UID}
	}
	surround(&p, w, &subject{
		kind: "DaemonSet", meta: &changed.ObjectMeta, selector: changed.Spec.Selector, template: &changed.Spec.Template,
		peak: max(0, p.MostPods-m.before), minReady: changed.Spec.MinReadySeconds, own: uids,
	})
	return p
}

// newDaemons sorts the pods by their nodes.
func newDaemons(p *Plan, live, changed *kappsv1.DaemonSet, w World) *daemons {
	m := &daemons{plan: p, set: changed, w: w, places: map[string]*place{}}
	m.onDelete = changed.Spec.UpdateStrategy.Type == kappsv1.OnDeleteDaemonSetStrategyType
	_, nodesUnread := w.Unread[Nodes]
	for i := range w.Nodes {
		at := &place{node: w.Nodes[i].Name}
		at.should, at.stays = m.fits(&w.Nodes[i])
		m.places[at.node] = at
	}
	if live != nil {
		m.read(live, nodesUnread)
	}
	if nodesUnread {
		p.unknown("which nodes match, and so which gain or lose a pod: the nodes could not be read: %s", w.Unread[Nodes])
	}
	for _, at := range m.places {
		if at.should {
			p.Replicas++
		}
	}
	if rolling := changed.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		m.surge, m.most = scaled(rolling.MaxSurge, p.Replicas, true), scaled(rolling.MaxUnavailable, p.Replicas, true)
	}
	if m.surge == 0 && m.most == 0 {
		m.most = 1
	}
	p.Available = m.available()
	p.FewestAvailable, p.MostPods, m.before = p.Available, m.count(), m.count()
	return m
}

// read takes in the pods that are there.
func (m *daemons) read(live *kappsv1.DaemonSet, nodesUnread bool) {
	rev := revisionOf(m.w.Revisions, live.UID, &m.set.Spec.Template)
	m.underWay = live.Status.UpdatedNumberScheduled < live.Status.CurrentNumberScheduled
	found := map[*place][]*daemon{}
	for _, pod := range owned(m.w.Pods, live.UID) {
		node := nodeOf(pod)
		if pod.DeletionTimestamp != nil || node == "" {
			continue
		}
		at := m.places[node]
		if at == nil {
			at = &place{node: node, should: nodesUnread, stays: nodesUnread}
			m.places[node] = at
		}
		found[at] = append(found[at], &daemon{
			pod: pod, fresh: m.fresh(pod, rev), ready: settled(pod), available: available(pod, m.set.Spec.MinReadySeconds, m.w.Now), ended: ended(pod),
		})
	}
	for at, list := range found {
		at.sort(list, m.set.Spec.UpdateStrategy.RollingUpdate != nil && scaled(m.set.Spec.UpdateStrategy.RollingUpdate.MaxSurge, 1, true) > 0)
	}
}

// fresh: the pod has the template asked for, by the hash of its revision or by the
// number of the template.
func (m *daemons) fresh(pod *corev1.Pod, rev *kappsv1.ControllerRevision) bool {
	generation := m.set.Annotations[kappsv1.DeprecatedTemplateGeneration]
	if generation != "" && pod.Labels["pod-template-generation"] == generation {
		return true
	}
	hash := pod.Labels[kappsv1.ControllerRevisionHashLabelKey]
	return rev != nil && hash != "" && hash == rev.Labels[kappsv1.ControllerRevisionHashLabelKey]
}

// nodeOf is a pod's node, or the one for which it is made.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// notes says what stops the rollout, and what is assumed.
func (m *daemons) notes(live *kappsv1.DaemonSet) {
	p := m.plan
	stale := 0
	for _, at := range m.places {
		if at.old != nil && at.old.pod != nil {
			stale++
		}
	}
	if stale > 0 && m.onDelete {
		p.add(Step{What: Held, Count: stale, Reason: OnDelete, Why: "updateStrategy OnDelete: a pod gets the new template when it is deleted"})
	}
	if stale > 0 && !m.onDelete {
		p.add(Step{What: Held, Count: stale, Reason: PodNotReady, Why: "pods of the new template are not available, and no more may be unavailable"})
	}
	if live != nil && m.underWay {
		p.warn(RolloutUnderWay, "a rollout is already under way")
	}
	p.assume(m.assumed)
	if p.MayStop = m.waitsByTimer(); p.MayStop {
		p.unknown("whether the rollout goes on by itself: with maxSurge and minReadySeconds the controller waits for each new pod " +
			"by a timer that an error may take away, and then until one of its pods or nodes changes")
	}
	if m.unordered {
		p.unknown("which node is next: the controller takes the nodes in no defined order, %s at a time", countPods(m.pace()))
	}
}

// waitsByTimer: old pods go when new ones have been ready for minReadySeconds. The controller
// has one timer for all it waits for, a retry replaces it, and its status, which would set
// it again, counts the older pod of a node alone.
func (m *daemons) waitsByTimer() bool {
	return m.surge > 0 && m.set.Spec.MinReadySeconds > 0 && slices.ContainsFunc(m.plan.Steps, func(s Step) bool { return s.Reason == NewTemplate && s.What != Held })
}

// pace is how many pods change at a time.
func (m *daemons) pace() int {
	if m.surge > 0 {
		return m.surge
	}
	return m.most
}

// tell puts the steps in order and says which pods stay.
func (m *daemons) tell() {
	p := m.plan
	for _, at := range m.places {
		for _, d := range []*daemon{at.old, at.fresh} {
			if d != nil && d.pod != nil {
				p.Stay = append(p.Stay, d.pod.Name)
			}
		}
	}
	slices.Sort(p.Stay)
	p.Waves, p.Starts = m.wave-1, m.starts
	if m.unordered && m.surge == 0 { // the last nodes may be those that keep their pods
		p.FewestAvailable = min(p.FewestAvailable, max(0, p.Replicas-m.most))
	}
}

func (m *daemons) because(d *daemon, node string) string {
	if !d.available {
		return fmt.Sprintf("on node %s; not available, so it does not wait for its turn", node)
	}
	return fmt.Sprintf("on node %s", node)
}
