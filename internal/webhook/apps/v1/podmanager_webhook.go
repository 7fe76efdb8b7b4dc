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

// Package v1 admits PodManagers. What the CRD's schema can check is checked
// there, by the API server itself; the webhooks do what only a program can:
//
//   - the finalizer is set when the object is created, which saves the
//     controller a write for every PodManager;
//   - the pod that the template makes is tried, and the user is told what the
//     change will do to the pods (package preflight).
package v1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/webhook/metapatch"
)

// DefaultPath is where the mutating webhook is.
const DefaultPath = "/mutate-apps-mycompany-com-v1-podmanager"

// Scope are the namespaces that the operator watches; none means all.
type Scope []string

func (s Scope) has(namespace string) bool { return len(s) == 0 || slices.Contains(s, namespace) }

// SetupWithManager registers the webhooks.
func SetupWithManager(mgr ctrl.Manager, scope Scope) error {
	prepare := func(metadata, old *metav1.ObjectMeta) { prepare(scope, metadata, old) }
	mgr.GetWebhookServer().Register(DefaultPath, &admission.Webhook{Handler: metapatch.Edit(prepare)})
	return nil
}

// prepare gives a new object its finalizer, unless it is in a namespace that
// this operator does not watch: nobody would ever take it off there. An object
// that was read as v1alpha1 and is written as v1 loses the annotation that
// v1alpha1 needs; see api/apps/v1alpha1.
func prepare(scope Scope, metadata, old *metav1.ObjectMeta) {
	if old == nil && scope.has(metadata.Namespace) && !slices.Contains(metadata.Finalizers, appsv1.Finalizer) {
		metadata.Finalizers = append(metadata.Finalizers, appsv1.Finalizer)
	}
	delete(metadata.Annotations, v1alpha1.AnnotationKept)
}
