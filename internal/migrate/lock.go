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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// One migration at a time works on a record: it writes its name there, and a sign
// of life every heartbeat. Another that finds a name watches the record. If it
// changes, the holder lives; if it does not for lockTime, the holder is gone. So
// no clock is compared with that of another machine. A holder that was only stopped,
// or whose machine slept, writes a sign of life before anything else, and finds out.
const (
	annotationHolder = "apps.mycompany.com/migrating"
	annotationSince  = "apps.mycompany.com/migrating-at"

	heartbeat = time.Second
	lockTime  = 6 * heartbeat
	// sure is how long a sign of life allows to write.
	sure = 2 * heartbeat
	// releaseTime is how long an orderly end may take after an interruption.
	releaseTime = 10 * time.Second
)

var errLost = errors.New("another migration of the same workload took over, or removed its record: this one stops here")

// hold does something while this run is the only one on the record. Every orderly
// end, good or bad, lets the record go.
func (m *Mover) hold(ctx context.Context, s *store, do func(context.Context, *Mover) error) error {
	if s.holder == "" {
		if err := s.take(ctx, m.Holder, m.Say); err != nil {
			return err
		}
	}
	held, cancel := context.WithCancelCause(ctx)
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		s.beat(held, cancel)
	}()
	holder := *m
	holder.Client = &fenced{m.Client, s}
	err := do(held, &holder)
	cancel(nil)
	<-beats
	if errors.Is(err, errLost) || errors.Is(context.Cause(held), errLost) {
		return errLost
	}
	return errors.Join(err, s.release(ctx))
}

// fenced is a client that writes only while the record is this run's.
type fenced struct {
	client.Client
	store *store
}

func (f *fenced) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if err := f.store.confirm(ctx); err != nil {
		return err
	}
	return f.Client.Create(ctx, obj, options...)
}

func (f *fenced) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	if err := f.store.confirm(ctx); err != nil {
		return err
	}
	return f.Client.Update(ctx, obj, options...)
}

func (f *fenced) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := f.store.confirm(ctx); err != nil {
		return err
	}
	return f.Client.Patch(ctx, obj, patch, options...)
}

func (f *fenced) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if err := f.store.confirm(ctx); err != nil {
		return err
	}
	return f.Client.Delete(ctx, obj, options...)
}

// confirm fails unless the record is this run's.
func (s *store) confirm(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// While a machine sleeps, one of its two clocks may stand still.
	now := time.Now()
	if now.Sub(s.confirmed) < sure && now.Round(0).Sub(s.confirmed.Round(0)) < sure {
		return nil
	}
	return s.annotate(ctx)
}

// take makes this holder the one that goes on.
func (s *store) take(ctx context.Context, holder string, say func(string, ...any)) error {
	seen, since := "", time.Now()
	for {
		other, version := s.config.Annotations[annotationHolder], s.config.ResourceVersion
		switch {
		case other == "" || other == holder || seen == version && time.Since(since) > lockTime:
			s.holder = holder
			return s.save(ctx)
		case seen == "":
			seen, since = version, time.Now()
			say("%s is at it, or was interrupted: looking for a sign of life", other)
		case seen != version:
			return fmt.Errorf("%s is migrating it right now: wait until that has ended", other)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("interrupted while waiting for %s: %w", other, ctx.Err())
		case <-time.After(poll):
		}
		err := s.load(ctx)
		if errors.Is(err, ErrNoRecord) {
			return fmt.Errorf("%s has brought it to its end in the meantime: look again, and run this again if anything is left to do", other)
		}
		if err != nil {
			return err
		}
	}
}

// sign writes who holds the record.
func (s *store) sign() {
	metav1.SetMetaDataAnnotation(&s.config.ObjectMeta, annotationHolder, s.holder)
	metav1.SetMetaDataAnnotation(&s.config.ObjectMeta, annotationSince, time.Now().UTC().Format(time.RFC3339Nano))
}

// beat writes signs of life until the end, or until the record is another's.
func (s *store) beat(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(heartbeat):
		}
		s.mu.Lock()
		err := s.annotate(ctx)
		s.mu.Unlock()
		if errors.Is(err, errLost) {
			cancel(errLost)
		}
	}
}

// release lets the record go. It works after an interruption, too.
func (s *store) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder == "" {
		return nil // it is removed
	}
	s.holder = ""
	s.sign()
	if err := s.patch(ctx); err != nil && !errors.Is(err, errLost) {
		return fmt.Errorf("let the record of the migration go: %w", err)
	}
	return nil
}

// annotate writes a sign of life.
func (s *store) annotate(ctx context.Context) error {
	if s.holder == "" {
		return nil // it is removed, or let go
	}
	s.sign()
	return s.patch(ctx)
}

// patch writes the annotations, on exactly the record that this run wrote last.
func (s *store) patch(ctx context.Context) error {
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": s.config.UID, "resourceVersion": s.config.ResourceVersion, "annotations": s.config.Annotations,
	}})
	if err != nil {
		return err
	}
	now := time.Now()
	err = s.Patch(ctx, s.config, client.RawPatch(types.MergePatchType, raw))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return errLost
	}
	if err == nil {
		s.confirmed = now
	}
	return err
}
