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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/view"
)

// TakeOver makes a PodManager the owner of a workload's pods. w is the workload
// as it is now, or nil where an interrupted migration deleted it already.
func (m *Mover) TakeOver(ctx context.Context, kind *Kind, key client.ObjectKey, w *Workload) error {
	s, err := loadStore(ctx, m.Client, key)
	switch {
	case errors.Is(err, ErrNoRecord) && w == nil:
		return fmt.Errorf("there is no %s/%s", kind.Word(), key.Name)
	case errors.Is(err, ErrNoRecord):
		if err := m.free(ctx, key); err != nil {
			return err
		}
		if err := m.tryManager(ctx, w); err != nil {
			return err
		}
		if s, err = newStore(ctx, m.Client, key, recordOf(w), m.Holder); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	return m.hold(ctx, s, func(ctx context.Context, m *Mover) error {
		r, err := m.begin(ctx, kind, key, s, w)
		if err != nil {
			return err
		}
		return r.takeOver(ctx, w != nil)
	})
}

// tryManager has the API server say whether it would take the PodManager: quotas, policies
// and values that it refuses show before anything is stored.
func (m *Mover) tryManager(ctx context.Context, w *Workload) error {
	if err := m.Client.Create(ctx, w.waiting(), client.DryRunAll); err != nil {
		return fmt.Errorf("PodManager %s could not be created, and nothing was changed: %w", w.Name, err)
	}
	return nil
}

func (r *run) takeOver(ctx context.Context, prepare bool) error {
	if r.store.record.Stage == Taken {
		r.Say("%s is taken over already", r.Workload)
		return r.finish(ctx) // an interrupted undo may have frozen it
	}
	if prepare {
		if err := r.prepare(ctx); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{r.letGo, r.adopt, r.follow, r.finish} {
		if err := step(ctx); err != nil {
			return halfway(err)
		}
	}
	return nil
}

// begin goes on with the record that is held, if that is possible.
func (m *Mover) begin(ctx context.Context, kind *Kind, key client.ObjectKey, s *store, w *Workload) (*run, error) {
	record := s.record
	if err := m.resumable(ctx, kind, key, record, w); err != nil {
		return nil, err
	}
	if record.Stage == Taken {
		return m.runOf(key, s)
	}
	if w == nil {
		m.Say("going on with a migration that was interrupted")
		return m.runOf(key, s)
	}
	// It still exists, so that this is no loss: it may have been scaled since.
	s.record = recordOf(w)
	return &run{Mover: m, Workload: w, store: s}, nil
}

// resumable fails where a take-over cannot go on with a record, and says what to do.
func (m *Mover) resumable(ctx context.Context, kind *Kind, key client.ObjectKey, record *Record, w *Workload) error {
	switch {
	case record.Resource == "":
		return fmt.Errorf("an export of PodManager %s is under way: finish it with kubectl podmanager export", key.Name)
	case record.kind() != kind && record.Stage == Taken && m.gone(ctx, key):
		return fmt.Errorf("PodManager %s was taken over from %s before, and is gone: remove the record with kubectl delete configmap %s -n %s, then run migrate again",
			key.Name, &record.Target, RecordName(key.Name), key.Namespace)
	case record.kind() != kind:
		return fmt.Errorf("PodManager %s was taken over from %s: undo that first, with kubectl podmanager migrate --undo %s",
			key.Name, &record.Target, &record.Target)
	case record.complete() != nil:
		return record.complete()
	case record.Stage == Returning:
		return errors.New("an undo of this migration is under way: finish it with --undo")
	case record.Stage == Taken:
		return m.takenBefore(ctx, key, record, w)
	case kind == BarePods && w != nil:
		return record.covers(w)
	case w == nil && record.Stage == Prepared:
		return errors.New("the workload is gone, although its pods were not taken over: clean up with --undo")
	case w != nil && w.Top().GetUID() != record.Parts[0].GetUID():
		return fmt.Errorf("%s was deleted and made again by others: delete it, or --undo", w)
	}
	return nil
}

// takenBefore fails where a workload that was taken over whole cannot be asked for again.
func (m *Mover) takenBefore(ctx context.Context, key client.ObjectKey, record *Record, w *Workload) error {
	gone := m.gone(ctx, key)
	switch {
	case gone && w != nil:
		return fmt.Errorf("%s was taken over before, and PodManager %s is gone: remove the record with kubectl podmanager migrate --undo %s, then run migrate again",
			w, key.Name, w)
	case gone:
		return fmt.Errorf("%s was taken over before, and PodManager %s is gone: kubectl podmanager migrate --undo %s makes %s again",
			&record.Target, key.Name, &record.Target, &record.Target)
	case w != nil && w.Kind == BarePods:
		return record.covers(w)
	case w != nil:
		return fmt.Errorf("%s was taken over before and was made again since: delete one of the two, it or PodManager %s", w, key.Name)
	}
	return nil
}

// gone: there is no PodManager of the name.
func (m *Mover) gone(ctx context.Context, key client.ObjectKey) bool {
	return apierrors.IsNotFound(errors.Unwrap(m.exists(ctx, key)))
}

// covers fails where a record of pods without a controller is of others than those that were
// asked for: these would be taken for those that are gone.
func (r *Record) covers(w *Workload) error {
	if r.Selector != w.Selector.String() {
		return fmt.Errorf("PodManager %s took over the pods with the labels %s: give another name, or undo that first", w.Name, r.Selector)
	}
	for i := range w.Pods {
		if r.Stage == Taken && metav1.GetControllerOfNoCopy(&w.Pods[i]) == nil {
			return fmt.Errorf("PodManager %s took over pods with these labels before, and %s came since: undo that first, or change its labels", w.Name, w.Pods[i].Name)
		}
	}
	return nil
}

func recordOf(w *Workload) *Record {
	record := &Record{Stage: Prepared, Replicas: w.Replicas(), Target: Target{
		Resource: w.Kind.id(), Name: w.Name, PodLabels: w.PodLabels, Selector: w.Selector.String(),
	}}
	for i, p := range w.Parts {
		part := p.DeepCopy()
		if i > 0 {
			part.SetManagedFields(nil)
		}
		controllerutil.RemoveFinalizer(part, finalizerMigrating) // an interrupted run left it
		record.Parts = append(record.Parts, *part)
	}
	return record
}

// free fails where a PodManager has the name already.
func (m *Mover) free(ctx context.Context, key client.ObjectKey) error {
	pm := &appsv1.PodManager{}
	err := m.Client.Get(ctx, key, pm)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case meta.IsNoMatchError(err):
		return errors.New("this cluster has no PodManagers: install the operator first")
	case err != nil:
		return fmt.Errorf("look for a PodManager of the name: %w", err)
	}
	return fmt.Errorf("PodManager %s exists already, and did not come from a migration: rename or delete it first", key.Name)
}

// prepare makes the PodManager, which adopts nothing yet because all pods have
// an owner, and labels the pods with the revision that they are on.
func (r *run) prepare(ctx context.Context) error {
	pm, err := r.makeManager(ctx)
	if err != nil {
		return err
	}
	r.store.record.Revision = pm.Status.UpdateRevision
	if err := r.label(ctx, pm); err != nil {
		return err
	}
	return r.store.setStage(ctx, Releasing)
}

// makeManager sets one template after the other, the earlier ones first, so that
// the operator stores them all and "rollout undo" can go back to them.
func (r *run) makeManager(ctx context.Context) (*appsv1.PodManager, error) {
	templates := append(append([]corev1.PodTemplateSpec(nil), r.History...), *r.Spec.Template)
	if limit := int(ptr.Deref(r.Spec.RevisionHistoryLimit, defaultHistory)); len(templates) > limit+1 {
		templates = templates[len(templates)-limit-1:]
	}
	pm, err := r.manager(ctx)
	if err != nil && !apierrors.IsNotFound(errors.Unwrap(err)) {
		return nil, err
	}
	begin := 0
	if err == nil && sameTemplate(pm.Spec.Template, r.Spec.Template) {
		begin = len(templates) - 1
	}
	for i := begin; i < len(templates); i++ {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) { // the operator writes to it, too
			pm, err = r.setTemplate(ctx, &templates[i])
			return err
		})
		if err != nil {
			return nil, err
		}
		if pm, err = r.awaitRevision(ctx, pm.Generation); err != nil {
			return nil, err
		}
		if !sameTemplate(pm.Spec.Template, &templates[i]) || pm.Spec.Image != "" {
			return nil, fmt.Errorf("the template of PodManager %s was changed by others in the meantime: run migrate again, or --undo", r.Name)
		}
	}
	r.Say("podmanager/%s is there and waits; %s stored", r.Name, view.Count(len(templates)-1, "earlier revision"))
	return pm, nil
}

// defaultHistory is a Deployment's revisionHistoryLimit where it has none.
const defaultHistory = 10

// setTemplate creates the PodManager, or changes its spec.
func (r *run) setTemplate(ctx context.Context, template *corev1.PodTemplateSpec) (*appsv1.PodManager, error) {
	want := r.waiting()
	want.Spec.Template = template
	pm, err := r.manager(ctx)
	if apierrors.IsNotFound(errors.Unwrap(err)) {
		if err := r.Client.Create(ctx, want); err != nil {
			return nil, fmt.Errorf("create PodManager %s: %w", r.Name, err)
		}
		return want, nil
	}
	if err != nil {
		return nil, err
	}
	if _, waits := pm.Annotations[appsv1.AnnotationTakeOver]; !waits {
		return nil, fmt.Errorf("PodManager %s lost its annotation %s: put it back, or --undo", r.Name, appsv1.AnnotationTakeOver)
	}
	pm.Spec = want.Spec
	if err := r.Client.Update(ctx, pm); err != nil {
		return nil, fmt.Errorf("change PodManager %s: %w", r.Name, err)
	}
	return pm, nil
}

// awaitRevision waits until the operator has stored the template.
func (r *run) awaitRevision(ctx context.Context, generation int64) (pm *appsv1.PodManager, err error) {
	err = r.await(ctx, func(ctx context.Context) (string, error) {
		if pm, err = r.manager(ctx); err != nil {
			return "", err
		}
		if pm.Status.ObservedGeneration < generation || pm.Status.UpdateRevision == "" {
			return "waiting for the operator to look at PodManager " + r.Name + " (does it run? kubectl podmanager doctor)", nil
		}
		return "", nil
	})
	return pm, err
}

func (r *run) adopt(ctx context.Context) error {
	adopted := 0
	err := r.await(ctx, func(ctx context.Context) (string, error) {
		pm, err := r.manager(ctx)
		if err != nil {
			return "", err
		}
		pods, err := r.listPods(ctx)
		if err != nil {
			return "", err
		}
		var late []client.Object
		waiting := 0
		adopted = 0
		for i := range pods {
			ref := metav1.GetControllerOfNoCopy(&pods[i])
			switch {
			case ref != nil && ref.UID == pm.UID:
				adopted++
			case ref == nil && r.recognises(&pods[i]):
				late = append(late, &pods[i])
				waiting++
			case r.ours(&pods[i]):
				waiting++
			}
		}
		if waiting == 0 {
			return "", nil
		}
		return "waiting for the operator to adopt " + view.Count(waiting, "pod"), r.labelAll(ctx, pm, late)
	})
	if err != nil {
		return err
	}
	r.Say("podmanager/%s owns %s", r.Name, view.Count(adopted, "pod"))
	return nil
}

// recognises: the pod has the labels of the workload's own controller. A pod that
// only has the labels of the workload's selector may come from elsewhere: a
// person may have made it to look into something.
func (r *run) recognises(pod *corev1.Pod) bool {
	return len(missing(r.PodLabels, pod.Labels)) == 0 && (!r.Kind.Ordinal || r.selects(pod.Name))
}

// finish lets the operator work.
func (r *run) finish(ctx context.Context) error {
	pm, err := r.manager(ctx)
	if err != nil {
		return err
	}
	if err := r.unfreeze(ctx, pm); err != nil {
		return err
	}
	return r.store.setStage(ctx, Taken)
}

// unfreeze takes the take-over annotation off, and gives a PodManager that was about
// to be deleted its policy back.
func (r *run) unfreeze(ctx context.Context, pm *appsv1.PodManager) error {
	_, frozen := pm.Annotations[appsv1.AnnotationTakeOver]
	policy := cmp.Or(r.store.record.Deletion, pm.Spec.Deletion.Policy)
	if !frozen && policy == pm.Spec.Deletion.Policy {
		return nil
	}
	before := client.MergeFrom(pm.DeepCopy())
	delete(pm.Annotations, appsv1.AnnotationTakeOver)
	pm.Spec.Deletion.Policy = policy
	if err := r.Client.Patch(ctx, pm, before); err != nil {
		return fmt.Errorf("let PodManager %s begin: %w", r.Name, err)
	}
	return nil
}

// Restarts compares pods before and after: it counts those that are not there any
// more, and those of which a container was restarted.
func Restarts(before, after []corev1.Pod) (lost, restarted int) {
	now := map[string]int32{}
	for i := range after {
		now[string(after[i].UID)] = restarts(&after[i])
	}
	for i := range before {
		count, there := now[string(before[i].UID)]
		switch {
		case !there:
			lost++
		case count != restarts(&before[i]):
			restarted++
		}
	}
	return lost, restarted
}

func restarts(pod *corev1.Pod) (n int32) {
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

// Patience is how long a step waits for the cluster, unless told otherwise.
const Patience = 2 * time.Minute
