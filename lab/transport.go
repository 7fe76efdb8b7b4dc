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
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/mycompany/pod-operator/lab/trace"
)

// transport is what an operator talks to the API server through.
type transport struct {
	process *process
	inner   http.RoundTripper
}

// target is what a request is about.
type target struct {
	*request.RequestInfo
	kind, object string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p := t.process
	factory := request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := factory.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		return t.inner.RoundTrip(r)
	}
	if p.isDead() {
		return nil, errDead
	}
	run := runFrom(r.Context())
	reads := info.Verb == "get" || info.Verb == "list" || info.Verb == "watch"
	switch {
	case run == nil && info.Verb == "watch":
		return t.watch(asJSON(r), t.target(info, r))
	case run == nil && info.Verb == "list":
		return t.list(asJSON(r), t.target(info, r))
	case run != nil && !reads:
		return t.write(run, r, t.target(info, r))
	}
	return t.inner.RoundTrip(r)
}

// WrappedRoundTripper lets client-go look through.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.inner }

func (t *transport) target(info *request.RequestInfo, r *http.Request) target {
	kind := t.process.kinds.of(schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource})
	name, _ := r.Context().Value(nameKey{}).(string)
	if info.Name != "" {
		name = info.Name
	}
	object := kind + " " + key(info.Namespace, name)
	if info.Subresource != "" {
		object += "/" + info.Subresource
	}
	return target{RequestInfo: info, kind: kind, object: object}
}

// asJSON asks for JSON, which the lab can read, where the client would take protobuf.
func asJSON(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	var accepted []string
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if strings.Contains(part, "application/json") {
			accepted = append(accepted, part)
		}
	}
	if len(accepted) == 0 {
		accepted = []string{"application/json"}
	}
	r.Header.Set("Accept", strings.Join(accepted, ","))
	return r
}

// write sends a request of a reconcile, as the gate and the faults allow.
func (t *transport) write(run *run, r *http.Request, to target) (*http.Response, error) {
	p, l := t.process, t.process.lab
	what := to.Verb + " " + to.object
	if run.crash.Load() {
		p.crash(text("The operator crashes after the answer to its last write, before it sends the next.", "operator 在上一次写入得到响应之后、下一次写入之前崩溃。"))
	}
	if p.isDead() || !l.gates.pass(GateWrite, what, r.Context().Done()) || p.isDead() {
		return nil, errDead
	}
	run.writes.Add(1)
	fault := l.faults.take(writeFaults...)
	if fault == FaultCrashBefore {
		p.crash(text("The operator crashes before it sends %s. The API server never gets it.", "operator 在发送 %s 之前崩溃，API server 没有收到请求。", what))
		return nil, errDead
	}
	p.say(trace.BoxWrites, to.Verb, to.object, text("Reconcile #%d sends: %s.", "第 %d 次 Reconcile 发送：%s。", run.number, what))
	if response := refused(fault, to); response != nil {
		p.say(trace.BoxFault, fault, to.object, explain(fault, what))
		response.Request = r
		return response, nil
	}
	response, err := t.inner.RoundTrip(r)
	if err != nil {
		p.say(trace.BoxAPI, "error", to.object, text("No answer to %s: %v", "%s 没有得到响应：%v", what, err))
		return response, err
	}
	p.say(trace.BoxAPI, fmt.Sprint(response.StatusCode), to.object, text("The API server answers %s with %s.", "API server 对 %s 的响应：%s。", what, response.Status))
	switch fault {
	case FaultTimeout:
		drain(response)
		p.say(trace.BoxFault, fault, to.object, explain(fault, what))
		return nil, timeoutError{}
	case FaultCrashDuring:
		drain(response)
		p.crash(explain(fault, what))
		return nil, errDead
	case FaultCrashAfter:
		run.crash.Store(true)
	}
	return response, nil
}

func drain(response *http.Response) {
	_, _ = io.Copy(io.Discard, response.Body) // the fault wants the answer lost
	_ = response.Body.Close()
}

// refused is an answer that the API server did not give.
func refused(fault string, to target) *http.Response {
	resource := schema.GroupResource{Group: to.APIGroup, Resource: to.Resource}
	var status metav1.Status
	header := http.Header{"Content-Type": {"application/json"}}
	switch fault {
	case FaultConflict:
		status = apierrors.NewConflict(resource, to.Name, fmt.Errorf("the object has been modified (a fault of the lab)")).Status()
	case FaultTooMany:
		status = apierrors.NewTooManyRequests("too many requests (a fault of the lab)", 1).Status()
		header.Set("Retry-After", "1")
	case faultExpired:
		status = apierrors.NewResourceExpired("too old resource version (a fault of the lab)").Status()
	default:
		return nil
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	return &http.Response{
		StatusCode: int(status.Code), Status: fmt.Sprintf("%d %s", status.Code, http.StatusText(int(status.Code))),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// objectMeta is what the lab reads of an object.
type objectMeta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	ResourceVersion string            `json:"resourceVersion"`
	Generation      int64             `json:"generation"`
	Annotations     map[string]string `json:"annotations"`
	OwnerReferences []struct{}        `json:"ownerReferences"`
}

// list shows the first list of a reflector. One that streams its list never sends this.
func (t *transport) list(r *http.Request, to target) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	raw, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // it was read to its end
	response.Body = io.NopCloser(bytes.NewReader(raw))
	if err != nil {
		return response, err
	}
	var list struct {
		Items []struct {
			Metadata objectMeta `json:"metadata"`
		} `json:"items"`
	}
	if json.Unmarshal(raw, &list) == nil {
		listed := map[string]bool{}
		for i := range list.Items {
			m := &list.Items[i].Metadata
			object := to.kind + " " + key(m.Namespace, m.Name)
			listed[object] = true
			t.process.lab.store(object, m, false)
		}
		t.process.lab.prune(to.kind, listed)
		t.process.replaced(to.kind, len(list.Items))
	}
	return response, nil
}
