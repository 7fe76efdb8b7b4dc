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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world builds Facts: a Deployment called web with two revisions, if nothing else is
// said.
type world struct{ *Facts }

func aWorld() world {
	f := &Facts{Now: noon, Kind: "Deployment", Name: "web"}
	f.Workload = &Workload{Kind: f.Kind, Meta: meta("web", noon.Add(-time.Hour)), Desired: 2, Observed: true, Updated: 2, Current: 2, Available: 2}
	f.Workload.Meta.ManagedFields = []metav1.ManagedFieldsEntry{
		manager("helm", "", noon.Add(-time.Hour), `{"f:spec":{"f:selector":{},"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:name":{}}}}}}}`),
	}
	return world{f}
}

func meta(name string, born time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(born)}
}

func manager(name, subresource string, at time.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: name, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource, Time: ptr.To(metav1.NewTime(at)),
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// revision adds a ReplicaSet whose container has an image.
func (w world) revision(born time.Time, image string, annotations ...string) world {
	n := len(w.Revisions) + 1
	notes := map[string]any{}
	for i := 0; i < len(annotations); i += 2 {
		notes[annotations[i]] = annotations[i+1]
	}
	w.Revisions = append(w.Revisions, Revision{
		Kind: "ReplicaSet", Number: int64(n), Meta: meta(fmt.Sprintf("web-%d", n), born),
		Template: map[string]any{
			"metadata": map[string]any{"annotations": notes},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": image}}},
		},
	})
	return w
}

// writes adds a field manager of the workload.
func (w world) writes(name, subresource string, at time.Time, fields string) world {
	w.Workload.Meta.ManagedFields = append(w.Workload.Meta.ManagedFields, manager(name, subresource, at, fields))
	return w
}

// pod adds a pod of the first revision.
func (w world) pod(name string, change func(*corev1.Pod)) world {
	p := corev1.Pod{ObjectMeta: meta(name, noon.Add(-30*time.Minute))}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "web-1", Controller: ptr.To(true)}}
	p.Spec.NodeName, p.Status.Phase = "node-1", corev1.PodRunning
	p.Spec.Containers = []corev1.Container{{Name: "app"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-20 * time.Minute))}}}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-20 * time.Minute))}}
	if change != nil {
		change(&p)
	}
	w.Pods = append(w.Pods, p)
	return w
}

// event adds an event about an object.
func (w world) event(at time.Time, kind, name, reason, message string) world {
	e := Event{Type: "Normal", Reason: reason, Message: message, Kind: kind, Name: name, First: at, Last: at, Count: 1}
	if kind == "Pod" {
		e.UID = types.UID(name)
	}
	w.Events = append(w.Events, e)
	return w
}

// blind leaves a source out.
func (w world) blind(source Source) world {
	w.Unread = append(w.Unread, Unread{Source: source, Why: "forbidden"})
	return w
}

// asked narrows the question to a pod.
func (w world) asked(pod string) world {
	w.Pod = pod
	return w
}

// ending is a pod that is being deleted since ten seconds.
func ending(p *corev1.Pod) {
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon.Add(20*time.Second))), ptr.To[int64](30)
}

func target(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		ending(p)
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon.Add(-10 * time.Second)),
		})
	}
}

func ended(code int32, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].RestartCount = 2
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(noon.Add(-20 * time.Minute)),
		}
	}
}

// said are the answers as "cause certainty pods: text", without how the story begins.
func said(answers []Answer) []string {
	var lines []string
	for _, a := range answers {
		if a.Cause != Created && a.Cause != Made {
			lines = append(lines, fmt.Sprintf("%s, %s %v: %s", a.Cause, a.Certainty, a.Pods, a.Text))
		}
	}
	return lines
}

func check(t *testing.T, cases map[string]struct {
	w    world
	want []string
},
) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, said(Why(c.w.Facts))); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

const imageField = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:image":{}}}}}}}`

func TestTemplates(t *testing.T) {
	changed := noon.Add(-10 * time.Minute)
	two := func() world { return aWorld().revision(noon.Add(-time.Hour), "a:1") }
	check(t, map[string]struct {
		w    world
		want []string
	}{
		"one revision": {two(), nil},
		"an image, by the one that wrote right before": {
			two().revision(changed, "a:2").writes("kubectl-set", "", changed.Add(-time.Second), imageField),
			[]string{"NewTemplate, sure []: new template (revision 2): containers[app].image a:1 → a:2, by kubectl-set"},
		},
		"an image, by one that wrote again later": {
			two().revision(changed, "a:2").writes("kubectl-edit", "", changed.Add(time.Minute), imageField),
			[]string{"NewTemplate, sure []: new template (revision 2): containers[app].image a:1 → a:2, probably by kubectl-edit"},
		},
		"an image that no field manager owns": {
			two().revision(changed, "a:2"), []string{"NewTemplate, sure []: new template (revision 2): containers[app].image a:1 → a:2"},
		},
		"a restart": {
			two().revision(changed, "a:1", "kubectl.kubernetes.io/restartedAt", "2026-03-01T11:50:00Z").
				writes("kubectl-rollout", "", changed, `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{}}}}}}`),
			[]string{"Restarted, sure []: restarted (revision 2), by kubectl-rollout"},
		},
		"a restart with another image": {
			two().revision(changed, "a:2", "kubectl.kubernetes.io/restartedAt", "2026-03-01T11:50:00Z"),
			[]string{"NewTemplate, sure []: new template (revision 2): metadata.annotations.kubectl.kubernetes.io/restartedAt added, containers[app].image a:1 → a:2"},
		},
		"the template of an older revision": {
			aWorld().revision(changed, "a:2").revision(noon.Add(-time.Hour), "a:1").writes("kubectl", "", changed.Add(time.Minute), imageField),
			[]string{"RolledBack, sure []: went back to an older template, now revision 2: containers[app].image a:2 → a:1, by kubectl"},
		},
		"not the value of a variable": {
			func() world {
				w := two().revision(changed, "a:1")
				w.Revisions[1].Template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["env"] = []any{map[string]any{"name": "TOKEN", "value": "secret"}}
				return w
			}(),
			[]string{"NewTemplate, sure []: new template (revision 2): containers[app].env[TOKEN] added"},
		},
	})
}

func TestScalings(t *testing.T) {
	const onlyReplicas = `{"f:spec":{"f:replicas":{}}}`
	at := noon.Add(-5 * time.Minute)
	one := func() world {
		w := aWorld().revision(noon.Add(-time.Hour), "a:1")
		w.Workload.Meta.ManagedFields = []metav1.ManagedFieldsEntry{manager("helm", "", noon.Add(-time.Hour), `{"f:spec":{"f:selector":{}}}`)}
		return w
	}
	check(t, map[string]struct {
		w    world
		want []string
	}{
		"through the subresource": {
			one().writes("kubectl", "scale", at, onlyReplicas).event(at, "Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-1 from 1 to 2"),
			[]string{"Scaled, sure []: scaled to 2 pods from 1 by kubectl (scale)"},
		},
		"by one that owns the replicas alone": {one().writes("kubectl-patch", "", at, onlyReplicas), []string{"Scaled, sure []: scaled to 2 pods by kubectl-patch"}},
		"by one that owns more": {
			one().writes("kubectl-edit", "", at, `{"f:spec":{"f:replicas":{},"f:minReadySeconds":{}}}`),
			[]string{"Scaled, likely []: scaled to 2 pods by kubectl-edit"},
		},
		"by an autoscaler that may not be read": {
			one().blind(Autoscalers).writes("kube-controller-manager", "scale", at, onlyReplicas),
			[]string{"ScaledByAutoscaler, likely []: scaled to 2 pods by a HorizontalPodAutoscaler"},
		},
		"not by the creator, who owns them from the beginning": {aWorld().revision(noon.Add(-time.Hour), "a:1"), nil},
		"by the creator, when the controller says so": {
			func() world {
				w := aWorld().revision(noon.Add(-time.Hour), "a:1").event(at.Add(time.Second), "Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-1 from 1 to 2")
				w.Workload.Meta.ManagedFields[0].Time = ptr.To(metav1.NewTime(at))
				return w
			}(), []string{"Scaled, likely []: scaled to 2 pods from 1 by helm"},
		},
		"not by the creator, when it was a rollout": {
			func() world {
				w := aWorld().revision(noon.Add(-time.Hour), "a:1").revision(at, "a:2").
					event(at.Add(time.Second), "Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-2 from 1 to 2")
				w.Workload.Meta.ManagedFields[0].Time = ptr.To(metav1.NewTime(at))
				return w
			}(), []string{"NewTemplate, sure []: new template (revision 2): containers[app].image a:1 → a:2"},
		},
	})
}

func TestDisruptions(t *testing.T) {
	node := func(w world, change func(*corev1.Node)) world {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		change(&n)
		w.Nodes = append(w.Nodes, n)
		return w
	}
	cordon := func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.ManagedFields = []metav1.ManagedFieldsEntry{manager("kubectl-drain", "", noon.Add(-time.Minute), `{"f:spec":{"f:unschedulable":{}}}`)}
	}
	failed := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
		}
	}
	base := func() world { return aWorld().revision(noon.Add(-time.Hour), "a:1") }
	check(t, map[string]struct {
		w    world
		want []string
	}{
		"an eviction": {base().pod("web-1-aaaaa", target(byEvictionAPI, "")), []string{"Evicted, sure [web-1-aaaaa]: evicted through the Eviction API"}},
		"two evictions of one drain are one answer": {
			node(base().pod("web-1-aaaaa", target(byEvictionAPI, "")).pod("web-1-bbbbb", target(byEvictionAPI, "")), cordon),
			[]string{"Evicted, sure [web-1-aaaaa web-1-bbbbb]: evicted through the Eviction API, as a drain does: node-1 is cordoned since 2026-03-01T11:59:00Z by kubectl-drain"},
		},
		"an eviction that was taken back": {
			base().pod("web-1-aaaaa", func(p *corev1.Pod) { target(byEvictionAPI, "")(p); p.DeletionTimestamp = nil }),
			[]string{"Evicted, likely [web-1-aaaaa]: an eviction was asked for, and the pod is not ending"},
		},
		"a preemption of which only the event is left": {
			func() world {
				w := base().event(noon, "Pod", "web-1-aaaaa", "Preempted", "Preempted by pod 123 on node node-1")
				w.Events[0].Other = "pod urgent"
				return w
			}(), []string{"Preempted, sure [web-1-aaaaa]: preempted by the scheduler for pod urgent, of higher priority"},
		},
		"a preemption in memory deletes no pod": {
			base().pod("web-1-aaaaa", nil).event(noon, "Pod", "web-1-aaaaa", "Preempted", "Preempted by pod 123 on node node-1 (in kube-scheduler memory)."), nil,
		},
		"a node that stopped reporting": {
			node(base().pod("web-1-aaaaa", target(byTaintManager, "")), func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
			}), []string{"NodeLost, sure [web-1-aaaaa]: its node node-1 stopped reporting"},
		},
		"another taint": {
			node(base().pod("web-1-aaaaa", target(byTaintManager, "")), func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
			}), []string{"TaintEviction, sure [web-1-aaaaa]: its node node-1 got the taint maintenance, which it does not tolerate"},
		},
		"a deletion by a taint that was cancelled": {
			base().pod("web-1-aaaaa", nil).event(noon.Add(-time.Minute), "Pod", "web-1-aaaaa", "TaintManagerEviction", "Marking for deletion Pod shop/web-1-aaaaa").
				event(noon, "Pod", "web-1-aaaaa", "TaintManagerEviction", "Cancelling deletion of Pod shop/web-1-aaaaa"), nil,
		},
		"a node that is gone": {base().pod("web-1-aaaaa", target(byPodGC, "")), []string{"NodeLost, sure [web-1-aaaaa]: its node node-1 was deleted"}},
		"pressure, without the condition": {
			base().pod("web-1-aaaaa", failed("Evicted", "The node was low on resource: memory.")),
			[]string{"NodePressure, sure [web-1-aaaaa]: evicted by the kubelet of node-1, which ran short: The node was low on resource: memory."},
		},
		"a limit of storage is no pressure": {
			base().pod("web-1-aaaaa", failed("Evicted", `Usage of EmptyDir volume "tmp" exceeds the limit "1Gi".`)),
			[]string{`StorageLimit, sure [web-1-aaaaa]: evicted by the kubelet for the storage that it used: Usage of EmptyDir volume "tmp" exceeds the limit "1Gi".`},
		},
		"a node that shuts down": {
			base().pod("web-1-aaaaa", func(p *corev1.Pod) {
				target(corev1.PodReasonTerminationByKubelet, "")(p)
				failed("Terminated", "Pod was terminated in response to imminent node shutdown.")(p)
			}), []string{"NodeShutdown, sure [web-1-aaaaa]: ended because node node-1 was shut down: Pod was terminated in response to imminent node shutdown."},
		},
		"a controller that Kubernetes does not have": {
			base().pod("web-1-aaaaa", target("Rebalance", "too many here")),
			[]string{"Deleted, not recorded [web-1-aaaaa]: ended by a controller of another kind: Rebalance: too many here"},
		},
		"a node that is not ready": {
			node(base().pod("web-1-aaaaa", nil), func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "Kubelet stopped posting node status."}}
			}), []string{"NodeNotReady, sure [web-1-aaaaa]: not ready, because its node node-1 is not: Kubelet stopped posting node status."},
		},
	})
}

func TestContainers(t *testing.T) {
	end := noon.Add(-20 * time.Minute)
	base := func(code int32, reason string) world {
		return aWorld().revision(noon.Add(-time.Hour), "a:1").pod("web-1-aaaaa", ended(code, reason))
	}
	check(t, map[string]struct {
		w    world
		want []string
	}{
		"out of memory": {base(137, "OOMKilled"), []string{"OutOfMemory, sure [web-1-aaaaa]: container app was killed: out of memory, it has no limit of its own (2 restarts)"}},
		"an exit code":  {base(3, "Error"), []string{"Crashed, sure [web-1-aaaaa]: container app ended with exit code 3 (2 restarts)"}},
		"an exit code, without rights to read events": {
			base(3, "Error").blind(Events), []string{"Crashed, likely [web-1-aaaaa]: container app ended with exit code 3 (2 restarts)"},
		},
		"no error": {base(0, "Completed"), []string{"Exited, sure [web-1-aaaaa]: container app ended by itself, without an error (2 restarts)"}},
		"a signal": {base(143, "Error"), []string{"Killed, not recorded [web-1-aaaaa]: container app was ended by a signal (exit code 143); whose is not recorded (2 restarts)"}},
		"a liveness probe": {
			base(143, "Error").event(end, "Pod", "web-1-aaaaa", "Killing", "Container app failed liveness probe, will be restarted"),
			[]string{"LivenessProbe, sure [web-1-aaaaa]: container app: failed liveness probe (2 restarts)"},
		},
		"a liveness probe that failed, without the kill": {
			base(143, "Error").event(end, "Pod", "web-1-aaaaa", "Unhealthy", "Liveness probe failed: timeout"),
			[]string{"LivenessProbe, likely [web-1-aaaaa]: container app: Liveness probe failed: timeout (2 restarts)"},
		},
		"a liveness probe of long before": {
			base(3, "Error").event(end.Add(-10*time.Minute), "Pod", "web-1-aaaaa", "Killing", "Container app failed liveness probe, will be restarted"),
			[]string{"Crashed, sure [web-1-aaaaa]: container app ended with exit code 3 (2 restarts)"},
		},
		"a startup probe": {
			base(137, "Error").event(end, "Pod", "web-1-aaaaa", "Killing", "Container app failed startup probe, will be restarted"),
			[]string{"StartupProbe, sure [web-1-aaaaa]: container app: failed startup probe (2 restarts)"},
		},
		"an image that was changed in the pod": {
			base(0, "Completed").event(end, "Pod", "web-1-aaaaa", "Killing", "Container app definition changed, will be restarted"),
			[]string{"ChangedInPlace, sure [web-1-aaaaa]: container app: definition changed (2 restarts)"},
		},
		"a resize that restarts": {
			base(0, "Completed").event(end, "Pod", "web-1-aaaaa", "Killing", "Container app resize requires restart"),
			[]string{"Resized, sure [web-1-aaaaa]: container app: resize requires restart (2 restarts)"},
		},
	})
}

func TestDeletions(t *testing.T) {
	base := func() world {
		w := aWorld().revision(noon.Add(-time.Hour), "a:1")
		w.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}}
		return w
	}
	goneFrom := func(w world, pod string) world {
		return w.event(noon.Add(-30*time.Minute), "ReplicaSet", "web-1", "SuccessfulCreate", "Created pod: "+pod).
			event(noon.Add(-30*time.Minute), "Pod", pod, "Scheduled", "Successfully assigned shop/"+pod+" to node-1")
	}
	const client = "Deleted, likely [web-1-aaaaa]: deleted through the API by a client"
	check(t, map[string]struct {
		w    world
		want []string
	}{
		"a pod that is ending":                     {base().pod("web-1-aaaaa", ending), []string{client}},
		"a pod that its controller deleted":        {base().pod("web-1-aaaaa", ending).event(noon, "ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web-1-aaaaa"), nil},
		"a pod that is ending, without its events": {base().blind(Events).pod("web-1-aaaaa", ending), []string{"Deleted, not recorded [web-1-aaaaa]: deleted; by its controller or by a client is not recorded"}},
		"a pod that is gone":                       {goneFrom(base(), "web-1-aaaaa"), []string{"Deleted, likely [web-1-aaaaa]: deleted or evicted by a client"}},
		"a pod that is gone, without rights to nodes": {
			goneFrom(base().blind(Nodes), "web-1-aaaaa"), []string{"Deleted, not recorded [web-1-aaaaa]: deleted or evicted; by whom is not recorded"},
		},
		"a pod that is gone with its node": {
			func() world { w := goneFrom(base(), "web-1-aaaaa"); w.LostNodes = []string{"node-1"}; return w }(),
			[]string{"NodeLost, likely [web-1-aaaaa]: went with its node node-1, which is deleted"},
		},
		"a pod that is gone after a drain, and was made beside another": {
			func() world {
				w := goneFrom(base(), "web-1-aaaaa").
					event(noon.Add(-30*time.Minute+time.Second), "ReplicaSet", "web-1", "SuccessfulCreate", "Created pod: web-1-bbbbb").
					event(noon.Add(-time.Minute), "ReplicaSet", "web-1", "SuccessfulCreate", "Created pod: web-1-ccccc")
				w.Nodes[0].Spec.Unschedulable = true
				w.Nodes[0].ManagedFields = []metav1.ManagedFieldsEntry{manager("kubectl-drain", "", noon.Add(-time.Minute), `{"f:spec":{"f:unschedulable":{}}}`)}
				return w
			}(),
			[]string{"Evicted, likely [web-1-aaaaa]: evicted by a drain of node-1, which is cordoned since 2026-03-01T11:59:00Z by kubectl-drain"},
		},
		"a pod that is gone, of another workload": {goneFrom(base(), "other-1-aaaaa"), nil},
		"more deletions than a controller sends events": {
			func() world {
				w := goneFrom(base(), "web-1-aaaaa")
				for i := range 10 {
					w = w.event(noon, "ReplicaSet", "web-1", "SuccessfulDelete", fmt.Sprintf("Deleted pod: web-1-bbbb%d", i))
				}
				return w
			}(), []string{"Deleted, not recorded [web-1-aaaaa]: deleted; by its controller or by a client is not recorded"},
		},
		"the workload is being deleted": {
			func() world {
				w := base().pod("web-1-aaaaa", ending)
				w.Workload.Meta.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
				return w
			}(), []string{"OwnerDeleted, sure []: Deployment web is being deleted; by whom is in the audit log only"},
		},
		"the owner of the pod is gone": {
			func() world {
				w := base().pod("web-1-aaaaa", ending).asked("web-1-aaaaa")
				w.Workload, w.LostOwner = nil, "ReplicaSet web-1"
				return w
			}(), []string{"OwnerDeleted, sure [web-1-aaaaa]: deleted with ReplicaSet web-1, its owner"},
		},
		"a rollout, of the pod that it removed": {
			goneFrom(base().revision(noon.Add(-time.Minute), "a:2"), "web-1-aaaaa").
				event(noon.Add(-50*time.Second), "ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web-1-aaaaa").asked("web-1-aaaaa"),
			[]string{
				"NewTemplate, sure [web-1-aaaaa]: deleted by its controller, after this change: new template (revision 2): containers[app].image a:1 → a:2",
				"NewTemplate, sure []: new template (revision 2): containers[app].image a:1 → a:2",
			},
		},
		"a controller that deleted it for what is not recorded": {
			goneFrom(base(), "web-1-aaaaa").event(noon, "ReplicaSet", "web-1", "SuccessfulDelete", "Deleted pod: web-1-aaaaa").asked("web-1-aaaaa"),
			[]string{"Deleted, not recorded [web-1-aaaaa]: deleted by its controller; for which change is not recorded"},
		},
	})
}

func TestStartsAndRefusals(t *testing.T) {
	base := func() world { return aWorld().revision(noon.Add(-time.Hour), "a:1") }
	scheduled := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message}}
		}
	}
	waiting := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: "app", Image: "a:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "m"}}}
		}
	}
	refusedWith := func(message string) world {
		w := base()
		w.Revisions[0].Conditions = []Condition{{Type: "ReplicaFailure", True: true, Reason: "FailedCreate", Message: message, Time: noon}}
		return w
	}
	check(t, map[string]struct {
		w    world
		want []string
	}{
		"no node fits":           {base().pod("p", scheduled(corev1.PodReasonUnschedulable, "0/3 nodes")), []string{"Unschedulable, sure [p]: cannot be scheduled: 0/3 nodes"}},
		"a gate":                 {base().pod("p", scheduled(corev1.PodReasonSchedulingGated, "")), []string{"SchedulingGated, sure [p]: has scheduling gates: g"}},
		"an image":               {base().pod("p", waiting("ImagePullBackOff")), []string{"ImagePull, sure [p]: container app: image a:1 cannot be pulled: m"}},
		"a missing ConfigMap":    {base().pod("p", waiting("CreateContainerConfigError")), []string{"ContainerConfig, sure [p]: container app cannot be made: m"}},
		"a crash without an end": {base().pod("p", waiting("CrashLoopBackOff")), []string{"Crashed, likely [p]: container app keeps ending: m"}},
		"it is starting":         {base().pod("p", waiting("ContainerCreating")), nil},
		"a node that refuses": {base().pod("p", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "OutOfcpu", "m"
		}), []string{"RefusedByNode, sure [p]: refused by node node-1: m"}},
		"a quota":         {refusedWith(`pods "web-1-x" is forbidden: exceeded quota: few, used: pods=1`), []string{"Quota, sure []: pods cannot be created: exceeded quota: few, used: pods=1"}},
		"another refusal": {refusedWith(`pods "web-1-x" is forbidden: violates PodSecurity`), []string{"CreateRefused, sure []: pods cannot be created: violates PodSecurity"}},
		"a refusal that a success followed": {
			func() world {
				w := base().event(noon.Add(-time.Minute), "ReplicaSet", "web-1", "FailedCreate", "Error creating: exceeded quota").
					event(noon, "ReplicaSet", "web-1", "SuccessfulCreate", "Created pod: web-1-aaaaa")
				w.Workload.Current = 1
				return w
			}(), nil,
		},
	})
}

func TestResizesAndConfigs(t *testing.T) {
	reads := func(p *corev1.Pod) {
		p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "whole"}, {Name: "part", SubPath: "x"}}
		p.Spec.Volumes = []corev1.Volume{
			{Name: "whole", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "w"}}}},
			{Name: "part", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
		}
	}
	config := func(kind, name string, at time.Time, fields string) Config {
		m := meta(name, noon.Add(-time.Hour))
		m.ManagedFields = []metav1.ManagedFieldsEntry{manager("ada", "", at, fields)}
		return Config{Kind: kind, Meta: m}
	}
	with := func(configs ...Config) world {
		w := aWorld().revision(noon.Add(-time.Hour), "a:1").pod("p", reads)
		w.Configs = configs
		return w
	}
	later := noon.Add(-time.Minute)
	check(t, map[string]struct {
		w    world
		want []string
	}{
		"a resize": {aWorld().pod("p", func(p *corev1.Pod) {
			p.ManagedFields = []metav1.ManagedFieldsEntry{manager("vpa", "resize", noon, `{"f:spec":{}}`)}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: "Deferred", Message: "m"})
		}), []string{"Resized, sure [p]: resized in place by vpa; not done: Deferred m"}},
		"an environment":             {with(config("ConfigMap", "c", later, `{"f:data":{"f:x":{}}}`)), []string{"ConfigNotRead, sure [p]: container app runs with an older ConfigMap c: it reads it by environment, when it starts"}},
		"a subPath, perhaps a label": {with(config("Secret", "s", later, `{"f:data":{"f:x":{}},"f:metadata":{"f:labels":{"f:a":{}}}}`)), []string{"ConfigNotRead, likely [p]: container app runs with an older Secret s: it reads it by subPath, when it starts"}},
		"only a label":               {with(config("ConfigMap", "c", later, `{"f:metadata":{"f:labels":{"f:a":{}}}}`)), nil},
		"a change before the start":  {with(config("ConfigMap", "c", noon.Add(-40*time.Minute), `{"f:data":{"f:x":{}}}`)), nil},
	})
}

// TestAPodOfAStatefulSetIsReplacedInItsPlace: for a new template, or because it failed;
// and in the moment in which both may be, for what came soon.
func TestAPodOfAStatefulSetIsReplacedInItsPlace(t *testing.T) {
	came := noon.Add(-10 * time.Minute)
	replaced := func(born, deleted time.Time) world {
		w := aWorld().revision(noon.Add(-time.Hour), "a:1").revision(came, "a:2")
		w.Kind, w.Workload.Kind = "StatefulSet", "StatefulSet"
		for i := range w.Revisions {
			w.Revisions[i].Kind = "ControllerRevision"
		}
		w.event(born, "Pod", "web-0", "Scheduled", "Successfully assigned shop/web-0 to node-1")
		return w.event(deleted, "StatefulSet", "web", "SuccessfulDelete", "Delete Pod web-0 in StatefulSet web successful").asked("web-0")
	}
	for name, c := range map[string]struct {
		born, deleted time.Time
		want          Cause
		sure          Certainty
	}{
		"of the older template":               {came.Add(-time.Minute), came.Add(time.Second), NewTemplate, Sure},
		"of the newest template":              {came.Add(time.Minute), came.Add(5 * time.Minute), FailedPod, Likely},
		"made in the same moment, soon gone":  {came.Add(time.Second / 2), came.Add(time.Second), NewTemplate, Sure},
		"made in the same moment, later gone": {came.Add(time.Second / 2), came.Add(5 * time.Minute), Deleted, NotRecorded},
	} {
		t.Run(name, func(t *testing.T) {
			for _, a := range Why(replaced(c.born, c.deleted).Facts) {
				if len(a.Pods) > 0 && a.Cause != Made && (a.Cause != c.want || a.Certainty != c.sure) {
					t.Errorf("it says %s, %s: %s", a.Cause, a.Certainty, a.Text)
				}
			}
		})
	}
}

// TestAPodsStory: of the workload, a pod's story has what it was made from and what
// came since.
func TestAPodsStory(t *testing.T) {
	w := aWorld().revision(noon.Add(-3*time.Hour), "a:0").revision(noon.Add(-2*time.Hour), "a:1").revision(noon.Add(-time.Minute), "a:2").asked("p").
		pod("p", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "web-2" })
	var got []string
	for _, a := range Why(w.Facts) {
		got = append(got, fmt.Sprint(a.Cause, " ", a.Text))
	}
	want := []string{
		"NewTemplate new template (revision 3): containers[app].image a:1 → a:2", "Made made for Deployment web, revision 2 (the newest is 3)",
		"NewTemplate new template (revision 2): containers[app].image a:0 → a:1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
