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

package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Claim is the name of the volume claim of a slot.
func Claim(slot int) string { return fmt.Sprintf("data-%s-%d", Name, slot) }

// claimed are scenarios of fleets whose pods have volumes.
func claimed() []Scenario {
	return []Scenario{
		{Name: "scale with claims", Steps: []Step{create(fleet(2, volumes(appsv1.ClaimDelete))), scale(1), scale(0), scale(2)}},
		{Name: "scale with claims that are kept", Steps: []Step{create(fleet(2, volumes(appsv1.ClaimRetain))), scale(1), scale(2)}},
		{Name: "claims of an earlier owner", Steps: []Step{
			leaveClaim(0), leaveClaim(1), leaveClaim(3), create(fleet(1, volumes(appsv1.ClaimDelete))), scale(3), scale(1),
		}},
		{Name: "an ordinal is reserved that an earlier owner had", Steps: []Step{
			leaveClaim(0), leaveClaim(1), create(fleet(1, volumes(appsv1.ClaimDelete), reserved(0))),
		}},
		{Name: "owner with claims recreated with fewer replicas", Steps: []Step{
			create(fleet(2, volumes(appsv1.ClaimRetain))), remove(), create(fleet(1, volumes(appsv1.ClaimDelete))),
		}},
		{Name: "owner with claims recreated among its orphans", Steps: []Step{
			create(fleet(2, volumes(appsv1.ClaimDelete))), remove(client.PropagationPolicy(metav1.DeletePropagationOrphan)),
			create(fleet(1, volumes(appsv1.ClaimDelete))),
		}},
		{Name: "the policy changes after a scale-down", Steps: []Step{
			create(fleet(2, volumes(appsv1.ClaimRetain))), scale(1),
			edit("set whenScaled to Delete", func(pm *appsv1.PodManager) { volumes(appsv1.ClaimDelete)(pm) }),
		}},
		{Name: "rollout with surge and claims", Uncounted: true, Steps: []Step{
			leaveClaim(2), create(fleet(2, volumes(appsv1.ClaimDelete), recreate, surge(1), unavailable(0))), image(New),
		}},
		{Name: "a claim is deleted by hand", Uncounted: true, Steps: []Step{
			create(fleet(1, volumes(appsv1.ClaimRetain))), deleteClaim(0), deletePod(Name + "-0"),
		}},
		{Name: "claims of a StatefulSet", Steps: []Step{
			foreignClaim(0), foreignClaim(1), create(fleet(2, volumes(appsv1.ClaimDelete))), scale(1), scale(2),
		}},
		{Name: "delete with claims of a StatefulSet", Steps: []Step{
			foreignClaim(0), create(fleet(2, volumes(appsv1.ClaimDelete))), remove(),
		}},
		{Name: "delete with claims", Steps: []Step{leaveClaim(2), create(fleet(2, volumes(appsv1.ClaimDelete))), remove()}},
	}
}

// strangers are scenarios of pods that another owner made, or keeps.
func strangers() []Scenario {
	return []Scenario{
		{Name: "a pod of another owner is relabelled", Anonymous: true, Steps: []Step{
			create(named("api", fleet(1))), create(fleet(1, random)), relabel("api-0", Name), relabel("api-0", "api"),
		}},
		{Name: "delete and orphan while a pod terminates", Steps: []Step{
			create(fleet(2, orphan)), finalize(Name+"-1", "example.com/slow"), deletePod(Name + "-1"), remove(),
			create(named(Name, fleet(0))), finalize(Name + "-1"),
		}},
	}
}

func named(name string, pm *appsv1.PodManager) *appsv1.PodManager {
	pm.Name = name
	return pm
}

// volumes gives every pod a claim; the policy is the one for scaled-away pods and
// for the owner's deletion.
func volumes(policy appsv1.ClaimPolicy) option {
	return func(pm *appsv1.PodManager) {
		claims(pm)
		pm.Spec.PersistentVolumeClaimRetentionPolicy = appsv1.ClaimRetention{WhenScaled: policy, WhenDeleted: policy}
	}
}

func reserved(ordinals ...int32) option {
	return func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = ordinals }
}

// foreignClaim: a StatefulSet left the claim of a slot.
func foreignClaim(slot int) Step {
	return Step{Name: "a StatefulSet leaves claim " + Claim(slot), Do: func(ctx context.Context, w World) error {
		return w.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: Claim(slot), Labels: map[string]string{"app": Name},
		}})
	}}
}

// leaveClaim: an earlier owner of the same name left the claim of a slot.
func leaveClaim(slot int) Step {
	return Step{Name: "an earlier owner leaves claim " + Claim(slot), Do: func(ctx context.Context, w World) error {
		return w.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: Claim(slot),
			Labels: map[string]string{
				appsv1.LabelName: Name, appsv1.LabelUID: "before", podrender.LabelManagedBy: podrender.ManagedBy,
			},
			Annotations: map[string]string{appsv1.AnnotationCondemnedBy: "before"},
		}})
	}}
}

func deleteClaim(slot int) Step {
	return Step{Name: "delete claim " + Claim(slot), Do: func(ctx context.Context, w World) error {
		return w.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Claim(slot)}})
	}}
}

// finalize sets the finalizers of a pod.
func finalize(name string, finalizers ...string) Step {
	return Step{Name: fmt.Sprintf("pod %s gets the finalizers %v", name, finalizers), Do: func(ctx context.Context, w World) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		body := `{"metadata":{"finalizers":null}}`
		if len(finalizers) > 0 {
			body = fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, finalizers[0])
		}
		return w.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(body)))
	}}
}
