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

// Package imoocpod says what an ImoocPod asks for, in the planner's words: that
// many busybox pods with random names. Everything else that keeps its pods is
// package fleet.
package imoocpod

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/internal/controller/fleet"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=imoocpods,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=imoocpods/status,verbs=patch
// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=imoocpods/finalizers,verbs=update

// GVK is the kind that pods name as their controller.
var GVK = batchv1alpha1.GroupVersion.WithKind("ImoocPod")

// What the tutorials have fixed, and the engine's defaults for the rest.
const (
	image           = "busybox:1.37"
	container       = "busybox"
	nobody          = 65534
	defaultReplicas = 1
	corpses         = 1
	backoffInitial  = 10 * time.Second
	backoffMax      = 5 * time.Minute
	revisionHistory = 2
)

// Kind is the fleet.Kind of ImoocPod.
type Kind struct{}

var _ fleet.Kind = Kind{}

// Name implements fleet.Kind.
func (Kind) Name() string { return "imoocpod" }

// New implements fleet.Kind.
func (Kind) New() client.Object { return &batchv1alpha1.ImoocPod{} }

// Finalizer implements fleet.Kind. The pods go by their owner references, as
// those of the tutorials do.
func (Kind) Finalizer() string { return "" }

// ReservedLabels implements fleet.Kind.
func (Kind) ReservedLabels() []string {
	return []string{batchv1alpha1.LabelName, batchv1alpha1.LabelUID, appsv1.LabelRevision, appsv1.LabelSlot, appsv1.LabelDelete}
}

// Status implements fleet.Kind: what the planner has to remember. The counters
// that an ImoocPod does not show are reported anew by every pass, and rollouts,
// of which it has none, leave nothing to remember.
func (Kind) Status(owner client.Object) appsv1.PodManagerStatus {
	s := &owner.(*batchv1alpha1.ImoocPod).Status
	return appsv1.PodManagerStatus{
		ObservedGeneration:  s.ObservedGeneration,
		Replicas:            s.Replicas,
		CurrentReplicas:     s.Replicas,
		ReadyReplicas:       s.ReadyReplicas,
		TerminatingReplicas: s.TerminatingReplicas,
		Nodes:               s.PodNames,
		Selector:            s.Selector,
		CurrentRevision:     s.CurrentRevision,
		UpdateRevision:      s.UpdateRevision,
		Failures:            s.Failures,
		Held:                s.Held,
		Conditions:          s.Conditions,
		History:             s.History,
	}
}

// SetStatus implements fleet.Kind.
func (Kind) SetStatus(owner client.Object, s appsv1.PodManagerStatus) {
	owner.(*batchv1alpha1.ImoocPod).Status = batchv1alpha1.ImoocPodStatus{
		ObservedGeneration:  s.ObservedGeneration,
		Replicas:            s.Replicas,
		ReadyReplicas:       s.ReadyReplicas,
		TerminatingReplicas: s.TerminatingReplicas,
		PodNames:            s.Nodes,
		Selector:            s.Selector,
		CurrentRevision:     s.CurrentRevision,
		UpdateRevision:      s.UpdateRevision,
		Failures:            s.Failures,
		Held:                s.Held,
		Conditions:          s.Conditions,
		History:             s.History,
	}
}

// Fleet implements fleet.Kind.
//
// A pod is a member by both labels, but an orphan is looked for by the one that
// is ours alone: a label app=NAME is on pods of many origins, and an owner that
// adopted those would delete them at the next scale-down.
func (Kind) Fleet(owner client.Object) observe.Fleet {
	ip := owner.(*batchv1alpha1.ImoocPod)
	selector := labels.SelectorFromSet(labels.Set{batchv1alpha1.LabelApp: ip.Name, batchv1alpha1.LabelName: ip.Name})
	return observe.Fleet{
		Owner: ip,
		Ref: podrender.Owner{
			GVK: GVK, Namespace: ip.Namespace, Name: ip.Name, UID: ip.UID,
			Labels: map[string]string{
				batchv1alpha1.LabelName: ip.Name,
				batchv1alpha1.LabelUID:  string(ip.UID),
			},
		},
		Desired:   desired(ip, selector.String()),
		Template:  template(ip.Name),
		Selector:  selector,
		OrphanKey: observe.OrphanKey(batchv1alpha1.LabelName, ip.Name),
	}
}

func desired(ip *batchv1alpha1.ImoocPod, selector string) plan.Desired {
	return plan.Desired{
		Namespace:  ip.Namespace,
		Name:       ip.Name,
		UID:        ip.UID,
		Generation: ip.Generation,
		NamePrefix: ip.Name + "-pod",
		Identity:   appsv1.IdentityRandom,
		Selector:   selector,
		Replicas:   int(ptr.Deref(ip.Spec.Replicas, defaultReplicas)),
		// The pod is ours and changes only with the operator's version: an
		// upgrade replaces no pods.
		Update:               plan.Update{Strategy: appsv1.UpdateOnDelete, Fixed: true},
		FailedPods:           plan.FailedPods{Limit: corpses, Initial: backoffInitial, Max: backoffMax},
		RevisionHistoryLimit: revisionHistory,
		Finalizer:            plan.FinalizerUnused,
		Deletion:             deletion(ip),
	}
}

// deletion is only seen where something else keeps the object: a foreground
// deletion, an orphaning one or a finalizer of another controller.
func deletion(ip *batchv1alpha1.ImoocPod) plan.Deletion {
	switch {
	case ip.DeletionTimestamp == nil:
		return plan.DeletionNone
	case slices.Contains(ip.Finalizers, metav1.FinalizerOrphanDependents):
		return plan.DeletionCascadeOrphan
	}
	return plan.DeletionDelete
}

// template is the pod of the tutorials: busybox that sleeps for an hour and is
// started again. It needs no rights at all, so it runs in namespaces that
// enforce the restricted Pod Security Standard, too.
func template(name string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1alpha1.LabelApp: name}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true),
				RunAsUser:      ptr.To(int64(nobody)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:    container,
				Image:   image,
				Command: []string{"sleep", "3600"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
