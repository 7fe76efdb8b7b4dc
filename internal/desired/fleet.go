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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Fleet is what an owner of pods asks for.
type Fleet struct {
	// Owner is the object as the cache has it.
	Owner    client.Object
	Ref      podrender.Owner
	Desired  plan.Desired
	Template *corev1.PodTemplateSpec
	// Status is the owner's last status.
	Status appsv1.PodManagerStatus
	// Now is our time: times that others wrote are not ahead of it. Zero takes
	// them as they are.
	Now time.Time
	// Finish changes a rendered pod as the kind needs it, and Claim renders a
	// volume claim; nil where the kind has none of it.
	Finish func(pod *corev1.Pod)
	Claim  func(template, name string) (*corev1.PersistentVolumeClaim, error)
	// Selector decides which pods are members.
	Selector labels.Selector
	// OrphanKey is the index key under which orphans of this fleet are
	// found.
	OrphanKey string
}

// Kind is what a kind of owner brings: how its objects are read and their status is
// written.
type Kind interface {
	// Name is the kind's name, for logs and metrics.
	Name() string
	// New makes an empty object to read into.
	New() client.Object
	// Fleet says what the object asks for.
	Fleet(owner client.Object) Fleet
	// Status is the last status, the planner's memory.
	Status(owner client.Object) appsv1.PodManagerStatus
	// SetStatus writes a new status into the object.
	SetStatus(owner client.Object, status appsv1.PodManagerStatus)
	// Finalizer is the name of the kind's finalizer, or empty.
	Finalizer() string
	// ReservedLabels are removed from pods that are released for good.
	ReservedLabels() []string
}

// OrphanKey is the index key of pods without a controller that carry a fleet's
// label.
func OrphanKey(label, value string) string { return "orphan/" + label + "=" + value }
