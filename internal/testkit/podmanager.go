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

package testkit

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// PodManagerBuilder builds a PodManager.
type PodManagerBuilder struct{ pm appsv1.PodManager }

// MakePodManager begins a PodManager with an image and nothing else.
func MakePodManager(namespace, name string) *PodManagerBuilder {
	b := &PodManagerBuilder{}
	b.pm.Namespace, b.pm.Name = namespace, name
	b.pm.Spec.Image = "nginx:1.27"
	return b
}

// Obj is the PodManager.
func (b *PodManagerBuilder) Obj() *appsv1.PodManager { return b.pm.DeepCopy() }

// Replicas sets spec.replicas.
func (b *PodManagerBuilder) Replicas(n int32) *PodManagerBuilder {
	b.pm.Spec.Replicas = &n
	return b
}

// Image sets spec.image.
func (b *PodManagerBuilder) Image(image string) *PodManagerBuilder {
	b.pm.Spec.Image = image
	return b
}

// Template sets spec.template.
func (b *PodManagerBuilder) Template(t corev1.PodTemplateSpec) *PodManagerBuilder {
	b.pm.Spec.Template = &t
	return b
}

// Annotate puts an annotation on the pods.
func (b *PodManagerBuilder) Annotate(key, value string) *PodManagerBuilder {
	metav1.SetMetaDataAnnotation(&b.template().ObjectMeta, key, value)
	return b
}

// PodSpec changes what the template says besides its container.
func (b *PodManagerBuilder) PodSpec(change func(*corev1.PodSpec)) *PodManagerBuilder {
	change(&b.template().Spec)
	return b
}

func (b *PodManagerBuilder) template() *corev1.PodTemplateSpec {
	if b.pm.Spec.Template == nil {
		b.pm.Spec.Template = &corev1.PodTemplateSpec{}
		// An empty list, because the API server refuses null.
		b.pm.Spec.Template.Spec.Containers = []corev1.Container{}
	}
	return b.pm.Spec.Template
}

// Random sets identity Random.
func (b *PodManagerBuilder) Random() *PodManagerBuilder {
	b.pm.Spec.Identity = appsv1.IdentityRandom
	return b
}

// MinReady sets spec.minReadySeconds.
func (b *PodManagerBuilder) MinReady(seconds int32) *PodManagerBuilder {
	b.pm.Spec.MinReadySeconds = seconds
	return b
}

// Paused sets spec.paused.
func (b *PodManagerBuilder) Paused() *PodManagerBuilder {
	b.pm.Spec.Paused = true
	return b
}

// Orphan sets deletion.policy Orphan.
func (b *PodManagerBuilder) Orphan() *PodManagerBuilder {
	b.pm.Spec.Deletion.Policy = appsv1.DeletionOrphan
	return b
}

// Failures sets how failed pods are replaced and kept.
func (b *PodManagerBuilder) Failures(limit int32, initial, longest time.Duration) *PodManagerBuilder {
	b.pm.Spec.FailedPods = appsv1.FailedPods{Limit: &limit, Backoff: appsv1.Backoff{
		Initial: &metav1.Duration{Duration: initial}, Max: &metav1.Duration{Duration: longest},
	}}
	return b
}

// History sets spec.revisionHistoryLimit.
func (b *PodManagerBuilder) History(limit int32) *PodManagerBuilder {
	b.pm.Spec.RevisionHistoryLimit = &limit
	return b
}
