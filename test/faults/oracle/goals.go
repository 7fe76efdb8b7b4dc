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
	"cmp"
	"slices"
	"strconv"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// goal is the revision that the pods of an owner move to: "that of the template,
// unless another is pinned or a failed one was rolled back".
type goal struct {
	// name is empty where the revision is not stored yet.
	name     string
	template *corev1.PodTemplateSpec
	// pinned: a pin is in force. overrides: it keeps the pods on another revision
	// than the template's. lost: the pinned revision is not stored, and the pods
	// stay where they are.
	pinned, overrides, lost bool
	// back: a failed revision was rolled back.
	back bool
}

// goalOf is the goal of an owner as it was at a version of the cluster, with the
// revisions that were stored then.
func (c *chronicle) goalOf(pm *appsv1.PodManager, version int64) goal {
	return goalAmong(pm, c.storedAt(pm.UID, version))
}

// storedAt are the revisions of an owner at a version.
func (c *chronicle) storedAt(owner types.UID, version int64) []*kappsv1.ControllerRevision {
	var list []*kappsv1.ControllerRevision
	for _, l := range c.revisions {
		m := l.at(version)
		if !m.there() {
			continue
		}
		if controllerOf(m.object) == owner {
			list = append(list, m.object)
		}
	}
	return list
}

// goalAmong is the goal with these revisions: of those that mean the template, the newest.
func goalAmong(pm *appsv1.PodManager, stored []*kappsv1.ControllerRevision) goal {
	spec, asked := SpecOf(pm), WantedTemplate(pm)
	slices.SortFunc(stored, func(a, b *kappsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), strings.Compare(a.Name, b.Name))
	})
	g := goal{template: asked}
	var number, newest int64
	for _, r := range stored {
		newest = max(newest, r.Revision)
		if SameTemplate(templateIn(r), asked) {
			g.name, number = r.Name, r.Revision
		}
	}
	if spec.Pin != "" {
		// The number of the template's revision grows with every change of it: one
		// that is older than the newest gets the next number, and so does a new one.
		if g.name == "" || number < newest {
			number = newest + 1
		}
		if spec.PinWhile == 0 || number <= spec.PinWhile {
			return pinnedGoal(spec, g, stored)
		}
	}
	if back := pm.Status.Rollback; back != nil && back.From == g.name {
		if to := find(stored, back.To); to != nil {
			g.name, g.template, g.back = to.Name, templateIn(to), true
		}
	}
	return g
}

// pinnedGoal: the pin names a revision "by number or name".
func pinnedGoal(spec *Spec, template goal, stored []*kappsv1.ControllerRevision) goal {
	pinned := find(stored, spec.Pin)
	if pinned == nil {
		return goal{lost: true}
	}
	g := goal{name: pinned.Name, template: templateIn(pinned), overrides: pinned.Name != template.name}
	g.pinned = g.overrides || spec.PinWhile == 0
	return g
}

// plain: the goal is that of the template.
func (g goal) plain() bool { return !g.lost && !g.overrides && !g.back }

// templateIn is the template that a revision holds. One that cannot be read holds none.
func templateIn(revision *kappsv1.ControllerRevision) *corev1.PodTemplateSpec {
	template, err := TemplateOf(revision)
	if err != nil {
		return &corev1.PodTemplateSpec{}
	}
	return template
}

// find is a revision by its name or number.
func find(stored []*kappsv1.ControllerRevision, revision string) *kappsv1.ControllerRevision {
	for _, r := range stored {
		if r.Name == revision || strconv.FormatInt(r.Revision, 10) == revision {
			return r
		}
	}
	return nil
}

// stays: the pod has to stay on its revision, whatever the goal is. "Paused stops
// rollouts"; with OnDelete "pods follow when you delete them"; behind a partition stay
// "those with the lowest ordinals".
// The old revision is currentRevision: a fleet that was never available on any has none to
// stay on.
func stays(owner *appsv1.PodManager, pod *corev1.Pod) bool {
	spec := SpecOf(owner)
	if spec.Paused || spec.Strategy == appsv1.UpdateOnDelete {
		return true
	}
	ordinal, ok := ordinalOf(spec, pod)
	if spec.Random || !ok || owner.Status.CurrentRevision == "" {
		return false
	}
	place := slices.Index(spec.Base(), ordinal)
	return place >= 0 && place < spec.Partition
}

// ordinalOf is the place of a pod: with ordinals its name says it; its slot label says it
// for a pod with another name that was taken over, and with random names.
func ordinalOf(spec *Spec, pod *corev1.Pod) (int, bool) {
	if ordinal, ok := spec.Ordinal(pod.Name); ok && !spec.Random {
		return ordinal, true
	}
	ordinal, err := strconv.Atoi(pod.Labels[appsv1.LabelSlot])
	return ordinal, err == nil
}

// reached: the pod is on a goal, by its label and by what it is.
func (g *goal) reached(pod *corev1.Pod) bool {
	if g.lost {
		return true
	}
	return g.name != "" && pod.Labels[appsv1.LabelRevision] == g.name && departs(pod, g.template) == ""
}
