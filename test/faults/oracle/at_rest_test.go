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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// rests is a fleet of two at rest, and then something that the operator does not answer to.
func rests(change func(s *tale), edits ...func(*appsv1.PodManager)) func() *tale {
	return func() *tale {
		s := two(edits...)
		change(s)
		return s
	}
}

// follow: the operator has put pods on revision web-b.
func follow(s *tale, names ...string) {
	for _, name := range names {
		s.change(Operator, name, func(pod *corev1.Pod) {
			pod.Labels[appsv1.LabelRevision], pod.Spec.Containers[0].Image = "web-b", "app:2"
		})
		s.runs(name)
	}
}

func hold(pod *corev1.Pod) { pod.Labels[appsv1.LabelHoldDelete] = "backup" }

// TestAtRestPods: which pods there are follows from the spec and from what stands in the
// way.
func TestAtRestPods(t *testing.T) {
	scaled := func(n int32) func(s *tale) {
		return func(s *tale) { s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = &n }) }
	}
	judged(t, "L1", map[string]broken{
		"as asked for":      {rests(func(*tale) {}), ""},
		"a pod is missing":  {rests(scaled(3)), "slot 2 has no pod"},
		"a pod is too many": {rests(scaled(1)), "web-1 is beyond the fleet"},
		"a reserved ordinal": {rests(func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = []int32{0} })
			s.create(2, "web-a")
			s.runs("web-2")
		}), "web-0 is beyond the fleet"},
		"its ordinal is free": {rests(func(s *tale) { s.edit(func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = []int32{0} }) }), "slot 2 has no pod"},
		"a pod that is too many is held": {rests(func(s *tale) {
			scaled(1)(s)
			s.change(user, "web-1", hold)
			s.status("web-a", 2, func(st *appsv1.PodManagerStatus) {
				condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonHeld)(st)
			})
		}), ""},
		"another's pod has the name": {rests(func(s *tale) {
			scaled(3)(s)
			s.write(user, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-2", UID: s.uid()}}, false)
			s.status("web-a", 2)
		}), ""},
		"a finalizer keeps the pod of a slot": {rests(func(s *tale) {
			s.change(user, "web-1", func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/keep"} })
			s.delete(user, "web-1")
		}), ""},
		"a finalizer keeps a pod that failed": {rests(func(s *tale) {
			s.change(user, "web-1", func(pod *corev1.Pod) {
				pod.Finalizers, pod.Status.Phase = []string{appsv1.LabelHoldUpdate}, corev1.PodFailed
			})
			s.delete(user, "web-1")
		}), ""},
		"a pod of a node that is gone keeps its slot": {rests(func(s *tale) {
			s.write(user, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, false)
			s.write(user, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, true)
			s.delete(user, "web-1")
		}), "slot 1 has no pod"},
		"random names, one is missing":  {rests(scaled(3), randomly), "there are 2 pods of 3"},
		"random names, one is too many": {rests(scaled(1), randomly), "there are 2 pods, and 1 are asked for"},
		"an orphan that matches is not adopted": {rests(func(s *tale) {
			s.write(user, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "stray", UID: s.uid(), Labels: map[string]string{appsv1.LabelName: "web"},
			}}, false)
		}), "stray matches, has no owner, and is not adopted"},
		"a pod whose label was edited is not released": {rests(func(s *tale) {
			s.change(user, "web-1", func(pod *corev1.Pod) { pod.Labels[appsv1.LabelName] = "other" })
		}), "web-1 is kept"},
		"too many failed pods are kept": {rests(func(s *tale) {
			for _, name := range []string{"web-0", "web-1"} {
				s.change(kubelet, name, fails)
			}
			s.create(2, "web-a")
			s.create(3, "web-a")
			s.runs("web-2", "web-3")
		}, randomly), "2 failed pods are kept, and 1 may be"},
	}, func(h []Revision) []Violation { return AtRest(h, Rules{}, noon.Add(time.Hour)) })
}

// TestAtRestBudgets: a PodDisruptionBudget keeps a pod from being made anew only where the
// spec asks for evictions, and only if no more pods serve than it keeps.
func TestAtRestBudgets(t *testing.T) {
	waits := func(edit func(*appsv1.PodManager)) func() *tale {
		return rests(func(s *tale) {
			image(s)
			s.status("web-b", 2, func(st *appsv1.PodManagerStatus) {
				st.CurrentRevision, st.UpdatedReplicas = "web-a", 0
				condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonRollingOut)(st)
			})
		}, edit)
	}
	deleting := func(pm *appsv1.PodManager) { pm.Spec.Update.Strategy = appsv1.UpdateRecreate }
	evicting := func(pm *appsv1.PodManager) {
		deleting(pm)
		pm.Spec.Update.UseEviction = true
	}
	const stale = "web-0 is on revision \"web-a\", and should be on \"web-b\""
	for most, tales := range map[int]map[string]broken{
		2: {
			"both are kept, and evictions are asked for": {waits(evicting), ""},
			"both are kept, and pods are deleted":        {waits(deleting), stale},
			"both are kept, and pods change in place":    {waits(func(pm *appsv1.PodManager) { pm.Spec.Update.UseEviction = true }), stale},
		},
		1: {"one is kept": {waits(evicting), stale}},
		0: {"there is no budget": {waits(evicting), stale}},
	} {
		judged(t, "L1", tales, func(h []Revision) []Violation { return AtRest(h, Rules{Budget: most}, noon.Add(time.Hour)) })
	}
}

// TestAtRestRevisions: each pod is on the revision that it should be on, by its label
// and by what it is.
func TestAtRestRevisions(t *testing.T) {
	partition := func(pm *appsv1.PodManager) { pm.Spec.Update.Partition = ptr.To(intstr.FromInt32(1)) }
	judged(t, "L1", map[string]broken{
		"all have followed": {rests(func(s *tale) {
			image(s)
			follow(s, "web-0", "web-1")
			s.status("web-b", 2)
		}), ""},
		"a pod has not followed": {rests(func(s *tale) {
			image(s)
			follow(s, "web-1")
		}), "web-0 is on revision \"web-a\", and should be on \"web-b\""},
		"a pod that is held and does not serve takes the budget": {rests(func(s *tale) {
			image(s)
			s.change(user, "web-1", func(pod *corev1.Pod) {
				pod.Labels[appsv1.LabelHoldUpdate], pod.Status.Conditions = "backup", nil
			})
			s.status("web-b", 2, func(st *appsv1.PodManagerStatus) {
				st.CurrentRevision, st.UpdatedReplicas, st.ReadyReplicas, st.AvailableReplicas = "web-a", 0, 1, 1
				condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonHeld)(st)
			})
		}), ""},
		"a pod that is held serves": {rests(func(s *tale) {
			image(s)
			s.change(user, "web-1", func(pod *corev1.Pod) { pod.Labels[appsv1.LabelHoldUpdate] = "backup" })
		}), "web-0 is on revision \"web-a\", and should be on \"web-b\""},
		"a pod behind a partition has not followed": {rests(func(s *tale) {
			image(s)
			follow(s, "web-1")
			s.status("web-b", 2, func(st *appsv1.PodManagerStatus) { st.CurrentRevision, st.UpdatedReplicas = "web-a", 1 })
		}, partition), ""},
		"the wrong pod is behind the partition": {rests(func(s *tale) {
			image(s)
			follow(s, "web-0")
			s.status("web-b", 2, func(st *appsv1.PodManagerStatus) { st.CurrentRevision, st.UpdatedReplicas = "web-a", 1 })
		}, partition), "web-1 is on revision \"web-a\""},
		"rollouts are paused": {rests(func(s *tale) {
			image(s)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			s.status("web-b", 2)
		}), ""},
		"rollouts are paused, and the wrong pod is behind the partition": {rests(func(s *tale) {
			image(s)
			follow(s, "web-0")
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			s.status("web-b", 2, func(st *appsv1.PodManagerStatus) {
				st.CurrentRevision, st.UpdatedReplicas = "web-a", 1
				condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ConditionPaused)(st)
			})
		}, partition), ""},
		"rollouts are paused, and a resize waits for its node": {rests(func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Paused = true })
			s.change(kubelet, "web-0", func(pod *corev1.Pod) {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue})
			})
			s.status("web-a", 2, condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ConditionPaused))
		}), ""},
		"a pin keeps them": {rests(func(s *tale) {
			image(s)
			s.annotate(appsv1.AnnotationPin, "1 while 2")
			s.status("web-a", 2)
		}), ""},
		"a pin is not followed": {rests(func(s *tale) {
			image(s)
			follow(s, "web-0", "web-1")
			s.annotate(appsv1.AnnotationPin, "1 while 2")
		}), "should be on \"web-a\""},
		"the revision is stored twice": {rests(func(s *tale) { s.revision("web-b", 2) }), "2 stored revisions are that of the template"},
		"old revisions are kept": {rests(func(s *tale) {
			image(s)
			follow(s, "web-0", "web-1")
			s.status("web-b", 2)
		}, func(pm *appsv1.PodManager) { pm.Spec.RevisionHistoryLimit = ptrTo(0) }), "1 old revisions are kept, and 0 may be"},
	}, func(h []Revision) []Violation { return AtRest(h, Rules{}, noon.Add(time.Hour)) })
}

// TestAtRestHalves: a pod is what its label says.
func TestAtRestHalves(t *testing.T) {
	judged(t, "C", map[string]broken{
		"only the label has followed": {rests(func(s *tale) {
			image(s)
			follow(s, "web-0", "web-1")
			s.change(Operator, "web-1", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "app:1" })
		}), "web-1 is on revision web-b, and its spec.containers[0].image is another"},
		"the operator left another size": {rests(func(s *tale) {
			s.change(Operator, "web-1", func(pod *corev1.Pod) { cpu(pod, "2") })
		}, func(pm *appsv1.PodManager) { size(pm, "1") }), "web-1 is on revision web-a, and has another size"},
		"a person chose another size": {rests(func(s *tale) {
			s.change(user, "web-1", func(pod *corev1.Pod) { cpu(pod, "2") })
		}, func(pm *appsv1.PodManager) { size(pm, "1") }), ""},
	}, func(h []Revision) []Violation { return AtRest(h, Rules{}, noon.Add(time.Hour)) })
}

func size(pm *appsv1.PodManager, cpus string) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: appsv1.AppContainer}}}}
	cpu(pod, cpus)
	pm.Spec.Template = &corev1.PodTemplateSpec{Spec: pod.Spec}
}

// TestAtRestMarks: labels, annotations, gates and the owner's finalizer are as
// documented, and the conditions say that all is well when it is.
func TestAtRestMarks(t *testing.T) {
	asked := func(pod *corev1.Pod) { pod.Labels[appsv1.LabelDelete] = "true" }
	inOrder := func(pm *appsv1.PodManager) { pm.Spec.PodManagementPolicy = appsv1.OrderedReadyPods }
	// beyond: a pod beyond the fleet was asked for, and a higher one is held.
	beyond := func(s *tale) {
		s.create(2, "web-a")
		s.runs("web-2")
		s.edit(replicas(1))
		s.change(user, "web-2", hold)
		s.change(user, "web-1", asked)
		s.status("web-a", 3, condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonHeld))
	}
	mark := func(change func(*corev1.Pod)) func() *tale {
		return rests(func(s *tale) { s.change(user, "web-1", change) })
	}
	judged(t, "L1", map[string]broken{
		"the UID of another owner": {mark(func(pod *corev1.Pod) { pod.Labels[appsv1.LabelUID] = "other" }), "label podmanager-uid"},
		"the slot of another pod":  {mark(func(pod *corev1.Pod) { pod.Labels[appsv1.LabelSlot] = "7" }), "label apps.mycompany.com/slot"},
		"a pod of the fleet is marked as a stand-in": {mark(func(pod *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, appsv1.AnnotationSurge, "true")
		}), "marked as one that stands in"},
		"wanted and not held":                                     {mark(func(pod *corev1.Pod) { pod.Labels[appsv1.LabelWanted] = "delete" }), "is wanted for delete"},
		"it was asked for":                                        {mark(asked), "should go, by its label"},
		"one beyond the fleet, beside one that is held":           {rests(beyond), "web-1 should go, by its label"},
		"one beyond the fleet, beside one that is held, in order": {rests(beyond, inOrder), ""},
		"a failed pod that is kept": {rests(func(s *tale) {
			s.change(user, "web-1", asked)
			s.change(kubelet, "web-1", fails)
			s.create(2, "web-a")
			s.runs("web-2")
		}, randomly), "failed pod web-1 should go, by its label"},
		"it stays out of service": {mark(func(pod *corev1.Pod) {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}}
		}), "stays out of service"},
		"a restart was not made": {rests(func(s *tale) { s.annotate(appsv1.AnnotationRestart, "2026-03-01T13:00:00Z") }), "older than the restart"},
		"a restart waits for a pin to a revision that is not stored": {rests(func(s *tale) {
			s.annotate(appsv1.AnnotationPin, "7")
			s.annotate(appsv1.AnnotationRestart, "2026-03-01T13:00:00Z")
		}), ""},
		"no finalizer": {rests(func(s *tale) { s.edit(func(pm *appsv1.PodManager) { pm.Finalizers = nil }) }), "no finalizer"},
		"the status is of an older generation": {rests(func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.RevisionHistoryLimit = ptrTo(3) })
		}), "the status is of generation 1"},
		"Ready is False for no reason": {rests(func(s *tale) {
			s.status("web-a", 2, condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonWaitingForPods))
		}), "Ready is False, and the fleet is what was asked for"},
		"Ready is False, because the node of a pod that is held is gone": {rests(func(s *tale) {
			s.change(user, "web-1", hold)
			s.change(kubelet, "web-1", func(pod *corev1.Pod) { pod.Spec.NodeName = "node-2" })
			s.write(user, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, false)
			s.write(user, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}, false)
			s.write(user, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}, true)
			s.status("web-a", 1, condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonWaitingForPods))
		}), ""},
		"Reconciling for ever": {rests(func(s *tale) {
			s.status("web-a", 2, condition1(appsv1.ConditionReconciling, metav1.ConditionTrue, appsv1.ReasonRollingOut))
		}), "Reconciling with the reason RollingOut"},
	}, func(h []Revision) []Violation { return AtRest(h, Rules{}, noon.Add(time.Hour)) })
}

// TestClaimsAtRest: none is lost, and none is left.
func TestClaimsAtRest(t *testing.T) {
	withClaims := func(policy appsv1.ClaimPolicy, then func(s *tale)) func() *tale {
		return func() *tale {
			s := newTale()
			s.owner(2, volumes(policy))
			s.revision("web-a", 1)
			s.claim(Operator, "data-web-0")
			s.claim(Operator, "data-web-1")
			s.create(0, "web-a")
			s.create(1, "web-a")
			s.runs("web-0", "web-1")
			then(s)
			return s
		}
	}
	scaledDown := func(s *tale) {
		s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(1) })
		s.delete(Operator, "web-1")
		s.ends("web-1")
	}
	deletedAfter := func(edit func(pm *appsv1.PodManager), scaledAway ...string) func(s *tale) {
		return func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) {
				pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted = appsv1.ClaimRetain
			})
			s.edit(edit)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(1) })
			for _, name := range scaledAway {
				s.delete(Operator, name)
				s.ends(name)
			}
			s.edit(func(pm *appsv1.PodManager) { pm.DeletionTimestamp = &metav1.Time{Time: noon} })
			for _, name := range []string{"web-0", "web-1"} {
				if !slices.Contains(scaledAway, name) {
					s.delete(Operator, name)
					s.ends(name)
				}
			}
			s.write(Operator, s.web(), true)
		}
	}
	judged(t, "K", map[string]broken{
		"each has its own":            {withClaims(appsv1.ClaimRetain, func(*tale) {}), ""},
		"kept with the policy Retain": {withClaims(appsv1.ClaimRetain, scaledDown), ""},
		"left with the policy Delete": {withClaims(appsv1.ClaimDelete, scaledDown), "data-web-1 is left, and its pod was scaled away"},
		"gone with the policy Delete": {withClaims(appsv1.ClaimDelete, func(s *tale) {
			scaledDown(s)
			s.goneClaim(Operator, "data-web-1")
		}), ""},
		"kept because the policy changed since": {withClaims(appsv1.ClaimDelete, func(s *tale) {
			scaledDown(s)
			s.edit(volumes(appsv1.ClaimRetain))
		}), ""},
		"lost":              {withClaims(appsv1.ClaimDelete, func(s *tale) { s.goneClaim(Operator, "data-web-1") }), "data-web-1 of pod web-1 was deleted"},
		"a user deleted it": {withClaims(appsv1.ClaimRetain, func(s *tale) { s.goneClaim(user, "data-web-1") }), ""},
		"a pod waits for its claim": {withClaims(appsv1.ClaimRetain, func(s *tale) {
			s.change(kubelet, "web-1", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending })
			s.goneClaim(user, "data-web-1")
		}), "web-1 waits for the claim data-web-1"},
		"a template was renamed": {withClaims(appsv1.ClaimRetain, func(s *tale) {
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.VolumeClaimTemplates[0].Name = "store" })
		}), "web-0 does not use the claim store-web-0"},
		"in use and condemned": {withClaims(appsv1.ClaimDelete, func(s *tale) {
			claim := s.objects["*v1.PersistentVolumeClaim/data-web-1"].DeepCopyObject().(*corev1.PersistentVolumeClaim)
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, appsv1.AnnotationCondemnedBy, "uid-1")
			s.write(Operator, claim, false)
		}), "data-web-1 of pod web-1 is condemned"},
		"left of a pod that stood in, with the policy Retain": {withClaims(appsv1.ClaimRetain, func(s *tale) {
			s.claim(Operator, "data-web-2")
			s.create(2, "web-a")
			s.delete(Operator, "web-2")
			s.ends("web-2")
		}), "data-web-2 is left of a pod that stood in"},
		"of a pod that stood in, and older than it": {withClaims(appsv1.ClaimRetain, func(s *tale) {
			s.claim(user, "data-web-2")
			s.create(2, "web-a")
			s.delete(Operator, "web-2")
			s.ends("web-2")
		}), ""},
		"left of an owner that is gone": {withClaims(appsv1.ClaimDelete, func(s *tale) {
			for _, name := range []string{"web-0", "web-1"} {
				s.delete(Operator, name)
				s.ends(name)
			}
			s.edit(func(pm *appsv1.PodManager) { pm.DeletionTimestamp = &metav1.Time{Time: noon} })
			s.write(Operator, s.web(), true)
		}), "data-web-0 is left of an owner that is gone"},
		"left of an owner that is gone, and was scaled down before": {
			withClaims(appsv1.ClaimDelete, deletedAfter(func(*appsv1.PodManager) {}, "web-1")),
			"data-web-1 is left of an owner that is gone, and its pod was scaled away",
		},
		"kept, because its pod was deleted with the owner": {withClaims(appsv1.ClaimDelete, deletedAfter(func(*appsv1.PodManager) {})), ""},
		"kept, because nothing is scaled down during a take-over": {withClaims(appsv1.ClaimDelete, deletedAfter(func(pm *appsv1.PodManager) {
			metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationTakeOver, "deployments.apps/web")
		})), ""},
	}, func(h []Revision) []Violation { return ClaimsAtRest(h, Rules{}) })
}
