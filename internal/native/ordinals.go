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
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// ordinals plays a StatefulSet forward. First every ordinal gets its pod, then those
// beyond the last one go, and then the pods of an old template are replaced, from the
// highest ordinal down to the partition. With OrderedReady each of these waits for
// every pod to be available, and a pod that is not blocks all that comes later.
type ordinals struct {
	plan *Plan
	set  *kappsv1.StatefulSet
	w    World

	start, end, partition int
	// most is how many pods may be unavailable in an update.
	most              int
	ordered, onDelete bool
	underWay          bool
	pods              map[int]*ordinal
	// before is how many pods there were.
	before  int
	wave    int
	starts  int
	came    bool
	removed bool
	// leaves: a pod beyond the last ordinal goes, and the next one waits for it.
	leaves bool
	// stuck is the pod that blocks the rollout in the end.
	stuck string
	// assumed are pods that are not ready and assumed to become so.
	assumed int
}

// ordinal is a place with its pod.
type ordinal struct {
	pod  *corev1.Pod
	name string
	at   int
	// old: its template is not the one asked for.
	old, ready, available, ended, leaving bool
}

// play goes wave by wave, until nothing happens any more.
func (m *ordinals) play() {
	for m.wave = 1; ; {
		m.came = false
		acted := false
		for m.sync() {
			acted = true
			m.plan.seen(m.available(), m.live())
		}
		if m.came {
			m.starts++
		}
		settled := m.settle()
		if acted {
			m.wave++
		}
		if !settled {
			m.plan.Starts = m.starts
			m.stuck = m.blocker()
			return
		}
	}
}

// sync is one pass of the controller; it reports whether it changed something.
func (m *ordinals) sync() bool {
	if m.leaves {
		return false
	}
	changed, wait := m.fill()
	if wait || changed && m.ordered {
		return changed
	}
	gone, wait := m.condemn()
	if wait {
		return changed || gone
	}
	return m.update() || changed || gone
}

// fill gives every ordinal its pod.
func (m *ordinals) fill() (changed, wait bool) {
	for at := m.start; at < m.end; at++ {
		o := m.pods[at]
		switch {
		case o != nil && o.ended && !o.leaving:
			m.remove(o, Replaced, PodEnded, "the pod has ended")
			return true, true
		case o == nil:
			m.create(at)
			changed = true
			if m.ordered {
				return true, true
			}
		case m.ordered && (o.leaving || !o.available):
			return changed, true
		}
	}
	return changed, false
}

// create makes a pod: of the present template below the partition, of the new one
// otherwise.
func (m *ordinals) create(at int) {
	name := fmt.Sprintf("%s-%d", m.set.Name, at)
	m.pods[at] = &ordinal{name: name, at: at, old: !m.onDelete && at-m.start < m.partition && m.before > 0}
	m.came = true
	replaced := slices.ContainsFunc(m.plan.Steps, func(s Step) bool { return s.Pod == name && s.What == Replaced })
	if !replaced {
		m.plan.add(Step{Wave: m.wave, What: Created, Pod: name, Reason: ScaleUp, Why: fmt.Sprintf("%s asked for", countPods(m.plan.Replicas))})
	}
}

// condemn takes away the pods beyond the last ordinal, the highest first.
func (m *ordinals) condemn() (changed, wait bool) {
	for _, o := range m.condemned() {
		switch {
		case o.leaving:
			if m.ordered {
				return changed, true
			}
		case m.ordered && !o.available && o.name != m.firstUnavailable():
			return changed, true
		default:
			m.remove(o, Deleted, ScaleDown, fmt.Sprintf("%s asked for", countPods(m.plan.Replicas)))
			changed = true
			if m.leaves = m.ordered; m.ordered {
				return true, true
			}
		}
	}
	return changed, false
}

// condemned are the pods beyond the ordinals asked for, the highest first.
func (m *ordinals) condemned() []*ordinal {
	var out []*ordinal
	for at, o := range m.pods {
		if at < m.start || at >= m.end {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *ordinal) int { return cmp.Compare(b.at, a.at) })
	return out
}

// firstUnavailable is the unavailable pod of the lowest ordinal, those to keep first.
func (m *ordinals) firstUnavailable() string {
	for at := m.start; at < m.end; at++ {
		if o := m.pods[at]; o == nil || !o.available || o.leaving {
			return fmt.Sprintf("%s-%d", m.set.Name, at)
		}
	}
	condemned := m.condemned()
	slices.Reverse(condemned)
	for _, o := range condemned {
		if !o.available || o.leaving {
			return o.name
		}
	}
	return ""
}

// update replaces pods of an old template, the highest ordinal first, as long as not
// too many are unavailable.
func (m *ordinals) update() bool {
	if m.onDelete {
		return false
	}
	if m.counts() {
		return m.updateMany()
	}
	for at := m.end - 1; at >= m.start+m.partition; at-- {
		o := m.pods[at]
		if o.old && !o.leaving {
			m.replace(o)
			return true
		}
		if !o.available || o.leaving {
			return false
		}
	}
	return false
}

// counts: since 1.37, and before where the feature is on, the controller counts all
// unavailable pods before it replaces one, and not only those it meets on its way.
func (m *ordinals) counts() bool {
	rolling := m.set.Spec.UpdateStrategy.RollingUpdate
	return m.w.Minor >= 37 || rolling != nil && rolling.MaxUnavailable != nil
}

func (m *ordinals) updateMany() bool {
	unavailable, changed := 0, false
	for at := m.start; at < m.end; at++ {
		if o := m.pods[at]; !o.available || o.leaving {
			unavailable++
		}
	}
	room := m.most - unavailable
	if !m.ordered { // pods of an old template that do not work go at once
		for at := m.end - 1; at >= m.start+m.partition; at-- {
			if o := m.pods[at]; o.old && !o.available && !o.leaving {
				m.replace(o)
				changed = true
			}
		}
	}
	for at := m.end - 1; at >= m.start+m.partition && room > 0; at-- {
		if o := m.pods[at]; o != nil && o.old && !o.leaving && (m.ordered || o.available) {
			m.replace(o)
			room, changed = room-1, true
		}
	}
	return changed
}

func (m *ordinals) replace(o *ordinal) {
	m.remove(o, Replaced, NewTemplate, "its template is not the one asked for")
}

// remove takes a pod away; its ordinal is free when the pod is gone.
func (m *ordinals) remove(o *ordinal, what, reason, why string) {
	if o.pod != nil {
		m.plan.add(Step{Wave: m.wave, What: what, Pod: o.name, Reason: reason, Why: why})
	}
	o.leaving, o.available, m.removed = true, false, true
	delete(m.pods, o.at)
}

// settle ends a wave: what came is available. It reports whether that changed
// anything.
func (m *ordinals) settle() bool {
	changed := m.removed
	m.removed, m.leaves = false, false
	for at, o := range m.pods {
		switch {
		case o.leaving:
			delete(m.pods, at)
			changed = true
		case o.available || o.ended:
		case o.pod == nil || o.ready:
			o.available, changed = true, true
		case !o.old && m.underWay:
			o.available, changed = true, true
			m.assumed++
		}
	}
	return changed
}

func (m *ordinals) available() int {
	n := 0
	for _, o := range m.pods {
		if o.available && !o.leaving {
			n++
		}
	}
	return n
}

func (m *ordinals) live() int {
	n := 0
	for _, o := range m.pods {
		if !o.leaving && !o.ended {
			n++
		}
	}
	return n
}

// blocker is the pod for which the StatefulSet waits in the end, where there is more
// to do.
func (m *ordinals) blocker() string {
	todo := len(m.condemned()) > 0
	waits := ""
	for at := m.start; at < m.end; at++ {
		o := m.pods[at]
		todo = todo || o == nil || o.old && !m.onDelete && at-m.start >= m.partition
		if o != nil && !o.available && waits == "" {
			waits = o.name
		}
	}
	if !todo {
		return ""
	}
	if waits == "" {
		for _, o := range m.condemned() {
			if !o.available {
				waits = o.name
			}
		}
	}
	return waits
}

// tell says which pods stay.
func (m *ordinals) tell() {
	for _, o := range m.pods {
		if o.pod != nil && !o.leaving && !o.ended {
			m.plan.Stay = append(m.plan.Stay, o.name)
		}
	}
	slices.Sort(m.plan.Stay)
}
