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
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Preview is what a migration would do.
type Preview struct {
	*Workload
	Differences []Difference
	// Autoscalers are the HorizontalPodAutoscalers that follow.
	Autoscalers []string
	// Others are objects that a person has to change.
	Others []string
	// Tool keeps the workload as a repository says, or is nil.
	Tool *Tool
}

// Look finds out what a migration would do.
func Look(ctx context.Context, c client.Client, w *Workload) (*Preview, error) {
	p := &Preview{Workload: w, Differences: Compare(ctx, c, w)}
	if w.Kind == BarePods {
		return p, nil
	}
	found, err := Autoscalers(ctx, c, w)
	if err != nil {
		return nil, err
	}
	for i := range found {
		p.Autoscalers = append(p.Autoscalers, found[i].Name)
	}
	p.Others = Others(ctx, c, w)
	p.Tool = FindTool(w.Top())
	return p, nil
}

// Try finds out what TakeOver would refuse before it stores anything: missing rights, a name
// that is taken, a PodManager that the API server would not take.
func (m *Mover) Try(ctx context.Context, w *Workload) error {
	key := client.ObjectKey{Namespace: w.Namespace, Name: w.Name}
	if err := CheckRights(ctx, m.Client, w); err != nil {
		return err
	}
	record, err := LoadRecord(ctx, m.Client, key)
	switch {
	case err == nil:
		return m.resumable(ctx, w.Kind, key, record, w)
	case !errors.Is(err, ErrNoRecord):
		return err
	}
	if err := m.free(ctx, key); err != nil {
		return err
	}
	if err := m.tryManager(ctx, w); err != nil {
		return err
	}
	_, err = newStore(ctx, client.NewDryRunClient(m.Client), key, recordOf(w), m.Holder)
	return err
}

// TryResume finds out what TakeOver would refuse where an interrupted one has deleted the workload.
func (m *Mover) TryResume(ctx context.Context, kind *Kind, key client.ObjectKey) (*Record, error) {
	record, err := LoadRecord(ctx, m.Client, key)
	if err != nil {
		return nil, err
	}
	return record, m.resumable(ctx, kind, key, record, nil)
}

// Restarting are the pods that a PodManager would have to restart.
func (p *Preview) Restarting() []string {
	var names []string
	for _, d := range p.Differences {
		if !d.Harmless && !slices.Contains(names, d.Pod) {
			names = append(names, d.Pod)
		}
	}
	return names
}

// Find reads a workload for a migration, or nil where an interrupted migration
// has begun to delete it: then its record has to do.
func Find(ctx context.Context, c client.Client, kind *Kind, key client.ObjectKey) (*Workload, error) {
	record, err := LoadRecord(ctx, c, key)
	if err != nil && !errors.Is(err, ErrNoRecord) {
		return nil, err
	}
	if record != nil && record.Stage != Prepared && record.Resource == kind.id() {
		top := &unstructured.Unstructured{}
		top.SetGroupVersionKind(kind.GroupVersionKind)
		if err := c.Get(ctx, key, top); gone(err) || err == nil && top.GetDeletionTimestamp() != nil {
			return nil, nil
		}
	}
	w, err := Read(ctx, c, kind, key)
	if err != nil && gone(errors.Unwrap(err)) {
		return nil, fmt.Errorf("there is no %s %s in namespace %s", kind.Word(), key.Name, key.Namespace)
	}
	return w, err
}
