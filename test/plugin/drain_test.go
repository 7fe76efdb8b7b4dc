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

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// cordon keeps new pods away from nodes until the test ends, and says which.
func cordon(t *testing.T, keep func(*corev1.Node) bool) (names []string) {
	t.Helper()
	var nodes corev1.NodeList
	if err := suite.Client.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if keep(node) {
			continue
		}
		names = append(names, node.Name)
		suite.Kubectl(t, "cordon", node.Name)
		t.Cleanup(func() {
			open := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unschedulable":null}}`))
			if err := suite.Client.Patch(context.Background(), node, open); err != nil {
				t.Errorf("uncordon node %s: %v", node.Name, err)
			}
		})
	}
	return names
}

func surgingFirst(b *testkit.PodManagerBuilder) *appsv1.PodManager {
	pm := b.Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	return pm
}

func TestPlanOfADrain(t *testing.T) {
	namespace := suite.Namespace(t)
	p := admin(namespace)
	web, api := suite.Fleet(t, namespace, "web"), suite.Fleet(t, namespace, "api")
	suite.Create(t, surgingFirst(web.Build().Replicas(2).PodSpec(func(spec *corev1.PodSpec) {
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, // one of them leaves
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: "web"}},
		}}
	})))
	suite.Create(t, api.Build().Replicas(1).Obj())
	web.ExpectReady(2)
	api.ExpectReady(1)
	node := web.Pod("web-0").Spec.NodeName

	out, _ := p.try(t, "plan", "drain", node)
	for _, want := range []string{
		"Plan for PodManager " + namespace + "/web", "web-2   create", "DisruptionSurge", "web-0   move", "EvictionRequested", "web-2   delete", "SurgeOver", "1 pod will be moved",
		"waves, in about",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("the plan does not say %q:\n%s", want, out)
		}
	}
	if before := web.UIDs(); len(before) != 2 {
		t.Errorf("the plan changed something: %v", before)
	}

	// A pod of a fleet with policy Allow goes at once and is replaced afterwards.
	node = api.Pod("api-0").Spec.NodeName
	out, err := p.try(t, "plan", "drain", node)
	if !errors.Is(err, kube.ErrNo) || !strings.Contains(out, "evict") || !strings.Contains(out, "disruption.policy is Allow") {
		t.Errorf("%v:\n%s", err, out)
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "api"}}
	budget.Spec = policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: "api"}},
	}
	suite.Create(t, budget)
	testkit.Eventually(t, "the plan names the budget", func() error {
		if out, _ := p.try(t, "plan", "drain", node); !strings.Contains(out, "PodDisruptionBudget api allows no disruption now") {
			return errors.New(out)
		}
		return nil
	})
	if out, err := p.try(t, "plan", "drain", "nowhere"); err == nil || !strings.Contains(err.Error(), `"nowhere" not found`) {
		t.Errorf("a node that does not exist: %v\n%s", err, out)
	}
}

func TestWhyADrainWaits(t *testing.T) {
	namespace := suite.Namespace(t)
	p := admin(namespace)
	web := suite.Fleet(t, namespace, "web")
	suite.Create(t, surgingFirst(web.Build().Replicas(1)))
	web.ExpectReady(1)
	node := web.Pod("web-0").Spec.NodeName
	closed := cordon(t, func(*corev1.Node) bool { return false })

	suite.Patch(t, web.Pod("web-0"), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, appsv1.AnnotationEvictionRequested, time.Now().UTC().Format(time.RFC3339)))
	want := fmt.Sprintf("none of the %d nodes that the template allows takes new pods", len(closed))
	for _, about := range []string{"web", "pod/web-0", "node/" + node} {
		testkit.Eventually(t, "why-not "+about+" says that all nodes are cordoned", func() error {
			out, err := p.try(t, "why-not", about)
			if err != nil || !strings.Contains(out, "the eviction of web-0 is held back by "+appsv1.BlockedByNodes) || !strings.Contains(out, want) {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
	_, message := web.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonMovingPods)
	if !strings.Contains(message, want) {
		t.Errorf("the condition says %q", message)
	}
	if pods := web.Pods(); len(pods) != 1 {
		t.Errorf("%d pods, although no node takes another", len(pods))
	}
}

// TestABudgetThatBlocksADrain is named everywhere: before the drain, in the condition,
// and by why-not.
func TestABudgetThatBlocksADrain(t *testing.T) {
	for _, identity := range []appsv1.Identity{appsv1.IdentityOrdinal, appsv1.IdentityRandom} {
		t.Run(string(identity), func(t *testing.T) {
			namespace := suite.Namespace(t)
			p := admin(namespace)
			web := suite.Fleet(t, namespace, "web")
			pm := surgingFirst(web.Build().Replicas(1))
			pm.Spec.Identity = identity
			suite.Create(t, pm)
			web.ExpectReady(1)
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "strict"}}
			budget.Spec = policyv1.PodDisruptionBudgetSpec{
				MinAvailable: ptr.To(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: "web"}},
			}
			suite.Create(t, budget)
			pod := web.Live()[0]
			testkit.Eventually(t, "the plan of a drain names the budget", func() error {
				out, err := p.try(t, "plan", "drain", pod.Spec.NodeName)
				if !errors.Is(err, kube.ErrNo) || !strings.Contains(out, "PodDisruptionBudget strict needs 2 healthy pods, and has 1 beside the replacement") ||
					strings.Contains(out, "SurgeOver") {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
			suite.Patch(t, &pod, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, appsv1.AnnotationEvictionRequested, time.Now().UTC().Format(time.RFC3339)))
			const needs = "The disruption budget strict needs 2 healthy pods and has 2 currently"
			for _, about := range []string{"web", "pod/" + pod.Name, "node/" + pod.Spec.NodeName} {
				testkit.Eventually(t, "why-not "+about+" names the budget", func() error {
					out, err := p.try(t, "why-not", about)
					if err != nil || !strings.Contains(out, "the eviction of "+pod.Name+" is held back by "+appsv1.BlockedByDisruptionBudget+": "+needs) ||
						strings.Contains(out, appsv1.BlockedByTermination) {
						return fmt.Errorf("%w: %s", err, out)
					}
					return nil
				})
			}
			_, message := web.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonMovingPods)
			if want := "1 pod has to leave the node; a PodDisruptionBudget refuses the eviction of " + pod.Name + ": " + needs; message != want {
				t.Errorf("the condition says %q, want %q", message, want)
			}
		})
	}
}

func TestRebalance(t *testing.T) {
	namespace := suite.Namespace(t)
	p := admin(namespace)
	web := suite.Fleet(t, namespace, "web")
	zone := ""
	cordon(t, func(node *corev1.Node) bool {
		if zone == "" {
			zone = node.Labels[corev1.LabelTopologyZone]
		}
		return node.Labels[corev1.LabelTopologyZone] == zone
	})
	suite.Create(t, web.Build().Replicas(3).PodSpec(func(spec *corev1.PodSpec) {
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: "web"}},
		}}
	}).Obj())
	web.ExpectReady(3)
	var nodes corev1.NodeList
	if err := suite.Client.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	zones := map[string]string{}
	for _, node := range nodes.Items {
		zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
		suite.Kubectl(t, "uncordon", node.Name)
	}
	inZones := func() (counts map[string]int, names []string) {
		counts = map[string]int{}
		for _, pod := range web.Live() {
			names = append(names, pod.Name)
			if pod.Spec.NodeName != "" {
				counts[zones[pod.Spec.NodeName]]++
			}
		}
		slices.Sort(names)
		return counts, names
	}
	if counts, _ := inZones(); counts[zone] != 3 {
		t.Fatalf("the pods are in %v, want 3 in %s", counts, zone)
	}

	testkit.Eventually(t, "the plan shows what a rebalance would move", func() error {
		out, _ := p.try(t, "plan", "web", "--rebalance")
		if !strings.Contains(out, "Rebalance") || !strings.Contains(out, "pods will be moved") {
			return errors.New(out)
		}
		return nil
	})
	before := web.UIDs()
	p.must(t, "rebalance", "web")
	web.Expect("the pods are spread over the zones", func(pm *appsv1.PodManager) error {
		// web-3 stands in meanwhile, and may be one of three, too.
		if counts, names := inZones(); len(counts) != 3 || !slices.Equal(names, []string{"web-0", "web-1", "web-2"}) || pm.Status.AvailableReplicas != 3 {
			return fmt.Errorf("%v in %v, %+v", names, counts, pm.Status.Rebalance)
		}
		return nil
	})
	moved := 0
	for name, uid := range web.UIDs() {
		if before[name] != uid {
			moved++
		}
	}
	if moved != 2 {
		t.Errorf("%d pods moved, want 2", moved)
	}
	story := ""
	for name, uid := range web.UIDs() {
		if before[name] != uid {
			story = p.must(t, "why", "pod/"+name)
		}
	}
	if !strings.Contains(story, "topology.kubernetes.io/zone="+zone) {
		t.Errorf("why does not name the zone:\n%s", story)
	}
	ada := as(t, namespace, "ada")
	if _, err := ada.try(t, "plan", "web", "--rebalance"); err == nil || !strings.Contains(err.Error(), "you may not list nodes") {
		t.Errorf("who may not read nodes gets a plan of a rebalance, %v", err)
	}
	if _, err := p.try(t, "rebalance", "nothing"); err == nil {
		t.Error("a PodManager that does not exist was rebalanced")
	}
}
