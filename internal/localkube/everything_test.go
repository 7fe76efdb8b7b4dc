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

package localkube_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
)

const extraStage = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: doomed}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  weight: 1
  selector:
    matchLabels: {doomed: "true"}
    matchExpressions:
    - jq: {key: .status.phase, operator: In, values: [Pending]}
  steps:
  - patch:
      subresource: status
      root: status
      template: "{phase: Failed, reason: Evicted}"
`

// TestEverything tries one whole cluster in many ways; starting one for each
// would take most of the time.
func TestEverything(t *testing.T) {
	c := kubetest.Start(t, localkube.Options{
		Nodes:       localkube.NodeOptions{Count: 6, CPU: "4", Memory: "8Gi", Pods: 20},
		ExtraStages: []string{extraStage},
	})
	k := &kube{t: t, c: c}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *kube)
	}{
		{"nodes have their size and are spread over the zones", testNodes},
		{"pods are spread over the nodes and run", testPodsRun},
		{"a changed image restarts the container in place", testChangedImage},
		{"an image that cannot be pulled keeps a pod from being ready until it is changed", testBrokenImage},
		{"a readiness gate holds a pod back", testReadinessGate},
		{"a container that crashes is never ready", testCrashLoop},
		{"a node that rejects a pod fails it", testRejected},
		{"a resize arrives in the status", testResize},
		{"a resize may restart the container", testResizeWithRestart},
		{"a node may put a resize off, or never be able to", testResizeAnswers},
		{"sidecars run and init containers are done", testInitContainers},
		{"the pod of a job completes", testJob},
		{"kubectl logs has an answer", testLogs},
		{"an extra stage wins over ours", testExtraStage},
		{"a pod can be made to linger", testTerminationDelay},
		{"kwok may end terminating pods only", testKwokGuard},
		{"a pod created again under its name is not killed by a late delete", testLateDelete},
		{"a status meant for an earlier pod does not reach the next of its name", testLateStatus},
		{"kwok goes on after a restart", testKwokRestart},
		{"the other components come back too", testRestartTheRest},
		// It takes the node away again, which the scheduler learns a moment later: no pod may come after it.
		{"a new node is ready in a moment", testNewNode},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &kube{t: t, c: k.c}) })
	}
}

func testNodes(t *testing.T, k *kube) {
	nodes, err := adminOf(t, k.c).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	zones := map[string]int{}
	for _, node := range nodes.Items {
		zones[node.Labels[corev1.LabelTopologyZone]]++
		for name, want := range map[corev1.ResourceName]string{"cpu": "4", "memory": "8Gi", "pods": "20"} {
			if got := node.Status.Allocatable[name]; got.String() != want {
				t.Errorf("%s has %s %s, want %s", node.Name, got.String(), name, want)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"zone-a": 2, "zone-b": 2, "zone-c": 2}, zones); diff != "" {
		t.Errorf("nodes per zone (-want +got):\n%s", diff)
	}
}

func testNewNode(t *testing.T, k *kube) {
	began := time.Now()
	opts := localkube.NodeOptions{Count: 1, Prefix: "late-", Labels: map[string]string{"late": "yes"}}
	if err := k.c.CreateNodes(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	eventually(t, "late-1 is ready", func(ctx context.Context) error {
		node, err := adminOf(t, k.c).CoreV1().Nodes().Get(ctx, "late-1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
				return nil
			}
		}
		return fmt.Errorf("conditions %v, taints %v", node.Status.Conditions, node.Spec.Taints)
	})
	t.Logf("ready and without taints after %s", time.Since(began).Round(time.Millisecond))
	if err := adminOf(t, k.c).CoreV1().Nodes().Delete(t.Context(), "late-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testPodsRun(t *testing.T, k *kube) {
	nodes, ips := map[string]int{}, map[string]bool{}
	for i := range 12 {
		k.create(fmt.Sprintf("spread-%d", i), nil)
	}
	for i := range 12 {
		pod := k.ready(fmt.Sprintf("spread-%d", i))
		nodes[pod.Spec.NodeName]++
		ips[pod.Status.PodIP] = true
		got := pod.Status.ContainerStatuses[0]
		if got.Image != "nginx:1.27" || got.ImageID == "" || got.ContainerID == "" || got.RestartCount != 0 ||
			!got.Ready || got.State.Running == nil || got.Started == nil || !*got.Started {
			t.Errorf("%s reports its container as %+v", pod.Name, got)
		}
		if pod.Status.ObservedGeneration != pod.Generation || pod.Status.HostIP == "" || pod.Status.StartTime == nil {
			t.Errorf("%s reports %+v", pod.Name, pod.Status)
		}
	}
	if len(nodes) != 6 {
		t.Errorf("12 pods are on %d of 6 nodes: %v", len(nodes), nodes)
	}
	if len(ips) != 12 {
		t.Errorf("12 pods have %d addresses", len(ips))
	}
}

func testChangedImage(t *testing.T, k *kube) {
	k.create("changed", nil)
	before := k.ready("changed").Status.ContainerStatuses[0]
	k.patch("changed", `{"spec":{"containers":[{"name":"app","image":"nginx:1.28"}]}}`)
	after := k.waitFor("changed", "shows the new image", func(pod *corev1.Pod) bool {
		return pod.Status.ContainerStatuses[0].Image == "nginx:1.28" && isReady(pod)
	}).Status.ContainerStatuses[0]
	if after.RestartCount != 1 || after.ImageID == before.ImageID || after.ContainerID == before.ContainerID ||
		after.LastTerminationState.Terminated == nil {
		t.Errorf("after the change the container is %+v, before it was %+v", after, before)
	}
	k.patch("changed", `{"metadata":{"labels":{"touched":"yes"}}}`)
	if again := k.ready("changed").Status.ContainerStatuses[0]; again.RestartCount != 1 {
		t.Errorf("a label restarted the container: %+v", again)
	}
}

func testBrokenImage(t *testing.T, k *kube) {
	k.create("broken", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "registry.invalid/app:1" })
	pod := k.waitFor("broken", "waits for its image", func(pod *corev1.Pod) bool {
		statuses := pod.Status.ContainerStatuses
		return len(statuses) == 1 && statuses[0].State.Waiting != nil && statuses[0].State.Waiting.Reason == "ImagePullBackOff"
	})
	if pod.Status.Phase != corev1.PodPending || isReady(pod) {
		t.Errorf("a pod without its image is %s and ready: %t", pod.Status.Phase, isReady(pod))
	}
	k.patch("broken", `{"spec":{"containers":[{"name":"app","image":"nginx:1.27"}]}}`)
	k.ready("broken")

	k.patch("broken", `{"spec":{"containers":[{"name":"app","image":"registry.invalid/app:2"}]}}`)
	pod = k.waitFor("broken", "is not ready any more", func(pod *corev1.Pod) bool { return !isReady(pod) })
	if pod.Status.Phase != corev1.PodRunning {
		t.Errorf("a pod that ran is %s", pod.Status.Phase)
	}
}

func testReadinessGate(_ *testing.T, k *kube) {
	const gate = "example.com/open"
	k.create("gated", func(pod *corev1.Pod) { pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}} })
	k.waitFor("gated", "runs and is not ready", func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodRunning && condition(pod, corev1.ContainersReady) == corev1.ConditionTrue && !isReady(pod)
	})
	k.patch("gated", `{"status":{"conditions":[{"type":"`+gate+`","status":"True"}]}}`, "status")
	k.ready("gated")
	k.patch("gated", `{"status":{"conditions":[{"type":"`+gate+`","status":"False"}]}}`, "status")
	k.waitFor("gated", "is not ready again", func(pod *corev1.Pod) bool { return !isReady(pod) })
}

func testResize(t *testing.T, k *kube) {
	small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	k.create("resized", func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests = small })
	k.ready("resized")
	k.patch("resized", `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"200m"}}}]}}`, "resize")
	k.waitFor("resized", "has the new size", func(pod *corev1.Pod) bool {
		resources := pod.Status.ContainerStatuses[0].Resources
		return resources != nil && resources.Requests.Cpu().String() == "200m"
	})
	if restarts := k.ready("resized").Status.ContainerStatuses[0].RestartCount; restarts != 0 {
		t.Errorf("a resize restarted the container %d times", restarts)
	}
}

func testResizeWithRestart(t *testing.T, k *kube) {
	small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	k.create("restarted", func(pod *corev1.Pod) {
		c := &pod.Spec.Containers[0]
		c.Resources.Requests = small
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
	})
	k.ready("restarted")
	k.patch("restarted", `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"200m"}}}]}}`, "resize")
	if restarts := k.ready("restarted").Status.ContainerStatuses[0].RestartCount; restarts != 0 {
		t.Errorf("more cpu restarted the container %d times", restarts)
	}
	k.patch("restarted", `{"spec":{"containers":[{"name":"app","resources":{"requests":{"memory":"128Mi"}}}]}}`, "resize")
	if restarts := k.ready("restarted").Status.ContainerStatuses[0].RestartCount; restarts != 1 {
		t.Errorf("more memory restarted the container %d times, not once", restarts)
	}
}

func testResizeAnswers(t *testing.T, k *kube) {
	for _, answer := range []string{corev1.PodReasonDeferred, corev1.PodReasonInfeasible} {
		name := "resize-" + strings.ToLower(answer)
		k.create(name, func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{"localkube.mycompany.com/resize": answer}
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		})
		if pod := k.ready(name); condition(pod, corev1.PodResizePending) != corev1.ConditionUnknown {
			t.Errorf("a new pod waits for a resize: %+v", pod.Status.Conditions)
		}
		k.patch(name, `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"200m"}}}]}}`, "resize")
		pod := k.waitFor(name, "waits for its size", func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodResizePending && c.Reason == answer
			})
		})
		if cpu := pod.Status.ContainerStatuses[0].Resources.Requests.Cpu().String(); cpu != "100m" || !isReady(pod) {
			t.Errorf("%s: it has %s cpu, ready: %t", answer, cpu, isReady(pod))
		}
		k.patch(name, `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"100m"}}}]}}`, "resize")
		k.waitFor(name, "waits no longer", func(pod *corev1.Pod) bool {
			return condition(pod, corev1.PodResizePending) == corev1.ConditionUnknown
		})
	}
}

func testCrashLoop(t *testing.T, k *kube) {
	k.create("crashing", func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "app:crash-1" })
	pod := k.waitFor("crashing", "crashes", func(pod *corev1.Pod) bool {
		statuses := pod.Status.ContainerStatuses
		return len(statuses) == 1 && statuses[0].State.Waiting != nil && statuses[0].State.Waiting.Reason == "CrashLoopBackOff"
	})
	if isReady(pod) {
		t.Error("a pod that crashes is ready")
	}
	k.patch("crashing", `{"spec":{"containers":[{"name":"app","image":"nginx:1.27"}]}}`)
	k.ready("crashing")
}

func testRejected(t *testing.T, k *kube) {
	k.create("rejected", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"localkube.mycompany.com/reject": "OutOfcpu"}
	})
	pod := k.waitFor("rejected", "has failed", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	if pod.Status.Reason != "OutOfcpu" || len(pod.Status.ContainerStatuses) > 0 {
		t.Errorf("it was rejected for %q, with containers %+v", pod.Status.Reason, pod.Status.ContainerStatuses)
	}
}

func testInitContainers(t *testing.T, k *kube) {
	always := corev1.ContainerRestartPolicyAlways
	k.create("with-init", func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{
			{Name: "setup", Image: "busybox:1"}, {Name: "proxy", Image: "envoy:1", RestartPolicy: &always},
		}
	})
	statuses := k.ready("with-init").Status.InitContainerStatuses
	if len(statuses) != 2 || statuses[0].State.Terminated == nil || statuses[1].State.Running == nil {
		t.Errorf("init containers are %+v", statuses)
	}
	k.patch("with-init", `{"spec":{"initContainers":[{"name":"setup","image":"busybox:2"},{"name":"proxy","image":"envoy:2"}]}}`)
	changed := k.ready("with-init").Status.InitContainerStatuses
	if changed[0].ContainerID != statuses[0].ContainerID || changed[0].Image != "busybox:1" {
		t.Errorf("an init container that was done ran again: %+v", changed[0])
	}
	if changed[1].RestartCount != 1 || changed[1].Image != "envoy:2" {
		t.Errorf("the sidecar did not follow: %+v", changed[1])
	}
}

func testJob(t *testing.T, k *kube) {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: metav1.NamespaceDefault},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "work", Image: "busybox:1"}},
		}}},
	}
	jobs := adminOf(t, k.c).BatchV1().Jobs(job.Namespace)
	if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job is complete", func(ctx context.Context) error {
		got, err := jobs.Get(ctx, job.Name, metav1.GetOptions{})
		if err == nil && got.Status.Succeeded != 1 {
			err = fmt.Errorf("status %+v", got.Status)
		}
		return err
	})
}

func testLogs(t *testing.T, k *kube) {
	k.create("talker", nil)
	k.ready("talker")
	stream, err := k.pods().GetLogs("talker", &corev1.PodLogOptions{}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	got, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), "simulated by kwok") {
		t.Errorf("got %q", got)
	}
}

func testExtraStage(_ *testing.T, k *kube) {
	for i := range 5 { // with equal weights kwok would choose at random
		name := fmt.Sprintf("doomed-%d", i)
		k.create(name, func(pod *corev1.Pod) { pod.Labels = map[string]string{"doomed": "true"} })
		k.waitFor(name, "failed", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	}
}

func testTerminationDelay(t *testing.T, k *kube) {
	k.create("lingering", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"localkube.mycompany.com/termination-delay": "1h"}
	})
	k.ready("lingering")
	k.delete("lingering")
	k.create("marker", nil)
	k.ready("marker") // by now an ordinary pod would be gone
	if pod := k.get("lingering"); pod.DeletionTimestamp == nil {
		t.Error("the pod is not terminating")
	}
	k.patch("lingering", `{"metadata":{"annotations":{"localkube.mycompany.com/termination-delay":"0s"}}}`)
	k.gone("lingering")
}

func testKwokGuard(t *testing.T, k *kube) {
	config, err := k.c.RESTConfigFor(localkube.KwokUser)
	if err != nil {
		t.Fatal(err)
	}
	kwok := clientFor(t, config).CoreV1().Pods(metav1.NamespaceDefault)
	k.create("guarded", func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/stay"} })
	k.ready("guarded")
	if err := kwok.Delete(t.Context(), "guarded", metav1.DeleteOptions{}); !apierrors.IsInvalid(err) {
		t.Fatalf("kwok deletes a live pod: got %v, want Invalid", err)
	}
	if pod := k.get("guarded"); pod.DeletionTimestamp != nil {
		t.Fatal("the delete that was refused had an effect")
	}
	status := []byte(`{"status":{"message":"from kwok"}}`)
	patchStatus := func() error {
		_, err := kwok.Patch(t.Context(), "guarded", types.MergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	}
	if err := patchStatus(); err != nil {
		t.Errorf("kwok updates a live pod: %v", err)
	}
	k.delete("guarded") // as any other user
	if err := kwok.Delete(t.Context(), "guarded", *metav1.NewDeleteOptions(0)); err != nil {
		t.Errorf("kwok deletes a terminating pod: %v", err)
	}
	if err := patchStatus(); !apierrors.IsInvalid(err) {
		t.Errorf("kwok updates a pod whose grace is over: got %v, want Invalid", err)
	}
	k.patch("guarded", `{"metadata":{"finalizers":null}}`)
	k.gone("guarded")
}

// testLateStatus sends what kwok would send late.
func testLateStatus(t *testing.T, k *kube) {
	k.create("reborn", nil)
	first := k.ready("reborn")
	k.delete("reborn")
	k.gone("reborn")
	k.create("reborn", func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/hold"}}
	})
	late := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"phase":"Running"}}`, first.UID)
	_, err := k.pods().Patch(t.Context(), "reborn", types.StrategicMergePatchType, []byte(late), metav1.PatchOptions{}, "status")
	if err == nil {
		t.Error("a status that names another UID was accepted")
	}
}

func testKwokRestart(t *testing.T, k *kube) {
	if err := k.c.Kill(localkube.Kwok); err != nil {
		t.Fatal(err)
	}
	k.create("patient", nil)
	k.waitFor("patient", "is scheduled", func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
	if err := k.c.Restart(t.Context(), localkube.Kwok); err != nil {
		t.Fatal(err)
	}
	k.ready("patient")
}

func testRestartTheRest(t *testing.T, k *kube) {
	for _, component := range []localkube.Component{localkube.Scheduler, localkube.ControllerManager} {
		if err := k.c.Restart(t.Context(), component); err != nil {
			t.Errorf("restart %s: %v", component, err)
		}
	}
	k.create("afterwards", nil)
	k.ready("afterwards")
}

// kube is one test's view of the cluster: pods in the default namespace.
type kube struct {
	t *testing.T
	c *localkube.Cluster
}
