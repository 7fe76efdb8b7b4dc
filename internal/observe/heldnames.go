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

package observe

import (
	"context"
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// heldNames finds the pods outside the fleet that have names which the planner
// would give: those of the slots it has to fill, and where pods may stand in also beyond
// replicas. A change that this pass sees first may need these, and an ordinal gets its
// claims before its pod meets the other. It looks no further than one pass creates pods.
func (o *Observer) heldNames(ctx context.Context, f desired.Fleet, pods []plan.Pod) ([]string, error) {
	if f.Desired.Deletion != plan.DeletionNone {
		return nil, nil
	}
	size := f.Desired.Replicas
	ordinal := f.Desired.Identity == appsv1.IdentityOrdinal
	if ordinal || rolling(&f.Status) || anyLeaves(&f, pods) || f.Desired.Disruption.Rebalances(f.Now) {
		size += f.Desired.MostSurge()
	}
	var names iter.Seq[string]
	missing := size
	if ordinal {
		names = openOrdinals(&f.Desired, size, pods)
	} else {
		names = openNames(&f.Desired, pods)
		missing -= filled(pods)
	}
	missing = min(missing, plan.MaxPodsPerPass)
	var held []string
	for name := range names {
		if missing <= 0 {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := o.podExists(ctx, f, name)
		if err != nil {
			return nil, err
		}
		if found {
			held = append(held, name)
			continue
		}
		missing--
	}
	return held, nil
}

// rolling: a rollout is under way. A restart moves no fleet to another revision, and
// neither does a template that was taken back: both have a record only.
func rolling(status *appsv1.PodManagerStatus) bool {
	return status.Rollout != nil || status.CurrentRevision != status.UpdateRevision
}

// openOrdinals are the names of the fleet's ordinals that have no pod: of the
// first, as many as it has places, without the reserved ones.
func openOrdinals(d *plan.Desired, size int, pods []plan.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		occupied := make(map[int]bool, len(pods))
		for i := range pods {
			occupied[pods[i].Slot] = true
		}
		for slot, place := 0, 0; place < size; slot++ {
			if _, reserved := slices.BinarySearch(d.Reserved, slot); reserved {
				continue
			}
			if !occupied[slot] && !yield(plan.SlotName(d, slot)) {
				return
			}
			place++
		}
	}
}

// openNames are the random names that no pod of the fleet has. They never end.
func openNames(d *plan.Desired, pods []plan.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		taken := make(map[string]bool, len(pods))
		for i := range pods {
			taken[pods[i].Name] = true
		}
		for slot := 0; ; slot++ {
			if name := plan.SlotName(d, slot); !taken[name] && !yield(name) {
				return
			}
		}
	}
}

// filled counts the pods that need no replacement.
func filled(pods []plan.Pod) int {
	n := 0
	for i := range pods {
		if p := &pods[i]; !p.Terminating && p.NodeState == plan.NodePresent && !ended(p.Phase) {
			n++
		}
	}
	return n
}

// podExists looks for a pod of another owner. One of the owner's own has come
// since its pods were listed, and a plan made without it would make another. A
// pod that the cache does not hold is known from the create that met it.
func (o *Observer) podExists(ctx context.Context, f desired.Fleet, name string) (bool, error) {
	var pod corev1.Pod
	key := client.ObjectKey{Namespace: f.Ref.Namespace, Name: name}
	err := o.cache.Get(ctx, key, &pod)
	if taken, ask := o.ledger.takes(f.Ref.UID, name); apierrors.IsNotFound(err) && taken {
		if !ask {
			return true, nil
		}
		if err = o.live.Get(ctx, key, &pod); err == nil {
			o.ledger.Taken(f.Ref.UID, name)
		} else if apierrors.IsNotFound(err) {
			o.ledger.free(f.Ref.UID, name)
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("look for pod %s: %w", key, err)
	}
	if ref := metav1.GetControllerOfNoCopy(&pod); ref != nil && ref.UID == f.Ref.UID {
		return false, &StaleError{What: key.String()}
	}
	return err == nil, nil
}
