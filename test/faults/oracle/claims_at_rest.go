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
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// ClaimsAtRest is K: at rest the claims are exactly those that the spec and the retention
// policy name. None is lost: "every pod gets" its claims. None is left: of a pod that was
// scaled away while whenScaled was Delete, of an owner that was deleted while whenDeleted
// was Delete, and "a claim that a rollout created for a surge pod is deleted with that
// pod". But "a claim that it found is never deleted".
func ClaimsAtRest(history []Revision, rules Rules) []Violation {
	c := newChronicle(history)
	if len(c.claims) == 0 || rules.Kind != "" && rules.Kind != Kind {
		return nil // none is watched
	}
	k := &keeper{chronicle: c, end: history[len(history)-1].Version, claims: map[string]moment[*corev1.PersistentVolumeClaim]{}}
	for _, l := range c.claims {
		if m := l.at(k.end); m.there() {
			k.claims[m.object.Name] = m
		}
	}
	for uid, l := range c.owners {
		last := l.moments[len(l.moments)-1]
		if last.there() && last.object.DeletionTimestamp == nil {
			k.lost(last.object)
		}
		k.left(uid, l)
	}
	return k.found
}

// keeper looks at the claims at the end.
type keeper struct {
	*chronicle
	end    int64
	claims map[string]moment[*corev1.PersistentVolumeClaim]
	found  []Violation
}

func (k *keeper) report(format string, args ...any) {
	k.found = append(k.found, Violation{Rule: "K", Version: k.end, Message: fmt.Sprintf(format, args...)})
}

// lost: each pod of the fleet has its claims and uses them, and they are the owner's.
func (k *keeper) lost(owner *appsv1.PodManager) {
	spec := SpecOf(owner)
	if spec.TakesOver {
		return
	}
	for _, l := range k.pods {
		m := l.at(k.end)
		if !owns(owner.UID, m) || !isLive(m) || !wrote(l.moments[0].Revision) {
			continue
		}
		for _, template := range spec.ClaimTemplates {
			name := ClaimName(template, m.object.Name)
			claim := k.claims[name]
			switch {
			case !slices.Contains(ClaimsOf(m.object), name):
				k.report("pod %s does not use the claim %s", m.object.Name, name)
			case !claim.there() && m.object.Status.Phase == corev1.PodPending:
				k.report("pod %s waits for the claim %s, which is not there", m.object.Name, name)
			case !claim.there() && k.tookAway(name):
				k.report("the claim %s of pod %s was deleted", name, m.object.Name)
			case claim.there() && claim.object.DeletionTimestamp == nil:
				k.ours(spec, claim.object, m.object)
			}
		}
	}
}

// ours: a claim that is in use carries the labels of its owner, and is not condemned.
func (k *keeper) ours(spec *Spec, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) {
	if uid := claim.Labels[appsv1.LabelUID]; uid != string(spec.UID) {
		k.report("the claim %s of pod %s carries the UID %q", claim.Name, pod.Name, uid)
	}
	ordinal, ok := spec.Ordinal(pod.Name)
	if by := claim.Annotations[appsv1.AnnotationCondemnedBy]; by != "" && ok && spec.InBase(ordinal) {
		k.report("the claim %s of pod %s is condemned", claim.Name, pod.Name)
	}
}

// tookAway: the operator deleted the last claim of a name.
func (k *keeper) tookAway(name string) bool {
	var last *Revision
	for _, l := range k.chronicle.claims {
		for i, m := range l.moments {
			ends := m.object.Name == name && (m.Gone || m.object.DeletionTimestamp != nil) && (i == 0 || l.moments[i-1].object.DeletionTimestamp == nil)
			if ends && (last == nil || m.Version > last.Version) {
				last = m.Revision
			}
		}
	}
	return last != nil && wrote(last)
}

// left: no claim is there that had to go.
func (k *keeper) left(owner types.UID, l *life[*appsv1.PodManager]) {
	last := l.moments[len(l.moments)-1]
	spec := SpecOf(last.object)
	for _, claim := range k.claims {
		ordinal, ok := spec.ClaimOrdinal(claim.object.Name)
		if !ok || claim.object.DeletionTimestamp != nil || claim.object.Namespace != last.object.Namespace || k.used(claim.object.Name) {
			continue
		}
		// An earlier owner's is not touched.
		ours := claim.object.Labels[appsv1.LabelUID] == string(owner) && !found(k.chronicle.claims[claim.object.UID])
		switch {
		case last.Gone && (!spec.Deleted || orphaned(l) || !ours):
		case last.Gone && spec.WhenDeleted == appsv1.ClaimDelete:
			k.report("the claim %s is left of an owner that is gone", claim.object.Name)
		case last.Gone && k.scaledAway(owner, l, ordinal):
			k.report("the claim %s is left of an owner that is gone, and its pod was scaled away while whenScaled was Delete", claim.object.Name)
		case ours && k.scaledAway(owner, l, ordinal):
			k.report("the claim %s is left, and its pod was scaled away while whenScaled was Delete", claim.object.Name)
		case k.stoodIn(l, claim, ordinal):
			k.report("the claim %s is left of a pod that stood in", claim.object.Name)
		}
	}
}

// found: the operator put the first label of a PodManager on the claim.
func found(l *life[*corev1.PersistentVolumeClaim]) bool {
	first := slices.IndexFunc(l.moments, func(m moment[*corev1.PersistentVolumeClaim]) bool { return m.object.Labels[appsv1.LabelName] != "" })
	return first > 0 && wrote(l.moments[first].Revision)
}

// orphaned: the owner was deleted and its pods were left, by its policy or because the
// user asked for it.
func orphaned(l *life[*appsv1.PodManager]) bool {
	return slices.ContainsFunc(l.moments, func(m moment[*appsv1.PodManager]) bool {
		spec := SpecOf(m.object)
		return spec.Deleted && spec.Orphans
	})
}

// used: a pod that is there uses the claim.
func (k *keeper) used(claim string) bool {
	for _, l := range k.pods {
		if m := l.at(k.end); m.there() && slices.Contains(ClaimsOf(m.object), claim) {
			return true
		}
	}
	return false
}

// scaledAway: the operator deleted a pod of the fleet when its ordinal was to go and
// whenScaled was Delete, and neither has changed since. Nothing is scaled away "while pods
// are taken over": a pod that goes then goes with its owner. Nor is one of those "that are
// deleted with the PodManager", whose claims are whenDeleted's.
func (k *keeper) scaledAway(owner types.UID, l *life[*appsv1.PodManager], ordinal int) bool {
	goes := func(list []moment[*appsv1.PodManager]) bool {
		return !slices.ContainsFunc(list, func(m moment[*appsv1.PodManager]) bool {
			spec := SpecOf(m.object)
			return m.there() && (spec.InBase(ordinal) || spec.WhenScaled != appsv1.ClaimDelete)
		})
	}
	goesWithIt := func(m moment[*appsv1.PodManager]) bool {
		spec := SpecOf(m.object)
		return spec.TakesOver || spec.Deleted
	}
	for _, a := range k.touches() {
		if a.owner != owner || a.what != appsv1.ReasonDeleted {
			continue
		}
		first := k.pods[a.before.UID].moments[0]
		made := wrote(first.Revision) && controllerOf(first.object) == owner
		of, ok := SpecOf(l.moments[0].object).Ordinal(a.before.Name)
		saw := k.known(a.Revision, owner)
		if made && ok && of == ordinal && k.wasInBase(a.before, ordinal, a.Version) && goes(saw) && !slices.ContainsFunc(saw, goesWithIt) && goes(l.within(a.Version, k.end)) {
			return true
		}
	}
	return false
}

// stoodIn: the operator made the claim for an ordinal that was never one of the fleet
// since.
func (k *keeper) stoodIn(l *life[*appsv1.PodManager], claim moment[*corev1.PersistentVolumeClaim], ordinal int) bool {
	first := k.chronicle.claims[claim.object.UID].moments[0]
	return wrote(first.Revision) && !slices.ContainsFunc(l.within(first.Floor, k.end), func(m moment[*appsv1.PodManager]) bool {
		return m.there() && SpecOf(m.object).InBase(ordinal)
	}) && l.at(first.Version).there()
}
