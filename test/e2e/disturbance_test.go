//go:build linux

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

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// The tests of this file disturb others, or would be disturbed by them. They run
// before those that run in parallel.

// Real kubelets have something to say about their pods and nodes all the time. None
// of it makes the operator write, or list: there is a time of three heartbeats of
// each node in which it does neither.
func TestNothingIsDoneAtRest(t *testing.T) {
	f := newFleet(t, 3, nil)
	mark := auditMark(t)
	f.eventually("the operator is at rest", func() error {
		events, err := suite.Cluster.AuditEvents(mark)
		if err != nil {
			return err
		}
		heartbeats := map[string]int{}
		for _, e := range events {
			switch {
			case e.ObjectRef.Resource == "leases" && e.Mutating():
				heartbeats[e.User.Username]++
			case e.User.Username == testkit.OperatorUser && (e.Mutating() || e.Verb == "list"):
				mark = auditMark(t) // the end of what was before; or there is no rest
				return fmt.Errorf("the operator sent %s %s", e.Verb, e.RequestURI)
			}
		}
		if heartbeats["system:node:"+nodeA] < 3 || heartbeats["system:node:"+nodeB] < 3 {
			return fmt.Errorf("heartbeats so far: %v", heartbeats)
		}
		return nil
	})
}

func auditMark(t testing.TB) localkube.AuditMark {
	t.Helper()
	mark, err := suite.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// A rollout survives its operator: another process takes over where the first was
// killed, and no pod is changed twice or out of turn.
func TestOperatorKilledInMidRollout(t *testing.T) {
	f := newFleet(t, 4, nil)
	before := f.lives()
	traffic := newTraffic(f)
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageV2 })
	f.waitUnderWay(imageV2)
	operator := operatorPod(t)
	if err := nodes[nodeA].Cgroup().KillContainer(containerID(operator)); err != nil {
		t.Fatalf("kill the operator: %v", err)
	}
	f.eventually("the kubelet has started the operator again", func() error {
		return want("restarts of the operator", restarts(operatorPod(t)), restarts(operator)+1)
	})
	f.waitReady()
	traffic.end(t, 3, "v1", "v2")
	if diff := cmp.Diff(inPlace(before, imageV2), f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
}

// waitUnderWay waits until some pods have the new image and some have not.
func (f *fleet) waitUnderWay(image string) {
	f.Helper()
	f.eventually("the rollout is under way", func() error {
		if n := onImage(f, image); n == 0 || n == len(f.pods()) {
			return fmt.Errorf("%d pods have the new image", n)
		}
		return nil
	})
}

// Deleting the operator's pod, as a drain does: the next one leads at once, because
// the first gave its lease back.
func TestOperatorPodReplacedInMidRollout(t *testing.T) {
	f := newFleet(t, 6, nil)
	before := f.lives()
	traffic := newTraffic(f)
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageV3 })
	f.waitUnderWay(imageV3)
	operator := operatorPod(t)
	if err := suite.Client.Delete(t.Context(), &operator); err != nil {
		t.Fatal(err)
	}
	f.waitReady()
	traffic.end(t, 5, "v1", "v3")
	if diff := cmp.Diff(inPlace(before, imageV3), f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
	f.eventually("another pod of the operator is ready", func() error {
		p := operatorPod(t)
		if p.UID == operator.UID || !podHas(p, corev1.PodReady) {
			return fmt.Errorf("pod %s: %v", p.Name, p.Status.Conditions)
		}
		return nil
	})
}

// leaving has the API delete the pods of a lost node after a few seconds instead
// of five minutes, and spreads them over both nodes.
func leaving(pm *appsv1.PodManager) {
	spec := &pm.Spec.Template.Spec
	for _, taint := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](2),
		})
	}
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
		NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
		LabelSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: pm.Name}},
	}}
}

// A node loses its power. Nothing proves that its containers are dead, so pods
// whose names must not run twice wait for the out-of-service taint; other pods
// are replaced as soon as the API gives them up.
func TestNodeLost(t *testing.T) {
	ordinal := newFleet(t, 2, leaving)
	random := newFleet(t, 2, func(pm *appsv1.PodManager) { leaving(pm); pm.Spec.Identity = appsv1.IdentityRandom })
	lost := map[*fleet]corev1.Pod{}
	for _, f := range []*fleet{ordinal, random} {
		i := slices.IndexFunc(f.pods(), func(p corev1.Pod) bool { return p.Spec.NodeName == nodeB })
		if i < 0 {
			t.Fatalf("no pod of %s is on %s", f.namespace, nodeB)
		}
		lost[f] = f.pods()[i]
	}
	if err := nodes[nodeB].PowerOff(); err != nil {
		t.Fatal(err)
	}
	back := false
	t.Cleanup(func() {
		if !back {
			powerOn(t)
		}
	})

	random.eventually("the random fleet has two pods on the other node", func() error {
		ready := 0
		for _, p := range random.pods() {
			if p.Spec.NodeName == nodeA && podHas(p, corev1.PodReady) {
				ready++
			}
		}
		return want("ready pods", ready, 2)
	})
	ordinal.eventually("the lost ordinal is terminating", func() error {
		for _, p := range ordinal.allPods() {
			if p.Name == lost[ordinal].Name && p.DeletionTimestamp != nil {
				return nil
			}
		}
		return fmt.Errorf("pods %v", ordinal.lives())
	})
	for _, p := range ordinal.allPods() {
		if p.Name == lost[ordinal].Name && p.UID != lost[ordinal].UID {
			t.Errorf("pod %s has a successor, although the first may be running", p.Name)
		}
	}

	taint(t, true)
	ordinal.waitReady()
	random.waitReady()
	for _, p := range ordinal.pods() {
		if p.Spec.NodeName != nodeA {
			t.Errorf("pod %s is on %s", p.Name, p.Spec.NodeName)
		}
	}
	for f, p := range lost {
		for _, other := range f.allPods() {
			if other.UID == p.UID {
				t.Errorf("pod %s of the lost node is still there", p.Name)
			}
		}
	}
	powerOn(t)
	back = true
}

// powerOn lets the lost node come back: without its old pods, and fit for new ones.
func powerOn(t testing.TB) {
	t.Helper()
	ctx := context.Background() // also after the test
	if err := nodes[nodeB].PowerOn(ctx); err != nil {
		t.Fatal(err)
	}
	if err := waitNodeReady(ctx, nodeB); err != nil {
		t.Fatal(err)
	}
	taint(t, false)
}

// taint says of the lost node that it is out of service, or takes it back.
func taint(t testing.TB, out bool) {
	t.Helper()
	ctx := context.Background() // also after the test
	if err := poll(ctx, "the node's taints are written", func() error {
		var n corev1.Node
		if err := suite.Client.Get(ctx, client.ObjectKey{Name: nodeB}, &n); err != nil {
			return err
		}
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
		if out {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
				Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute,
			})
		}
		return suite.Client.Update(ctx, &n)
	}); err != nil {
		t.Fatal(err)
	}
}
