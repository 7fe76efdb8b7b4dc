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
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// ReplicaSet foresees a change of a ReplicaSet. Its template is for pods to come: a
// change of it touches no pod that is there.
func ReplicaSet(live, changed *kappsv1.ReplicaSet, w World) Plan {
	p := newPlan()
	p.Replicas = int(ptr.Deref(changed.Spec.Replicas, 1))
	if live != nil && live.DeletionTimestamp != nil {
		p.warn(BeingDeleted, "the ReplicaSet is being deleted: its controller does nothing more")
		return p
	}
	if missing(&p, w, Pods) {
		return p
	}
	r := &rollout{
		plan: &p, d: &kappsv1.Deployment{}, w: w, replicas: p.Replicas, ready: map[*corev1.Pod]bool{}, born: map[int]int{},
	}
	r.d.Spec.MinReadySeconds = changed.Spec.MinReadySeconds
	s := &set{name: changed.Name, template: &changed.Spec.Template}
	var uids []types.UID
	if live != nil {
		s, uids = r.setOf(live), []types.UID{live.UID}
	}
	r.sets, r.fresh = []*set{s}, s
	r.rankAlone(metav1.GetControllerOfNoCopy(&changed.ObjectMeta))
	p.Available = r.available()
	p.FewestAvailable, p.MostPods = p.Available, r.count()
	r.wave = 1
	s.replicas = p.Replicas
	r.fill(s, scaleReason(p.Replicas-s.count()))
	r.tell()
	if live != nil && !sameTemplate(&live.Spec.Template, &changed.Spec.Template) {
		p.warn(TemplateNotApplied, "a ReplicaSet changes no pod that is there: the new template is for pods that come later")
	}
	var before *int32
	if live != nil {
		before = live.Spec.Replicas
	}
	surround(&p, w, &subject{
		kind: "ReplicaSet", meta: &changed.ObjectMeta, selector: changed.Spec.Selector, template: &changed.Spec.Template,
		liveReplicas: before, replicas: changed.Spec.Replicas, peak: r.peak(), own: uids,
	})
	return p
}

// rankAlone ranks the pods of one ReplicaSet. Only where it has a controller do pods on
// the same node count, and then those of its other ReplicaSets, too: these are not read.
func (r *rollout) rankAlone(controller *metav1.OwnerReference) {
	if controller == nil {
		r.crowd = nil
		r.sets[0].pods, _ = victims(r.sets[0].pods, len(r.sets[0].pods), nil, r.w.Now)
		return
	}
	r.rank()
	r.sets[0].unsure = true
}
