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
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// amount makes requests and limits the same.
func amount(cpu, memory string) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

func sized(cpu, memory string) func(*appsv1.PodManager) {
	return func(pm *appsv1.PodManager) { container(pm).Resources = amount(cpu, memory) }
}

// limits reads from the kernel what a pod's container may use.
type limits struct{ Memory, Quota string }

func limitsOf(p corev1.Pod) (limits, error) {
	cgroup := nodes[p.Spec.NodeName].Cgroup()
	memory, err1 := cgroup.MemoryLimit(containerID(p))
	quota, err2 := cgroup.CPUQuota(containerID(p))
	return limits{Memory: memory, Quota: quota}, errors.Join(err1, err2)
}

func (f *fleet) wantLimits(want limits) {
	f.Helper()
	for _, p := range f.pods() {
		got, err := limitsOf(p)
		if err != nil {
			f.Errorf("pod %s: %v", p.Name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			f.Errorf("what the kernel allows pod %s (-want +got):\n%s", p.Name, diff)
		}
	}
}

func TestResizeChangesTheKernelsLimitsWithoutRestart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, sized("100m", "64Mi"))
	f.wantLimits(limits{Memory: "67108864", Quota: "10000"})
	before := f.lives()
	client := newTraffic(f)
	f.change(sized("200m", "96Mi"))
	f.waitReady()
	client.end(t, 2)
	f.wantLimits(limits{Memory: "100663296", Quota: "20000"})
	if diff := cmp.Diff(before, f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
}

// What kills a container before a resize does not do so after it.
func TestResizeGivesMemoryThatCanBeUsed(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, sized("200m", "48Mi"))
	// The answer may get lost with the server.
	_, _ = ask(t.Context(), f.pods()[0].Status.PodIP, "POST", "/eat/80")
	f.eventually("the kernel has killed the container", func() error {
		status := f.pods()[0].Status.ContainerStatuses[0]
		if last := status.LastTerminationState.Terminated; last == nil || last.Reason != "OOMKilled" {
			return fmt.Errorf("status %+v", status)
		}
		return nil
	})
	f.waitReady()
	before := f.lives()
	f.change(sized("200m", "192Mi"))
	f.waitReady()
	f.order(f.pods()[0], "/eat/80")
	if diff := cmp.Diff(before, f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
}

// on keeps pods on a node.
func on(spec *corev1.PodSpec, node string) {
	spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
}

// preferably has pods scheduled to a node, as long as it has room.
func preferably(spec *corev1.PodSpec, node string) {
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}}
}

func TestDeferredResizeWaitsForRoom(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, func(pm *appsv1.PodManager) {
		sized("50m", "256Mi")(pm)
		on(&pm.Spec.Template.Spec, nodeB)
		pm.Spec.Update.ResizeDeadlineSeconds = ptr.To[int32](3600)
	})
	// More than half of the node's memory, so that there is no room for the same
	// again.
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "other"}}
	other.Spec.Containers = []corev1.Container{{Name: "server", Image: imageV1, Resources: amount("50m", "1100Mi")}}
	other.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	on(&other.Spec, nodeB)
	if err := suite.Client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	f.eventually("the other pod runs", func() error {
		err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other)
		return errors.Join(err, want("its phase", other.Status.Phase, corev1.PodRunning))
	})

	before := f.lives()
	f.change(sized("50m", "1100Mi"))
	f.eventually("the node defers the resize", func() error {
		p := f.pods()[0]
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodResizePending && c.Reason == corev1.PodReasonDeferred {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", p.Status.Conditions)
	})
	f.eventually("the PodManager says what it waits for", func() error {
		c := condition(f.get(), appsv1.ConditionReconciling)
		if c == nil || !strings.Contains(c.Message, "waiting for room for a new size: node "+nodeB+" has none now") {
			return fmt.Errorf("conditions %v", f.get().Status.Conditions)
		}
		t.Logf("Reconciling: %s: %s", c.Reason, c.Message)
		return nil
	})
	f.wantLimits(limits{Memory: "268435456", Quota: "5000"})

	if err := suite.Client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	f.waitReady()
	f.wantLimits(limits{Memory: "1153433600", Quota: "5000"})
	if diff := cmp.Diff(before, f.lives()); diff != "" {
		t.Errorf("the pods' lives (-want +got):\n%s", diff)
	}
}

// A node that will never have the room: the API server, or else the kubelet, says
// so, and the pod is recreated where there is.
func TestRefusedResizeRecreatesThePodElsewhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, func(pm *appsv1.PodManager) {
		sized("50m", "64Mi")(pm)
		preferably(&pm.Spec.Template.Spec, nodeB)
		pm.Spec.Update.ResizeDeadlineSeconds = ptr.To[int32](3600)
	})
	before := f.pods()[0]
	if before.Spec.NodeName != nodeB {
		t.Fatalf("the pod is on %s, want %s", before.Spec.NodeName, nodeB)
	}
	f.change(sized("50m", "2500Mi"))
	f.waitReady()
	after := f.pods()[0]
	if after.Spec.NodeName != nodeA || after.UID == before.UID {
		t.Errorf("the pod is %s on %s, want another than %s, on %s", after.UID, after.Spec.NodeName, before.UID, nodeA)
	}
	history := f.get().Status.History
	for _, decision := range history {
		if strings.Contains(decision.Message, "enough allocatable resources") || strings.Contains(decision.Message, "can never hold the new size") {
			t.Logf("history: %s %s: %s", decision.Action, decision.Reason, decision.Message)
			return
		}
	}
	t.Errorf("the history does not tell why: %+v", history)
}
