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

package integration

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// drained makes a fleet whose pods are replaced before they leave their nodes.
func drained(t *testing.T, replicas int32, change func(*appsv1.PodManager)) *fleet {
	t.Helper()
	f := emptyFleet(t)
	pm := f.Build().Replicas(replicas).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	if change != nil {
		change(pm)
	}
	suite.Create(t, pm)
	f.ExpectReady(int(replicas))
	return f
}

// evict notes that the evictions of pods wait, as the webhook does.
func (f *fleet) evict(pods ...corev1.Pod) {
	f.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	for i := range pods {
		suite.Patch(f, &pods[i], fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, appsv1.AnnotationEvictionRequested, now))
	}
}

// expectMoved waits until pods have been replaced and nothing is under way.
func (f *fleet) expectMoved(replicas int, old ...corev1.Pod) {
	f.Helper()
	f.Expect("the pods are replaced", func(*appsv1.PodManager) error {
		for _, pod := range f.Pods() {
			for i := range old {
				if pod.UID == old[i].UID {
					return fmt.Errorf("%s is still there", pod.Name)
				}
			}
		}
		return nil
	})
	f.ExpectReady(replicas)
}

// TestPodsAreReplacedBeforeTheyLeave: a watch sees never fewer ready pods than
// asked for, and never more than the surge allows.
func TestPodsAreReplacedBeforeTheyLeave(t *testing.T) {
	t.Parallel()
	random := func(pm *appsv1.PodManager) { pm.Spec.Identity = appsv1.IdentityRandom }
	for name, c := range map[string]struct {
		replicas int32
		change   func(*appsv1.PodManager)
		leave    int
	}{
		"one pod":                                {1, nil, 1},
		"one with random name":                   {1, random, 1},
		"two nodes at once":                      {4, nil, 2},
		"all of a fleet":                         {3, random, 3},
		"a pod that has to be ready for a while": {1, func(pm *appsv1.PodManager) { pm.Spec.MinReadySeconds = 2 }, 1},
		"in order":                               {2, func(pm *appsv1.PodManager) { pm.Spec.PodManagementPolicy = appsv1.OrderedReadyPods }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := drained(t, c.replicas, c.change)
			leaving := f.Pods()[:c.leave]
			w := f.watch(within(int(c.replicas), int(c.replicas)+1))
			f.evict(leaving...)
			f.expectMoved(int(c.replicas), leaving...)
			w.hear(f)
		})
	}
}

// TestADrainDuringARollout: both share one surge, and a pod is recreated once.
func TestADrainDuringARollout(t *testing.T) {
	t.Parallel()
	f := drained(t, 3, func(pm *appsv1.PodManager) {
		pm.Spec.Update = appsv1.Update{
			Strategy: appsv1.UpdateRecreate, MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(1)),
		}
	})
	old := f.Pods()
	w := f.watch(within(3, 4))
	f.Patch(`{"image":"nginx:1.28"}`)
	f.evict(old[0])
	f.expectMoved(3, old...)
	f.ExpectImages(map[string]int{"nginx:1.28": 3})
	w.hear(f)
}

// TestADrainWithADisruptionBudget: one that allows no pod to be missing is content
// with a replacement.
func TestADrainWithADisruptionBudget(t *testing.T) {
	t.Parallel()
	f := drained(t, 1, nil)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "web"}}
	budget.Spec = policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: "web"}},
	}
	suite.Create(t, budget)
	testkit.Eventually(t, "the budget is in force", func() error {
		if err := suite.Client.Get(t.Context(), types.NamespacedName{Namespace: f.Namespace, Name: "web"}, budget); err != nil || budget.Status.ExpectedPods != 1 {
			return fmt.Errorf("%w: %+v", err, budget.Status)
		}
		return nil
	})
	leaving := f.Pods()
	w := f.watch(within(1, 2))
	f.evict(leaving...)
	f.expectMoved(1, leaving...)
	w.hear(f)
}

// TestADrainWithoutRoom: where no replacement can be made, the pod stays, the status
// says why, and when the deadline has passed nothing is left of it.
func TestADrainWithoutRoom(t *testing.T) {
	t.Parallel()
	f := drained(t, 1, func(pm *appsv1.PodManager) { pm.Spec.Disruption.DeadlineSeconds = ptr.To[int32](8) })
	quota(t, f.Namespace, 1)
	// What its status says, admission knows a moment later.
	testkit.Eventually(t, "the quota refuses pods", func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "canary"}}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
		if err := suite.Client.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a pod is answered with %w", err)
		}
		return nil
	})
	leaving := f.Pods()
	w := f.watch(within(1, 1))
	f.evict(leaving...)
	f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded)
	f.ExpectReady(1) // the deadline has passed
	w.hear(f)
	if pod := f.Pods()[0]; pod.UID != leaving[0].UID {
		t.Error("the pod went without a replacement")
	}
}

// TestANodeThatAnnouncesItsEnd: its pods move early. The test has nodes of its own
// that take no other pods, because others share the cluster.
func TestANodeThatAnnouncesItsEnd(t *testing.T) {
	t.Parallel()
	spot := map[string]string{"example.com/pool": "spot"}
	taint := corev1.Taint{Key: "example.com/pool", Value: "spot", Effect: corev1.TaintEffectNoSchedule}
	nodes := localkube.NodeOptions{Count: 2, Prefix: "spot-", Labels: spot, Taints: []corev1.Taint{taint}}
	if err := suite.Cluster.CreateNodes(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	f := drained(t, 1, func(pm *appsv1.PodManager) {
		pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeSelector: spot, Containers: []corev1.Container{},
			Tolerations: []corev1.Toleration{{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}},
		}}
	})
	leaving := f.Pods()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: leaving[0].Spec.NodeName}}
	w := f.watch(within(1, 2))
	suite.Patch(t, node, fmt.Sprintf(`{"metadata":{"annotations":{%q:"in two minutes"}},"spec":{"unschedulable":true}}`, appsv1.AnnotationNodeLeaving))
	f.expectMoved(1, leaving...)
	w.hear(f)
	if pod := f.Pods()[0]; pod.Spec.NodeName == node.Name {
		t.Errorf("%s is on node %s again", pod.Name, node.Name)
	}
	f.ExpectHistory(appsv1.ReasonEvicted, appsv1.WhyNodeLeaving, "in two minutes")
}
