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
	"k8s.io/utils/ptr"
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
	var f interceptor.Funcs
	f.Create = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		dryRun := len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, Write{Verb: "create", DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Create(ctx, obj, opts...)
		})
	}
	f.Update = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
		dryRun := len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, Write{Verb: "update", DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Update(ctx, obj, opts...)
		})
	}
	f.Patch = func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
		dryRun := len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, Write{Verb: patchVerb(patch), DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Patch(ctx, obj, patch, opts...)
		})
	}
	f.Delete = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		dryRun := len((&client.DeleteOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, Write{Verb: "delete", DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Delete(ctx, obj, opts...)
		})
	}
	f.DeleteAllOf = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
		o := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
		collection := Write{Verb: "deletecollection", Object: ObjectRef{Namespace: o.Namespace}, DryRun: len(o.DryRun) > 0}
		return r.writeObject(ctx, c, collection, obj, func(ctx context.Context) error {
			return c.DeleteAllOf(ctx, obj, opts...)
		})
	}
	f.Apply = func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
		dryRun := len((&client.ApplyOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeApplied(ctx, Write{Verb: "apply", DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.Apply(ctx, obj, opts...)
		})
	}
	f.SubResourceCreate = func(ctx context.Context, c client.Client, name string, obj, sub client.Object, opts ...client.SubResourceCreateOption) error {
		dryRun := len((&client.SubResourceCreateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, Write{Verb: "create", Subresource: name, DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Create(ctx, obj, sub, opts...)
		})
	}
	f.SubResourceUpdate = func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
		dryRun := len((&client.SubResourceUpdateOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, Write{Verb: "update", Subresource: name, DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Update(ctx, obj, opts...)
		})
	}
	f.SubResourcePatch = func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		dryRun := len((&client.SubResourcePatchOptions{}).ApplyOptions(opts).DryRun) > 0
		return r.writeObject(ctx, c, Write{Verb: patchVerb(patch), Subresource: name, DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Patch(ctx, obj, patch, opts...)
		})
	}
	f.SubResourceApply = func(ctx context.Context, c client.Client, name string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
		dryRun := len((&client.SubResourceApplyOptions{}).ApplyOpts(opts).DryRun) > 0
		return r.writeApplied(ctx, Write{Verb: "apply", Subresource: name, DryRun: dryRun}, obj, func(ctx context.Context) error {
			return c.SubResource(name).Apply(ctx, obj, opts...)
		})
	}
	return interceptor.NewClient(withWatch, f)
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

// codeKey is under which the context of a client call carries an atomic.Int32, for the transport to
// fill in the HTTP status.
type codeKey struct{}

func (r *Recorder) writeObject(ctx context.Context, c client.Client, w Write, obj client.Object, send func(context.Context) error) error {
	run := runFrom(ctx)
	if run == nil {
		return send(ctx)
	}
	before, object := obj.GetResourceVersion(), *refOf(obj, c.Scheme())
	if w.Verb == "deletecollection" {
		object.Namespace, object.Name = w.Object.Namespace, ""
	}
	w.Object = object
	return run.write(ctx, w, send, func(w *Write) {
		w.Object.Name, w.Object.UID = obj.GetName(), obj.GetUID()
		if w.Verb != "delete" {
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

func (r *Recorder) writeApplied(ctx context.Context, w Write, obj runtime.ApplyConfiguration, send func(context.Context) error) error {
	run := runFrom(ctx)
	if run == nil {
		return send(ctx)
	}
	var object metav1.Object
	switch o := obj.(type) {
	case applied:
		w.Object = ObjectRef{
			APIVersion: ptr.Deref(o.GetAPIVersion(), ""), Kind: ptr.Deref(o.GetKind(), ""),
			Namespace: ptr.Deref(o.GetNamespace(), ""), Name: ptr.Deref(o.GetName(), ""),
		}
	case interface { // client.ApplyConfigurationFromUnstructured
		metav1.Object
		GetAPIVersion() string
		GetKind() string
	}:
		object = o
		w.Object = ObjectRef{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	return run.write(ctx, w, send, func(w *Write) {
		if object != nil {
			w.Object.UID, w.ResourceVersion = object.GetUID(), object.GetResourceVersion()
			run.noteCause(w, "")
		}
	})
}

// write makes a write and records it; succeeded fills in what only the answer says.
func (run *run) write(ctx context.Context, w Write, send func(context.Context) error, succeeded func(*Write)) error {
	r := run.recorder
	ctx, span := r.tracing.startWrite(ctx, &w)
	answered := &atomic.Int32{}
	ctx = context.WithValue(ctx, codeKey{}, answered)
	w.Start = r.config.Now()
	err := send(ctx)
	w.Latency = Duration(r.config.Now().Sub(w.Start))
	w.Code, w.Reason = statusOf(err, w.Verb)
	if code := int(answered.Load()); code != 0 {
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
