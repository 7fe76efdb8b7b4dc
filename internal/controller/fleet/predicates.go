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

package fleet

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/mycompany/pod-operator/internal/observe"
)

// ownerChanged passes a new or edited spec, a deletion, a changed list of
// finalizers (another client may have removed ours), the annotations that ask
// for something, and a status that is not the one we wrote: a predecessor's last
// write may arrive late, and would stay for ever. It also forgets an owner that
// is gone.
func (r *Reconciler) ownerChanged(ledger *observe.Ledger) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			asked := e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
			if asked {
				r.memories.asked(e.ObjectNew)
			}
			return asked ||
				!equality.Semantic.DeepEqual(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
				!maps.Equal(observe.Asking(e.ObjectOld.GetAnnotations()), observe.Asking(e.ObjectNew.GetAnnotations())) || r.status.foreign(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			ledger.Forget(e.Object.GetUID())
			r.memories.forget(e.Object.GetUID())
			return true
		},
	}
}

// podChanged passes what can change a plan.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		return !ok || !ok2 || observe.PodChanged(before, after)
	}}
}

// claimChanged passes what can change a plan.
func claimChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.PersistentVolumeClaim)
		after, ok2 := e.ObjectNew.(*corev1.PersistentVolumeClaim)
		return !ok || !ok2 || observe.ClaimChanged(before, after)
	}}
}

// revisionChanged passes what this process did not write: another leader's revision
// may show later than the pods that are on it, and only it says what they are.
func revisionChanged(ledger *observe.Ledger) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(revision client.Object) bool {
		ref := metav1.GetControllerOfNoCopy(revision)
		return ref == nil || !ledger.Awaits(ref.UID, revision)
	})
}

// nodeChanged passes what can change a plan: also a new node, for which pods may
// have waited.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok || !ok2 || observe.NodeChanged(before, after)
	}}
}

// quotaChanged passes a quota that has more room, or is gone.
func quotaChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.ResourceQuota)
			after, ok2 := e.ObjectNew.(*corev1.ResourceQuota)
			return ok && ok2 && observe.QuotaHasMoreRoom(before, after)
		},
	}
}

// evictionChanged passes what changes who asks for a pod to leave.
func evictionChanged() predicate.Predicate {
	asked := func(obj client.Object) observe.EvictionAsked {
		switch e := obj.(type) {
		case *lifecyclev1alpha1.EvictionRequest:
			return observe.Requested(e)
		case *lifecyclev1alpha1.Eviction:
			return observe.OurTurn(e)
		}
		return observe.EvictionAsked{}
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return asked(e.ObjectOld) != asked(e.ObjectNew) }}
}
