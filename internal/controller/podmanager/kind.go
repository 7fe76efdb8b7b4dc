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

// Package podmanager says what a PodManager asks for, in the planner's words.
// Everything else that keeps its pods is package fleet.
package podmanager

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/fleet"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers/status,verbs=patch
// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/status;pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// GVK is the kind that pods name as their controller.
var GVK = appsv1.GroupVersion.WithKind("PodManager")

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
)

// Kind is the fleet.Kind of PodManager.
type Kind struct{}

var _ fleet.Kind = Kind{}

// Name implements fleet.Kind.
func (Kind) Name() string { return "podmanager" }

// New implements fleet.Kind.
func (Kind) New() client.Object { return &appsv1.PodManager{} }

// Finalizer implements fleet.Kind.
func (Kind) Finalizer() string { return appsv1.Finalizer }

// ReservedLabels implements fleet.Kind.
func (Kind) ReservedLabels() []string { return appsv1.ReservedLabels() }

// Status implements fleet.Kind.
func (Kind) Status(owner client.Object) appsv1.PodManagerStatus {
	return owner.(*appsv1.PodManager).Status
}

// SetStatus implements fleet.Kind.
func (Kind) SetStatus(owner client.Object, status appsv1.PodManagerStatus) {
	owner.(*appsv1.PodManager).Status = status
}

// Fleet implements fleet.Kind.
func (Kind) Fleet(owner client.Object) observe.Fleet {
	pm := owner.(*appsv1.PodManager)
	selector := labels.SelectorFromSet(labels.Set{appsv1.LabelName: pm.Name})
	ref := podrender.Owner{
		GVK: GVK, Namespace: pm.Namespace, Name: pm.Name, UID: pm.UID,
		Labels: map[string]string{appsv1.LabelName: pm.Name, appsv1.LabelUID: string(pm.UID)},
	}
	return observe.Fleet{
		Owner:     pm,
		Ref:       ref,
		Desired:   desired(pm, selector.String()),
		Template:  podrender.Template(pm.Name, pm.Spec.Image, pm.Spec.Template),
		Status:    pm.Status,
		Dress:     dress(pm),
		Claim:     claim(pm, ref),
		Selector:  selector,
		OrphanKey: observe.OrphanKey(appsv1.LabelName, pm.Name),
	}
}

func desired(pm *appsv1.PodManager, selector string) plan.Desired {
	spec := &pm.Spec
	identity := spec.Identity
	if identity == "" {
		identity = appsv1.IdentityOrdinal
	}
	return plan.Desired{
		Namespace:  pm.Namespace,
		Name:       pm.Name,
		UID:        pm.UID,
		Generation: pm.Generation,
		NamePrefix: pm.Name,
		Identity:   identity,
		Selector:   selector,
		Replicas:   int(ptr.Deref(spec.Replicas, defaultReplicas)),
		MinReady:   time.Duration(spec.MinReadySeconds) * time.Second,
		Paused:     spec.Paused,
		FailedPods: plan.FailedPods{
			Limit:   int(ptr.Deref(spec.FailedPods.Limit, defaultCorpses)),
			Initial: ptr.Deref(spec.FailedPods.Backoff.Initial, metav1.Duration{Duration: defaultInitial}).Duration,
			Max:     ptr.Deref(spec.FailedPods.Backoff.Max, metav1.Duration{Duration: defaultMax}).Duration,
		},
		RevisionHistoryLimit: int(ptr.Deref(spec.RevisionHistoryLimit, defaultHistory)),
		Update:               update(pm),
		Restart:              restart(pm),
		Pin:                  pm.Annotations[appsv1.AnnotationPin],
		Terminating: plan.Terminating{
			Policy:  spec.Terminating.Policy,
			Timeout: ptr.Deref(spec.Terminating.Timeout, metav1.Duration{Duration: defaultTerminating}).Duration,
		},
		Reserved:  reserved(pm),
		Claims:    claims(pm),
		Finalizer: finalizer(pm),
		Deletion:  deletion(pm),
	}
}

func finalizer(pm *appsv1.PodManager) plan.FinalizerState {
	if slices.Contains(pm.Finalizers, appsv1.Finalizer) {
		return plan.FinalizerPresent
	}
	return plan.FinalizerMissing
}

// deletion reads how the user wants the pods treated: --cascade=orphan leaves
// a finalizer of the API's own on the object and wins over the spec.
func deletion(pm *appsv1.PodManager) plan.Deletion {
	switch {
	case pm.DeletionTimestamp == nil:
		return plan.DeletionNone
	case slices.Contains(pm.Finalizers, metav1.FinalizerOrphanDependents):
		return plan.DeletionCascadeOrphan
	case pm.Spec.Deletion.Policy == appsv1.DeletionOrphan:
		return plan.DeletionOrphan
	}
	return plan.DeletionDelete
}
