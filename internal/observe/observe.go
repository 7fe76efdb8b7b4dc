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

// Package observe turns the cache into the plain values that plan reads.
//
// It finds an owner's pods by owner reference, the orphans that match, the
// pods outside the fleet that have one of our names, the stored revisions and
// what is known of the nodes. Two rules keep it correct:
//
//   - Freshness. The Ledger remembers what this process wrote for an owner.
//     While the cache has not seen all of it, Observe returns a StaleError and
//     nothing is planned: a plan made on an old cache would create a second
//     time or delete one too many. The gate is per owner, so a busy owner
//     blocks no other.
//   - Proof. A pod is called lost only when the API server itself, not the
//     cache, says that its node does not exist.
package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Seen is what Observe saw: the planner's input, and what apply needs to carry
// the decision out.
type Seen struct {
	Observed plan.Observed
	// Encoded is the template in its stored form.
	Encoded   []byte
	Revisions []*kappsv1.ControllerRevision
	// Whole is a revision with its data, which the cache may leave out.
	Whole func(ctx context.Context, r *kappsv1.ControllerRevision) (*kappsv1.ControllerRevision, error)
}

// Observer reads the cache.
type Observer struct {
	cache, live client.Reader
	ledger      *Ledger
	clocks      clocks
	proofs      proofs
	compared    comparisons
	// index is nil where pods are listed through the cache.
	index *PodIndex
	// evictions: the API of lifecycle.k8s.io is read.
	evictions bool
}

// New makes an Observer. live reads past the cache; it is asked only when the
// cache would be no proof.
func New(cache, live client.Reader, ledger *Ledger) *Observer {
	return &Observer{cache: cache, live: live, ledger: ledger}
}

// WithIndex makes the Observer find pods in an index; nil changes nothing.
func (o *Observer) WithIndex(index *PodIndex) *Observer {
	o.index = index
	return o
}

// Observe sees a fleet.
func (o *Observer) Observe(ctx context.Context, f desired.Fleet) (Seen, error) {
	owned, err := o.listPods(ctx, f.Ref.Namespace, string(f.Ref.UID))
	if err != nil {
		return Seen{}, err
	}
	revisions, err := o.listRevisions(ctx, f.Ref)
	if err != nil {
		return Seen{}, err
	}
	claims, err := o.listClaims(ctx, f)
	if err != nil {
		return Seen{}, err
	}
	if err := o.checkFresh(ctx, f, owned, revisions, claims); err != nil {
		return Seen{}, err
	}
	orphans, err := o.listPods(ctx, f.Ref.Namespace, f.OrphanKey)
	if err != nil {
		return Seen{}, err
	}
	pods, err := o.describe(ctx, f, owned, orphans)
	if err != nil {
		return Seen{}, err
	}
	o.clocks.correct(f.Ref.UID, pods, f.Now)
	seen := Seen{Revisions: revisions, Whole: o.whole}
	seen.Observed.Pods = pods
	if seen.Observed.Nodes, err = o.countNodes(ctx, f, pods); err != nil {
		return Seen{}, err
	}
	if seen.Observed.HeldNames, err = o.heldNames(ctx, f, pods); err != nil {
		return Seen{}, err
	}
	if seen.Encoded, err = podrender.Encode(f.Template); err != nil {
		return Seen{}, err
	}
	seen.Observed.Status = f.Status
	if err := o.compareRevisions(ctx, &seen, f); err != nil {
		return Seen{}, err
	}
	seen.Observed.Claims = describeClaims(&f.Desired, claims)
	templates := newRevisionTemplates(ctx, &seen, f.Template)
	if err := o.describeSizes(ctx, f.Ref.UID, owned, &seen, templates); err != nil {
		return Seen{}, err
	}
	seen.Observed.Changes, err = changes(&seen, f, templates)
	return seen, err
}

// checkFresh holds the cache against the ledger. Writes that are overdue are
// looked up live: some will never show up.
func (o *Observer) checkFresh(ctx context.Context, f desired.Fleet, pods []*corev1.Pod, revisions []*kappsv1.ControllerRevision,
	claims []*corev1.PersistentVolumeClaim,
) error {
	err := o.ledger.check(f.Owner, pods, revisions, claims)
	var stale *StaleError
	if !errors.As(err, &stale) {
		return err
	}
	// In a fixed order, so that a simulated run is the same every time.
	slices.SortFunc(stale.overdue, func(a, b overdue) int { return strings.Compare(a.obj.GetName(), b.obj.GetName()) })
	for _, late := range stale.overdue {
		err := o.live.Get(ctx, client.ObjectKeyFromObject(late.obj), late.obj)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("look up %s live: %w", client.ObjectKeyFromObject(late.obj), err)
		}
		if late.obsolete(err == nil) {
			o.ledger.drop(f.Ref.UID, late.uid)
		}
	}
	return stale
}

func (o *Observer) listPods(ctx context.Context, namespace, key string) ([]*corev1.Pod, error) {
	if o.index != nil {
		return o.index.find(namespace, key)
	}
	var list corev1.PodList
	// The pods are read and never changed, so the cache's own will do.
	err := o.cache.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingFields{IndexPods: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s in %s: %w", key, namespace, err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

func (o *Observer) listRevisions(ctx context.Context, owner podrender.Owner) ([]*kappsv1.ControllerRevision, error) {
	var list kappsv1.ControllerRevisionList
	err := o.cache.List(ctx, &list, client.InNamespace(owner.Namespace),
		client.MatchingFields{IndexRevisions: string(owner.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the revisions of %s/%s: %w", owner.Namespace, owner.Name, err)
	}
	revisions := make([]*kappsv1.ControllerRevision, len(list.Items))
	for i := range list.Items {
		revisions[i] = &list.Items[i]
	}
	slices.SortFunc(revisions, func(a, b *kappsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), strings.Compare(a.Name, b.Name))
	})
	return revisions, nil
}

func (o *Observer) describe(ctx context.Context, f desired.Fleet, owned, orphans []*corev1.Pod) ([]plan.Pod, error) {
	pods := make([]plan.Pod, 0, len(owned)+len(orphans))
	nodes := newNodes(o.cache, o.live, f)
	evictions, err := o.listEvictions(ctx, f)
	if err != nil {
		return nil, err
	}
	add := func(pod *corev1.Pod, membership plan.Membership) error {
		p := describePod(&f.Desired, pod, membership)
		if err := nodes.describe(ctx, &p); err != nil {
			return err
		}
		evictions.describe(&p)
		pods = append(pods, p)
		return nil
	}
	for _, pod := range owned {
		membership := plan.Member
		if !f.Selector.Matches(labels.Set(pod.Labels)) {
			membership = plan.Drifted
		}
		if err := add(pod, membership); err != nil {
			return nil, err
		}
	}
	if len(orphans) == 0 {
		return pods, nil
	}
	// The two lists are read one after the other: a pod that was adopted or
	// released in between is in both, and what was read first is ours.
	ours := make(map[types.UID]bool, len(owned))
	for _, pod := range owned {
		ours[pod.UID] = true
	}
	others := owners{live: o.live, namespace: f.Ref.Namespace}
	for _, pod := range orphans {
		if ours[pod.UID] || !f.Selector.Matches(labels.Set(pod.Labels)) || metav1.GetControllerOf(pod) != nil {
			continue
		}
		foreign, err := others.foreign(ctx, &f, pod)
		if err != nil {
			return nil, err
		}
		if foreign {
			continue
		}
		if err := add(pod, plan.Orphan); err != nil {
			return nil, err
		}
	}
	return pods, nil
}

// compareRevisions says which revisions mean the template, and finds the name
// of a new one.
func (o *Observer) compareRevisions(ctx context.Context, seen *Seen, f desired.Fleet) error {
	names := map[string]bool{}
	for _, r := range seen.Revisions {
		equal, err := o.means(ctx, r, f, seen.Encoded)
		if err != nil {
			return err
		}
		names[r.Name] = true
		seen.Observed.Revisions = append(seen.Observed.Revisions, plan.Revision{Name: r.Name, UID: r.UID, Number: r.Revision, Equal: equal})
	}
	for salt := 0; ; salt++ {
		seen.Observed.NewRevision = podrender.RevisionName(f.Ref.Name, seen.Encoded, salt)
		if !names[seen.Observed.NewRevision] {
			return nil
		}
	}
}
