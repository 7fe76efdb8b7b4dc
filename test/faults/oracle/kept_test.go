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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// halfway is a fleet of four with random names that is on its way to another image: web-0
// and web-1 have moved, and web-2 and web-3 have not.
func halfway(edits ...func(*appsv1.PodManager)) *tale {
	s := newTale()
	s.owner(4, append(edits, randomly)...)
	s.revision("web-a", 1)
	for i := range 4 {
		s.create(i, "web-a")
		s.runs(fmt.Sprintf("web-%d", i))
	}
	s.status("web-a", 4)
	image(s)
	for i := range 2 {
		name := fmt.Sprintf("web-%d", i)
		s.delete(user, name)
		s.ends(name)
		s.create(i, "web-b")
		s.runs(name)
	}
	return s
}

// says is the operator's status in the middle of the rollout.
func (s *tale) says(changes ...func(*appsv1.PodManagerStatus)) {
	changes = append(changes, func(st *appsv1.PodManagerStatus) { st.CurrentRevision = "web-a" })
	s.status("web-b", 4, changes...)
}

func partitionOf(n int32) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) { pm.Spec.Update.Partition = ptr.To(intstr.FromInt32(n)) }
}

func replicas(n int32) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) { pm.Spec.Replicas = &n }
}

func pause(pm *appsv1.PodManager) { pm.Spec.Paused = true }

func overdue(st *appsv1.PodManagerStatus) {
	st.Conditions = append(st.Conditions, metav1.Condition{Type: appsv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: appsv1.ReasonProgressDeadlineExceeded})
}

// TestWhatAPartitionKeeps: a scale-down takes pods of the new revision first.
func TestWhatAPartitionKeeps(t *testing.T) {
	shrinks := func(keep int32, before func(*tale), victims ...string) func() *tale {
		return func() *tale {
			s := halfway(recreate, partitionOf(keep))
			s.says()
			before(s)
			s.edit(replicas(int32(4 - len(victims))))
			s.blind = s.version()
			for _, name := range victims {
				s.delete(Operator, name)
			}
			s.says()
			return s
		}
	}
	none := func(*tale) {}
	const keeps = "pods have to stay"
	judged(t, "N", map[string]broken{
		"pods of the new revision go":                   {shrinks(2, none, "web-0", "web-1"), ""},
		"pods of the old one go":                        {shrinks(2, none, "web-2", "web-3"), keeps},
		"one of each goes, and one is kept":             {shrinks(1, none, "web-0", "web-3"), ""},
		"one of each goes, and two are kept":            {shrinks(2, none, "web-0", "web-3"), keeps},
		"all go":                                        {shrinks(2, none, "web-3", "web-2", "web-1", "web-0"), ""},
		"an old one that is not ready goes before them": {shrinks(2, func(s *tale) { s.change(kubelet, "web-3", unready) }, "web-3"), ""},
		"an old one goes by its label": {shrinks(2, func(s *tale) {
			s.change(user, "web-3", func(pod *corev1.Pod) { pod.Labels[appsv1.LabelDelete] = "true" })
		}, "web-3"), ""},
		"an old one is made anew on the new revision": {func() *tale {
			s := halfway(recreate, partitionOf(2))
			s.says()
			s.delete(Operator, "web-3")
			return s
		}, keeps},
		"no old one is left, while it is paused": {shrinks(0, func(s *tale) { s.edit(pause) }, "web-2", "web-3"), keeps},
		"no old one is left, when it has failed": {shrinks(0, func(s *tale) { s.says(overdue) }, "web-2", "web-3"), keeps},
		"one is left, when it has failed":        {shrinks(0, func(s *tale) { s.says(overdue) }, "web-0", "web-3"), ""},
		"no old one is left, when it had failed, and a pod became available since": {shrinks(0, func(s *tale) {
			s.change(kubelet, "web-0", unready)
			s.says(overdue)
			s.runs("web-0")
			s.says(func(st *appsv1.PodManagerStatus) { meta.RemoveStatusCondition(&st.Conditions, appsv1.ConditionStalled) })
		}, "web-2", "web-3"), ""},
		"no old one is left, when it goes on": {shrinks(0, none, "web-2", "web-3"), ""},
		"one more than it keeps is made anew": {func() *tale {
			s := halfway(recreate, partitionOf(1))
			s.says()
			s.delete(Operator, "web-3")
			return s
		}, ""},
	}, func(h []Revision) []Violation { return Needless(h, Rules{}) })
}

func unready(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
}

// TestWhatComesWhileARolloutStandsStill: a pod comes back on the revision that it had.
func TestWhatComesWhileARolloutStandsStill(t *testing.T) {
	// comes: a pod comes on a revision after another has gone, or after none.
	comes := func(edit func(*appsv1.PodManager), gone, revision string) func() *tale {
		return func() *tale {
			s := halfway(recreate)
			s.edit(edit)
			s.says()
			if gone != "" {
				s.delete(user, gone)
				s.ends(gone)
			} else {
				s.edit(replicas(5))
			}
			s.create(9, revision)
			return s
		}
	}
	failed := func(after func(*tale), revision string) func() *tale {
		return func() *tale {
			s := halfway(recreate)
			s.change(kubelet, "web-0", unready)
			s.change(kubelet, "web-1", unready)
			s.says(overdue)
			after(s)
			s.create(9, revision)
			return s
		}
	}
	// nothing: it is scaled to 0 and back.
	nothing := func(s *tale) {
		s.edit(replicas(0))
		for i := range 4 {
			s.delete(Operator, fmt.Sprintf("web-%d", i))
			s.ends(fmt.Sprintf("web-%d", i))
		}
		s.status("web-b", 0, func(st *appsv1.PodManagerStatus) { st.CurrentRevision = "web-a" })
		s.edit(replicas(4))
	}
	const still, back = "whose rollout stands still", "though the rollout stands still"
	judged(t, "N", map[string]broken{
		"a new one after a new one":                  {comes(pause, "web-0", "web-b"), ""},
		"an old one after an old one":                {comes(pause, "web-3", "web-a"), ""},
		"an old one after a new one":                 {comes(pause, "web-0", "web-a"), back},
		"a new one after an old one":                 {comes(pause, "web-3", "web-b"), still},
		"a new one after an old one, and it goes on": {comes(func(*appsv1.PodManager) {}, "web-3", "web-b"), ""},
		"an additional one is old":                   {comes(pause, "", "web-a"), ""},
		"an additional one is new":                   {comes(pause, "", "web-b"), still},
		"after a failure, and nothing and back, old": {failed(nothing, "web-a"), ""},
		"after a failure, and nothing and back, new": {failed(nothing, "web-b"), still},
		"after a failure that a restart ended":       {failed(func(s *tale) { nothing(s); s.annotate(appsv1.AnnotationRestart, "2026-03-01T13:00:00Z") }, "web-b"), ""},
		"after a failure whose deadline was extended": {failed(func(s *tale) {
			nothing(s)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Update.ProgressDeadlineSeconds = ptrTo(9000) })
		}, "web-b"), ""},
		"after a failure, when a pod had become available": {failed(func(s *tale) {
			s.runs("web-0")
			s.says(func(st *appsv1.PodManagerStatus) { meta.RemoveStatusCondition(&st.Conditions, appsv1.ConditionStalled) })
			nothing(s)
		}, "web-b"), ""},
	}, func(h []Revision) []Violation { return Needless(h, Rules{}) })
}
