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

package lab

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// run is a reconcile under way. The context carries it to the client and the transport.
type run struct {
	number int
	writes atomic.Int32
	// crash says that the operator has to crash before it does anything else.
	crash atomic.Bool
}

type (
	runKey  struct{}
	nameKey struct{}
)

func runFrom(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// reconciler holds each call at the gate and shows its beginning and its end.
type reconciler struct {
	process *process
	queue   *queue
	inner   reconcile.Reconciler
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	p := r.process
	if !p.lab.gates.pass(GateReconcile, request.String(), ctx.Done()) || p.isDead() {
		return reconcile.Result{}, ctx.Err()
	}
	this := &run{number: p.lab.nextRun()}
	why := joined(r.queue.takeWhy(request))
	p.say(trace.BoxReconcile, "begin", request.String(), text(
		"Reconcile #%d begins for %s. It gets the name and nothing else; the queue knows why: %s.",
		"第 %d 次 Reconcile 开始，对象 %s。它只拿到名称；入队原因：%s。", this.number, request, why))
	result, err := r.inner.Reconcile(context.WithValue(ctx, runKey{}, this), request)
	if this.crash.Load() {
		p.crash(text("The operator crashes after the answer has arrived and before Reconcile returns.", "收到响应之后、Reconcile 返回之前，operator 崩溃。"))
	}
	if p.isDead() {
		return reconcile.Result{}, context.Canceled
	}
	records := p.recorder.Query(flightrecorder.Query{
		Controller: r.queue.controller, Namespace: request.Namespace, Name: request.Name, Limit: 1,
	})
	if len(records) > 0 {
		p.lab.count(p, this.number, records[0])
	}
	p.say(trace.BoxReconcile, "end", request.String(), ended(this, result, err))
	return result, err
}

func ended(this *run, result reconcile.Result, err error) trace.Text {
	n := this.writes.Load()
	switch {
	case err != nil && errors.Is(err, reconcile.TerminalError(nil)):
		return text("Reconcile #%d fails with a terminal error, which is not retried: %v", "第 %d 次 Reconcile 返回终止错误，不再重试：%v", this.number, err)
	case err != nil:
		return text("Reconcile #%d fails, so the queue tries again after a back-off: %v", "第 %d 次 Reconcile 失败，队列退避后重试：%v", this.number, err)
	case result.RequeueAfter > 0:
		return text("Reconcile #%[1]d ends after %[2]s and asks to run again in %[4]s.", "第 %[1]d 次 Reconcile 结束，写入 %[3]d 次，要求 %[4]s 后再执行。",
			this.number, trace.Counted(n, "write"), n, trace.Brief(result.RequeueAfter))
	}
	return text("Reconcile #%[1]d ends without an error, after %[2]s.", "第 %[1]d 次 Reconcile 成功结束，写入 %[3]d 次。", this.number, trace.Counted(n, "write"), n)
}

// nextRun numbers the reconciles of all processes.
func (l *Lab) nextRun() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	return l.number
}

// kinds finds the kinds of objects and of resources in URLs.
type kinds struct {
	mapper meta.RESTMapper
	mu     sync.Mutex
	known  map[schema.GroupVersionResource]string
}

func (k *kinds) kind(obj client.Object, scheme *runtime.Scheme) string {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return "?"
	}
	return gvk.Kind
}

// name names an object as steps do: "Pod lab/web-0".
func (k *kinds) name(obj client.Object, scheme *runtime.Scheme) string {
	return k.kind(obj, scheme) + " " + key(obj.GetNamespace(), obj.GetName())
}

// of is the kind of a resource, or else its plural.
func (k *kinds) of(resource schema.GroupVersionResource) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kind, ok := k.known[resource]; ok {
		return kind
	}
	gvk, err := k.mapper.KindFor(resource)
	if err != nil {
		return resource.Resource
	}
	if k.known == nil {
		k.known = map[schema.GroupVersionResource]string{}
	}
	k.known[resource] = gvk.Kind
	return gvk.Kind
}

// watchless gives a manager's client, which cannot watch, the method that the interceptor wants.
type watchless struct{ client.Client }

func (watchless) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("lab: a manager's client cannot watch")
}

// listed names the items of a list.
func listed(list client.ObjectList) (names []string) {
	_ = meta.EachListItem(list, func(o runtime.Object) error { // a list that is none has no names
		if obj, ok := o.(client.Object); ok {
			names = append(names, obj.GetName())
		}
		return nil
	})
	return names
}

// joined is a list for a sentence.
func joined(names []string) string {
	const most = 6
	if len(names) == 0 {
		return "–"
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " …"
	}
	return strings.Join(names, ", ")
}
