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

package small

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// The judge of the fault tests reads objects as the API server stores them. These are
// the objects of a state.

// namespace is where everything is.
const namespace = "default"

// templates are the revisions' templates: they differ in what the world's changes say.
func templates(how plan.Change) map[string]*corev1.PodTemplateSpec {
	list := map[string]*corev1.PodTemplateSpec{}
	for i, revision := range []string{revisionA, revisionB, revisionC} {
		c := corev1.Container{Name: "app", Image: "app:1", Resources: sizeOf(0)}
		switch {
		case how.Recreate != "":
			c.Command = []string{revision}
		case len(how.Resize) > 0:
			c.Resources = sizeOf(i)
		case len(how.Images) > 0:
			c.Image = "app:" + strconv.Itoa(i)
		}
		list[revision] = &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"example.com/template": templateMark(how, i)}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{c}},
		}
	}
	return list
}

// templateMark tells templates apart that differ in nothing else.
func templateMark(how plan.Change, i int) string {
	if how.Recreate == "" && len(how.Resize)+len(how.Images) == 0 || how.Metadata {
		return strconv.Itoa(i)
	}
	return ""
}

func sizeOf(i int) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(100+i), resource.DecimalSI)}}
}

// owner is the PodManager of a state.
func (w *world) owner(s *state) *appsv1.PodManager {
	d := &s.Desired
	pm := &appsv1.PodManager{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: d.Name, UID: d.UID, Generation: d.Generation, Annotations: annotationsOf(d),
			CreationTimestamp: metav1.NewTime(now.Add(-2 * long)),
		},
		Spec: appsv1.PodManagerSpec{
			Replicas: ptr.To(int32(d.Replicas)), Identity: d.Identity, MinReadySeconds: int32(d.MinReady / time.Second), Paused: d.Paused,
			Template: w.templates[s.Template],
			Update: appsv1.Update{
				Strategy: d.Update.Strategy, MaxUnavailable: unavailable(&d.Update), MaxSurge: ptr.To(intstr.FromInt(d.Update.MaxSurge)),
				Partition: ptr.To(intstr.FromInt(d.Update.Partition)), OnFailure: d.Update.OnFailure, UseEviction: d.Update.UseEviction,
				ProgressDeadlineSeconds: secondsOf(d.Update.ProgressDeadline), ResizeDeadlineSeconds: secondsOf(d.Update.ResizeDeadline), ReadinessGate: w.gated,
			},
			RevisionHistoryLimit:                 ptr.To(int32(d.RevisionHistoryLimit)),
			Terminating:                          appsv1.Terminating{Policy: d.Terminating.Policy},
			PersistentVolumeClaimRetentionPolicy: appsv1.ClaimRetention{WhenDeleted: d.Claims.WhenDeleted, WhenScaled: d.Claims.WhenScaled},
		},
		Status: s.Status,
	}
	pm.Spec.FailedPods.Limit = ptr.To(int32(d.FailedPods.Limit))
	pm.Spec.FailedPods.Backoff.Initial = &metav1.Duration{Duration: d.FailedPods.Initial}
	pm.Spec.FailedPods.Backoff.Max = &metav1.Duration{Duration: d.FailedPods.Max}
	if d.Ordered {
		pm.Spec.PodManagementPolicy = appsv1.OrderedReadyPods
	}
	for _, ordinal := range d.Reserved {
		pm.Spec.ReserveOrdinals = append(pm.Spec.ReserveOrdinals, int32(ordinal))
	}
	for _, name := range d.Claims.Templates {
		pm.Spec.VolumeClaimTemplates = append(pm.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w.disrupt(s, pm)
	w.finish(s, pm)
	return pm
}

func (w *world) disrupt(s *state, pm *appsv1.PodManager) {
	d := &s.Desired.Disruption
	pm.Spec.Disruption = appsv1.Disruption{MaxSurge: ptr.To(intstr.FromInt(d.MaxSurge)), DeadlineSeconds: secondsOf(d.Deadline)}
	if d.SurgeFirst {
		pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	}
	if d.AutoRebalance {
		pm.Spec.Disruption.Rebalance = appsv1.RebalanceAuto
	}
}

// finish adds what says that the owner is being deleted.
func (w *world) finish(s *state, pm *appsv1.PodManager) {
	if s.Desired.Finalizer == plan.FinalizerPresent {
		pm.Finalizers = append(pm.Finalizers, appsv1.Finalizer)
	}
	if s.Cascade != "" {
		pm.Finalizers = append(pm.Finalizers, s.Cascade)
	}
	if s.Desired.Deletion != plan.DeletionNone {
		pm.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	}
	if s.Desired.Deletion == plan.DeletionOrphan {
		pm.Spec.Deletion.Policy = appsv1.DeletionOrphan
	}
}

func secondsOf(d time.Duration) *int32 { return ptr.To(int32(d / time.Second)) }

// unavailable is 0 where the user wrote that, and a percentage that rounds down to
// it where not.
func unavailable(u *plan.Update) *intstr.IntOrString {
	if u.MaxUnavailable == 0 && !u.NoneUnavailable {
		return ptr.To(intstr.FromString("1%"))
	}
	return ptr.To(intstr.FromInt(u.MaxUnavailable))
}

func annotationsOf(d *plan.Desired) map[string]string {
	list := map[string]string{}
	if d.Pin != "" {
		list[appsv1.AnnotationPin] = d.Pin
	}
	if d.PinWhile > 0 {
		list[appsv1.AnnotationPin] = d.Pin + " while " + strconv.FormatInt(d.PinWhile, 10)
	}
	if d.TakeOver != "" {
		list[appsv1.AnnotationTakeOver] = d.TakeOver
	}
	if !d.Restart.IsZero() {
		list[appsv1.AnnotationRestart] = d.Restart.Format(time.RFC3339)
	}
	return list
}

// podOf is a pod as it is stored.
func (w *world) podOf(s *state, p *plan.Pod) *corev1.Pod {
	template := w.templates[cmp.Or(p.Revision, revisionA)]
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: p.Name, UID: p.UID, CreationTimestamp: metav1.NewTime(p.Created),
			Labels:      map[string]string{"app": "web", appsv1.LabelName: s.Desired.Name, appsv1.LabelUID: string(s.Desired.UID), appsv1.LabelRevision: p.Revision},
			Annotations: map[string]string{"example.com/template": template.Annotations["example.com/template"]},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = nodeOf(p)
	pod.Status.Phase = p.Phase
	w.mark(s, p, pod)
	w.run(p, pod)
	for _, t := range s.Desired.Claims.Templates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: t, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: t + "-" + p.Name},
		}})
	}
	return pod
}

// mark sets the labels, annotations and finalizers that say what is with a pod.
func (w *world) mark(s *state, p *plan.Pod, pod *corev1.Pod) {
	if p.Slot != plan.NoSlot {
		pod.Labels[appsv1.LabelSlot] = strconv.Itoa(p.Slot)
	}
	if p.Membership != plan.Orphan {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: appsv1.GroupVersion.String(), Kind: "PodManager", Name: s.Desired.Name, UID: s.Desired.UID, Controller: ptr.To(true),
		}}
	}
	for key, value := range map[string]*string{appsv1.LabelHoldDelete: p.HoldDelete, appsv1.LabelHoldUpdate: p.HoldUpdate} {
		if value != nil {
			pod.Labels[key] = *value
		}
	}
	for key, is := range map[string]bool{appsv1.LabelDelete: p.DeleteRequested} {
		if is {
			pod.Labels[key] = "true"
		}
	}
	if p.Membership == plan.Drifted {
		delete(pod.Labels, appsv1.LabelName)
	}
	if p.Wanted != "" {
		pod.Labels[appsv1.LabelWanted] = p.Wanted
	}
	if p.Surge {
		pod.Annotations[appsv1.AnnotationSurge] = "true"
	}
	if !p.EvictionRequested.IsZero() {
		pod.Annotations[appsv1.AnnotationEvictionRequested] = p.EvictionRequested.Format(time.RFC3339)
	}
	if p.KeptBy != "" {
		pod.Finalizers = []string{p.KeptBy}
	}
	if p.Terminating {
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(p.DeletedAt))
		if p.Ended {
			pod.DeletionGracePeriodSeconds = ptr.To(int64(0))
		}
	}
}

// run sets the status that the kubelet writes, and the size.
func (w *world) run(p *plan.Pod, pod *corev1.Pod) {
	if p.SizeOf != "" {
		pod.Spec.Containers[0].Resources = w.templates[p.SizeOf].Spec.Containers[0].Resources
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	if p.Ready {
		ready.Status, ready.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(p.ReadySince)
	}
	pod.Status.Conditions = append(pod.Status.Conditions, ready)
	if p.Resize == plan.ResizeDeferred || p.Resize == plan.ResizeInfeasible {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: string(p.Resize)})
	}
	if p.Gate != plan.GateNone {
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}}
	}
	switch p.Gate {
	case plan.GateOpen:
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: appsv1.GateInService, Status: corev1.ConditionTrue})
	case plan.GateShut:
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: appsv1.GateInService, Status: corev1.ConditionFalse})
	case plan.GateNone, plan.GateUnset:
	}
	if p.Phase == corev1.PodRunning {
		image := pod.Spec.Containers[0].Image
		if p.Changing {
			image = "app:before"
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Image: image, Ready: p.Ready}}
	}
}

// nodeOf: pods whose nodes are gone, do not answer or leave have one of their own.
func nodeOf(p *plan.Pod) string {
	switch {
	case p.NodeState != plan.NodePresent:
		return "gone-" + p.Name
	case p.NodeLeaving != "":
		return "leaving-" + p.Name
	}
	return p.Node
}

func (w *world) claimOf(s *state, c *plan.Claim) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: c.Name, UID: c.UID, Labels: map[string]string{appsv1.LabelName: s.Desired.Name, appsv1.LabelUID: string(c.Owner)},
		Annotations: map[string]string{},
	}}
	if c.CondemnedBy != "" {
		claim.Annotations[appsv1.AnnotationCondemnedBy] = string(c.CondemnedBy)
	}
	if c.Surge {
		claim.Annotations[appsv1.AnnotationSurge] = "true"
	}
	if c.Terminating {
		claim.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	}
	return claim
}

func (w *world) revisionOf(s *state, r plan.Revision) *kappsv1.ControllerRevision {
	return &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: r.Name, UID: types.UID("revision-" + r.Name),
			Labels: map[string]string{appsv1.LabelName: s.Desired.Name, appsv1.LabelUID: string(s.Desired.UID)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appsv1.GroupVersion.String(), Kind: "PodManager", Name: s.Desired.Name, UID: s.Desired.UID, Controller: ptr.To(true),
			}},
		},
		Data: runtime.RawExtension{Raw: w.encoded[r.Name]}, Revision: r.Number,
	}
}

// encode stores the templates as revisions do.
func encode(templates map[string]*corev1.PodTemplateSpec) map[string][]byte {
	list := map[string][]byte{}
	for name, template := range templates {
		raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
		if err != nil {
			panic(err)
		}
		list[name] = raw
	}
	return list
}

// nodesOf are the nodes that pods are on.
func (w *world) nodesOf(s *state) []client.Object {
	var list []client.Object
	seen := map[string]bool{}
	add := func(name string, leaves bool) {
		if seen[name] || name == "" {
			return
		}
		seen[name] = true
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Annotations: map[string]string{}}}
		if leaves {
			node.Annotations[appsv1.AnnotationNodeLeaving], node.Spec.Unschedulable = "soon", true
		}
		list = append(list, node)
	}
	add("node-a", false)
	for i := range s.Pods {
		if p := &s.Pods[i]; p.NodeState == plan.NodePresent {
			add(nodeOf(p), p.NodeLeaving != "")
		}
	}
	slices.SortFunc(list, func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return list
}
