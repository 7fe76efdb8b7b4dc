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

package oracle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// SpreadAtRest is M: a rebalance reaches what it is for. It "moves pods of the fullest
// place, each replaced before it goes, and asks the scheduler to prefer the emptiest".
// Only "a pod that the scheduler puts elsewhere shows that there is no room": where all
// nodes have room, and none changed since the first pod moved, no other pod may show
// this. So at rest the pods are spread as the constraint asks, as far as they may be moved:
// one that is held, that does not serve, or that is newer than the request stays, and with
// Auto one that moved within the hour.
//
// It is judged where the template has one constraint for the fleet's own pods, since
// two can conflict, where it allows all nodes, and where no PodDisruptionBudget and no
// refusal keeps a pod.
func SpreadAtRest(history []Revision, rules Rules, now time.Time) []Violation {
	if len(history) == 0 || rules.Kind != "" && rules.Kind != Kind || rules.Full || rules.Budget > 0 || rules.Jumped || len(rules.Undeletable) > 0 {
		return nil
	}
	c := newChronicle(history)
	end := history[len(history)-1].Version
	var found []Violation
	for _, l := range c.owners {
		m := l.at(end)
		if !m.there() || m.object.DeletionTimestamp != nil {
			continue
		}
		s := &spread{
			rest: &rest{chronicle: c, rules: rules, now: now, end: end, owner: m.object, spec: SpecOf(m.object), goal: c.goalOf(m.object, end)},
			auto: m.object.Spec.Disruption.Rebalance == appsv1.RebalanceAuto,
		}
		s.asked, _ = time.Parse(time.RFC3339, m.object.Annotations[appsv1.AnnotationRebalance])
		if message := s.broken(); message != "" {
			found = append(found, Violation{Rule: "M", Version: end, Message: message})
		}
	}
	return found
}

// spread is where the pods of one owner run at the end.
type spread struct {
	*rest
	// auto and asked are why pods are moved.
	auto  bool
	asked time.Time
	// pods are those in each place, and open the places that take new ones.
	pods map[string][]*corev1.Pod
	open map[string]bool
}

func (s *spread) broken() string {
	constraint := s.constraint()
	if constraint == nil || !s.spec.Rebalances || s.spec.TakesOver || s.spec.DrainSurge == 0 {
		return ""
	}
	s.gather()
	if !s.count(constraint.TopologyKey) || s.disturbed() {
		return ""
	}
	emptiest := slices.MinFunc(slices.Sorted(maps.Keys(s.open)), func(a, b string) int { return len(s.pods[a]) - len(s.pods[b]) })
	for _, fullest := range slices.Sorted(maps.Keys(s.pods)) {
		if n := len(s.pods[fullest]); n-len(s.pods[emptiest]) > int(constraint.MaxSkew) && slices.ContainsFunc(s.pods[fullest], s.movable) {
			gaveUp := ""
			if record := s.owner.Status.Rebalance; record != nil {
				gaveUp = "; the status says: " + record.Message
			}
			return fmt.Sprintf("%s=%s has %d pods and %s %d, maxSkew is %d, and every node has room%s",
				constraint.TopologyKey, fullest, n, emptiest, len(s.pods[emptiest]), constraint.MaxSkew, gaveUp)
		}
	}
	return ""
}

// constraint is the one for the fleet's own pods.
func (s *spread) constraint() *corev1.TopologySpreadConstraint {
	template := WantedTemplate(s.owner)
	if len(template.Spec.NodeSelector) > 0 || template.Spec.Affinity != nil || template.Spec.NodeName != "" || len(template.Spec.TopologySpreadConstraints) != 1 {
		return nil
	}
	constraint := &template.Spec.TopologySpreadConstraints[0]
	own := labels.Merge(template.Labels, labels.Set{appsv1.LabelName: s.owner.Name, appsv1.LabelUID: string(s.owner.UID)})
	if selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector); err != nil || !selector.Matches(own) {
		return nil
	}
	return constraint
}

// count counts the pods, unless the fleet is on its way to another goal, or a pod runs
// in no place.
func (s *spread) count(key string) bool {
	s.pods, s.open = map[string][]*corev1.Pod{}, map[string]bool{}
	places := map[string]string{}
	for name, l := range s.nodes {
		m := l.at(s.end)
		if !m.there() || m.object.Labels[key] == "" {
			continue
		}
		places[name] = m.object.Labels[key]
		if !m.object.Spec.Unschedulable && !slices.ContainsFunc(m.object.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }) {
			s.open[places[name]] = true
		}
	}
	for _, pod := range s.live {
		place := places[pod.Spec.NodeName]
		if place == "" || !s.goal.reached(pod) {
			return false
		}
		s.pods[place] = append(s.pods[place], pod)
	}
	return len(s.open) > 0 && len(s.live) == s.spec.Replicas && len(s.kept) == 0
}

// disturbed: the nodes, or what the owner asks for, changed after the first pod was made
// for a place, so that it may run elsewhere for a reason that is gone; or after the
// request, which asks for older pods and is over after an hour.
func (s *spread) disturbed() bool {
	var changed, moved, requested int64
	for _, l := range s.nodes {
		changed = max(changed, l.moments[len(l.moments)-1].Version)
	}
	before := ""
	for _, m := range s.owners[s.owner.UID].moments {
		if !wrote(m.Revision) {
			changed = max(changed, m.Version)
		}
		if at := m.object.Annotations[appsv1.AnnotationRebalance]; at != before {
			before, requested = at, m.Version
		}
	}
	for _, l := range s.chronicle.pods {
		first := l.moments[0]
		if controllerOf(first.object) == s.owner.UID && first.object.Annotations[appsv1.AnnotationRebalancedTo] != "" && (moved == 0 || first.Version < moved) {
			moved = first.Version
		}
	}
	return moved > 0 && changed > moved || !s.auto && (changed > requested || len(s.rules.Away) > 0)
}

// movable: the pod may leave its place.
func (s *spread) movable(pod *corev1.Pod) bool {
	switch made := pod.CreationTimestamp.Time; {
	case !Serves(pod) || Held(pod, appsv1.LabelHoldDelete) || len(pod.Finalizers) > 0:
		return false
	case s.auto:
		return pod.Annotations[appsv1.AnnotationRebalancedTo] == "" || s.now.Sub(made) > time.Hour+time.Minute
	default:
		return made.Before(s.asked)
	}
}
