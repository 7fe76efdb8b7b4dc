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

package desired

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
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// ImoocPodGVK is the kind that the pods of an ImoocPod name as their controller.
var ImoocPodGVK = batchv1alpha1.GroupVersion.WithKind("ImoocPod")

// What the tutorials have fixed, and the engine's defaults for the rest.
const (
	imoocImage     = "busybox:1.37"
	imoocContainer = "busybox"
	imoocUser      = 65534
	imoocReplicas  = 1
	imoocCorpses   = 1
	imoocInitial   = 10 * time.Second
	imoocMax       = 5 * time.Minute
	imoocHistory   = 2
)

// ImoocPodKind is the Kind of ImoocPod.
type ImoocPodKind struct{}

var _ Kind = ImoocPodKind{}

// Name implements Kind.
func (ImoocPodKind) Name() string { return "imoocpod" }

// New implements Kind.
func (ImoocPodKind) New() client.Object { return &batchv1alpha1.ImoocPod{} }

// Finalizer implements Kind. The pods go by their owner references, as
// those of the tutorials do.
func (ImoocPodKind) Finalizer() string { return "" }

// ReservedLabels implements Kind.
func (ImoocPodKind) ReservedLabels() []string {
	return []string{batchv1alpha1.LabelName, batchv1alpha1.LabelUID, appsv1.LabelRevision, appsv1.LabelSlot, appsv1.LabelDelete}
}

// Status implements Kind: what the planner has to remember. The counters
// that an ImoocPod does not show are reported anew by every pass, and rollouts,
// of which it has none, leave nothing to remember.
func (ImoocPodKind) Status(owner client.Object) appsv1.PodManagerStatus {
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

// SetStatus implements Kind.
func (ImoocPodKind) SetStatus(owner client.Object, s appsv1.PodManagerStatus) {
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

// Fleet implements Kind.
//
// A pod is a member by both labels, but an orphan is looked for by the one that
// is ours alone: a label app=NAME is on pods of many origins, and an owner that
// adopted those would delete them at the next scale-down.
func (ImoocPodKind) Fleet(owner client.Object) Fleet {
	ip := owner.(*batchv1alpha1.ImoocPod)
	selector := labels.SelectorFromSet(labels.Set{batchv1alpha1.LabelApp: ip.Name, batchv1alpha1.LabelName: ip.Name})
	return Fleet{
		Owner: ip,
		Ref: podrender.Owner{
			GVK: ImoocPodGVK, Namespace: ip.Namespace, Name: ip.Name, UID: ip.UID,
			Labels: map[string]string{
				batchv1alpha1.LabelName: ip.Name,
				batchv1alpha1.LabelUID:  string(ip.UID),
			},
		},
		Desired:   imoocPod(ip, selector.String()),
		Template:  imoocTemplate(ip.Name),
		Selector:  selector,
		OrphanKey: OrphanKey(batchv1alpha1.LabelName, ip.Name),
	}
}

func imoocPod(ip *batchv1alpha1.ImoocPod, selector string) plan.Desired {
	return plan.Desired{
		Namespace:  ip.Namespace,
		Name:       ip.Name,
		UID:        ip.UID,
		Generation: ip.Generation,
		NamePrefix: ip.Name + "-pod",
		Identity:   appsv1.IdentityRandom,
		Selector:   selector,
		Replicas:   int(ptr.Deref(ip.Spec.Replicas, imoocReplicas)),
		// The pod is ours and changes only with the operator's version: an
		// upgrade replaces no pods.
		Update:               plan.Update{Strategy: appsv1.UpdateOnDelete, Fixed: true},
		FailedPods:           plan.FailedPods{Limit: imoocCorpses, Initial: imoocInitial, Max: imoocMax},
		RevisionHistoryLimit: imoocHistory,
		Finalizer:            plan.FinalizerUnused,
		Deletion:             imoocDeletion(ip),
	}
}

// imoocDeletion is only seen where something else keeps the object: a foreground
// deletion, an orphaning one or a finalizer of another controller.
func imoocDeletion(ip *batchv1alpha1.ImoocPod) plan.Deletion {
	switch {
	case ip.DeletionTimestamp == nil:
		return plan.DeletionNone
	case slices.Contains(ip.Finalizers, metav1.FinalizerOrphanDependents):
		return plan.DeletionCascadeOrphan
	}
	return plan.DeletionDelete
}

// imoocTemplate is the pod of the tutorials: busybox that sleeps for an hour and is
// started again. It needs no rights at all, so it runs in namespaces that
// enforce the restricted Pod Security Standard, too.
func imoocTemplate(name string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1alpha1.LabelApp: name}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true),
				RunAsUser:      ptr.To(int64(imoocUser)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:    imoocContainer,
				Image:   imoocImage,
				Command: []string{"sleep", "3600"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
