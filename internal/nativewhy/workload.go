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

package nativewhy

import (
	"encoding/json"
	"slices"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Workload is what keeps the pods.
type Workload struct {
	Kind string
	Meta metav1.ObjectMeta
	// Desired is how many pods it wants.
	Desired  int32
	Template corev1.PodTemplateSpec
	Paused   bool
	OnDelete bool
	// Ordered: a StatefulSet that starts its pods one after the other.
	Ordered          bool
	Partition, First int32
	MinReady         time.Duration

	Observed                           bool
	Current, Updated, Ready, Available int32
	// UpdateRevision is the name of the newest ControllerRevision.
	UpdateRevision string
	Conditions     []Condition
}

// Condition is a condition of any workload.
type Condition struct {
	Type, Reason, Message string
	True                  bool
	Time                  time.Time
}

// Revision is one stored version of the template.
type Revision struct {
	// Kind is ReplicaSet or ControllerRevision.
	Kind    string
	Number  int64
	Meta    metav1.ObjectMeta
	Desired int32
	// Template is a map, as JSON has it.
	Template   map[string]any
	Conditions []Condition
}

func (r *Revision) made(p *corev1.Pod) bool {
	if r.Kind == "ReplicaSet" {
		owner := metav1.GetControllerOf(p)
		return owner != nil && owner.UID == r.Meta.UID
	}
	hash := p.Labels[kappsv1.ControllerRevisionHashLabelKey]
	return hash != "" && (hash == r.Meta.Name || hash == r.Meta.Labels[kappsv1.ControllerRevisionHashLabelKey])
}

// FromDeployment reads a Deployment.
func FromDeployment(d *kappsv1.Deployment) *Workload {
	w := &Workload{
		Kind: "Deployment", Meta: d.ObjectMeta, Desired: orOne(d.Spec.Replicas), Template: d.Spec.Template, Paused: d.Spec.Paused,
		MinReady: seconds(d.Spec.MinReadySeconds), Observed: d.Status.ObservedGeneration >= d.Generation,
		Current: d.Status.Replicas, Updated: d.Status.UpdatedReplicas, Ready: d.Status.ReadyReplicas, Available: d.Status.AvailableReplicas,
	}
	for _, c := range d.Status.Conditions {
		w.Conditions = append(w.Conditions, condition(string(c.Type), c.Status, c.Reason, c.Message, c.LastTransitionTime))
	}
	return w
}

// FromReplicaSet reads a ReplicaSet that no Deployment owns.
func FromReplicaSet(r *kappsv1.ReplicaSet) *Workload {
	return &Workload{
		Kind: "ReplicaSet", Meta: r.ObjectMeta, Desired: orOne(r.Spec.Replicas), Template: r.Spec.Template,
		MinReady: seconds(r.Spec.MinReadySeconds), Observed: r.Status.ObservedGeneration >= r.Generation,
		Current: r.Status.Replicas, Updated: r.Status.Replicas, Ready: r.Status.ReadyReplicas, Available: r.Status.AvailableReplicas,
		Conditions: setConditions(r),
	}
}

func setConditions(r *kappsv1.ReplicaSet) []Condition {
	var conditions []Condition
	for _, c := range r.Status.Conditions {
		conditions = append(conditions, condition(string(c.Type), c.Status, c.Reason, c.Message, c.LastTransitionTime))
	}
	return conditions
}

// FromStatefulSet reads a StatefulSet.
func FromStatefulSet(s *kappsv1.StatefulSet) *Workload {
	w := &Workload{
		Kind: "StatefulSet", Meta: s.ObjectMeta, Desired: orOne(s.Spec.Replicas), Template: s.Spec.Template,
		OnDelete: s.Spec.UpdateStrategy.Type == kappsv1.OnDeleteStatefulSetStrategyType,
		Ordered:  s.Spec.PodManagementPolicy != kappsv1.ParallelPodManagement,
		MinReady: seconds(s.Spec.MinReadySeconds), Observed: s.Status.ObservedGeneration >= s.Generation,
		Current: s.Status.Replicas, Updated: s.Status.UpdatedReplicas, Ready: s.Status.ReadyReplicas, Available: s.Status.AvailableReplicas,
		UpdateRevision: s.Status.UpdateRevision,
	}
	if r := s.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		w.Partition = *r.Partition
	}
	if s.Spec.Ordinals != nil {
		w.First = s.Spec.Ordinals.Start
	}
	for _, c := range s.Status.Conditions {
		w.Conditions = append(w.Conditions, condition(string(c.Type), c.Status, c.Reason, c.Message, c.LastTransitionTime))
	}
	return w
}

// FromDaemonSet reads a DaemonSet.
func FromDaemonSet(d *kappsv1.DaemonSet) *Workload {
	w := &Workload{
		Kind: "DaemonSet", Meta: d.ObjectMeta, Desired: d.Status.DesiredNumberScheduled, Template: d.Spec.Template,
		OnDelete: d.Spec.UpdateStrategy.Type == kappsv1.OnDeleteDaemonSetStrategyType,
		MinReady: seconds(d.Spec.MinReadySeconds), Observed: d.Status.ObservedGeneration >= d.Generation,
		Current: d.Status.CurrentNumberScheduled, Updated: d.Status.UpdatedNumberScheduled, Ready: d.Status.NumberReady,
		Available: d.Status.NumberAvailable,
	}
	for _, c := range d.Status.Conditions {
		w.Conditions = append(w.Conditions, condition(string(c.Type), c.Status, c.Reason, c.Message, c.LastTransitionTime))
	}
	return w
}

// revisionAnnotation is where a Deployment's controller writes the number of a
// ReplicaSet.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// FromReplicaSets are the revisions of a Deployment, the oldest first.
func FromReplicaSets(sets []kappsv1.ReplicaSet, owner types.UID) ([]Revision, error) {
	var revisions []Revision
	for i := range sets {
		s := &sets[i]
		if by := metav1.GetControllerOf(s); by == nil || by.UID != owner {
			continue
		}
		template := s.Spec.Template.DeepCopy()
		delete(template.Labels, kappsv1.DefaultDeploymentUniqueLabelKey)
		raw, err := json.Marshal(template)
		if err != nil {
			return nil, err
		}
		r := Revision{
			Kind: "ReplicaSet", Number: number(s.Annotations[revisionAnnotation]), Meta: s.ObjectMeta, Desired: orOne(s.Spec.Replicas),
			Conditions: setConditions(s),
		}
		if err := json.Unmarshal(raw, &r.Template); err != nil {
			return nil, err
		}
		revisions = append(revisions, r)
	}
	slices.SortFunc(revisions, byNumber)
	return revisions, nil
}

// FromControllerRevisions are the revisions of a StatefulSet or a DaemonSet, the
// oldest first.
func FromControllerRevisions(stored []kappsv1.ControllerRevision, owner types.UID) ([]Revision, error) {
	var revisions []Revision
	for i := range stored {
		s := &stored[i]
		if by := metav1.GetControllerOf(s); by == nil || by.UID != owner {
			continue
		}
		var patch struct {
			Spec struct {
				Template map[string]any `json:"template"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(s.Data.Raw, &patch); err != nil {
			return nil, err
		}
		delete(patch.Spec.Template, "$patch")
		revisions = append(revisions, Revision{Kind: "ControllerRevision", Number: s.Revision, Meta: s.ObjectMeta, Template: patch.Spec.Template})
	}
	slices.SortFunc(revisions, byNumber)
	return revisions, nil
}

func condition(kind string, status corev1.ConditionStatus, reason, message string, since metav1.Time) Condition {
	return Condition{Type: kind, True: status == corev1.ConditionTrue, Reason: reason, Message: message, Time: since.Time}
}

// find returns the condition of a type, or nil.
func find(conditions []Condition, kind string) *Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}

// podCondition returns the condition of a pod, or nil.
func podCondition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func orOne(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func seconds(s int32) time.Duration { return time.Duration(s) * time.Second }
