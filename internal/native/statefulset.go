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
	"fmt"
	"slices"
	"strconv"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// recreateStrategy is that of an alpha feature, which the model does not know.
const recreateStrategy = "Recreate"

// StatefulSet foresees a change of a StatefulSet. live is nil where it is new.
func StatefulSet(live, changed *kappsv1.StatefulSet, w World) Plan {
	p := newPlan()
	p.Replicas = int(ptr.Deref(changed.Spec.Replicas, 1))
	if live != nil && live.DeletionTimestamp != nil {
		p.warn(BeingDeleted, "the StatefulSet is being deleted: its controller does nothing more")
		return p
	}
	if missing(&p, w, Pods) || live != nil && missing(&p, w, Revisions) {
		return p
	}
	if changed.Spec.UpdateStrategy.Type == recreateStrategy {
		p.unforeseen("updateStrategy %s is an alpha feature", recreateStrategy)
		return p
	}
	m := newOrdinals(&p, live, changed, w)
	m.play()
	m.tell()
	m.notes(live)
	before, uids := (*int32)(nil), []types.UID(nil)
	if live != nil {
		before, uids = live.Spec.Replicas, []types.UID{live.UID}
	}
	surround(&p, w, &subject{
		kind: "StatefulSet", meta: &changed.ObjectMeta, selector: changed.Spec.Selector, template: &changed.Spec.Template,
		liveReplicas: before, replicas: changed.Spec.Replicas, peak: max(0, p.MostPods-m.before), minReady: changed.Spec.MinReadySeconds, own: uids,
	})
	return p
}

// newOrdinals sorts the pods by their ordinals.
func newOrdinals(p *Plan, live, changed *kappsv1.StatefulSet, w World) *ordinals {
	m := &ordinals{plan: p, set: changed, w: w, most: 1, pods: map[int]*ordinal{}}
	if changed.Spec.Ordinals != nil {
		m.start = int(changed.Spec.Ordinals.Start)
	}
	m.end = m.start + p.Replicas
	m.ordered = changed.Spec.PodManagementPolicy != kappsv1.ParallelPodManagement
	if rolling := changed.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		m.partition = int(ptr.Deref(rolling.Partition, 0))
		if rolling.MaxUnavailable != nil {
			m.most = max(1, scaled(rolling.MaxUnavailable, p.Replicas, false))
		}
	}
	m.onDelete = changed.Spec.UpdateStrategy.Type == kappsv1.OnDeleteStatefulSetStrategyType
	if live != nil {
		m.read(live)
	}
	p.Available = m.available()
	p.FewestAvailable, p.MostPods, m.before = p.Available, len(m.pods), len(m.pods)
	return m
}

// read takes in the pods that are there.
func (m *ordinals) read(live *kappsv1.StatefulSet) {
	update := m.updateRevision(live)
	m.underWay = live.Status.CurrentRevision != live.Status.UpdateRevision
	for _, pod := range owned(m.w.Pods, live.UID) {
		at, ok := ordinalOf(live.Name, pod.Name)
		if !ok {
			continue
		}
		m.pods[at] = &ordinal{
			pod: pod, name: pod.Name, at: at, old: update == "" || pod.Labels[kappsv1.ControllerRevisionHashLabelKey] != update,
			ready: settled(pod), available: available(pod, m.set.Spec.MinReadySeconds, m.w.Now), ended: ended(pod),
			leaving: pod.DeletionTimestamp != nil,
		}
	}
}

// ordinalOf reads the number at the end of a pod's name.
func ordinalOf(set, pod string) (int, bool) {
	rest, ok := strings.CutPrefix(pod, set+"-")
	at, err := strconv.Atoi(rest)
	return at, ok && err == nil && at >= 0
}

// updateRevision is the revision of the template asked for; empty where it is new.
func (m *ordinals) updateRevision(live *kappsv1.StatefulSet) string {
	if sameTemplate(&live.Spec.Template, &m.set.Spec.Template) && live.Status.ObservedGeneration == live.Generation {
		return live.Status.UpdateRevision
	}
	if rev := revisionOf(m.w.Revisions, live.UID, &m.set.Spec.Template); rev != nil {
		return rev.Name
	}
	return ""
}

// revisionOf is the newest stored revision of a template; nil where there is none.
func revisionOf(revisions []kappsv1.ControllerRevision, owner types.UID, template *corev1.PodTemplateSpec) *kappsv1.ControllerRevision {
	var newest *kappsv1.ControllerRevision
	for i := range revisions {
		rev := &revisions[i]
		if ref := metav1.GetControllerOfNoCopy(rev); ref == nil || ref.UID != owner || newest != nil && rev.Revision <= newest.Revision {
			continue
		}
		var stored struct {
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(rev.Data.Raw, &stored); err == nil && sameTemplate(&stored.Spec.Template, template) {
			newest = rev
		}
	}
	return newest
}

// notes says what stops the rollout, and what is assumed.
func (m *ordinals) notes(live *kappsv1.StatefulSet) {
	p, spec := m.plan, &m.set.Spec
	var stale []string
	for at := m.start; at < m.end; at++ {
		if o := m.pods[at]; o != nil && o.pod != nil && o.old && !o.leaving {
			stale = append(stale, o.name)
		}
	}
	below := slices.DeleteFunc(slices.Clone(stale), func(name string) bool { at, _ := ordinalOf(m.set.Name, name); return at-m.start >= m.partition })
	switch {
	case len(stale) == 0:
	case m.onDelete:
		p.add(Step{What: Held, Count: len(stale), Reason: OnDelete, Why: "updateStrategy OnDelete: a pod gets the new template when it is deleted"})
	case m.stuck == "" && len(below) > 0:
		p.add(Step{What: Held, Count: len(below), Reason: Partition, Why: fmt.Sprintf("partition %d keeps the ordinals below it on their template", m.partition)})
	}
	if m.stuck != "" {
		n := max(1, len(stale)-len(below))
		p.add(Step{What: Held, Count: n, Reason: PodNotReady, Why: fmt.Sprintf("%s is not ready, and with it the StatefulSet waits", m.stuck)})
		p.warn(PodNotReady, "%s is not ready and blocks the rollout, also one that would mend it: delete the pod by hand after the change", m.stuck)
	}
	if live == nil {
		return
	}
	if m.underWay && len(m.pods) > 0 {
		p.warn(RolloutUnderWay, "a rollout is already under way")
	}
	p.assume(m.assumed)
	m.claims(p, spec)
}

// claims: a scale-down may delete volume claims.
func (m *ordinals) claims(p *Plan, spec *kappsv1.StatefulSetSpec) {
	policy := spec.PersistentVolumeClaimRetentionPolicy
	if len(spec.VolumeClaimTemplates) == 0 {
		return
	}
	n := 0
	for i := range p.Steps {
		if p.Steps[i].What == Deleted && p.Steps[i].Reason == ScaleDown {
			n++
		}
	}
	if n > 0 && policy != nil && policy.WhenScaled == kappsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		p.warn(ClaimsDeleted, "the scale-down deletes the volume claims of %s with their data (persistentVolumeClaimRetentionPolicy.whenScaled)", countPods(n))
	}
}
