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

// Package podmanager is the fleet.Kind of PodManager. What a PodManager asks
// for is in package desired, and everything that keeps its pods in package
// fleet.
package podmanager

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/fleet"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
)

// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers/status,verbs=patch
// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/status;pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// GVK is the kind that pods name as their controller.
var GVK = desired.PodManagerGVK

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
	return desired.PodManager(owner.(*appsv1.PodManager))
}
