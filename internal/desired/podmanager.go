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

// Package desired says what an owner asks for, in the planner's words: its spec
// with every default filled in and every percentage counted, its template, and
// which pods are its own. The controller, the webhook, the command line and
// the dashboard all read a spec through it, so all of them mean the same.
package desired

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Defaults for fields that a client other than the API server left empty.
const (
	defaultReplicas = 3
	defaultHistory  = 10
	defaultCorpses  = 1
	defaultInitial  = 10 * time.Second
	defaultMax      = 5 * time.Minute

	defaultTerminating = 30 * time.Second
	defaultDeadline    = 600
	defaultResize      = 60
	defaultEviction    = 600
)

// PodManagerGVK is the kind that the pods of a PodManager name as their
// controller.
var PodManagerGVK = appsv1.GroupVersion.WithKind("PodManager")

// PodManagerKind is the Kind of PodManager. MaxHold is the operator's
// --max-eviction-hold; zero stands for the default.
type PodManagerKind struct{ MaxHold time.Duration }

var _ Kind = PodManagerKind{}

// Name implements Kind.
func (PodManagerKind) Name() string { return "podmanager" }

// New implements Kind.
func (PodManagerKind) New() client.Object { return &appsv1.PodManager{} }

// Finalizer implements Kind.
func (PodManagerKind) Finalizer() string { return appsv1.Finalizer }

// ReservedLabels implements Kind.
func (PodManagerKind) ReservedLabels() []string { return appsv1.ReservedLabels() }

// Status implements Kind.
func (PodManagerKind) Status(owner client.Object) appsv1.PodManagerStatus {
	return owner.(*appsv1.PodManager).Status
}

// SetStatus implements Kind.
func (PodManagerKind) SetStatus(owner client.Object, status appsv1.PodManagerStatus) {
	owner.(*appsv1.PodManager).Status = status
}

// Fleet implements Kind.
func (k PodManagerKind) Fleet(owner client.Object) Fleet {
	pm := owner.(*appsv1.PodManager)
	fleet := PodManager(pm)
	fleet.Desired.Disruption = disruption(pm, k.MaxHold)
	return fleet
}

// PodManager is what a PodManager asks for, where the operator's own maxima are not
// known: they count with their defaults.
func PodManager(pm *appsv1.PodManager) Fleet {
	selector := labels.SelectorFromSet(labels.Set{appsv1.LabelName: pm.Name})
	ref := podrender.Owner{
		GVK: PodManagerGVK, Namespace: pm.Namespace, Name: pm.Name, UID: pm.UID,
		Labels: map[string]string{appsv1.LabelName: pm.Name, appsv1.LabelUID: string(pm.UID)},
	}
	if s, ok := pm.Labels[appsv1.LabelShard]; ok {
		ref.Labels[appsv1.LabelShard] = s
	}
	return Fleet{
		Owner:     pm,
		Ref:       ref,
		Desired:   podManager(pm, selector.String()),
		Template:  podrender.WithService(podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template), pm.Spec.ServiceName),
		Status:    pm.Status,
		Finish:    finish(pm),
		Claim:     claim(pm, ref),
		Selector:  selector,
		OrphanKey: OrphanKey(appsv1.LabelName, pm.Name),
	}
}

func podManager(pm *appsv1.PodManager, selector string) plan.Desired {
	spec := &pm.Spec
	identity := spec.Identity
	if identity == "" {
		identity = appsv1.IdentityOrdinal
	}
	pin, while := plan.ParsePin(pm.Annotations[appsv1.AnnotationPin])
	return plan.Desired{
		Namespace:  pm.Namespace,
		Name:       pm.Name,
		UID:        pm.UID,
		Generation: pm.Generation,
		NamePrefix: pm.Name,
		Identity:   identity,
		Selector:   selector,
		Replicas:   int(Replicas(pm)),
		Ordered:    spec.PodManagementPolicy == appsv1.OrderedReadyPods && identity == appsv1.IdentityOrdinal,
		MinReady:   time.Duration(spec.MinReadySeconds) * time.Second,
		Paused:     spec.Paused,
		FailedPods: plan.FailedPods{
			Limit:   int(ptr.Deref(spec.FailedPods.Limit, defaultCorpses)),
			Initial: ptr.Deref(spec.FailedPods.Backoff.Initial, metav1.Duration{Duration: defaultInitial}).Duration,
			Max:     ptr.Deref(spec.FailedPods.Backoff.Max, metav1.Duration{Duration: defaultMax}).Duration,
		},
		RevisionHistoryLimit: int(ptr.Deref(spec.RevisionHistoryLimit, defaultHistory)),
		Update:               update(pm),
		Restart:              timeOf(pm, appsv1.AnnotationRestart),
		Pin:                  pin,
		PinWhile:             while,
		TakeOver:             takeOver(pm),
		Terminating: plan.Terminating{
			Policy:  spec.Terminating.Policy,
			Timeout: ptr.Deref(spec.Terminating.Timeout, metav1.Duration{Duration: defaultTerminating}).Duration,
		},
		Disruption: disruption(pm, 0),
		Reserved:   reserved(pm),
		Claims:     claims(pm),
		Finalizer:  finalizer(pm),
		Deletion:   deletion(pm),
	}
}

// Replicas is how many pods are asked for. It is never negative: the schema sees
// to that on the API server, but the command line reads files, too.
func Replicas(pm *appsv1.PodManager) int32 {
	return max(0, ptr.Deref(pm.Spec.Replicas, defaultReplicas))
}

// takeOver is where the pods come from. The annotation holds whatever its value:
// to go on because of a typing error would cost running pods.
func takeOver(pm *appsv1.PodManager) string {
	from, ok := pm.Annotations[appsv1.AnnotationTakeOver]
	if ok && from == "" {
		return "a workload without a name"
	}
	return from
}

func finalizer(pm *appsv1.PodManager) plan.FinalizerState {
	if slices.Contains(pm.Finalizers, appsv1.Finalizer) {
		return plan.FinalizerPresent
	}
	return plan.FinalizerMissing
}

// deletion reads how the user wants the pods treated: --cascade=orphan and
// --cascade=foreground leave a finalizer of the API's own on the object and win over
// the spec. In the foreground the garbage collector deletes the pods at once: what we
// released would be left by chance, so we delete them, too.
func deletion(pm *appsv1.PodManager) plan.Deletion {
	switch {
	case pm.DeletionTimestamp == nil:
		return plan.DeletionNone
	case slices.Contains(pm.Finalizers, metav1.FinalizerOrphanDependents):
		return plan.DeletionCascadeOrphan
	case pm.Spec.Deletion.Policy == appsv1.DeletionOrphan && !slices.Contains(pm.Finalizers, metav1.FinalizerDeleteDependents):
		return plan.DeletionOrphan
	}
	return plan.DeletionDelete
}
