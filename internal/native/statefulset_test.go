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
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func statefulSet(image string, replicas int32, edits ...func(*kappsv1.StatefulSet)) *kappsv1.StatefulSet {
	s := &kappsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db", UID: "s"},
		Spec:       kappsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, Template: template(image)},
		Status:     kappsv1.StatefulSetStatus{CurrentRevision: "db-" + image, UpdateRevision: "db-" + image},
	}
	s.Spec.UpdateStrategy = kappsv1.StatefulSetUpdateStrategy{
		Type: kappsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &kappsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func parallel(s *kappsv1.StatefulSet) { s.Spec.PodManagementPolicy = kappsv1.ParallelPodManagement }

func partition(n int32) func(*kappsv1.StatefulSet) {
	return func(s *kappsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = &n }
}

func maxUnavailable(n int) func(*kappsv1.StatefulSet) {
	return func(s *kappsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt(n))
	}
}

func onDelete(s *kappsv1.StatefulSet) {
	s.Spec.UpdateStrategy = kappsv1.StatefulSetUpdateStrategy{Type: kappsv1.OnDeleteStatefulSetStrategyType}
}

func start(n int32) func(*kappsv1.StatefulSet) {
	return func(s *kappsv1.StatefulSet) { s.Spec.Ordinals = &kappsv1.StatefulSetOrdinals{Start: n} }
}

// revised are pods of a revision.
func revised(image string, names ...string) []corev1.Pod {
	list := pods("s", names...)
	for i := range list {
		list[i].Labels = map[string]string{"app": "web", kappsv1.ControllerRevisionHashLabelKey: "db-" + image}
	}
	return list
}

func revision(owner, image string, number int64) kappsv1.ControllerRevision {
	raw, _ := json.Marshal(map[string]any{"spec": map[string]any{"template": template(image)}})
	return kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "db-" + image, OwnerReferences: ownedBy(owner), Labels: map[string]string{kappsv1.ControllerRevisionHashLabelKey: "db-" + image}, UID: types.UID(image),
		},
		Revision: number, Data: runtime.RawExtension{Raw: raw},
	}
}

func TestStatefulSet(t *testing.T) {
	all := func() []corev1.Pod { return revised("v1", "db-0", "db-1", "db-2") }
	for name, given := range map[string]struct {
		changed *kappsv1.StatefulSet
		pods    []corev1.Pod
		minor   int
		want    string
		fewest  int
		stuck   bool
	}{
		"from the highest ordinal down, one at a time": {
			changed: statefulSet("v2", 3), pods: all(), fewest: 2,
			want: "1 replaced db-2 NewTemplate\n2 replaced db-1 NewTemplate\n3 replaced db-0 NewTemplate",
		},
		"down to the partition": {
			changed: statefulSet("v2", 3, partition(2)), pods: all(), fewest: 2, want: "1 replaced db-2 NewTemplate\n0 held 2 Partition",
		},
		"OnDelete": {changed: statefulSet("v2", 3, onDelete), pods: all(), fewest: 3, want: "0 held 3 OnDelete"},
		"more at a time": {
			changed: statefulSet("v2", 3, maxUnavailable(2), parallel), pods: all(), fewest: 1,
			want: "1 replaced db-2 NewTemplate\n1 replaced db-1 NewTemplate\n2 replaced db-0 NewTemplate",
		},
		"smaller, the highest first": {
			changed: statefulSet("v1", 1), pods: all(), fewest: 1, want: "1 deleted db-2 ScaleDown\n2 deleted db-1 ScaleDown",
		},
		"smaller in parallel": {
			changed: statefulSet("v1", 1, parallel), pods: all(), fewest: 1, want: "1 deleted db-2 ScaleDown\n1 deleted db-1 ScaleDown",
		},
		"larger, one after the other": {
			changed: statefulSet("v1", 5), pods: all(), fewest: 3, want: "1 created db-3 ScaleUp\n2 created db-4 ScaleUp",
		},
		"another first ordinal": {
			changed: statefulSet("v1", 3, start(1), parallel), pods: all(), fewest: 2, want: "1 created db-3 ScaleUp\n1 deleted db-0 ScaleDown",
		},
		"a broken pod blocks": {
			changed: statefulSet("v2", 3), pods: append(revised("v1", "db-0", "db-1"), unready(revised("v1", "db-2"))...), fewest: 2,
			want: "0 held 3 PodNotReady", stuck: true,
		},
		"a broken pod does not block in parallel": {
			changed: statefulSet("v2", 2, parallel), pods: append(revised("v1", "db-0"), unready(revised("v1", "db-1"))...), fewest: 1,
			want: "1 replaced db-1 NewTemplate\n2 replaced db-0 NewTemplate",
		},
		"a broken pod of a lower ordinal goes first since 1.37": {
			changed: statefulSet("v2", 2, parallel), pods: append(unready(revised("v1", "db-0")), revised("v1", "db-1")...), fewest: 1, minor: 37,
			want: "1 replaced db-0 NewTemplate\n2 replaced db-1 NewTemplate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := statefulSet("v1", 3)
			p := StatefulSet(live, given.changed, World{Now: now, Pods: given.pods, Minor: given.minor, Revisions: []kappsv1.ControllerRevision{revision("s", "v1", 1)}})
			if diff := cmp.Diff(given.want, story(p)); diff != "" {
				t.Error(diff)
			}
			if p.FewestAvailable != given.fewest {
				t.Errorf("%d available, want %d", p.FewestAvailable, given.fewest)
			}
			if stuck := codes(p) == PodNotReady; stuck != given.stuck {
				t.Error(p.Warnings)
			}
		})
	}
}

func TestRollbackFindsTheOldRevision(t *testing.T) {
	live := statefulSet("v2", 2)
	live.Status.CurrentRevision = "db-v1"
	w := World{Now: now, Pods: append(revised("v1", "db-0"), unready(revised("v2", "db-1"))...), Revisions: []kappsv1.ControllerRevision{revision("s", "v1", 1), revision("s", "v2", 2)}}
	p := StatefulSet(live, statefulSet("v1", 2), w)
	if got := story(p); got != "0 held 1 PodNotReady" {
		t.Error(got)
	}
	p = StatefulSet(live, statefulSet("v1", 2, parallel), w)
	if got := story(p); got != "1 replaced db-1 NewTemplate" {
		t.Error(got)
	}
}

func TestScaleDownThatDeletesClaimsWarns(t *testing.T) {
	changed := statefulSet("v1", 1)
	changed.Spec.VolumeClaimTemplates = make([]corev1.PersistentVolumeClaim, 1)
	changed.Spec.PersistentVolumeClaimRetentionPolicy = &kappsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: kappsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	p := StatefulSet(statefulSet("v1", 2), changed, World{Now: now, Pods: revised("v1", "db-0", "db-1")})
	if got := codes(p); got != ClaimsDeleted {
		t.Error(got)
	}
}

func daemonSet(image, surge, unavailable string) *kappsv1.DaemonSet {
	d := &kappsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", UID: "s"}, Spec: kappsv1.DaemonSetSpec{Selector: selector, Template: template(image)}}
	d.Spec.UpdateStrategy.Type = kappsv1.OnDeleteDaemonSetStrategyType
	if unavailable != "" {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		d.Spec.UpdateStrategy = kappsv1.DaemonSetUpdateStrategy{
			Type: kappsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &kappsv1.RollingUpdateDaemonSet{MaxSurge: &s, MaxUnavailable: &u},
		}
	}
	return d
}

func node(name string, edits ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": name}}}
	for _, edit := range edits {
		edit(&n)
	}
	return n
}

func TestDaemonSet(t *testing.T) {
	onlyA := daemonSet("v1", "0", "1")
	onlyA.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "node-a"}
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	}
	cordoned := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	}
	for name, given := range map[string]struct {
		changed      *kappsv1.DaemonSet
		pods         []corev1.Pod
		nodes        []corev1.Node
		want         string
		fewest, most int
	}{
		"one at a time, in no defined order": {
			changed: daemonSet("v2", "0", "1"), pods: revised("v1", "a", "b"), nodes: []corev1.Node{node("node-a"), node("node-b")},
			want: "0 replaced a NewTemplate\n0 replaced b NewTemplate", fewest: 1, most: 2,
		},
		"a percentage of maxUnavailable rounds up": {
			changed: daemonSet("v2", "0", "60%"), pods: revised("v1", "a", "b"), nodes: []corev1.Node{node("node-a"), node("node-b")},
			want: "1 replaced a NewTemplate\n1 replaced b NewTemplate", fewest: 0, most: 2,
		},
		"with a surge the new pods come first": {
			changed: daemonSet("v2", "100%", "0"), pods: revised("v1", "a", "b"), nodes: []corev1.Node{node("node-a"), node("node-b")},
			want: "2 replaced a NewTemplate\n2 replaced b NewTemplate", fewest: 2, most: 4,
		},
		"what is not available goes at once": {
			changed: daemonSet("v2", "0", "1"), pods: append(unready(revised("v1", "a")), revised("v1", "b")...), nodes: []corev1.Node{node("node-a"), node("node-b")},
			want: "1 replaced a NewTemplate\n2 replaced b NewTemplate", fewest: 1, most: 2,
		},
		"OnDelete": {
			changed: daemonSet("v2", "", ""), pods: revised("v1", "a"), nodes: []corev1.Node{node("node-a")}, want: "0 held 1 OnDelete", fewest: 1, most: 1,
		},
		"a node that matches no more loses its pod": {
			changed: onlyA, pods: revised("v1", "a", "b"), nodes: []corev1.Node{node("node-a"), node("node-b")},
			want: "1 deleted b NodeExcluded\n1 replaced a NewTemplate", fewest: 0, most: 2,
		},
		"a node without a pod gets one": {
			changed: daemonSet("v1", "0", "1"), pods: revised("v1", "a"), nodes: []corev1.Node{node("node-a"), node("node-b"), node("node-c", tainted), node("node-d", cordoned)},
			want: "1 created 1 NodeMatches\n1 created 1 NodeMatches", fewest: 1, most: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := DaemonSet(daemonSet("v1", "0", "1"), given.changed, World{Now: now, Pods: given.pods, Nodes: given.nodes, Revisions: []kappsv1.ControllerRevision{revision("s", "v1", 1)}})
			if diff := cmp.Diff(given.want, story(p)); diff != "" {
				t.Error(diff)
			}
			if p.FewestAvailable != given.fewest || p.MostPods != given.most {
				t.Errorf("%d available, %d pods; want %d, %d", p.FewestAvailable, p.MostPods, given.fewest, given.most)
			}
		})
	}
}

func TestADaemonSetMayStopWhereItWaitsByATimer(t *testing.T) {
	for name, given := range map[string]struct {
		changed  *kappsv1.DaemonSet
		minReady int32
		want     bool
	}{
		"maxSurge and minReadySeconds":        {daemonSet("v2", "1", "0"), 5, true},
		"maxSurge alone":                      {daemonSet("v2", "1", "0"), 0, false},
		"minReadySeconds with maxUnavailable": {daemonSet("v2", "0", "1"), 5, false},
		"no pod is replaced":                  {daemonSet("v1", "1", "0"), 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			given.changed.Spec.MinReadySeconds = given.minReady
			p := DaemonSet(daemonSet("v1", "0", "1"), given.changed, World{
				Now: now, Pods: revised("v1", "a"), Nodes: []corev1.Node{node("node-a")}, Revisions: []kappsv1.ControllerRevision{revision("s", "v1", 1)},
			})
			if p.MayStop != given.want || (len(p.Unknown) > 0) != given.want {
				t.Errorf("may stop %t, want %t: %s, unknown %q", p.MayStop, given.want, story(p), p.Unknown)
			}
		})
	}
}
