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
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/desired"
)

// Live observes a fleet once, straight from the API server, with the rights of the
// reader. The label is the one by which the fleet finds its orphans.
func Live(ctx context.Context, reader client.Reader, fleet desired.Fleet, orphans string) (Seen, error) {
	reader = nodesAside{reader}
	return New(Indexed(reader, orphans), reader, NewLedger(clock.RealClock{})).WithEvictions(true).Observe(ctx, fleet)
}

// nodesAside reads for people who may not read nodes, as most who work in one
// namespace: to them every node is one that is there.
type nodesAside struct{ client.Reader }

// Get implements client.Reader.
func (r nodesAside) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, obj, opts...)
	if _, isNode := obj.(*corev1.Node); !isNode {
		return err
	}
	if apierrors.IsForbidden(err) {
		obj.SetName(key.Name)
		return nil
	}
	if err == nil {
		_, err = SlimNode(obj) // as in a cache, so that notices are found
	}
	return err
}

// Indexed lets Observe read straight from the API server, which has no indexes
// of ours: it lists a namespace and picks. That is for a command line, which
// looks once; a controller has a cache.
func Indexed(live client.Reader, orphanLabels ...string) client.Reader {
	return &indexed{Reader: live, indexes: indexes(orphanLabels)}
}

type indexed struct {
	client.Reader
	indexes []index
}

// List implements client.Reader.
func (r *indexed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if options.FieldSelector == nil {
		return r.Reader.List(ctx, list, opts...)
	}
	requirements := options.FieldSelector.Requirements()
	options.FieldSelector, options.UnsafeDisableDeepCopy = nil, nil
	if err := r.Reader.List(ctx, list, options); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("read a list of %T: %w", list, err)
	}
	var picked []runtime.Object
	for _, item := range items {
		obj, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("a list of %T holds %T", list, item)
		}
		match := true
		for _, q := range requirements {
			match = match && r.has(obj, q.Field, q.Value)
		}
		if match {
			picked = append(picked, item)
		}
	}
	return meta.SetList(list, picked)
}

func (r *indexed) has(obj client.Object, field, value string) bool {
	for _, i := range r.indexes {
		if i.field != field || reflect.TypeOf(i.object) != reflect.TypeOf(obj) {
			continue
		}
		for _, v := range i.values(obj) {
			if v == value {
				return true
			}
		}
	}
	return false
}
