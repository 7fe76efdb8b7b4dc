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

package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// errUnsupported answers what the simulator cannot do.
var errUnsupported = errors.New("sim does not support this call")

// call is a request to the API server: what it is, and how to carry it out.
type call struct {
	verb string
	key  objectKey
	// update says that the call can meet a conflict.
	update, write bool
	run           func() (*record, error)
	answers       chan answer
}

type answer struct {
	record *record
	err    error
}

// transport carries calls. A user's carries them out at once; that of a process waits
// until the explorer chooses the call.
type transport interface {
	do(c *call) (*record, error)
	author() author
}

type direct struct{}

func (direct) do(c *call) (*record, error) { return c.run() }
func (direct) author() author              { return author{} }

// source is where objects are read from: the server or a cache. seen is told what was
// read.
type source struct {
	objects func(schema.GroupKind) map[objectKey]*record
	seen    func(key objectKey, r *record)
}

// api is a client.Client.
type api struct {
	source
	server *server
	via    transport
}

var _ client.Client = &api{}

func take(from *record, into client.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(copyOf(from.obj)).Elem())
}

func (s *source) get(k *kinds, key client.ObjectKey, obj client.Object) error {
	at := objectKey{kind: k.of(obj), namespace: key.Namespace, name: key.Name}
	r := s.objects(at.kind)[at]
	s.seen(at, r)
	if r == nil {
		return apierrors.NewNotFound(k.resource(at.kind), key.Name)
	}
	take(r, obj)
	return nil
}

func (s *source) list(k *kinds, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	kind := k.ofList(list)
	var items []runtime.Object
	for _, r := range sorted(s.objects(kind)) {
		if r.key.kind != kind || options.Namespace != "" && options.Namespace != r.key.namespace {
			continue
		}
		if options.LabelSelector != nil && !options.LabelSelector.Matches(labelsOf(r.obj)) {
			continue
		}
		if options.FieldSelector != nil && !options.FieldSelector.Matches(fieldsOf(r.obj)) {
			continue
		}
		s.seen(r.key, r)
		items = append(items, copyOf(r.obj))
	}
	s.seen(objectKey{kind: kind}, nil)
	return meta.SetList(list, items)
}

// Get implements client.Reader.
func (a *api) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return a.get(a.server.kinds, key, obj)
}

// List implements client.Reader.
func (a *api) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return a.list(a.server.kinds, list, opts...)
}

// carry sends a call and hands the answer to an object.
func (a *api) carry(c *call, into client.Object) error {
	r, err := a.via.do(c)
	if err == nil && r != nil && into != nil {
		take(r, into)
	}
	return err
}

// Create implements client.Writer.
func (a *api) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	sent, key := copyOf(obj), a.server.kinds.key(obj)
	if key.name == "" {
		key.name = obj.GetGenerateName() + "…"
	}
	return a.carry(&call{verb: "create", key: key, write: true, run: func() (*record, error) {
		return a.server.create(a.via.author(), sent)
	}}, obj)
}

// Delete implements client.Writer.
func (a *api) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	key, options := a.server.kinds.key(obj), (&client.DeleteOptions{}).ApplyOptions(opts)
	return a.carry(&call{verb: "delete", key: key, write: true, update: true, run: func() (*record, error) {
		return nil, a.server.remove(a.via.author(), key, options)
	}}, nil)
}

// DeleteAllOf implements client.Writer.
func (a *api) DeleteAllOf(_ context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
	key := a.server.kinds.key(obj)
	return a.carry(&call{verb: "delete all", key: key, write: true, run: func() (*record, error) {
		for _, r := range sorted(a.server.objects) {
			if r.key.kind != key.kind || options.Namespace != "" && r.key.namespace != options.Namespace ||
				options.LabelSelector != nil && !options.LabelSelector.Matches(labelsOf(r.obj)) {
				continue
			}
			if err := a.server.remove(a.via.author(), r.key, &options.DeleteOptions); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}}, nil)
}

// Update implements client.Writer.
func (a *api) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return a.update("", obj)
}

func (a *api) update(sub string, obj client.Object) error {
	sent, verb := copyOf(obj), verbOf("update", sub)
	return a.carry(&call{verb: verb, key: a.server.kinds.key(obj), write: true, update: true, run: func() (*record, error) {
		return a.server.update(a.via.author(), verb, sub, sent)
	}}, obj)
}

func verbOf(verb, sub string) string {
	if sub == "" {
		return verb
	}
	return verb + " " + sub
}

// Patch implements client.Writer.
func (a *api) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return a.patch("", obj, patch)
}

func (a *api) patch(sub string, obj client.Object, patch client.Patch) error {
	data, err := patch.Data(obj)
	if err != nil {
		return fmt.Errorf("make the patch of %s: %w", obj.GetName(), err)
	}
	key, verb, kind := a.server.kinds.key(obj), verbOf("patch", sub), patch.Type()
	return a.carry(&call{verb: verb, key: key, write: true, update: true, run: func() (*record, error) {
		return a.server.patch(a.via.author(), verb, sub, key, kind, data)
	}}, obj)
}

// patch merges a patch into an object and stores the result. A resourceVersion in the
// patch is a precondition.
func (s *server) patch(by author, verb, sub string, key objectKey, kind types.PatchType, data []byte) (*record, error) {
	current, err := s.get(key)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(current.obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", key, err)
	}
	var after []byte
	switch kind {
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, data)
	case types.JSONPatchType:
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(data); err == nil {
			after, err = patch.Apply(before)
		}
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, data, current.obj)
	default:
		return nil, errUnsupported
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := reflect.New(reflect.TypeOf(current.obj).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(after, next); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if next.GetUID() != current.obj.GetUID() {
		// Unlike an update, whose UID is a precondition.
		return nil, invalid(key, field.Invalid(field.NewPath("metadata", "uid"), next.GetUID(), "field is immutable"))
	}
	return s.store(by, verb, sub, current, next)
}

// Apply implements client.Writer.
func (a *api) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errUnsupported
}

// Status implements client.StatusClient.
func (a *api) Status() client.SubResourceWriter { return a.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (a *api) SubResource(name string) client.SubResourceClient { return &subresource{a, name} }

// Scheme implements client.Client.
func (a *api) Scheme() *runtime.Scheme { return a.server.kinds.scheme }

// RESTMapper implements client.Client.
func (a *api) RESTMapper() meta.RESTMapper { return a.server.kinds.mapper }

// GroupVersionKindFor implements client.Client.
func (a *api) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, a.server.kinds.scheme)
}

// IsObjectNamespaced implements client.Client.
func (a *api) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return a.server.kinds.namespaced(obj), nil
}

type subresource struct {
	*api
	name string
}

// Get implements client.SubResourceReader.
func (s *subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errUnsupported
}

// Create implements client.SubResourceWriter.
func (s *subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errUnsupported
}

// Update implements client.SubResourceWriter.
func (s *subresource) Update(_ context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if body := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts).SubResourceBody; body != nil || s.name != "status" {
		return errUnsupported
	}
	return s.update(s.name, obj)
}

// Patch implements client.SubResourceWriter.
func (s *subresource) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	if s.name != "status" {
		return errUnsupported
	}
	return s.patch(s.name, obj, patch)
}

// Apply implements client.SubResourceWriter.
func (s *subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errUnsupported
}

// live is a client.Reader whose reads are calls to the API server.
type live struct {
	source
	server *server
	via    transport
}

// Get implements client.Reader.
func (l *live) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	at := objectKey{kind: l.server.kinds.of(obj), namespace: key.Namespace, name: key.Name}
	_, err := l.via.do(&call{verb: "get", key: at, run: func() (*record, error) {
		return nil, l.get(l.server.kinds, key, obj)
	}})
	return err
}

// List implements client.Reader.
func (l *live) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	_, err := l.via.do(&call{verb: "list", key: objectKey{kind: l.server.kinds.ofList(list)}, run: func() (*record, error) {
		return nil, l.list(l.server.kinds, list, opts...)
	}})
	return err
}
