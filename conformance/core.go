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

package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func scaling() []Behaviour {
	return []Behaviour{
		{
			Name: "scale-exact", Profile: Core, Title: "scaling creates and deletes exactly the difference",
			steps: []step{
				create(3), settles(), scale(7), settles(), scale(2), settles(), scale(0), settles(), scale(3), settles(), exact(),
			},
		},
		{
			Name: "scale-change-of-mind", Profile: Core, Title: "a scale that changes before it is reached ends at the last number",
			steps: []step{create(2), settles(), scale(8), scale(1), scale(5), settles(), rests(settleTime), settles()},
		},
		{
			Name: "scale-subresource", Profile: Core, Title: "the scale subresource reads and writes the number of pods",
			steps: []step{create(2), settles(), scaleBySubresource(4), settles(), exact(), scaleReads(4)},
		},
		{
			Name: "replace-deleted", Profile: Core, Title: "a deleted pod is replaced, once",
			steps: []step{create(3), settles(), keep("lost"), deletePod("lost"), replaced("lost"), settles(), exact()},
		},
		{
			Name: "replace-failed", Profile: Core, Title: "a failed pod is replaced",
			steps: []step{create(3), settles(), keep("lost"), failPod("lost"), replaced("lost"), hasLive(3)},
		},
		{
			Name: "terminating", Profile: Core, Title: "a pod that is long terminating leads to one replacement, not to more",
			steps: []step{
				create(3), settles(), keep("slow"), hold("slow"), deletePod("slow"), rests(settleTime), unhold("slow"),
				replaced("slow"), settles(), exact(),
			},
		},
		{
			Name: "quota", Profile: Core, Title: "fills the quota, and continues once the quota is raised",
			steps: []step{quota(2), create(4), hasLive(2), rests(settleTime), notCurrent(), dropQuota(), settles(), exact()},
		},
		{
			Name: "quiet", Profile: Core, Title: "writes nothing while nothing changes",
			steps: []step{create(3), settles(), statusAgrees(), rests(settleTime), unchangedFor(quietTime)},
		},
	}
}

func ownership() []Behaviour {
	return []Behaviour{
		{
			Name: "adopt-orphan", Profile: Core, Title: "a pod that lost its owner is adopted again, not doubled",
			steps: []step{create(3), settles(), keep("orphan"), disown("orphan"), owned("orphan"), settles(), exact()},
		},
		{
			Name: "release", Profile: Core, Title: "a pod whose labels are edited away is released, left alone and replaced",
			steps: []step{
				create(3), settles(), keep("released"), relabel("released"), notOwned("released"),
				freeTheName("released"), settles(),
			},
		},
		{
			Name: "foreign-untouched", Profile: Core, Title: "pods of another owner are not touched, though their labels match",
			steps: []step{
				otherOwner(), bare("foreign", "foreign", matching, ownedByOther), create(3), settles(), scale(1), settles(),
				untouched("foreign"), exact(), remove(metav1.DeletePropagationBackground), isGone(), rests(settleTime), untouched("foreign"),
			},
		},
		{
			Name: "name-conflict", Profile: Core, Title: "a foreign pod with a name that it needs is left alone",
			Needs: []Capability{HasOrdinals},
			steps: []step{
				bare("squatter", "$(NAME)-1", nil, nil), create(3), rests(settleTime), notCurrent(), untouched("squatter"),
				drop("squatter"), settles(), exact(),
			},
		},
	}
}

func deletion() []Behaviour {
	return []Behaviour{
		{
			Name: "delete-background", Profile: Core, Title: "deleting it deletes its pods",
			steps: []step{create(3), settles(), remove(metav1.DeletePropagationBackground), isGone(), noPods()},
		},
		{
			Name: "delete-foreground", Profile: Core, Title: "deleted in the foreground, it stays until its pods are gone",
			steps: []step{
				create(3), settles(), keep("slow"), hold("slow"), remove(metav1.DeletePropagationForeground),
				leaves("slow"), rests(settleTime), isThere(), unhold("slow"), isGone(), noPods(),
			},
		},
		{
			Name: "delete-orphan", Profile: Core, Title: "deleted with orphans, it leaves its pods running and ownerless",
			steps: []step{create(3), settles(), keepAll(), remove(metav1.DeletePropagationOrphan), isGone(), rests(settleTime), allStay()},
		},
		{
			Name: "adopt-after-orphan", Profile: Core, Title: "created again after that, it takes the same pods over",
			steps: []step{
				create(3), settles(), keepAll(), remove(metav1.DeletePropagationOrphan), isGone(), rests(settleTime), allStay(),
				create(3), takesOver(), rests(settleTime), settles(), samePods(),
			},
		},
	}
}

func scaleBySubresource(n int) step {
	return func(ctx context.Context, w *world) error {
		object, err := w.object(ctx)
		if err != nil {
			return err
		}
		body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
		err = w.client.SubResource("scale").Patch(ctx, object, client.RawPatch("application/merge-patch+json", body))
		if err != nil {
			return fmt.Errorf("write through the scale subresource: %w", err)
		}
		w.created += max(0, n-w.desired)
		w.desired = n
		w.spans = append(w.spans, span{0, n})
		return nil
	}
}

func scaleReads(n int) step {
	return func(ctx context.Context, w *world) error {
		object, err := w.object(ctx)
		if err != nil {
			return err
		}
		scale := &unstructured.Unstructured{}
		scale.SetAPIVersion("autoscaling/v1")
		scale.SetKind("Scale")
		return w.eventually(ctx, func(ctx context.Context) error {
			if err := w.client.SubResource("scale").Get(ctx, object, scale); err != nil {
				return fmt.Errorf("read the scale subresource: %w", err)
			}
			selector, _ := get(scale, "status.selector")
			if got, _ := number(scale, "status.replicas"); got != n || selector == nil || selector == "" {
				return fmt.Errorf("the scale subresource says %d pods with the selector %v, and there are %d", got, selector, n)
			}
			return nil
		})
	}
}

// replaced waits until a pod that was remembered is gone or ended, and the object has as
// many others as it wants.
func replaced(as string) step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(context.Context) error {
			n := 0
			for _, pod := range w.pods() {
				if pod.UID != w.kept[as].UID {
					n++
				}
			}
			if n != w.desired {
				return fmt.Errorf("pod %s is not replaced: %s", w.kept[as].Name, w.now())
			}
			return nil
		})
	}
}

// failPod says of a pod what a kubelet says that evicts it.
func failPod(as string) step {
	return func(ctx context.Context, w *world) error {
		pod := w.kept[as]
		body := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Failed","reason":"Evicted"}}`, pod.UID)
		return w.client.Status().Patch(ctx, pod.DeepCopy(), client.RawPatch("application/merge-patch+json", body))
	}
}

const quotaName = "conformance"

func quota(pods int64) step {
	return func(ctx context.Context, w *world) error {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: quotaName}}
		q.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}
		if err := w.client.Create(ctx, q); err != nil {
			return err
		}
		// Admission knows of it when its status is filled.
		return w.eventually(ctx, func(ctx context.Context) error {
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(q), q); err != nil {
				return err
			}
			if len(q.Status.Hard) == 0 {
				return errors.New("the quota is not in force: does the cluster run the resourcequota controller?")
			}
			return nil
		})
	}
}

func dropQuota() step {
	return func(ctx context.Context, w *world) error {
		return w.client.Delete(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: quotaName}})
	}
}

// disown takes the owner references of a pod away.
func disown(as string) step {
	return func(ctx context.Context, w *world) error {
		return w.editPod(ctx, w.kept[as].Name, func(p *corev1.Pod) { p.OwnerReferences = nil })
	}
}

// owned waits until the object is the controller of a pod that was remembered.
func owned(as string) step {
	return func(ctx context.Context, w *world) error {
		if err := w.catchUp(ctx); err != nil {
			return err
		}
		return w.eventually(ctx, func(context.Context) error {
			pod, root := w.find(w.kept[as].UID)
			switch {
			case pod == nil || pod.DeletionTimestamp != nil:
				return fmt.Errorf("pod %s was deleted", w.kept[as].Name)
			case root != w.uid:
				return fmt.Errorf("pod %s has no controller, though its labels match: %s", pod.Name, w.now())
			}
			return nil
		})
	}
}

// relabel edits away the labels by which the kind finds its pods.
func relabel(as string) step {
	return func(ctx context.Context, w *world) error {
		return w.editPod(ctx, w.kept[as].Name, func(p *corev1.Pod) {
			for key := range w.Labels(w.name) {
				p.Labels[key] = "released"
			}
		})
	}
}

// notOwned waits until a pod has no controller; it has to live on.
func notOwned(as string) step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(context.Context) error {
			pod, root := w.find(w.kept[as].UID)
			switch {
			case pod == nil || pod.DeletionTimestamp != nil:
				return fmt.Errorf("pod %s was deleted, not released", w.kept[as].Name)
			case root != "":
				return fmt.Errorf("pod %s still has its controller", pod.Name)
			}
			return nil
		})
	}
}

// freeTheName deletes a released pod where its name is in the way of its successor.
func freeTheName(as string) step {
	return func(ctx context.Context, w *world) error {
		if w.Names == Random {
			return nil
		}
		return w.client.Delete(ctx, w.kept[as].DeepCopy())
	}
}

// drop deletes a pod of the suite's own.
func drop(as string) step {
	return func(ctx context.Context, w *world) error { return w.client.Delete(ctx, w.kept[as].DeepCopy()) }
}

// matching are labels that match what the object selects.
func matching(w *world) map[string]string { return maps.Clone(w.Labels(w.name)) }

const otherName = "other-owner"

// otherOwner makes an object that can own pods; any kind will do.
func otherOwner() step {
	return func(ctx context.Context, w *world) error {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: otherName}}
		if err := w.client.Create(ctx, owner); err != nil {
			return err
		}
		w.kept[otherName] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: owner.UID}}
		return nil
	}
}

func ownedByOther(w *world, pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: otherName, UID: w.kept[otherName].UID, Controller: ptr.To(true),
	}}
}

// remove deletes the object.
func remove(how metav1.DeletionPropagation) step {
	return func(ctx context.Context, w *world) error {
		object, err := w.object(ctx)
		if err != nil {
			return err
		}
		return w.client.Delete(ctx, object, client.PropagationPolicy(how))
	}
}

func noPods() step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(context.Context) error {
			if s := w.now(); len(s) > 0 {
				return fmt.Errorf("pods are left: %s", s)
			}
			return nil
		})
	}
}

// leaves waits until a pod is terminating.
func leaves(as string) step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(context.Context) error {
			if pod, _ := w.find(w.kept[as].UID); pod != nil && pod.DeletionTimestamp == nil {
				return fmt.Errorf("pod %s is not deleted", pod.Name)
			}
			return nil
		})
	}
}

func isThere() step {
	return func(ctx context.Context, w *world) error {
		if _, err := w.object(ctx); err != nil {
			return fmt.Errorf("the %s went before its pods: %w", w.GVK().Kind, err)
		}
		return nil
	}
}

// takesOver waits until the object has the pods that another one left.
func takesOver() step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(ctx context.Context) error {
			w.lookAgain(ctx)
			return w.settled(w.desired, w.desired)
		})
	}
}

// allStay checks that the pods that were remembered live, without this object as a controller.
func allStay() step {
	return func(_ context.Context, w *world) error {
		for uid := range w.kept {
			pod, root := w.find(w.kept[uid].UID)
			switch {
			case pod == nil || pod.DeletionTimestamp != nil:
				return fmt.Errorf("pod %s was deleted", w.kept[uid].Name)
			case root == w.uid && strings.EqualFold(metav1.GetControllerOf(pod).Kind, w.GVK().Kind):
				return fmt.Errorf("pod %s still names its old controller", pod.Name)
			}
		}
		return nil
	}
}
