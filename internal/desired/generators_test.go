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
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func oneOf[V any](t *rapid.T, label string, values ...V) V {
	return rapid.SampledFrom(values).Draw(t, label)
}

// maybe draws nothing as often as a value: a client may leave the field out.
func maybe[V any](t *rapid.T, label string, values ...V) *V {
	if rapid.Bool().Draw(t, label+" is left out") {
		return nil
	}
	return ptr.To(oneOf(t, label, values...))
}

// podManagerGenerator draws PodManagers as the API server admits them, with any
// field left out. TestEveryFieldOfTheSpecIsDrawn says which one it forgets.
func podManagerGenerator() *rapid.Generator[*appsv1.PodManager] {
	return rapid.Custom(func(t *rapid.T) *appsv1.PodManager {
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: oneOf(t, "name", "web", "api"), UID: "owner-1", Generation: 1,
			Finalizers: oneOf(t, "finalizers", nil, []string{appsv1.Finalizer}, []string{appsv1.Finalizer, metav1.FinalizerOrphanDependents}),
			Annotations: oneOf(t, "annotations", nil, map[string]string{appsv1.AnnotationPin: "3"}, map[string]string{appsv1.AnnotationPin: "3 while 5"}, map[string]string{appsv1.AnnotationRestart: "2026-03-01T12:00:00Z"},
				map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}, map[string]string{appsv1.AnnotationRebalance: "2026-03-01T12:00:00Z"}),
		}}
		if rapid.Bool().Draw(t, "is being deleted") {
			pm.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(0, 0)))
		}
		pm.Spec = appsv1.PodManagerSpec{
			Replicas:             maybe[int32](t, "replicas", 0, 1, 3, 10),
			Image:                oneOf(t, "image", "nginx:1.27", "nginx:1.28", ""),
			Identity:             oneOf(t, "identity", appsv1.IdentityOrdinal, appsv1.IdentityRandom, ""),
			MinReadySeconds:      oneOf[int32](t, "minReadySeconds", 0, 10),
			Paused:               rapid.Bool().Draw(t, "paused"),
			Update:               drawUpdate(t),
			ScaleDown:            appsv1.ScaleDown{Prefer: oneOf(t, "prefer", appsv1.ScaleDownNotReadyFirst, "")},
			FailedPods:           drawFailedPods(t),
			Disruption:           drawDisruption(t),
			Deletion:             appsv1.Deletion{Policy: oneOf(t, "deletion", appsv1.DeletionDelete, appsv1.DeletionOrphan, "")},
			RevisionHistoryLimit: maybe[int32](t, "revisionHistoryLimit", 0, 10),
			Terminating: appsv1.Terminating{
				Policy:  oneOf(t, "terminating", appsv1.TerminatingReplaceAtOnce, appsv1.TerminatingWait, appsv1.TerminatingAfterTimeout, ""),
				Timeout: maybe(t, "terminating timeout", metav1.Duration{Duration: time.Minute}, metav1.Duration{}),
			},
		}
		drawTemplate(t, &pm.Spec)
		drawPlaces(t, &pm.Spec)
		return pm
	})
}

// drawTemplate draws a template, also beside an image; one of them is there.
func drawTemplate(t *rapid.T, spec *appsv1.PodManagerSpec) {
	if spec.Image != "" && rapid.Bool().Draw(t, "without a template") {
		return
	}
	spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", Image: oneOf(t, "image of the template", "redis:7", "redis:8"),
	}}}}
}

// drawPlaces draws what only ordinals have.
func drawPlaces(t *rapid.T, spec *appsv1.PodManagerSpec) {
	if spec.Identity == appsv1.IdentityRandom {
		return
	}
	spec.ServiceName = oneOf(t, "service", "", "web", "db")
	spec.PodManagementPolicy = oneOf(t, "podManagementPolicy", appsv1.ParallelPods, appsv1.OrderedReadyPods, "")
	spec.ReserveOrdinals = oneOf(t, "reserved", nil, []int32{0}, []int32{3, 1})
	for i := range oneOf(t, "claim templates", 0, 1, 2) {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data" + strconv.Itoa(i)}}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(oneOf(t, "size", "1Gi", "2Gi"))}
		spec.VolumeClaimTemplates = append(spec.VolumeClaimTemplates, claim)
	}
	policies := []appsv1.ClaimPolicy{appsv1.ClaimRetain, appsv1.ClaimDelete, ""}
	spec.PersistentVolumeClaimRetentionPolicy = appsv1.ClaimRetention{
		WhenDeleted: oneOf(t, "whenDeleted", policies...), WhenScaled: oneOf(t, "whenScaled", policies...),
	}
}

func drawUpdate(t *rapid.T) appsv1.Update {
	pods := func(label string) *intstr.IntOrString {
		return maybe(t, label, intstr.FromInt32(0), intstr.FromInt32(2), intstr.FromString("30%"), intstr.FromString("100%"))
	}
	return appsv1.Update{
		Strategy:                oneOf(t, "strategy", appsv1.UpdateInPlace, appsv1.UpdateRecreate, appsv1.UpdateOnDelete, ""),
		MaxUnavailable:          pods("maxUnavailable"),
		MaxSurge:                pods("maxSurge"),
		Partition:               pods("partition"),
		ProgressDeadlineSeconds: maybe[int32](t, "progressDeadlineSeconds", 20, 3600),
		OnFailure:               oneOf(t, "onFailure", appsv1.FailurePause, appsv1.FailureRollback, ""),
		UseEviction:             rapid.Bool().Draw(t, "useEviction"),
		ReadinessGate:           rapid.Bool().Draw(t, "readinessGate"),
		ResizeDeadlineSeconds:   maybe[int32](t, "resizeDeadlineSeconds", 0, 3600),
	}
}

func drawDisruption(t *rapid.T) appsv1.Disruption {
	return appsv1.Disruption{
		Policy:          oneOf(t, "disruption", appsv1.DisruptionSurgeFirst, appsv1.DisruptionAllow, ""),
		DeadlineSeconds: maybe[int32](t, "deadline of evictions", 1, 86400),
		MaxSurge:        maybe(t, "surge of evictions", intstr.FromInt32(1), intstr.FromString("50%"), intstr.FromString("100%")),
		Rebalance:       oneOf(t, "rebalance", appsv1.RebalanceManual, appsv1.RebalanceAuto, ""),
	}
}

func drawFailedPods(t *rapid.T) appsv1.FailedPods {
	wait := func(label string, most time.Duration) *metav1.Duration {
		return maybe(t, label, metav1.Duration{Duration: most}, metav1.Duration{Duration: most / 2})
	}
	return appsv1.FailedPods{
		Limit:   maybe[int32](t, "failed pods kept", 0, 5),
		Backoff: appsv1.Backoff{Initial: wait("initial", time.Second), Max: wait("max", time.Minute)},
	}
}
