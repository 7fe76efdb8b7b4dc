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
	"slices"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// chronicle is a history sorted by object, so that a rule can ask what an object was
// at any version. A writer knows the cluster as it was at some version between the
// one that it had seen and its own write: what it does and says has to be right for
// one of these.
type chronicle struct {
	history []Revision
	owners  map[types.UID]*life[*appsv1.PodManager]
	pods    map[types.UID]*life[*corev1.Pod]
	claims  map[types.UID]*life[*corev1.PersistentVolumeClaim]
	// revisions and nodes are by name: another of the same name takes its place.
	revisions map[string]*life[*kappsv1.ControllerRevision]
	nodes     map[string]*life[*corev1.Node]
}

// life is what became of one object, oldest version first.
type life[T client.Object] struct{ moments []moment[T] }

// moment is one version of an object.
type moment[T client.Object] struct {
	*Revision
	object T
}

// there: the object exists at this moment.
func (m moment[T]) there() bool { return m.Revision != nil && !m.Gone }

func newChronicle(history []Revision) *chronicle {
	c := &chronicle{
		history: history,
		owners:  map[types.UID]*life[*appsv1.PodManager]{}, pods: map[types.UID]*life[*corev1.Pod]{},
		claims:    map[types.UID]*life[*corev1.PersistentVolumeClaim]{},
		revisions: map[string]*life[*kappsv1.ControllerRevision]{}, nodes: map[string]*life[*corev1.Node]{},
	}
	for i := range history {
		r := &history[i]
		switch obj := r.Object.(type) {
		case *appsv1.PodManager:
			note(c.owners, obj.UID, r, obj)
		case *corev1.Pod:
			note(c.pods, obj.UID, r, obj)
		case *corev1.PersistentVolumeClaim:
			note(c.claims, obj.UID, r, obj)
		case *kappsv1.ControllerRevision:
			note(c.revisions, obj.Name, r, obj)
		case *corev1.Node:
			note(c.nodes, obj.Name, r, obj)
		}
	}
	return c
}

func note[K comparable, T client.Object](lives map[K]*life[T], key K, r *Revision, obj T) {
	if lives[key] == nil {
		lives[key] = &life[T]{}
	}
	lives[key].moments = append(lives[key].moments, moment[T]{r, obj})
}

// at is the object as it was at a version. Where it was not there yet, the moment
// is empty.
func (l *life[T]) at(version int64) moment[T] {
	var last moment[T]
	if l == nil {
		return last
	}
	for _, m := range l.moments {
		if m.Version > version {
			break
		}
		last = m
	}
	return last
}

// within is everything that the object was between two versions: as it was at the
// first, and each change since.
func (l *life[T]) within(from, to int64) []moment[T] {
	if l == nil {
		return nil
	}
	list := []moment[T]{l.at(from)}
	for _, m := range l.moments {
		if m.Version > from && m.Version <= to {
			list = append(list, m)
		}
	}
	return list
}

// before is the object before a change of it.
func (l *life[T]) before(r *Revision) moment[T] { return l.at(r.Version - 1) }

// known are the versions of an owner that a writer may have acted on.
func (c *chronicle) known(r *Revision, owner types.UID) []moment[*appsv1.PodManager] {
	list := c.owners[owner].within(r.Floor, r.Version)
	return slices.DeleteFunc(list, func(m moment[*appsv1.PodManager]) bool { return !m.there() })
}

// owns: the owner controls the pod at this moment.
func owns(owner types.UID, m moment[*corev1.Pod]) bool {
	if !m.there() {
		return false
	}
	ref := metav1.GetControllerOf(m.object)
	return ref != nil && ref.UID == owner
}

// counts: a pod that the owner controls is one of its fleet. One whose node is gone does
// not run, one whose label was edited is about to be released: they need not count.
func (c *chronicle) counts(owner types.UID, m moment[*corev1.Pod], until int64) bool {
	return owns(owner, m) && !c.nodeLost(m.object.Spec.NodeName, until) && m.object.Labels[appsv1.LabelName] == c.owners[owner].moments[0].object.Name
}

// count says of how many pods of an owner something was true at every moment
// between two versions, and of how many at some.
func (c *chronicle) count(owner types.UID, from, to int64, is func(moment[*corev1.Pod]) bool) (least, most int) {
	for _, l := range c.pods {
		always, ever := true, false
		for _, m := range l.within(from, to) {
			yes := owns(owner, m) && is(m)
			always, ever = always && yes && c.counts(owner, m, to), ever || yes
		}
		if always {
			least++
		}
		if ever {
			most++
		}
	}
	return least, most
}

// versionsOf are those of the changes of one kind of object after a version, and that
// version itself.
func versionsOf[T client.Object](history []Revision, from, to int64) []int64 {
	list := []int64{from}
	for i := range history {
		if _, ok := history[i].Object.(T); ok && history[i].Version > from && history[i].Version <= to {
			list = append(list, history[i].Version)
		}
	}
	return list
}

// wrote: the operator wrote this revision, also one that died before it arrived.
func wrote(r *Revision) bool { return r.Actor == Operator || r.Actor == Late }
