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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// says is a fleet of two at rest whose last status says something else.
func says(change func(*appsv1.PodManagerStatus)) func() *tale {
	return func() *tale {
		s := two()
		s.status("web-a", 2, change)
		return s
	}
}

func condition1(kind string, status metav1.ConditionStatus, reason string) func(*appsv1.PodManagerStatus) {
	return func(st *appsv1.PodManagerStatus) {
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: st.ObservedGeneration})
	}
}

func did(action, reason string, count int32, pods ...string) func(*appsv1.PodManagerStatus) {
	return func(st *appsv1.PodManagerStatus) {
		st.History = append([]appsv1.Decision{{Time: metav1.NewTime(noon), Action: action, Reason: reason, Count: count, Pods: pods}}, st.History...)
	}
}

// TestTold: every stored status is held against the pods that its writer can have seen.
func TestTold(t *testing.T) {
	judged(t, "T", map[string]broken{
		"a status that is right":                       {says(func(*appsv1.PodManagerStatus) {}), ""},
		"one pod too few":                              {says(func(st *appsv1.PodManagerStatus) { st.Replicas = 1 }), "replicas is 1, and it was 2"},
		"one pod too many":                             {says(func(st *appsv1.PodManagerStatus) { st.CurrentReplicas = 3 }), "currentReplicas is 3, and it was 2"},
		"a pod that is ready does not count":           {says(func(st *appsv1.PodManagerStatus) { st.ReadyReplicas = 1 }), "readyReplicas is 1, and it was 2"},
		"a pod that is available does not count":       {says(func(st *appsv1.PodManagerStatus) { st.AvailableReplicas = 1 }), "availableReplicas is 1, and it was 2"},
		"a pod that is on the revision does not count": {says(func(st *appsv1.PodManagerStatus) { st.UpdatedReplicas = 1 }), "updatedReplicas is 1, and it was 2"},
		"no pod terminates":                            {says(func(st *appsv1.PodManagerStatus) { st.TerminatingReplicas = 1 }), "terminatingReplicas is 1, and it was 0"},
		"a name is missing":                            {says(func(st *appsv1.PodManagerStatus) { st.Nodes = []string{"web-0"} }), "nodes does not name web-1"},
		"a name of no pod":                             {says(func(st *appsv1.PodManagerStatus) { st.Nodes = []string{"web-0", "web-7"} }), "nodes names web-7"},
		"names that are not sorted":                    {says(func(st *appsv1.PodManagerStatus) { st.Nodes = []string{"web-1", "web-0"} }), "nodes is not sorted"},
		"a selector that finds all":                    {says(func(st *appsv1.PodManagerStatus) { st.Selector = "app" }), "selector"},
		"a revision that is not stored":                {says(func(st *appsv1.PodManagerStatus) { st.UpdateRevision = "web-x" }), "updateRevision"},
		"a revision on which no fleet was":             {says(func(st *appsv1.PodManagerStatus) { st.CurrentRevision = "web-b" }), "currentRevision"},
		"a generation that never was":                  {says(func(st *appsv1.PodManagerStatus) { st.ObservedGeneration = 7 }), "observedGeneration 7"},
		"the writer had not seen that a pod was ready": {func() *tale {
			s := newTale()
			s.owner(1)
			s.revision("web-a", 1)
			s.create(0, "web-a")
			s.blind = s.version()
			s.runs("web-0")
			s.status("web-a", 0)
			return s
		}, ""},
		"a pod whose image is changed serves no more": {func() *tale {
			s := two()
			s.change(Operator, "web-1", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "app:2" })
			s.status("web-a", 2, did(appsv1.ReasonUpdated, appsv1.WhyRolloutInPlace, 1, "web-1"))
			return s
		}, "availableReplicas is 2, and it was 1"},
		"minReadySeconds have not passed": {func() *tale {
			return two(func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 60 })
		}, "availableReplicas is 2, and it was 0"},
	}, func(h []Revision) []Violation { return Told(h, Rules{}) })
}

// TestToldConditions: the conditions agree with the counters, the spec and each other.
func TestToldConditions(t *testing.T) {
	judged(t, "T", map[string]broken{
		"Ready with a pod that is not available": {says(func(st *appsv1.PodManagerStatus) { st.AvailableReplicas = 1 }), "Ready is True with 1 available"},
		"Ready with a pod on another revision":   {says(func(st *appsv1.PodManagerStatus) { st.UpdatedReplicas = 1 }), "Ready is True with 1 of 2 pods on"},
		"Ready with a pod too many":              {says(func(st *appsv1.PodManagerStatus) { st.Replicas = 3 }), "Ready is True with 3 live pods"},
		"Ready and Stalled":                      {says(condition1(appsv1.ConditionStalled, metav1.ConditionTrue, appsv1.ReasonPodsFailing)), "Ready is True, and it is stalled"},
		"no condition Ready": {says(func(st *appsv1.PodManagerStatus) {
			meta.RemoveStatusCondition(&st.Conditions, appsv1.ConditionReady)
		}), "no condition Ready"},
		"Available although too few are": {func() *tale {
			s := two()
			s.change(kubelet, "web-1", func(pod *corev1.Pod) { pod.Status.Conditions = nil })
			s.change(kubelet, "web-0", func(pod *corev1.Pod) { pod.Status.Conditions = nil })
			s.status("web-a", 0, condition1(appsv1.ConditionAvailable, metav1.ConditionTrue, appsv1.ReasonMinimumAvailable))
			return s
		}, "Available is true with 0 pods"},
		"Reconciling that is False": {says(condition1(appsv1.ConditionReconciling, metav1.ConditionFalse, appsv1.ReasonRollingOut)), "only while it is True"},
		"a reason of its own":       {says(condition1(appsv1.ConditionReady, metav1.ConditionFalse, "Sunday")), "not documented"},
		"a condition of its own":    {says(condition1("Lucky", metav1.ConditionTrue, "Sunday")), "condition Lucky"},
		"Paused, and it is not":     {says(condition1(appsv1.ConditionPaused, metav1.ConditionTrue, appsv1.ReasonPaused)), "the condition Paused is true"},
		"Pinned, and it is not":     {says(condition1(appsv1.ConditionPinned, metav1.ConditionTrue, appsv1.ReasonPinned)), "the condition Pinned is true"},
		"Stalled and Reconciling": {says(func(st *appsv1.PodManagerStatus) {
			condition1(appsv1.ConditionStalled, metav1.ConditionTrue, appsv1.ReasonPodsFailing)(st)
			condition1(appsv1.ConditionReconciling, metav1.ConditionTrue, appsv1.ReasonRollingOut)(st)
		}), "both Stalled and Reconciling"},
		"conditions of an earlier generation": {func() *tale {
			s := two()
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 0 })
			s.status("web-a", 2, func(st *appsv1.PodManagerStatus) { st.Conditions[0].ObservedGeneration = 1 })
			return s
		}, "is of generation 1, and the status of 2"},
		"a pin that keeps the pods, and the status says so": {func() *tale {
			s := two()
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:2" })
			s.revision("web-b", 2)
			s.annotate(appsv1.AnnotationPin, "1 while 2")
			s.status("web-a", 2, condition1(appsv1.ConditionPinned, metav1.ConditionTrue, appsv1.ReasonPinned),
				condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonPinned))
			return s
		}, ""},
		"a pin that the next template change ended": {func() *tale {
			s := two()
			s.annotate(appsv1.AnnotationPin, "1 while 2")
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:2" })
			s.revision("web-b", 2)
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:3" })
			s.revision("web-c", 3)
			s.status("web-a", 2, condition1(appsv1.ConditionPinned, metav1.ConditionTrue, appsv1.ReasonPinned))
			return s
		}, "updateRevision is \"web-a\""},
	}, func(h []Revision) []Violation { return Told(h, Rules{}) })
}

// TestToldHistory: what an entry of the history says was done.
func TestToldHistory(t *testing.T) {
	gone := func(reason string) func() *tale {
		return func() *tale {
			s := two()
			s.change(kubelet, "web-1", fails)
			s.delete(Operator, "web-1")
			s.status("web-a", 1, did(appsv1.ReasonDeleted, reason, 1, "web-1"), func(st *appsv1.PodManagerStatus) { st.TerminatingReplicas = 1 })
			return s
		}
	}
	judged(t, "T", map[string]broken{
		"what was done":                {says(did(appsv1.ReasonCreated, appsv1.WhyScaleUp, 2, "web-0", "web-1")), ""},
		"a pod counts twice":           {says(did(appsv1.ReasonCreated, appsv1.WhyScaleUp, 3, "web-0", "web-1")), "and names [web-0 web-1]"},
		"a pod that was never touched": {says(did(appsv1.ReasonDeleted, appsv1.WhyScaleDown, 1, "web-1")), "web-1 was Deleted 1 times, and it was 0 times"},
		"the same twice": {says(func(st *appsv1.PodManagerStatus) {
			did(appsv1.ReasonCreated, appsv1.WhyScaleUp, 2, "web-0", "web-1")(st)
			did(appsv1.ReasonCreated, appsv1.WhyMissing, 1, "web-1")(st)
		}), "web-1 was Created 2 times, and it was 1 times"},
		"a reason that can be seen":                                      {gone(appsv1.WhyPodFailed), ""},
		"a reason that cannot be seen":                                   {gone(appsv1.WhyScaleDown), "because of ScaleDown"},
		"the node is out of service, and another removes its pod first":  {removedOn(corev1.TaintNodeOutOfService), ""},
		"the node does not answer, and another removes its pod":          {removedOn(corev1.TaintNodeUnreachable), "web-1 was Deleted 1 times, and it was 0 times"},
		"one of two that go in a pass is too many, whichever goes first": {rolledBack(1), ""},
		"both of them are told to be too many":                           {rolledBack(2), "2 pods were Deleted because of ScaleDown, and 1 were too many"},
		"a pod of the fleet did not stand in": {func() *tale {
			s := newTale()
			s.owner(1)
			s.revision("web-a", 1)
			s.create(0, "web-a")
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(2) })
			s.create(1, "web-a", func(pod *corev1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, appsv1.AnnotationSurge, "true") })
			s.runs("web-0", "web-1")
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptrTo(1) })
			s.delete(Operator, "web-1")
			s.status("web-a", 1, did(appsv1.ReasonDeleted, appsv1.WhySurgeOver, 1, "web-1"), func(st *appsv1.PodManagerStatus) { st.TerminatingReplicas = 1 })
			return s
		}, "because of SurgeOver"},
	}, func(h []Revision) []Violation { return Told(h, Rules{}) })
}

// rolledBack: a fleet with random names has one pod too many when its rollout is rolled back,
// and in one pass both pods of the bad revision go. So many of them are told to be too many.
func rolledBack(surplus int) func() *tale {
	return func() *tale {
		s := two(func(pm *appsv1.PodManager) {
			pm.Spec.Identity, pm.Spec.Update.Strategy = appsv1.IdentityRandom, appsv1.UpdateRecreate
		})
		s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:2" })
		s.revision("web-b", 2)
		s.create(2, "web-b")
		s.delete(Operator, "web-1")
		s.ends("web-1")
		s.create(3, "web-b")
		s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "app:1" })
		s.blind = s.version()
		s.delete(Operator, "web-2")
		s.delete(Operator, "web-3")
		tell := []func(*appsv1.PodManagerStatus){
			did(appsv1.ReasonDeleted, appsv1.WhyScaleDown, int32(surplus), []string{"web-3", "web-2"}[:surplus]...),
			func(st *appsv1.PodManagerStatus) { st.TerminatingReplicas = 2 },
		}
		if surplus == 1 {
			tell = append(tell, did(appsv1.ReasonDeleted, appsv1.WhyRolloutRecreate, 1, "web-2"))
		}
		s.status("web-a", 1, tell...)
		return s
	}
}

// removedOn: a pod that is being deleted is removed by another while its node has a taint,
// and the operator says that it deleted it.
func removedOn(taint string) func() *tale {
	return func() *tale {
		s := two()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		s.write(user, node, false)
		s.delete(user, "web-1")
		s.status("web-a", 1, func(st *appsv1.PodManagerStatus) { st.TerminatingReplicas = 1 })
		node.Spec.Taints = []corev1.Taint{{Key: taint, Effect: corev1.TaintEffectNoExecute}}
		s.write(user, node, false)
		s.write(user, s.pod("web-1"), true)
		s.status("web-a", 1, did(appsv1.ReasonDeleted, appsv1.WhyNodeOutOfService, 1, "web-1"), func(st *appsv1.PodManagerStatus) { st.TerminatingReplicas = 0 })
		return s
	}
}

func ptrTo(n int32) *int32 { return &n }

// TestToldAtRest: at rest a status that was right when it was written has to be right
// still, whichever reconcile wrote it.
func TestToldAtRest(t *testing.T) {
	judged(t, "T", map[string]broken{
		"nothing has changed since": {func() *tale { return two() }, ""},
		"a pod was not ready for a moment since, and is available again": {func() *tale {
			s := two(func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 10 })
			for range 10 {
				s.edit(func(pm *appsv1.PodManager) { pm.Generation-- }) // time passes
			}
			s.status("web-a", 2)
			s.change(kubelet, "web-1", func(pod *corev1.Pod) { pod.Status.Conditions = nil })
			s.runs("web-1")
			return s
		}, ""},
		"adopted pods name a revision that their owner has not stored": {func() *tale {
			s := two(func(pm *appsv1.PodManager) { pm.Spec.Update.Strategy = appsv1.UpdateOnDelete })
			for _, name := range []string{"web-0", "web-1"} {
				s.change(user, name, func(pod *corev1.Pod) { pod.Labels[appsv1.LabelRevision] = "web-x" })
			}
			s.status("web-a", 2, condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonOnDelete), func(st *appsv1.PodManagerStatus) {
				st.UpdatedReplicas, st.CurrentRevision = 0, ""
			})
			return s
		}, ""},
		"a pod has ended since": {func() *tale {
			s := two()
			s.change(kubelet, "web-1", fails)
			return s
		}, "replicas is 2, and it was 1"},
		"the whole fleet is on a revision that a pod too many is not on": {func() *tale {
			s := two()
			s.edit(func(pm *appsv1.PodManager) { pm.Spec.Image, pm.Spec.Replicas = "app:2", ptrTo(1) })
			s.revision("web-b", 2)
			s.change(Operator, "web-0", func(pod *corev1.Pod) {
				pod.Labels[appsv1.LabelRevision], pod.Spec.Containers[0].Image = "web-b", "app:2"
			})
			s.runs("web-0")
			s.change(user, "web-1", func(pod *corev1.Pod) { pod.Labels[appsv1.LabelHoldDelete] = "backup" })
			s.status("web-b", 2, condition1(appsv1.ConditionReady, metav1.ConditionFalse, appsv1.ReasonScalingDown), func(st *appsv1.PodManagerStatus) {
				st.UpdatedReplicas, st.CurrentRevision = 1, "web-a"
			})
			return s
		}, "currentRevision is \"web-a\", and the whole fleet is available on web-b"},
	}, func(h []Revision) []Violation { return ToldAtRest(h, Rules{}, noon.Add(time.Hour)) })
}
