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
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stage is how far a migration is.
type Stage string

const (
	// Prepared: the workload is untouched, and still keeps its pods.
	Prepared Stage = "Prepared"
	// Releasing: the workload lets its pods go.
	Releasing Stage = "Releasing"
	// Taken: the PodManager keeps the pods.
	Taken Stage = "Taken"
	// Returning: the PodManager lets its pods go, and the workload is made again.
	Returning Stage = "Returning"
)

// Record is what it takes to go on after an interruption, and to go back. It is
// stored in a ConfigMap that has no owner, so that nothing can take it away
// meanwhile.
type Record struct {
	Resource string `json:"resource"`
	Name     string `json:"name"`
	Stage    Stage  `json:"stage"`
	// Parts are the objects that kept the pods, as they were.
	Parts     []unstructured.Unstructured `json:"parts,omitempty"`
	PodLabels map[string]string           `json:"podLabels,omitempty"`
	Selector  string                      `json:"selector"`
	Replicas  int32                       `json:"replicas"`
}

// The names of what a migration stores.
const (
	recordSuffix     = "-migration"
	recordKey        = "record.json"
	annotationHolder = "apps.mycompany.com/migrating"
	annotationSince  = "apps.mycompany.com/migrating-at"
)

// lockTime is after how long a migration that does not say anything more counts
// as interrupted.
const lockTime = 15 * time.Second

// RecordName is the name of the ConfigMap that keeps the record.
func RecordName(manager string) string { return manager + recordSuffix }

// ErrNoRecord says that nothing is known of a migration.
var ErrNoRecord = errors.New("there is no record of a migration")

// LoadRecord reads the record of a PodManager's migration.
func LoadRecord(ctx context.Context, c client.Client, key client.ObjectKey) (*Record, error) {
	store, err := loadStore(ctx, c, key)
	if err != nil {
		return nil, err
	}
	return store.record, nil
}

// workload is the workload of a record, as far as a migration still needs it.
func (r *Record) workload(namespace string) (*Workload, error) {
	kind := r.kind()
	if kind == nil {
		return nil, fmt.Errorf("the record names %q, which this version does not know", r.Resource)
	}
	selector, err := labels.Parse(r.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of the record: %w", err)
	}
	w := &Workload{Kind: kind, Namespace: namespace, Name: r.Name, Selector: selector, PodLabels: r.PodLabels}
	w.Spec.Replicas = &r.Replicas
	for i := range r.Parts {
		w.Parts = append(w.Parts, Part{&r.Parts[i]})
	}
	return w, nil
}

func (r *Record) kind() *Kind {
	for _, k := range append(Kinds(), BarePods) {
		if k.id() == r.Resource {
			return k
		}
	}
	return nil
}

// store keeps a record in the cluster, and is held by one migration at a time.
type store struct {
	client.Client
	record *Record
	config *corev1.ConfigMap
	holder string
	// held is when the store was last written by this holder.
	held time.Time
}

func loadStore(ctx context.Context, c client.Client, key client.ObjectKey) (*store, error) {
	s := &store{Client: c, config: &corev1.ConfigMap{}, record: &Record{}}
	err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: RecordName(key.Name)}, s.config)
	if apierrors.IsNotFound(err) {
		return nil, ErrNoRecord
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the migration: %w", err)
	}
	if err := json.Unmarshal([]byte(s.config.Data[recordKey]), s.record); err != nil {
		return nil, fmt.Errorf("read the record in ConfigMap %s: %w", s.config.Name, err)
	}
	return s, nil
}

// newStore creates the record of a migration that begins.
func newStore(ctx context.Context, c client.Client, key client.ObjectKey, record *Record, holder string) (*store, error) {
	s := &store{Client: c, record: record, holder: holder, config: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: RecordName(key.Name),
			Labels: map[string]string{"app.kubernetes.io/managed-by": "kubectl-podmanager"},
		},
	}}
	if err := s.encode(); err != nil {
		return nil, err
	}
	err := c.Create(ctx, s.config)
	if apierrors.IsAlreadyExists(err) {
		return nil, errors.New("another migration of the same name began at this moment: look again with --dry-run")
	}
	if err != nil {
		return nil, fmt.Errorf("store the record of the migration: %w", err)
	}
	return s, nil
}

// take makes this holder the one that goes on.
func (s *store) take(ctx context.Context, holder string) error {
	other := s.config.Annotations[annotationHolder]
	since, _ := time.Parse(time.RFC3339, s.config.Annotations[annotationSince])
	if quiet := time.Since(since); other != "" && other != holder && quiet < lockTime {
		return fmt.Errorf("%s is migrating it right now: wait until that has ended; if it was interrupted, run this again in %s",
			other, (lockTime - quiet).Round(time.Second))
	}
	s.holder = holder
	return s.save(ctx)
}

func (s *store) encode() error {
	raw, err := json.Marshal(s.record)
	if err != nil {
		return fmt.Errorf("encode the record of the migration: %w", err)
	}
	s.config.Data = map[string]string{recordKey: string(raw)}
	s.held = time.Now()
	metav1.SetMetaDataAnnotation(&s.config.ObjectMeta, annotationHolder, s.holder)
	metav1.SetMetaDataAnnotation(&s.config.ObjectMeta, annotationSince, s.held.UTC().Format(time.RFC3339))
	return nil
}

// save writes the record, if no other migration has it by now.
func (s *store) save(ctx context.Context) error {
	if err := s.encode(); err != nil {
		return err
	}
	err := s.Update(ctx, s.config)
	if apierrors.IsConflict(err) {
		return errors.New("another migration of the same workload took over: this one stops here")
	}
	if err != nil {
		return fmt.Errorf("store the record of the migration: %w", err)
	}
	return nil
}

// keep says now and then that this holder is still at it.
func (s *store) keep(ctx context.Context) error {
	if time.Since(s.held) < lockTime/3 {
		return nil
	}
	return s.save(ctx)
}

// setStage writes down how far the migration is.
func (s *store) setStage(ctx context.Context, stage Stage) error {
	s.record.Stage = stage
	return s.save(ctx)
}

func (s *store) remove(ctx context.Context) error {
	if err := client.IgnoreNotFound(s.Delete(ctx, s.config)); err != nil {
		return fmt.Errorf("delete the record of the migration: %w", err)
	}
	return nil
}
