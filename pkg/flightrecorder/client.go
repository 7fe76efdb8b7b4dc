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

package flightrecorder

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// NewClient is a client.NewClientFunc, for the manager's options. The manager's client then records
// the writes of every controller:
//
//	ctrl.NewManager(cfg, ctrl.Options{NewClient: rec.NewClient})
func (r *Recorder) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	return r.Client(c), nil
}

// Client wraps a client. A write made with the context of a reconcile becomes part of its record;
// everything else passes through. What is recorded is that something was written, never what.
func (r *Recorder) Client(inner client.Client) client.Client {
	withWatch, ok := inner.(client.WithWatch)
	if !ok {
		withWatch = watchless{inner}
	}
	var funcs interceptor.Funcs
	r.interceptObjects(&funcs)
	r.interceptCollections(&funcs)
	r.interceptSubresources(&funcs)
	return interceptor.NewClient(withWatch, funcs)
}

func (r *Recorder) interceptObjects(f *interceptor.Funcs) {
	f.Create = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		dryRun := len(opts) > 0 && len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, call{verb: "create", dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Create(ctx, obj, opts...)
		})
	}
	f.Update = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
		dryRun := len(opts) > 0 && len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, call{verb: "update", dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Update(ctx, obj, opts...)
		})
	}
	f.Patch = func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
		dryRun := len(opts) > 0 && len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, call{verb: patchVerb(patch), dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Patch(ctx, obj, patch, opts...)
		})
	}
	f.Delete = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		dryRun := len(opts) > 0 && len((&client.DeleteOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, call{verb: "delete", dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Delete(ctx, obj, opts...)
		})
	}
}

func (r *Recorder) interceptCollections(f *interceptor.Funcs) {
	f.DeleteAllOf = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
		o := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
		collection := call{verb: "deletecollection", namespace: o.Namespace, dryRun: len(o.DryRun) > 0}
		return r.writeObject(ctx, c, collection, obj, func(ctx context.Context) error {
			return c.DeleteAllOf(ctx, obj, opts...)
		})
	}
	f.Apply = func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
		dryRun := len(opts) > 0 && len((&client.ApplyOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeApplied(ctx, call{verb: "apply", dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Apply(ctx, obj, opts...)
		})
	}
}

func (r *Recorder) interceptSubresources(f *interceptor.Funcs) {
	f.SubResourceCreate = func(ctx context.Context, c client.Client, name string, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
		dryRun := len(opts) > 0 && len((&client.SubResourceCreateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, call{verb: "create", subresource: name, dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Create(ctx, obj, sub, opts...)
		})
	}
	f.SubResourceUpdate = func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
		dryRun := len(opts) > 0 && len((&client.SubResourceUpdateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, call{verb: "update", subresource: name, dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Update(ctx, obj, opts...)
		})
	}
	f.SubResourcePatch = func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		dryRun := len(opts) > 0 && len((&client.SubResourcePatchOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, call{verb: patchVerb(patch), subresource: name, dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Patch(ctx, obj, patch, opts...)
		})
	}
	f.SubResourceApply = func(ctx context.Context, c client.Client, name string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
		dryRun := len(opts) > 0 && len((&client.SubResourceApplyOptions{}).ApplyOpts(opts).DryRun) > 0
		return r.writeApplied(ctx, call{verb: "apply", subresource: name, dryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Apply(ctx, obj, opts...)
		})
	}
}

func patchVerb(patch client.Patch) string {
	if patch != nil && patch.Type() == types.ApplyPatchType {
		return "apply"
	}
	return "patch"
}

// watchless is a client that cannot watch, which is what a manager's client is.
type watchless struct{ client.Client }

func (w watchless) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, fmt.Errorf("flightrecorder: the wrapped %T cannot watch", w.Client)
}

// call is what is known of a write before it is made.
type call struct {
	verb, subresource, namespace string

	dryRun bool
}

// flightKey is under which the context of a client call carries its flight, for the transport to
// fill in the HTTP status.
type flightKey struct{}

type flight struct{ code atomic.Int32 }

func (r *Recorder) writeObject(ctx context.Context, c client.Client, call call, obj client.Object, send func(context.Context) error) error {
	run := runFrom(ctx)
	if run == nil {
		return send(ctx)
	}
	before := obj.GetResourceVersion()
	ref := ObjectRef{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID()}
	kind := r.written.of(obj, c.Scheme())
	ref.APIVersion, ref.Kind = kind.APIVersion, kind.Kind
	if call.verb == "deletecollection" {
		ref.Namespace, ref.Name = call.namespace, ""
	}
	return run.write(ctx, call, ref, send, func(w *Write) {
		w.Object.Name, w.Object.UID = obj.GetName(), obj.GetUID()
		if call.verb != "delete" {
			w.ResourceVersion = obj.GetResourceVersion()
		}
		run.noteCause(w, before)
	})
}

// applied are the getters that every generated apply configuration has.
type applied interface {
	GetName() *string
	GetNamespace() *string
	GetKind() *string
	GetAPIVersion() *string
}

func (r *Recorder) writeApplied(ctx context.Context, call call, obj runtime.ApplyConfiguration, send func(context.Context) error) error {
	run := runFrom(ctx)
	if run == nil {
		return send(ctx)
	}
	var ref ObjectRef
	var object metav1.Object
	switch o := obj.(type) {
	case applied:
		ref = ObjectRef{APIVersion: deref(o.GetAPIVersion()), Kind: deref(o.GetKind()), Namespace: deref(o.GetNamespace()), Name: deref(o.GetName())}
	case interface { // client.ApplyConfigurationFromUnstructured
		metav1.Object
		GetAPIVersion() string
		GetKind() string
	}:
		object = o
		ref = ObjectRef{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	return run.write(ctx, call, ref, send, func(w *Write) {
		if object != nil {
			w.Object.UID, w.ResourceVersion = object.GetUID(), object.GetResourceVersion()
			run.noteCause(w, "")
		}
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// write makes a write and records it; succeeded fills in what only the answer says.
func (run *run) write(ctx context.Context, call call, ref ObjectRef, send func(context.Context) error, succeeded func(*Write)) error {
	r := run.recorder
	w := Write{Verb: call.verb, Subresource: call.subresource, Object: ref, DryRun: call.dryRun}
	ctx, span := r.tracing.startWrite(ctx, w.Verb, ref, w.Subresource)
	f := &flight{}
	ctx = context.WithValue(ctx, flightKey{}, f)
	w.Start = r.config.Now()
	err := send(ctx)
	w.Latency = Duration(r.config.Now().Sub(w.Start))
	w.Code, w.Reason = statusOf(err, call.verb)
	if code := int(f.code.Load()); code != 0 {
		w.Code = code
	}
	if err == nil {
		succeeded(&w)
	}
	endWrite(span, &w)
	run.addWrite(w)
	return err
}

func (run *run) addWrite(w Write) {
	run.mu.Lock()
	defer run.mu.Unlock()
	switch {
	case run.ended:
		run.recorder.lateWrites.Add(1)
	case len(run.record.Writes) >= run.recorder.config.MaxWrites:
		run.record.WritesDropped++
	default:
		run.record.Writes = append(run.record.Writes, w)
	}
}

// noteCause remembers which version this run made. A write that changed nothing made none: it returns
// the version of an earlier write.
func (run *run) noteCause(w *Write, before string) {
	if w.DryRun || w.Object.UID == "" {
		return
	}
	key := writeKey{uid: w.Object.UID}
	if w.Verb != "delete" {
		if key.resourceVersion = w.ResourceVersion; key.resourceVersion == "" || key.resourceVersion == before {
			return
		}
	}
	c := cause{record: run.record.ID}
	if run.span != nil {
		c.span = run.span.SpanContext()
	}
	run.recorder.writes.note(key, c)
	run.versions.Add(1)
}

// statusOf tells the HTTP status from the error, where the transport is not wrapped.
func statusOf(err error, verb string) (code int, reason string) {
	if err == nil {
		if verb == "create" {
			return http.StatusCreated, ""
		}
		return http.StatusOK, ""
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return int(status.Status().Code), string(status.Status().Reason)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return 0, "DeadlineExceeded"
	case errors.Is(err, context.Canceled):
		return 0, "Canceled"
	}
	return 0, "NoAnswer"
}
