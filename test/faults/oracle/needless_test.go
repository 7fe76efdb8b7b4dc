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
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// deletes is a fleet of two of which the operator deletes web-1, after something.
func deletes(edits []func(*appsv1.PodManager), before func(s *tale)) func() *tale {
	return func() *tale {
		s := two(edits...)
		before(s)
		s.delete(Operator, "web-1")
		return s
	}
}

// resized: a client resizes web-1, and its node answers.
func resized(actor, answer string) func(s *tale) {
	return func(s *tale) {
		s.change(actor, "web-1", func(pod *corev1.Pod) { cpu(pod, "2") })
		s.change(kubelet, "web-1", func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: answer,
			})
		})
	}
}

// image changes the template's image and stores its revision.
func image(s *tale) {
	s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:2" })
	s.revision("web-b", 2)
}

func recreate(pm *appsv1.PodManager)   { pm.Spec.Update.Strategy = appsv1.UpdateRecreate }
func randomly(pm *appsv1.PodManager)   { pm.Spec.Identity = appsv1.IdentityRandom }
func surgeFirst(pm *appsv1.PodManager) { pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst }

func drained(s *tale) {
	s.change("webhook", "web-1", func(pod *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, appsv1.AnnotationEvictionRequested, "2026-03-01T12:00:00Z")
	})
}

// TestNeedlessDeletes: a pod goes for a cause, or not at all.
func TestNeedlessDeletes(t *testing.T) {
	none := func(*tale) {}
	with := func(edits ...func(*appsv1.PodManager)) []func(*appsv1.PodManager) { return edits }
	judged(t, "N", map[string]broken{
		"without a cause": {deletes(nil, none), "web-1 is deleted without a cause"},
		"scaled down": {deletes(nil, func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(1) })
		}), ""},
		"its ordinal is reserved": {deletes(nil, func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = []int32{1} })
		}), ""},
		"failed": {deletes(nil, func(s *tale) { s.change(kubelet, "web-1", fails) }), ""},
		"asked for by its label": {deletes(nil, func(s *tale) {
			s.change(user, "web-1", func(pod *corev1.Pod) { pod.Labels[appsv1.LabelDelete] = "true" })
		}), ""},
		"the owner is deleted": {deletes(nil, func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.DeletionTimestamp = &metav1.Time{Time: noon} })
		}), ""},
		"the owner is deleted and leaves its pods": {deletes(nil, func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) {
				pm.DeletionTimestamp, pm.Spec.Deletion.Policy = &metav1.Time{Time: noon}, appsv1.DeletionOrphan
			})
		}), "without a cause"},
		"a restart is asked for": {deletes(nil, func(s *tale) { s.annotate(appsv1.AnnotationRestart, "2026-03-01T13:00:00Z") }), ""},
		"a restart is asked for that it is younger than": {deletes(nil, func(s *tale) {
			s.annotate(appsv1.AnnotationRestart, "2026-03-01T11:00:00Z")
		}), "without a cause"},
		"another image, by recreating":                   {deletes(with(recreate), image), ""},
		"another image, which could be changed in place": {deletes(nil, image), "without a cause"},
		"another image while rollouts are paused": {deletes(with(recreate), func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			image(s)
		}), "without a cause"},
		"another variable, which cannot be changed in place": {deletes(nil, func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) {
				pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: appsv1.AppContainer, Env: []corev1.EnvVar{{Name: "A", Value: "1"}}},
				}}}
			})
			s.revision("web-b", 2)
		}), ""},
		"behind a partition": {func() *tale {
			s := two(recreate, func(pm *appsv1.PodManager) { pm.Spec.Update.Partition = ptr.To(intstr.FromInt32(1)) })
			image(s)
			s.delete(Operator, "web-0")
			return s
		}, "web-0 is deleted without a cause"},
		"the node cannot hold the operator's resize":          {deletes(nil, resized(Operator, corev1.PodReasonInfeasible)), ""},
		"the node cannot hold another client's resize":        {deletes(nil, resized("autoscaler", corev1.PodReasonInfeasible)), "without a cause"},
		"the node defers another client's resize for ever":    {deletes(nil, resized("autoscaler", corev1.PodReasonDeferred)), "without a cause"},
		"it has to leave its node":                            {deletes(with(surgeFirst), drained), ""},
		"it has to leave its node, and evictions are allowed": {deletes(nil, drained), "without a cause"},
		"its node is gone": {func() *tale {
			s := two()
			s.write(user, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, false)
			s.write(user, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, true)
			s.delete(Operator, "web-1")
			return s
		}, ""},
		"removed before its kubelet ended it": {deletes(nil, func(s *tale) {
			s.delete(user, "web-0")
			s.write(Operator, s.pod("web-0"), true)
		}), "web-0 is removed before it has ended"},
		"more pods with random names than asked for": {deletes(with(randomly), func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(1) })
		}), ""},
		"two of two with random names when one is too many": {func() *tale {
			s := two(randomly)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(1) })
			s.blind = s.version()
			s.delete(Operator, "web-1")
			s.delete(Operator, "web-0")
			return s
		}, "web-0 is deleted without a cause"},
		"the writer had not seen that it was scaled up again": {func() *tale {
			s := two()
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(1) })
			floor := s.version()
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(2) })
			s.delete(Operator, "web-1")
			s.history[len(s.history)-1].Floor = floor
			return s
		}, ""},
	}, func(h []Revision) []Violation { return Needless(h, Rules{}) })
}

// TestARefusedSizeIsACause of a delete only for a pod that is not what is asked for.
func TestARefusedSizeIsACause(t *testing.T) {
	for name, refused := range map[string]Request{
		"more than its node has":   {Name: "web-1", Refused: true, TooLarge: true},
		"more than a pod can have": {Name: "web-0", Refused: true, Invalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			judged(t, "N", map[string]broken{
				"on the way to another revision": {deletes(nil, image), ""},
				"all is as asked for by then":    {deletes(nil, func(*tale) {}), "web-1 is deleted without a cause"},
			}, func(h []Revision) []Violation {
				refused.Version = h[len(h)-1].Version - 1
				return Needless(h, Rules{Requests: []Request{refused}})
			})
		})
	}
}

// TestNeedlessCreates: a pod comes because one is missing, or because another goes.
func TestNeedlessCreates(t *testing.T) {
	judged(t, "N", map[string]broken{
		"one of the fleet is missing": {func() *tale { return two() }, ""},
		"one more than asked for": {func() *tale {
			s := two()
			s.create(2, "web-a")
			return s
		}, "web-2 is created without a cause"},
		"one stands in while others are recreated": {func() *tale {
			s := two(recreate)
			image(s)
			s.create(2, "web-b")
			return s
		}, ""},
		"one stands in for another that leaves its node": {func() *tale {
			s := two(surgeFirst)
			drained(s)
			s.create(2, "web-a")
			return s
		}, ""},
		"one stands in, and rollouts are paused": {func() *tale {
			s := two(recreate)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			image(s)
			s.create(2, "web-b")
			return s
		}, "web-2 is created without a cause"},
		"two with random names for one that is missing": {func() *tale {
			s := two(randomly)
			s.delete(user, "web-1")
			s.ends("web-1")
			s.blind = s.version()
			s.create(2, "web-a")
			s.create(3, "web-a")
			return s
		}, "web-3 is created without a cause"},
	}, func(h []Revision) []Violation { return Needless(h, Rules{}) })
}

// TestNeedlessMoves: a repair puts no pod on another revision.
func TestNeedlessMoves(t *testing.T) {
	back := func(revision string, edits ...func(*appsv1.PodManager)) func() *tale {
		return func() *tale {
			s := two(recreate)
			image(s)
			s.delete(Operator, "web-1")
			s.ends("web-1")
			s.create(1, "web-b")
			s.runs("web-1")
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			s.status("web-b", 2, func(st *appsv1.PodManagerStatus) { st.CurrentRevision = "web-a" })
			for _, edit := range edits {
				s.edit(edit)
			}
			s.delete(user, "web-1")
			s.ends("web-1")
			s.create(1, revision)
			return s
		}
	}
	judged(t, "N", map[string]broken{
		"a canary comes back as it was":              {back("web-b"), ""},
		"a canary comes back on the old revision":    {back("web-a"), "web-1 comes back on revision web-a, and was on web-b"},
		"the rollout goes on before it comes back":   {back("web-a", func(pm *appsv1.PodManager) { pm.Spec.Paused = false }), ""},
		"a partition is raised before it comes back": {back("web-a", func(pm *appsv1.PodManager) { pm.Spec.Update.Partition = ptr.To(intstr.FromInt32(2)) }), ""},
		"the template changes before it comes back":  {back("web-a", func(pm *appsv1.PodManager) { pm.Spec.Image = "app:3" }), ""},
		"and it comes back as the template is now":   {back("web-c", func(pm *appsv1.PodManager) { pm.Spec.Image = "app:3" }), "web-1 comes back on revision web-c"},
		"a partition that does not reach it":         {back("web-a", func(pm *appsv1.PodManager) { pm.Spec.Update.Partition = ptr.To(intstr.FromInt32(1)) }), "web-1 comes back on revision web-a"},
		"it follows when it is deleted, as OnDelete": {back("web-a", func(pm *appsv1.PodManager) { pm.Spec.Update.Strategy = appsv1.UpdateOnDelete }), ""},
	}, func(h []Revision) []Violation { return Needless(h, Rules{}) })
}

// TestNeedlessChanges: a pod is changed to what its revision asks for, and to nothing
// else.
func TestNeedlessChanges(t *testing.T) {
	to := func(image string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = image }
	}
	judged(t, "N", map[string]broken{
		"the template's image": {func() *tale {
			s := two()
			image(s)
			s.change(Operator, "web-1", to("app:2"))
			return s
		}, ""},
		"an image that no template has": {func() *tale {
			s := two()
			image(s)
			s.change(Operator, "web-1", to("app:7"))
			return s
		}, "web-1 is changed"},
		"the template's image while rollouts are paused": {func() *tale {
			s := two(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			image(s)
			s.change(Operator, "web-1", to("app:2"))
			return s
		}, "web-1 is changed"},
		"the image that a pin names": {func() *tale {
			s := two()
			image(s)
			s.change(Operator, "web-1", to("app:2"))
			s.annotate(appsv1.AnnotationPin, "1")
			s.change(Operator, "web-1", to("app:1"))
			return s
		}, ""},
		"a pod in between goes back behind a partition, for it does not serve": {func() *tale { return between(func(pod *corev1.Pod) { pod.Status.Conditions = nil }) }, ""},
		"and stays if it serves": {func() *tale { return between(run) }, "web-0 is changed"},
		"another client changes an image": {func() *tale {
			s := two()
			s.change("injector", "web-1", to("app:7"))
			return s
		}, ""},
	}, func(h []Revision) []Violation { return Needless(h, Rules{}) })
}

// TestNeedlessReleases: a pod is let go for its labels, or with an owner that leaves its pods.
func TestNeedlessReleases(t *testing.T) {
	release := func(s *tale) *tale {
		s.change(Operator, "web-1", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
		return s
	}
	deleted := func(policy appsv1.DeletionPolicy, finalizers ...string) func() *tale {
		return func() *tale {
			s := two(func(pm *appsv1.PodManager) { pm.Spec.Deletion.Policy = policy })
			s.edit(func(pm *appsv1.PodManager) {
				pm.DeletionTimestamp, pm.Finalizers = &metav1.Time{Time: noon}, append(pm.Finalizers, finalizers...)
			})
			return release(s)
		}
	}
	judged(t, "N", map[string]broken{
		"its label was edited": {func() *tale {
			s := two()
			s.change(user, "web-1", func(pod *corev1.Pod) { pod.Labels[appsv1.LabelName] = "other" })
			return release(s)
		}, ""},
		"nothing asks for it":              {func() *tale { return release(two()) }, "web-1 is released"},
		"the owner leaves its pods":        {deleted(appsv1.DeletionOrphan), ""},
		"the owner deletes its pods":       {deleted(appsv1.DeletionDelete), "web-1 is released"},
		"--cascade=orphan wins":            {deleted(appsv1.DeletionDelete, metav1.FinalizerOrphanDependents), ""},
		"and so does --cascade=foreground": {deleted(appsv1.DeletionOrphan, metav1.FinalizerDeleteDependents), "web-1 is released"},
	}, func(h []Revision) []Violation { return Needless(h, Rules{}) })
}

// between: a pod was moved to a revision that a partition keeps the fleet from by now, as
// it stayed behind on the last but one, and it goes back to the old one.
func between(state func(*corev1.Pod)) *tale {
	s := two()
	image(s)
	s.change(Operator, "web-0", func(pod *corev1.Pod) {
		pod.Labels[appsv1.LabelRevision], pod.Spec.Containers[0].Image = "web-b", "app:2"
	})
	s.change(kubelet, "web-0", run)
	s.change(kubelet, "web-0", state)
	s.edit(func(pm *appsv1.PodManager) {
		pm.Spec.Image, pm.Spec.Update.Partition = "app:3", ptr.To(intstr.FromInt32(2))
	})
	s.revision("web-c", 3)
	s.change(Operator, "web-0", func(pod *corev1.Pod) {
		pod.Labels[appsv1.LabelRevision], pod.Spec.Containers[0].Image = "web-a", "app:1"
	})
	return s
}
