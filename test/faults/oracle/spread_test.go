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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// spreads is a fleet of four pods that the template spreads over the zones a and b, all of
// them in zone a because zone b came last, and Auto. Then something happens.
func spreads(change func(s *tale), edits ...func(*appsv1.PodManager)) func() *tale {
	return func() *tale {
		s := newTale()
		s.zone("a")
		s.owner(4, func(pm *appsv1.PodManager) {
			pm.Spec.Disruption.Rebalance = appsv1.RebalanceAuto
			pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: "web"}},
			}}}}
			for _, edit := range edits {
				edit(pm)
			}
		})
		s.revision("web-a", 1)
		for ordinal := range 4 {
			s.create(ordinal, "web-a")
			s.runsIn("a", fmt.Sprintf("web-%d", ordinal))
		}
		s.zone("b")
		change(s)
		return s
	}
}

// zone is a node, the only one of its zone.
func (s *tale) zone(name string, edits ...func(*corev1.Node)) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name, Labels: map[string]string{corev1.LabelTopologyZone: name}}}
	for _, edit := range edits {
		edit(node)
	}
	s.write(user, node, false)
}

func (s *tale) runsIn(zone, pod string) {
	s.change(kubelet, pod, func(p *corev1.Pod) {
		run(p)
		p.Spec.NodeName = "node-" + zone
	})
}

// moves: the operator makes a pod anew for zone b, and the scheduler puts it into a zone.
func (s *tale) moves(ordinal int, zone string) {
	name := fmt.Sprintf("web-%d", ordinal)
	s.delete(Operator, name)
	s.ends(name)
	s.create(ordinal, "web-a", func(p *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, appsv1.AnnotationRebalancedTo, corev1.LabelTopologyZone+"=b")
	})
	s.runsIn(zone, name)
}

// TestSpreadAtRest: a rebalance ends with the spread that was asked for, unless something
// stands in its way.
func TestSpreadAtRest(t *testing.T) {
	const uneven = "topology.kubernetes.io/zone=a has 4 pods and b 0, maxSkew is 1"
	nothing := func(*tale) {}
	manual := func(pm *appsv1.PodManager) { pm.Spec.Disruption.Rebalance = appsv1.RebalanceManual }
	ask := func(s *tale) {
		s.annotate(appsv1.AnnotationRebalance, noon.Add(time.Duration(s.version())*time.Second).Format(time.RFC3339))
	}
	cordon := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	everyPod := func(change func(*corev1.Pod)) func(s *tale) {
		return func(s *tale) {
			for ordinal := range 4 {
				s.change(user, fmt.Sprintf("web-%d", ordinal), change)
			}
		}
	}
	givesUp := func(s *tale) {
		s.moves(3, "a")
		s.status("web-a", 4, func(st *appsv1.PodManagerStatus) {
			st.Rebalance = &appsv1.RebalanceRecord{Message: "web-3 was made for b and runs on node-a"}
		})
	}
	judged(t, "M", map[string]broken{
		"nothing moves":           {spreads(nothing), uneven},
		"nothing is asked for":    {spreads(nothing, manual), ""},
		"it is asked for":         {spreads(ask, manual), uneven},
		"two have moved":          {spreads(func(s *tale) { s.moves(3, "b"); s.moves(2, "b") }), ""},
		"one has moved":           {spreads(func(s *tale) { s.moves(3, "b") }), "zone=a has 3 pods and b 1"},
		"it is given up":          {spreads(givesUp), "the status says: web-3 was made for b and runs on node-a"},
		"one more is allowed":     {spreads(func(s *tale) { s.moves(3, "b") }, func(pm *appsv1.PodManager) { pm.Spec.Template.Spec.TopologySpreadConstraints[0].MaxSkew = 2 }), ""},
		"the other zone is shut":  {spreads(func(s *tale) { s.zone("b", cordon) }), ""},
		"no pod may be replaced":  {spreads(nothing, func(pm *appsv1.PodManager) { pm.Spec.Disruption.MaxSurge = ptr.To(intstr.FromInt32(0)) }), ""},
		"a zone that others take": {spreads(func(s *tale) { s.zone("c", cordon) }), uneven},
		"it is asked for, and a pod is newer": {spreads(func(s *tale) {
			s.annotate(appsv1.AnnotationRebalance, noon.Format(time.RFC3339))
		}, manual), ""},
		"the other zone was shut when a pod moved": {spreads(func(s *tale) {
			s.zone("b", cordon)
			givesUp(s)
			s.zone("b")
		}), ""},
		"the spec changed after a pod moved": {spreads(func(s *tale) {
			givesUp(s)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Update.UseEviction = true })
		}), ""},
		"the pods are held":     {spreads(everyPod(hold)), ""},
		"the pods do not serve": {spreads(everyPod(func(p *corev1.Pod) { p.Status.Conditions = nil })), ""},
		"the pods moved within the hour": {spreads(func(s *tale) {
			for ordinal := range 4 {
				s.moves(ordinal, "a")
			}
		}), ""},
		"a rollout is under way": {spreads(func(s *tale) { image(s); s.revision("web-b", 2) }), ""},
		"the constraint counts other pods": {spreads(nothing, func(pm *appsv1.PodManager) {
			pm.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels = map[string]string{"app": "other"}
		}), ""},
		"two constraints, which can conflict": {spreads(nothing, func(pm *appsv1.PodManager) {
			list := &pm.Spec.Template.Spec.TopologySpreadConstraints
			*list = append(*list, (*list)[0])
		}), ""},
		"claims": {spreads(nothing, volumes(appsv1.ClaimRetain)), ""},
	}, func(h []Revision) []Violation { return SpreadAtRest(h, Rules{}, noon.Add(10*time.Minute)) })
}

// TestSpreadWithoutRoom: what the driver of a run knows keeps pods where they are.
func TestSpreadWithoutRoom(t *testing.T) {
	history := spreads(func(*tale) {})().history
	for name, rules := range map[string]Rules{
		"a node was full": {Full: true}, "a budget": {Budget: 1}, "a refusal": {Undeletable: map[string]bool{"web-3": true}},
	} {
		if found := SpreadAtRest(history, rules, noon.Add(10*time.Minute)); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestAPodThatMovedMayMoveAgain after an hour.
func TestAPodThatMovedMayMoveAgain(t *testing.T) {
	history := spreads(func(s *tale) {
		for ordinal := range 4 {
			s.moves(ordinal, "a")
		}
	})().history
	if found := SpreadAtRest(history, Rules{}, noon.Add(2*time.Hour)); len(found) != 1 {
		t.Errorf("the judge says: %v", found)
	}
}
