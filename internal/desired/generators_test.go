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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit/specs"
)

func oneOf[V any](t *rapid.T, label string, values ...V) V {
	return rapid.SampledFrom(values).Draw(t, label)
}

// podManagerGenerator draws PodManagers as the API server admits them, with any
// field left out. TestEveryFieldOfTheSpecIsDrawn says which one it forgets.
func podManagerGenerator() *rapid.Generator[*appsv1.PodManager] {
	return rapid.Custom(func(t *rapid.T) *appsv1.PodManager {
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: oneOf(t, "name", "web", "api"), UID: "owner-1", Generation: 1,
			Finalizers: oneOf(t, "finalizers", nil, []string{appsv1.Finalizer}, []string{appsv1.Finalizer, metav1.FinalizerOrphanDependents},
				[]string{appsv1.Finalizer, metav1.FinalizerDeleteDependents}),
			Annotations: oneOf(t, "annotations", nil, map[string]string{appsv1.AnnotationPin: "3"}, map[string]string{appsv1.AnnotationPin: "3 while 5"}, map[string]string{appsv1.AnnotationRestart: "2026-03-01T12:00:00Z"},
				map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}, map[string]string{appsv1.AnnotationRebalance: "2026-03-01T12:00:00Z"}),
		}}
		if rapid.Bool().Draw(t, "is being deleted") {
			pm.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(0, 0)))
		}
		pm.Spec = specs.Draw(func(path string, n int) int { return rapid.IntRange(0, n-1).Draw(t, path) })
		return pm
	})
}
