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

package nativewhy

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/pod-operator/internal/nativewhy"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// pace is how often a test asks again.
const pace = 300 * time.Millisecond

// template is one of a pod. What more says is put below its spec.
type template struct{ image, annotations, env, more string }

func (t template) String() string {
	if t.image == "" {
		t.image = "nginx:1.27"
	}
	return fmt.Sprintf(`
  template:
    metadata:
      labels: {app: web}
      annotations: {%s}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: app
        image: %s
        env: [%s]
        resources: {requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 128Mi}}
%s`, t.annotations, t.image, t.env, t.more)
}

func workload(kind, name string, replicas int, t template, more string) string {
	size := fmt.Sprintf("\n  replicas: %d", replicas)
	switch kind {
	case "DaemonSet":
		size = ""
	case "StatefulSet":
		more += "\n  serviceName: web"
	}
	return fmt.Sprintf("apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec:%s\n  selector: {matchLabels: {app: web}}%s%s", kind, name, size, more, t)
}

func deployment(replicas int, t template) string {
	return workload("Deployment", "web", replicas, t, "")
}

// lingers keeps a pod for a while after its deletion.
const lingers = `localkube.mycompany.com/termination-delay: "20s"`

// on places the pods on one of the private nodes, which no other test uses.
func on(node int) string {
	return fmt.Sprintf("      nodeSelector: {kubernetes.io/hostname: node-%d}\n      tolerations: [{key: private, operator: Exists}]\n", node)
}

// TestWhyNamesTheCause: a cause is really made, and the answers name this one and no
// other.
func TestWhyNamesTheCause(t *testing.T) {
	for name, script := range map[string]func(*world){
		"an image is set":                        imageSet,
		"the environment is applied":             environmentApplied,
		"a template is applied by the server":    appliedByServer,
		"a restart of the rollout":               restarted,
		"a rollout is undone":                    undone,
		"it is scaled":                           scaled,
		"its replicas are patched":               replicasPatched,
		"its replicas are applied":               replicasApplied,
		"an autoscaler scales it":                autoscaled,
		"its node is drained":                    drained,
		"it is preempted":                        preempted,
		"its node gets a taint":                  tainted,
		"its node is deleted":                    nodeDeleted,
		"it runs out of memory":                  outOfMemory,
		"its liveness probe fails":               livenessFails,
		"it crashes":                             crashes,
		"it gets a signal that was not recorded": signalled,
		"its node runs short of memory":          nodePressure,
		"its image cannot be pulled":             imagePull,
		"no node fits":                           unschedulable,
		"it has a scheduling gate":               gated,
		"a quota refuses it":                     quota,
		"admission refuses it":                   admission,
		"it is deleted by hand":                  deleted,
		"its owner is deleted":                   ownerDeleted,
		"it is resized":                          resized,
		"its ConfigMap changes":                  configChanged,
		"the template of a StatefulSet changes":  statefulSetTemplate,
		"a StatefulSet is scaled down":           statefulSetScaled,
		"a pod of a StatefulSet fails":           statefulSetFailed,
		"a DaemonSet restarts":                   daemonSetRestarted,
		"a ReplicaSet is scaled":                 replicaSetScaled,
		"nothing happens":                        func(w *world) { w.apply(deployment(2, template{})); w.running(2); w.expect("deployment/web") },
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			script(newWorld(t))
		})
	}
}

func imageSet(w *world) {
	w.apply(deployment(2, template{}))
	w.running(2)
	w.kubectl("set", "image", "deployment/web", "app=nginx:1.28")
	items := w.expect("deployment/web", nativewhy.NewTemplate)
	w.says(items, nativewhy.NewTemplate, "containers[app].image nginx:1.27 → nginx:1.28", "by kubectl-set", "revision 2")
	w.kubectl("rollout", "status", "deployment/web")
	pods := w.running(2)
	w.expect("pod/"+pods[0], nativewhy.NewTemplate)
}

func environmentApplied(w *world) {
	w.apply(deployment(2, template{}))
	old := w.running(2)
	w.apply(deployment(2, template{env: "{name: TOKEN, value: abc}"}))
	items := w.expect("deployment/web", nativewhy.NewTemplate)
	w.says(items, nativewhy.NewTemplate, "containers[app].env[TOKEN] added", "by kubectl-client-side-apply")
	if strings.Contains(told(items), "abc") {
		w.Errorf("the value is shown: %s", told(items))
	}
	w.gone(old[0])
	w.expect("pod/"+old[0], nativewhy.NewTemplate)
}

func appliedByServer(w *world) {
	for _, image := range []string{"nginx:1.27", "nginx:1.28"} {
		path := w.TempDir() + "/web.yaml"
		writeFile(w, path, deployment(1, template{image: image}))
		w.kubectl("apply", "--server-side", "--field-manager=gitops", "-f", path)
		w.running(1)
	}
	w.says(w.expect("deployment/web", nativewhy.NewTemplate), nativewhy.NewTemplate, "by gitops")
}

func restarted(w *world) {
	w.apply(deployment(2, template{}))
	w.running(2)
	w.kubectl("rollout", "restart", "deployment/web")
	items := w.expect("deployment/web", nativewhy.Restarted)
	w.says(items, nativewhy.Restarted, "by kubectl-rollout")
}

func undone(w *world) {
	w.apply(deployment(1, template{}))
	w.running(1)
	w.kubectl("set", "image", "deployment/web", "app=nginx:1.28")
	w.kubectl("rollout", "status", "deployment/web")
	w.kubectl("rollout", "undo", "deployment/web")
	items := w.expect("deployment/web", nativewhy.RolledBack)
	w.says(items, nativewhy.RolledBack, "nginx:1.28 → nginx:1.27", "revision 3")
}

func scaled(w *world) {
	w.apply(deployment(2, template{}))
	w.running(2)
	w.kubectl("scale", "deployment/web", "--replicas=4")
	w.running(4)
	items := w.expect("deployment/web", nativewhy.Scaled)
	w.says(items, nativewhy.Scaled, "4 pods from 2", "kubectl")
}

func replicasPatched(w *world) {
	w.apply(deployment(3, template{}))
	w.running(3)
	w.kubectl("patch", "deployment/web", "-p", `{"spec":{"replicas":1}}`)
	pods := w.running(1)
	w.says(w.expect("deployment/web", nativewhy.Scaled), nativewhy.Scaled, "by kubectl-patch")
	w.expect("pod/"+pods[0], nativewhy.Scaled)
}

// The manager that created the object writes the replicas again: only the
// controller's event says which of its fields changed.
func replicasApplied(w *world) {
	w.apply(deployment(1, template{}))
	w.running(1)
	settle(w)
	w.apply(deployment(3, template{}))
	w.running(3)
	w.says(w.expect("deployment/web", nativewhy.Scaled), nativewhy.Scaled, "kubectl-client-side-apply", "3 pods from 1")
}

func autoscaled(w *world) {
	w.apply(deployment(1, template{}))
	w.running(1)
	w.kubectl("autoscale", "deployment", "web", "--min=3", "--max=5", "--cpu=50%")
	w.running(3)
	items := w.expect("deployment/web", nativewhy.ScaledByAutoscaler)
	w.says(items, nativewhy.ScaledByAutoscaler, "HorizontalPodAutoscaler web", "below Spec.MinReplicas")
}

func drained(w *world) {
	w.apply(deployment(2, template{annotations: lingers, more: on(1)}))
	pods := w.running(2)
	// The pods linger, so that the drain does not see their end.
	_, _ = suite.TryKubectl(w, "drain", "node-1", "--timeout=1s", "--pod-selector=app=web")
	items := w.expect("deployment/web", nativewhy.Evicted, nativewhy.Unschedulable)
	w.says(items, nativewhy.Evicted, "node-1 is cordoned since", "EvictionByEvictionAPI")
	w.expect("pod/"+pods[0], nativewhy.Evicted)
	w.gone(pods[0])
	w.expect("pod/"+pods[0], nativewhy.Evicted)
}

func preempted(w *world) {
	class := "urgent-" + w.namespace
	suite.Kubectl(w, "create", "priorityclass", class, "--value=1000")
	w.apply(strings.Replace(deployment(1, template{more: on(2)}), "cpu: 10m", `cpu: "7"`, 1))
	victim := w.running(1)[0]
	w.apply(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: urgent}, spec: {priorityClassName: %s, nodeSelector: {kubernetes.io/hostname: node-2},
  tolerations: [{operator: Exists}], containers: [{name: app, image: "nginx:1.27", resources: {requests: {cpu: "5"}}}]}}`, class))
	w.gone(victim)
	items := w.expect("pod/"+victim, nativewhy.Preempted)
	w.says(items, nativewhy.Preempted, "for pod urgent")
	w.expect("deployment/web", nativewhy.Preempted, nativewhy.Unschedulable)
}

func tainted(w *world) {
	w.apply(deployment(1, template{annotations: lingers, more: on(3)}))
	pod := w.running(1)[0]
	suite.Kubectl(w, "taint", "node", "node-3", "maintenance=now:NoExecute")
	items := w.expect("deployment/web", nativewhy.TaintEviction, nativewhy.Unschedulable)
	w.says(items, nativewhy.TaintEviction, "node-3 got the taint maintenance")
	w.gone(pod)
	w.expect("pod/"+pod, nativewhy.TaintEviction)
}

func nodeDeleted(w *world) {
	w.apply(deployment(1, template{more: on(4)}))
	pod := w.running(1)[0]
	suite.Kubectl(w, "delete", "node", "node-4")
	w.gone(pod)
	w.says(w.expect("pod/"+pod, nativewhy.NodeLost), nativewhy.NodeLost, "node-4")
	w.expect("deployment/web", nativewhy.NodeLost, nativewhy.Unschedulable)
}

// endedWith is a container that ended a moment ago and runs again.
func endedWith(code int32, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		now := metav1.Now()
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: p.CreationTimestamp, FinishedAt: now}
		s.RestartCount++
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
	}
}

// one is a Deployment with one pod that runs.
func one(w *world) string {
	w.apply(deployment(1, template{}))
	return w.running(1)[0]
}

func outOfMemory(w *world) {
	pod := one(w)
	w.kubeletSays(pod, endedWith(137, "OOMKilled"))
	w.says(w.expect("deployment/web", nativewhy.OutOfMemory), nativewhy.OutOfMemory, "limit is 128Mi", "1 restart")
	w.expect("pod/"+pod, nativewhy.OutOfMemory)
}

func livenessFails(w *world) {
	pod := one(w)
	w.kubeletRecords(pod, "app", "Warning", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500")
	w.kubeletRecords(pod, "app", "Normal", "Killing", "Container app failed liveness probe, will be restarted")
	w.kubeletSays(pod, endedWith(137, "Error"))
	w.says(w.expect("pod/"+pod, nativewhy.LivenessProbe), nativewhy.LivenessProbe, "statuscode: 500")
	w.expect("deployment/web", nativewhy.LivenessProbe)
}

func crashes(w *world) {
	pod := one(w)
	w.kubeletSays(pod, func(p *corev1.Pod) {
		endedWith(3, "Error")(p)
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=app",
		}}
	})
	w.says(w.expect("pod/"+pod, nativewhy.Crashed), nativewhy.Crashed, "exit code 3")
}

func signalled(w *world) {
	pod := one(w)
	w.kubeletSays(pod, endedWith(137, "Error"))
	w.says(w.expect("pod/"+pod), nativewhy.Killed, "whose is not recorded")
}

func nodePressure(w *world) {
	pod := one(w)
	w.kubeletSays(pod, func(p *corev1.Pod) {
		const message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", message
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: message,
			LastTransitionTime: metav1.Now(),
		})
	})
	w.says(w.expect("deployment/web", nativewhy.NodePressure), nativewhy.NodePressure, "low on resource: memory")
}

func imagePull(w *world) {
	w.apply(deployment(1, template{image: "registry.invalid/web:1"}))
	w.says(w.expect("deployment/web", nativewhy.ImagePull), nativewhy.ImagePull, "image registry.invalid/web:1 cannot be pulled")
}

func unschedulable(w *world) {
	w.apply(deployment(2, template{more: "      nodeSelector: {disk: none}\n"}))
	w.says(w.expect("deployment/web", nativewhy.Unschedulable), nativewhy.Unschedulable, "didn't match Pod's node affinity/selector")
}

func gated(w *world) {
	w.apply(deployment(1, template{more: "      schedulingGates: [{name: example.com/wait}]\n"}))
	w.says(w.expect("deployment/web", nativewhy.SchedulingGated), nativewhy.SchedulingGated, "example.com/wait")
}

func quota(w *world) {
	w.kubectl("create", "quota", "few", "--hard=pods=1")
	w.apply(deployment(2, template{}))
	w.says(w.expect("deployment/web", nativewhy.Quota), nativewhy.Quota, "exceeded quota: few")
}

func admission(w *world) {
	suite.Kubectl(w, "label", "namespace", w.namespace, "pod-security.kubernetes.io/enforce=restricted")
	w.apply(workload("StatefulSet", "web", 2, template{}, ""))
	w.says(w.expect("statefulset/web", nativewhy.CreateRefused), nativewhy.CreateRefused, "violates PodSecurity")
}

func deleted(w *world) {
	w.apply(deployment(2, template{annotations: lingers}))
	pod := w.running(2)[0]
	w.kubectl("delete", "pod", pod, "--wait=false")
	w.says(w.expect("deployment/web", nativewhy.Deleted), nativewhy.Deleted, "audit log")
	w.expect("pod/"+pod, nativewhy.Deleted)
	w.gone(pod)
	w.expect("pod/"+pod, nativewhy.Deleted)
	w.expect("deployment/web", nativewhy.Deleted)
}

func ownerDeleted(w *world) {
	pod := one(w)
	w.kubectl("delete", "deployment", "web")
	w.gone(pod)
	w.expect("deployment/web", nativewhy.OwnerDeleted)
	w.expect("pod/"+pod, nativewhy.OwnerDeleted)
}

func resized(w *world) {
	pod := one(w)
	w.kubectl("patch", "pod", pod, "--subresource=resize", "-p", `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"20m"}}}]}}`)
	w.says(w.expect("deployment/web", nativewhy.Resized), nativewhy.Resized, "by kubectl-patch")
}

func configChanged(w *world) {
	w.kubectl("create", "configmap", "settings", "--from-literal=colour=blue")
	w.kubectl("create", "configmap", "files", "--from-literal=a=b")
	w.apply(deployment(2, template{
		env:  "{name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}",
		more: "        volumeMounts: [{name: files, mountPath: /files}]\n      volumes: [{name: files, configMap: {name: files}}]\n",
	}))
	w.running(2)
	settle(w)
	for _, name := range []string{"settings", "files"} {
		w.kubectl("patch", "configmap", name, "-p", `{"data":{"colour":"green"}}`)
	}
	items := w.expect("deployment/web", nativewhy.ConfigNotRead)
	w.says(items, nativewhy.ConfigNotRead, "older ConfigMap settings", "by environment", "kubectl-patch")
	if strings.Contains(told(items), "ConfigMap files") {
		w.Errorf("a volume is read again by itself: %s", told(items))
	}
}

func statefulSetTemplate(w *world) {
	w.apply(workload("StatefulSet", "web", 2, template{}, ""))
	w.running(2)
	w.kubectl("set", "image", "statefulset/web", "app=nginx:1.28")
	w.kubectl("rollout", "status", "statefulset/web")
	w.says(w.expect("statefulset/web", nativewhy.NewTemplate), nativewhy.NewTemplate, "nginx:1.27 → nginx:1.28", "by kubectl-set")
	w.expect("pod/web-1", nativewhy.NewTemplate)
}

func statefulSetScaled(w *world) {
	w.apply(workload("StatefulSet", "web", 3, template{}, ""))
	w.running(3)
	w.kubectl("scale", "statefulset/web", "--replicas=2")
	w.gone("web-2")
	w.expect("statefulset/web", nativewhy.Scaled)
	w.expect("pod/web-2", nativewhy.Scaled)
}

func statefulSetFailed(w *world) {
	w.apply(workload("StatefulSet", "web", 1, template{}, ""))
	w.running(1)
	w.kubeletSays("web-0", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.expect("pod/web-0", nativewhy.FailedPod)
	w.expect("statefulset/web", nativewhy.FailedPod)
}

func daemonSetRestarted(w *world) {
	w.apply(workload("DaemonSet", "web", 0, template{}, ""))
	w.kubectl("rollout", "status", "daemonset/web")
	settle(w)
	w.kubectl("rollout", "restart", "daemonset/web")
	w.expect("daemonset/web", nativewhy.Restarted)
	w.kubectl("rollout", "status", "daemonset/web")
	w.expect("daemonset/web", nativewhy.Restarted)
}

func replicaSetScaled(w *world) {
	w.apply(workload("ReplicaSet", "web", 3, template{}, ""))
	w.running(3)
	w.kubectl("scale", "replicaset/web", "--replicas=1")
	w.running(1)
	w.expect("replicaset/web", nativewhy.Scaled)
}

// settle lets two seconds pass: field managers and containers have their times in
// whole ones.
func settle(w *world) {
	w.Helper()
	testkit.Stays(w, 2100*time.Millisecond, func() error { return nil })
}

func writeFile(w *world, path, text string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}
