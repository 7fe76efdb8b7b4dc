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
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A run that was stopped for longer than its signs of life last writes nothing when it
// goes on: another may have undone everything, and begun anew.
func TestARunThatWasStoppedWritesNothingMore(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	record := client.ObjectKey{Namespace: "shop", Name: RecordName("web")}
	others := map[string]func(context.Context, client.Client) error{
		"another goes on": func(ctx context.Context, c client.Client) error {
			other, err := loadStore(ctx, c, key)
			if err != nil {
				return err
			}
			other.holder = "another"
			return other.save(ctx)
		},
		"another has ended": func(ctx context.Context, c client.Client) error {
			other, err := loadStore(ctx, c, key)
			if err != nil {
				return err
			}
			return other.remove(ctx)
		},
		"another has ended, and begun anew": func(ctx context.Context, c client.Client) error {
			other, err := loadStore(ctx, c, key)
			if err != nil {
				return err
			}
			if err := other.remove(ctx); err != nil {
				return err
			}
			other, err = newStore(ctx, c, key, &Record{Stage: Prepared}, "another")
			if err != nil {
				return err
			}
			return other.save(ctx) // this client numbers the versions of each object anew
		},
	}
	for name, meanwhile := range others {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().Build()
			s, err := newStore(t.Context(), c, key, &Record{Stage: Prepared}, "one")
			if err != nil {
				t.Fatal(err)
			}
			m := &Mover{Client: c, Holder: "one", Say: func(string, ...any) {}}
			err = m.hold(t.Context(), s, func(ctx context.Context, m *Mover) error {
				s.mu.Lock() // no heartbeat
				stopped := meanwhile(ctx, c)
				s.confirmed = time.Now().Add(-lockTime)
				s.mu.Unlock()
				if stopped != nil {
					return stopped
				}
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}
				return errors.Join(m.Client.Create(ctx, pod), s.remove(ctx))
			})
			if !errors.Is(err, errLost) {
				t.Errorf("it ends with %v, want that it was lost", err)
			}
			err = c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1"}, &corev1.Pod{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("it has written all the same: %v", err)
			}
			if err := c.Get(t.Context(), record, &corev1.ConfigMap{}); (err != nil) != (name == "another has ended") {
				t.Errorf("the record of the other: %v", err)
			}
		})
	}
}

// Who waits for another that ends meanwhile, and removes the record, was told that there is none.
func TestARunThatWaitedForAnotherIsToldThatItEnded(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	c := fake.NewClientBuilder().Build()
	one, err := newStore(t.Context(), c, key, &Record{Stage: Returning}, "one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := loadStore(t.Context(), c, key)
	if err != nil {
		t.Fatal(err)
	}
	err = two.take(t.Context(), "two", func(string, ...any) {
		if err := one.remove(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err == nil || errors.Is(err, ErrNoRecord) || !strings.HasPrefix(err.Error(), "one has brought it to its end in the meantime: look again") {
		t.Errorf("got %v, want that the first has ended", err)
	}
}
