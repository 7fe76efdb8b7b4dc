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

package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// GiveBack undoes a migration, however far it is: the workload keeps its pods
// again, and the PodManager is gone. kind is what the user takes the workload for,
// or nil.
func (m *Mover) GiveBack(ctx context.Context, key client.ObjectKey, kind *Kind) error {
	s, err := m.undoable(ctx, key, kind)
	if errors.Is(err, ErrNoRecord) {
		if freed, failed := m.freeAbandoned(ctx, key); freed || failed != nil {
			return failed
		}
	}
	if err != nil {
		return err
	}
	if s.record.Resource == "" {
		return m.endExport(ctx, key, s)
	}
	return m.hold(ctx, s, func(ctx context.Context, m *Mover) error {
		return m.returnAs(ctx, key, s, func(*appsv1.PodManager) (*Target, error) { return nil, nil })
	})
}

// TryGiveBack finds out what GiveBack would refuse before it changes anything.
func (m *Mover) TryGiveBack(ctx context.Context, key client.ObjectKey, kind *Kind) error {
	s, err := m.undoable(ctx, key, kind)
	if err != nil || !s.record.Ended() {
		return err // an interrupted one goes on
	}
	r, err := m.runOf(key, s)
	if err != nil {
		return err
	}
	pm, err := r.manager(ctx)
	if apierrors.IsNotFound(errors.Unwrap(err)) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.leavable(ctx, pm); err != nil {
		return err
	}
	pods, err := r.podsOf(ctx, pm)
	if err != nil {
		return err
	}
	return r.returnable(ctx, pm, pods)
}

// undoable is the record of what is undone.
func (m *Mover) undoable(ctx context.Context, key client.ObjectKey, kind *Kind) (*store, error) {
	s, err := loadStore(ctx, m.Client, key)
	if errors.Is(err, ErrNoRecord) {
		return nil, &nothingToUndoError{key.Name}
	}
	if err != nil {
		return nil, err
	}
	if kind != nil && s.record.Resource != "" && s.record.kind() != kind {
		return nil, fmt.Errorf("PodManager %s was taken over from %s, and from no %s", key.Name, &s.record.Target, kind.Word())
	}
	return s, nil
}

// nothingToUndoError: there is no record of a migration.
type nothingToUndoError struct{ name string }

func (e *nothingToUndoError) Error() string {
	return fmt.Sprintf("there is nothing to undo: ConfigMap %s, the record of a migration, is not there. "+
		"kubectl podmanager export deployment %s makes a Deployment of a PodManager", RecordName(e.name), e.name)
}

// Unwrap makes it an ErrNoRecord.
func (e *nothingToUndoError) Unwrap() error { return ErrNoRecord }

// choose says what is made of a PodManager in place of the original, or nil.
type choose func(*appsv1.PodManager) (*Target, error)

// returnAs has the PodManager let its pods go, and makes a workload of them. As
// long as the PodManager stands, everything is decided and checked anew, also
// after an interruption; once it goes, the record says what is made.
func (m *Mover) returnAs(ctx context.Context, key client.ObjectKey, s *store, choose choose) error {
	r, err := m.runOf(key, s)
	if err != nil {
		return err
	}
	untouched, err := r.untouched(ctx)
	if err != nil {
		return err
	}
	if untouched {
		return r.cancel(ctx)
	}
	if r.nothingLeft(ctx) {
		return r.forget(ctx)
	}
	if err := r.leave(ctx, choose); err != nil {
		if errors.Is(err, errLost) {
			return err // it is another's now
		}
		return errors.Join(err, r.thaw(ctx))
	}
	if r, err = m.runOf(key, s); err != nil {
		return err
	}
	if r.Kind == nil {
		return errors.Join(fmt.Errorf("PodManager %s was deleted by others, and nothing is made of it", key.Name), s.remove(ctx))
	}
	steps := []func(context.Context) error{r.unlabel}
	if r.Kind != BarePods {
		steps = append(steps, r.awaitControllers, r.remake, r.returnFields, r.followBack, r.removeBarrier)
	}
	for _, step := range append(steps, s.remove) {
		if err := step(ctx); err != nil {
			return halfway(err)
		}
	}
	return nil
}

// runOf is the run of what a record says.
func (m *Mover) runOf(key client.ObjectKey, s *store) (*run, error) {
	w := &Workload{Namespace: key.Namespace, Name: key.Name}
	var err error
	if s.record.Resource != "" || s.record.Export != nil {
		w, err = s.record.workload(key.Namespace)
	}
	return &run{Mover: m, Workload: w, store: s}, err
}

// untouched: the workload still keeps its pods, or others made it again, so that they are
// its own: its controller adopts them once the PodManager has let them go.
func (r *run) untouched(ctx context.Context) (bool, error) {
	if r.store.record.Stage == Taken || r.store.record.Stage == Returning || r.Kind == BarePods {
		return false, nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(r.Top().GroupVersionKind())
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(r.Top()), live)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", r.Workload, err)
	}
	if live.GetDeletionTimestamp() != nil {
		return false, nil
	}
	if live.GetUID() == r.Top().GetUID() {
		return true, nil
	}
	return true, r.adoptable(ctx, live)
}

// adoptable fails where a workload that others made again would not adopt the pods, which
// would be left without an owner, or where the PodManager works already: the pods that it
// made have no label of the workload's.
func (r *run) adoptable(ctx context.Context, again *unstructured.Unstructured) error {
	if err := r.sameSelector(again); err != nil {
		return err
	}
	pm, err := r.manager(ctx)
	if apierrors.IsNotFound(errors.Unwrap(err)) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, frozen := pm.Annotations[appsv1.AnnotationTakeOver]; !frozen {
		return fmt.Errorf("others made %s again, and PodManager %s has the pods: delete one of the two", r.Workload, r.Name)
	}
	return nil
}

// sameSelector fails where a workload that others made again would not find the pods.
func (r *run) sameSelector(again *unstructured.Unstructured) error {
	selector, err := Part{again}.selector()
	if err != nil {
		return err
	}
	if selector.String() != r.Selector.String() {
		return fmt.Errorf("others made %s again, which selects by %s, and the pods were selected by %s: delete it first", r.Workload, selector, r.Selector)
	}
	return nil
}

// managerGone: there is no PodManager, which others may have deleted.
func (r *run) managerGone(ctx context.Context) bool {
	return apierrors.IsNotFound(errors.Unwrap(r.exists(ctx, r.key())))
}

// nothingLeft: others deleted the workload before it let its pods go, and the PodManager.
func (r *run) nothingLeft(ctx context.Context) bool {
	return r.store.record.Stage == Prepared && r.Kind != BarePods && r.managerGone(ctx)
}

// forget ends a migration of which nothing is left to go on with.
func (r *run) forget(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.unlabel, r.store.remove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.Say("others deleted %s and podmanager/%s: there is nothing to give back", r.Workload, r.Name)
	return nil
}

// cancel ends a migration that has not taken anything over.
func (r *run) cancel(ctx context.Context) error {
	now := func(context.Context, *appsv1.PodManager) (string, error) { return "", nil }
	if err := r.dismiss(ctx, now); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.spareKeeper, r.unlabel, r.followBack, r.store.remove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.Say("%s manages its pods, as before", r.Workload)
	return nil
}

// leave has the PodManager let its pods go. It is frozen first: from then on it
// makes and changes no pods, so that what is checked stays true until it is gone.
func (r *run) leave(ctx context.Context, choose choose) error {
	if stage := r.store.record.Stage; stage == Prepared || stage == Releasing {
		// The take-over is ended first, so that there is one way back.
		steps := []func(context.Context) error{r.letGo, r.adopt, r.follow}
		if r.managerGone(ctx) { // by others: the pods that it left have no owner
			steps = []func(context.Context) error{r.letGo, func(ctx context.Context) error { return r.store.setStage(ctx, Returning) }}
		}
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	return r.dismiss(ctx, func(ctx context.Context, pm *appsv1.PodManager) (string, error) {
		if err := r.leavable(ctx, pm); err != nil {
			return "", err
		}
		if waitsFor, err := r.freeze(ctx, pm); waitsFor != "" || err != nil {
			return waitsFor, err
		}
		target, err := choose(pm)
		if err != nil {
			return "", err
		}
		r.store.record.Export = target
		back, err := r.runOf(client.ObjectKeyFromObject(pm), r.store)
		if err != nil {
			return "", err
		}
		if err := back.promise(ctx, pm); err != nil {
			return "", err
		}
		r.warn(ctx, pm, target)
		return "", nil
	})
}

// warn lists once what the workload has no counterpart for, or what the original, which has no
// target, has otherwise.
func (r *run) warn(ctx context.Context, pm *appsv1.PodManager, target *Target) {
	if r.warned {
		return
	}
	again := cmp.Or(target, &r.store.record.Target)
	if again.kind() == BarePods {
		return // they have no fields of their own
	}
	pm = pm.DeepCopy()
	pm.Spec.Deletion.Policy = cmp.Or(r.store.record.Deletion, pm.Spec.Deletion.Policy) // the user's
	lost, err := lostBy(ctx, r.Client, pm, again)
	if err != nil {
		return
	}
	r.warned = true
	for _, field := range lost {
		switch {
		case target != nil:
			r.Say("spec.%s has no counterpart in a %s, and is lost", field, again.kind().Kind)
		case field != "replicas":
			r.Say("spec.%s was changed since the migration: %s comes back as it was before", field, again)
		}
	}
}

// was when it was found ready, and in no later state.
func (r *run) dismiss(ctx context.Context, ready func(context.Context, *appsv1.PodManager) (waitsFor string, err error)) error {
	found := false
	err := r.await(ctx, func(ctx context.Context) (string, error) {
		pm, err := r.manager(ctx)
		if apierrors.IsNotFound(errors.Unwrap(err)) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		found = true
		if pm.DeletionTimestamp != nil {
			return "waiting for the operator to let the pods of PodManager " + r.Name + " go", r.rescale(ctx, pm)
		}
		if waitsFor, err := ready(ctx, pm); waitsFor != "" || err != nil {
			return waitsFor, err
		}
		if pm.Spec.Deletion.Policy != appsv1.DeletionOrphan {
			before := client.MergeFromWithOptions(pm.DeepCopy(), client.MergeFromWithOptimisticLock{})
			pm.Spec.Deletion.Policy = appsv1.DeletionOrphan
			if err := r.Client.Patch(ctx, pm, before); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
				return "", fmt.Errorf("have PodManager %s leave its pods running: %w", pm.Name, err)
			}
		}
		err = r.Client.Delete(ctx, pm, client.Preconditions{UID: &pm.UID, ResourceVersion: &pm.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return "", fmt.Errorf("delete PodManager %s: %w", pm.Name, err)
		}
		return "deleting PodManager " + r.Name, nil
	})
	if err == nil && found {
		r.Say("podmanager/%s is deleted; its pods keep running", r.Name)
	}
	return err
}
