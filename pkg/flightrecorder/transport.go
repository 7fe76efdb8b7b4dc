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
	"cmp"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Transport records writes below the client, at HTTP, for code that uses client-go's typed or dynamic
// clients instead of controller-runtime's:
//
//	cfg.Wrap(rec.Transport(scheme))
//
// The request has to carry the reconcile's context. The scheme names the kinds of the resources in the
// URLs; a resource it does not know is recorded under its plural. Together with Client, each write is
// recorded once, by Client, with the HTTP status that the transport saw.
func (r *Recorder) Transport(scheme *runtime.Scheme) func(http.RoundTripper) http.RoundTripper {
	kinds := map[schema.GroupVersionResource]string{}
	for gvk := range scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		kinds[plural] = gvk.Kind
	}
	return func(inner http.RoundTripper) http.RoundTripper {
		return &transport{recorder: r, kinds: kinds, inner: inner}
	}
}

type transport struct {
	recorder *Recorder
	kinds    map[schema.GroupVersionResource]string
	inner    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	run := runFrom(request.Context())
	answered, _ := request.Context().Value(codeKey{}).(*atomic.Int32)
	target, isObject := parsePath(request.URL.Path)
	verb := verbOf(request, target.name)
	if run == nil || verb == "" || (answered == nil && !isObject) {
		return t.inner.RoundTrip(request)
	}
	start := t.recorder.config.Now()
	response, err := t.inner.RoundTrip(request)
	code := 0
	if err == nil {
		code = response.StatusCode
	}
	if answered != nil {
		answered.Store(int32(code))
		return response, err
	}
	w := Write{
		Verb: verb, Object: t.object(target), Subresource: target.subresource,
		Code: code, Start: start, Latency: Duration(t.recorder.config.Now().Sub(start)),
		DryRun: request.URL.Query().Get("dryRun") != "",
	}
	if err != nil {
		_, w.Reason = statusOf(err, w.Verb)
	}
	run.addWrite(w)
	return response, err
}

// WrappedRoundTripper lets client-go look through, as it does to cancel requests.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.inner }

// verbOf is empty for a read.
func verbOf(request *http.Request, name string) string {
	switch request.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		if strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch") {
			return "apply"
		}
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}

func (t *transport) object(target apiPath) ObjectRef {
	return ObjectRef{
		APIVersion: target.resource.GroupVersion().String(), Kind: cmp.Or(t.kinds[target.resource], target.resource.Resource),
		Namespace: target.namespace, Name: target.name,
	}
}

// apiPath is what the URL of an API object says.
type apiPath struct {
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
}

// parsePath reads /api/v1/namespaces/shop/pods/web-0/status and /apis/apps/v1/…, below any prefix
// that a proxy may have put before it.
func parsePath(path string) (p apiPath, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for len(parts) > 0 && parts[0] != "api" && parts[0] != "apis" {
		parts = parts[1:]
	}
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		p.resource.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		p.resource.Group, p.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return p, false
	}
	// /namespaces/shop is the Namespace itself, and so is its status.
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		p.namespace, parts = parts[1], parts[2:]
	}
	p.resource.Resource = parts[0]
	if len(parts) > 1 {
		p.name = parts[1]
	}
	if len(parts) > 2 {
		p.subresource = strings.Join(parts[2:], "/")
	}
	return p, true
}
