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
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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

// errUnsupported answers what the operator never asks.
var errUnsupported = errors.New("the simulator does not support this")

// patch merges a patch into an object and stores the result. The preconditions
// in its metadata are the update's.
func (s *Server) patch(by request, subresource string, key objectKey, kind types.PatchType, data []byte) (client.Object, error) {
	current, err := s.get(key)
	if err != nil {
		return nil, err
	}
	if err := s.admit(by, "patch", subresource, key); err != nil {
		return nil, err
	}
	before, err := json.Marshal(current)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", key.name, err)
	}
	var after []byte
	switch kind {
	case types.MergePatchType:
		after, err = mergePatch(before, data)
	case types.JSONPatchType:
		after, err = jsonPatch(key, before, data)
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, data, current)
	default:
		err = errUnsupported
	}
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", key.name, err)
	}
	next := reflect.New(reflect.TypeOf(current).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(after, next); err != nil {
		return nil, fmt.Errorf("decode %s: %w", key.name, err)
	}
	return s.store(by, subresource, key, current, next)
}

// jsonPatch is RFC 6902. A test that fails is an invalid request.
func jsonPatch(key objectKey, document, patch []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after, err := operations.Apply(document)
	if err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: key.kind}, key.name, field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(patch), err.Error()),
		})
	}
	return after, nil
}

// mergePatch is RFC 7386.
func mergePatch(document, patch []byte) ([]byte, error) {
	var d, p any
	if err := errors.Join(json.Unmarshal(document, &d), json.Unmarshal(patch, &p)); err != nil {
		return nil, err
	}
	return json.Marshal(merge(d, p))
}

func merge(document, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	d, ok := document.(map[string]any)
	if !ok {
		d = map[string]any{}
	}
	for key, value := range p {
		if value == nil {
			delete(d, key)
			continue
		}
		d[key] = merge(d[key], value)
	}
	return d
}

// call is a request of a client: what it is, and how to carry it out. answer
// hands the result to the client's object.
type call struct {
	text  string
	write bool
	run   func() (client.Object, error)
	into  client.Object
	// live: it reads an owner past the cache.
	live bool
}

// transport carries calls. The user's carries them out at once; a process's
// hands them to the scheduler.
type transport interface {
	do(c call) error
	request() request
}

// api is a client.Client over a transport. Reads go to the reader, which is
// the server for users and a cache for processes.
type api struct {
	client.Reader
	server    *Server
	transport transport
}

var _ client.Client = &api{}

func take(from, into client.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(copyOf(from)).Elem())
}

// Create implements client.Client.
func (a *api) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	sent := copyOf(obj)
	return a.transport.do(call{
		text: "create " + a.name(obj), write: true, into: obj,
		run: func() (client.Object, error) { return a.server.create(a.transport.request(), sent) },
	})
}

// Delete implements client.Client.
func (a *api) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return a.remove("delete", obj, opts...)
}

func (a *api) remove(verb string, obj client.Object, opts ...client.DeleteOption) error {
	key, options := a.server.key(obj), (&client.DeleteOptions{}).ApplyOptions(opts)
	return a.transport.do(call{
		text: verb + " " + a.name(obj), write: true,
		run: func() (client.Object, error) { return nil, a.server.remove(a.transport.request(), verb, key, options) },
	})
}

// Update implements client.Client.
func (a *api) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return a.update("", obj)
}

func (a *api) update(subresource string, obj client.Object) error {
	sent := copyOf(obj)
	return a.transport.do(call{
		text: "update " + a.name(obj) + " " + subresource, write: true, into: obj,
		run: func() (client.Object, error) { return a.server.update(a.transport.request(), subresource, sent) },
	})
}

// Patch implements client.Client.
func (a *api) Patch(_ context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return a.patch("", obj, patch, (&client.PatchOptions{}).ApplyOptions(opts).FieldManager)
}

func (a *api) patch(subresource string, obj client.Object, patch client.Patch, manager string) error {
	data, err := patch.Data(obj)
	if err != nil {
		return fmt.Errorf("make the patch of %s: %w", obj.GetName(), err)
	}
	key, kind := a.server.key(obj), patch.Type()
	return a.transport.do(call{
		text: fmt.Sprintf("patch %s %s", a.name(obj), subresource), write: true, into: obj,
		run: func() (client.Object, error) {
			by := a.transport.request()
			by.manager = cmp.Or(manager, by.actor)
			return a.server.patch(by, subresource, key, kind, data)
		},
	})
}

// Apply implements client.Client.
func (a *api) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errUnsupported
}

// DeleteAllOf implements client.Client.
func (a *api) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnsupported
}

// Status implements client.Client.
func (a *api) Status() client.SubResourceWriter { return a.SubResource("status") }

// SubResource implements client.Client.
func (a *api) SubResource(name string) client.SubResourceClient { return &subresource{a, name} }

// Scheme implements client.Client.
func (a *api) Scheme() *runtime.Scheme { return a.server.scheme }

// RESTMapper implements client.Client.
func (a *api) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor implements client.Client.
func (a *api) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, a.server.scheme)
}

// IsObjectNamespaced implements client.Client.
func (a *api) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return a.server.kindOf(obj) != "Node", nil
}

func (a *api) name(obj client.Object) string { return a.server.kindOf(obj) + " " + obj.GetName() }

type subresource struct {
	*api
	name string
}

// Create implements client.SubResourceClient: an eviction is a delete that a
// PodDisruptionBudget may refuse.
func (s *subresource) Create(_ context.Context, obj, sub client.Object, _ ...client.SubResourceCreateOption) error {
	switch s.name {
	case "eviction":
		options := &client.DeleteOptions{}
		if asked := sub.(*policyv1.Eviction).DeleteOptions; asked != nil {
			options.GracePeriodSeconds, options.Preconditions = asked.GracePeriodSeconds, asked.Preconditions
		}
		return s.remove("evict", obj, options)
	case "binding":
		key, node := s.server.key(obj), sub.(*corev1.Binding).Target.Name
		return s.transport.do(call{text: "bind " + s.api.name(obj), write: true, run: func() (client.Object, error) {
			return nil, s.server.bind(s.transport.request(), key, node)
		}})
	}
	return errUnsupported
}

// Get implements client.SubResourceClient.
func (s *subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errUnsupported
}

// Update implements client.SubResourceClient.
func (s *subresource) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.update(s.name, obj)
}

// Patch implements client.SubResourceClient.
func (s *subresource) Patch(_ context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.patch(s.name, obj, patch, (&client.SubResourcePatchOptions{}).ApplyOptions(opts).FieldManager)
}

// Apply implements client.SubResourceClient.
func (s *subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errUnsupported
}

// direct is the transport of users, kubelets and the garbage collector: they
// meet no faults here.
type direct struct{ actor string }

func (d direct) do(c call) error {
	obj, err := c.run()
	if err == nil && obj != nil && c.into != nil {
		take(obj, c.into)
	}
	return err
}

func (d direct) request() request { return request{actor: d.actor} }

// Client is a client for an actor who meets no faults.
func (s *Server) Client(actor string) client.Client {
	d := direct{actor}
	return &api{Reader: &reader{source: s, transport: d, server: s}, server: s, transport: d}
}
