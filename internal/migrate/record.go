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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
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
	// Target is the original, and is never overwritten: there is no other copy.
	// It is empty where a PodManager is exported that never was anything else.
	Target
	Namespace string `json:"-"` // where the record is
	Stage     Stage  `json:"stage"`
	Replicas  int32  `json:"replicas"`
	// Revision is that of the PodManager whose template is the workload's. Others may edit
	// the PodManager before all pods are labelled with it.
	Revision string `json:"revision,omitempty"`
	// Export is what is made in place of the original, while that is under way.
	Export *Target `json:"export,omitempty"`
	// Deletion is the deletion policy of a PodManager that is about to let its pods
	// go, for the case that it keeps them after all.
	Deletion appsv1.DeletionPolicy `json:"deletion,omitempty"`
}

// Ended says that the migration, or the export, was not interrupted and is not under way.
func (r *Record) Ended() bool { return r.Stage == Taken && r.Resource != "" }

// Target is a workload that can be made again.
type Target struct {
	Resource string `json:"resource,omitempty"`
	Name     string `json:"name,omitempty"`
	// Parts are the objects that kept the pods, as they were.
	Parts     []unstructured.Unstructured `json:"parts,omitempty"`
	PodLabels map[string]string           `json:"podLabels,omitempty"`
	Selector  string                      `json:"selector,omitempty"`
}

// The names of what a migration stores.
const (
	recordSuffix = "-migration"
	recordKey    = "record.json"
)

func recordLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/managed-by": "kubectl-podmanager"}
}

// RecordName is the name of the ConfigMap that keeps the record.
func RecordName(manager string) string { return manager + recordSuffix }

// ErrNoRecord says that nothing is known of a migration.
var ErrNoRecord = errors.New("there is no record of a migration")

// LoadRecord reads the record of a PodManager's migration.
func LoadRecord(ctx context.Context, c client.Client, key client.ObjectKey) (*Record, error) {
	store, err := loadStore(ctx, c, key)
	return store.record, err
}

// String names the original, as kubectl does.
func (t *Target) String() string {
	if t.kind() == nil {
		return t.Resource + "/" + t.Name // a later version knows it
	}
	return t.kind().Word() + "/" + t.Name
}

// workload is the workload that is made again, as far as that needs it.
func (r *Record) workload(namespace string) (*Workload, error) {
	t := &r.Target
	if r.Export != nil {
		t = r.Export
	}
	kind := t.kind()
	if kind == nil {
		return nil, fmt.Errorf("the record names %q, which this version does not know", t.Resource)
	}
	if err := t.complete(); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(t.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of the record: %w", err)
	}
	w := &Workload{Kind: kind, Namespace: namespace, Name: t.Name, Selector: selector, PodLabels: t.PodLabels}
	w.Spec.Replicas = &r.Replicas
	for i := range t.Parts {
		w.Parts = append(w.Parts, Part{&t.Parts[i]})
	}
	return w, nil
}

// complete fails where others edited the record, and nothing is left of the workload.
func (t *Target) complete() error {
	if len(t.Parts) == 0 && t.kind() != BarePods {
		return fmt.Errorf("the record of %s was edited, and has no parts any more: put them back, or delete the ConfigMap to do without", t)
	}
	return nil
}

func (t *Target) kind() *Kind {
	for _, k := range append(Kinds(), BarePods) {
		if k.id() == t.Resource {
			return k
		}
	}
	return nil
}

// store keeps a record in the cluster, and is held by one migration at a time.
type store struct {
	client.Client
	record *Record
	holder string

	// mu guards config, which the heartbeat writes as well.
	mu     sync.Mutex
	config *corev1.ConfigMap
	// confirmed is when the record was last known to be this run's.
	confirmed time.Time
}

func loadStore(ctx context.Context, c client.Client, key client.ObjectKey) (*store, error) {
	s := &store{Client: c, config: &corev1.ConfigMap{}}
	s.config.Namespace, s.config.Name = key.Namespace, RecordName(key.Name)
	return s, s.load(ctx)
}

func (s *store) load(ctx context.Context) error {
	err := s.Get(ctx, client.ObjectKeyFromObject(s.config), s.config)
	if apierrors.IsNotFound(err) {
		return ErrNoRecord
	}
	if err != nil {
		return fmt.Errorf("read the record of the migration: %w", err)
	}
	return s.decode()
}

// decode reads the record that the ConfigMap has.
func (s *store) decode() error {
	raw, ok := s.config.Data[recordKey]
	if !ok {
		return fmt.Errorf("ConfigMap %s exists already, and is no record of a migration: rename or delete it first", s.config.Name)
	}
	s.record = &Record{}
	if err := json.Unmarshal([]byte(raw), s.record); err != nil {
		return fmt.Errorf("read the record in ConfigMap %s: %w", s.config.Name, err)
	}
	s.record.Namespace = s.config.Namespace
	return nil
}

// newStore creates the record of a migration that begins.
func newStore(ctx context.Context, c client.Client, key client.ObjectKey, record *Record, holder string) (*store, error) {
	s := &store{Client: c, record: record, holder: holder, config: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: RecordName(key.Name),
			Labels: recordLabels(),
		},
	}}
	if err := s.encode(); err != nil {
		return nil, err
	}
	s.confirmed = time.Now()
	err := c.Create(ctx, s.config)
	if apierrors.IsAlreadyExists(err) {
		return nil, errors.New("another migration or export of the same name began at this moment: run it again once that has ended")
	}
	if err != nil {
		return nil, fmt.Errorf("store the record of the migration: %w", err)
	}
	return s, nil
}

func (s *store) encode() error {
	raw, err := json.Marshal(s.record)
	if err != nil {
		return fmt.Errorf("encode the record of the migration: %w", err)
	}
	s.config.Data = map[string]string{recordKey: string(raw)}
	s.sign()
	return nil
}

// save writes the record, if no other migration has it by now.
func (s *store) save(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.encode(); err != nil {
		return err
	}
	now := time.Now()
	err := s.Update(ctx, s.config)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return errLost
	}
	if err != nil {
		return fmt.Errorf("store the record of the migration: %w", err)
	}
	s.confirmed = now
	return nil
}

// setStage writes down how far the migration is.
func (s *store) setStage(ctx context.Context, stage Stage) error {
	s.record.Stage = stage
	return s.save(ctx)
}

// remove ends a migration, if no other has the record by now.
func (s *store) remove(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Delete(ctx, s.config, client.Preconditions{UID: &s.config.UID, ResourceVersion: &s.config.ResourceVersion})
	if apierrors.IsConflict(err) {
		return errLost
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the record of the migration: %w", err)
	}
	s.holder = ""
	return nil
}
