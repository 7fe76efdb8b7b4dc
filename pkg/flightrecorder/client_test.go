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
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reconcileOnce runs a function as a reconcile of shop/web and returns its record.
func reconcileOnce(t testing.TB, rec *Recorder, do func(ctx context.Context) error) *Record {
	t.Helper()
	tap := newTestTap(t, rec)
	_, _ = tap.Reconciler(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, do(ctx)
	})).Reconcile(t.Context(), web())
	return rec.Query(Query{Limit: 1})[0]
}

func writeLines(r *Record) []string {
	var lines []string
	for _, w := range r.Writes {
		line := fmt.Sprintf("%s %s %s %d", w.Verb, w.Object.APIVersion, w.Object, w.Code)
		if w.Subresource != "" {
			line += " /" + w.Subresource
		}
		if w.DryRun {
			line += " dry"
		}
		if w.Reason != "" {
			line += " " + w.Reason
		}
		lines = append(lines, line)
	}
	return lines
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

func TestTheClientRecordsEveryWrite(t *testing.T) {
	rec := newRecorder(t, Config{})
	inner := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(&corev1.Pod{}).
		WithObjects(testPod()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			switch obj.GetName() {
			case "refused":
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "refused", errors.New("CANARY"))
			case "slow":
				return context.DeadlineExceeded
			case "lost":
				return io.ErrUnexpectedEOF
			}
			return c.Create(ctx, obj, opts...)
		},
	}).Build()
	c := rec.Client(inner)
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Error(err)
		}
	}
	r := reconcileOnce(t, rec, func(ctx context.Context) error {
		cm := configMap("settings")
		must(c.Create(ctx, cm))
		cm.Data = map[string]string{"password": "CANARY"}
		must(c.Update(ctx, cm))
		must(c.Patch(ctx, cm, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"CANARY"}}`))))
		must(c.Create(ctx, configMap("dry"), client.DryRunAll))
		pod := testPod()
		must(c.Get(ctx, client.ObjectKeyFromObject(pod), pod))
		must(c.List(ctx, &corev1.PodList{}))
		pod.Status.Message = "CANARY"
		must(c.Status().Update(ctx, pod))
		must(c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{}))
		must(c.Apply(ctx, applycorev1.ConfigMap("applied", "shop").WithData(map[string]string{"k": "CANARY"}), client.FieldOwner("me")))
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		u.SetNamespace("shop")
		u.SetName("loose")
		must(c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("me")))
		must(c.Delete(ctx, cm))
		must(c.DeleteAllOf(ctx, configMap(""), client.InNamespace("shop")))
		for _, name := range []string{"refused", "slow", "lost"} {
			if c.Create(ctx, configMap(name)) == nil {
				t.Errorf("%s was created", name)
			}
		}
		return nil
	})
	want := []string{
		"create v1 ConfigMap shop/settings 201",
		"update v1 ConfigMap shop/settings 200",
		"patch v1 ConfigMap shop/settings 200",
		"create v1 ConfigMap shop/dry 201 dry",
		"update v1 Pod shop/web-0 200 /status",
		"create v1 Pod shop/web-0 201 /eviction",
		"apply v1 ConfigMap shop/applied 200",
		"apply v1 ConfigMap shop/loose 200",
		"delete v1 ConfigMap shop/settings 200",
		"deletecollection v1 ConfigMap shop/ 200",
		"create v1 ConfigMap shop/refused 403 Forbidden",
		"create v1 ConfigMap shop/slow 0 DeadlineExceeded",
		"create v1 ConfigMap shop/lost 0 NoAnswer",
	}
	if diff := cmp.Diff(want, writeLines(r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.Writes[0].ResourceVersion == "" || r.Writes[0].Start.IsZero() {
		t.Errorf("first write: %+v", r.Writes[0])
	}
	if s := asJSON(t, r); strings.Contains(s, "CANARY") {
		t.Errorf("a value is in the record: %s", s)
	}
}

func TestOutsideOfAReconcileTheClientIsTransparent(t *testing.T) {
	rec := newRecorder(t, Config{})
	inner := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	c := rec.Client(struct{ client.Client }{inner})
	cm := configMap("settings")
	if err := c.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), applycorev1.ConfigMap("applied", "shop"), client.FieldOwner("me")); err != nil {
		t.Fatal(err)
	}
	SetPayload(t.Context(), "nothing to attach this to")
	if rec.Stats().Records != 0 {
		t.Error("something was recorded")
	}
	if _, err := c.(client.WithWatch).Watch(t.Context(), &corev1.PodList{}); err == nil {
		t.Error("a client that cannot watch can now")
	}
}

func TestWritesAreBoundedAndNoneCountsAfterTheEnd(t *testing.T) {
	rec := newRecorder(t, Config{MaxWrites: 10})
	c := rec.Client(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build())
	var leaked context.Context
	r := reconcileOnce(t, rec, func(ctx context.Context) error {
		leaked = ctx
		var wg sync.WaitGroup
		for i := range 25 { // slow-start batches write in parallel
			wg.Go(func() {
				if err := c.Create(ctx, configMap(fmt.Sprintf("cm-%d", i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return nil
	})
	if err := c.Create(leaked, configMap("late")); err != nil {
		t.Fatal(err)
	}
	if len(r.Writes) != 10 || r.WritesDropped != 15 || rec.Stats().LateWrites != 1 {
		t.Errorf("%d writes, %d dropped, %+v", len(r.Writes), r.WritesDropped, rec.Stats())
	}
}

func TestTheTransportRecordsWhatTheClientDoesNotSee(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/gone") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted) // not what one would guess from a create
		}
		_, _ = io.WriteString(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"shop"}}`)
	}))
	defer server.Close()
	rec := newRecorder(t, Config{})
	cfg := &rest.Config{Host: server.URL}
	cfg.Wrap(rec.Transport(scheme.Scheme))
	clients := kubernetes.NewForConfigOrDie(cfg)
	wrapped, err := rec.NewClient(cfg, client.Options{Mapper: configMapMapper()})
	if err != nil {
		t.Fatal(err)
	}

	r := reconcileOnce(t, rec, func(ctx context.Context) error {
		maps := clients.CoreV1().ConfigMaps("shop")
		_, _ = maps.Get(ctx, "a", metav1.GetOptions{})
		_, _ = maps.Create(ctx, configMap("a"), metav1.CreateOptions{DryRun: []string{"All"}})
		_, _ = maps.Apply(ctx, applycorev1.ConfigMap("a", "shop"), metav1.ApplyOptions{FieldManager: "me"})
		_ = maps.Delete(ctx, "gone", metav1.DeleteOptions{})
		_ = maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		_, _ = clients.CoreV1().Namespaces().UpdateStatus(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.UpdateOptions{})
		if err := wrapped.Create(ctx, configMap("x")); err != nil {
			t.Error(err)
		}
		// Without an answer: the request never leaves.
		dead, cancel := context.WithCancel(ctx)
		cancel()
		_ = wrapped.Create(dead, configMap("y"))
		return nil
	})
	want := []string{
		"create v1 ConfigMap shop/ 202 dry",
		"apply v1 ConfigMap shop/a 200",
		"delete v1 ConfigMap shop/gone 404",
		"deletecollection v1 ConfigMap shop/ 200",
		"update v1 Namespace shop 200 /status",
		"create v1 ConfigMap shop/x 202",
		"create v1 ConfigMap shop/y 0 Canceled",
	}
	if diff := cmp.Diff(want, writeLines(r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	http.DefaultClient.CloseIdleConnections()
	if h, err := rest.HTTPClientFor(cfg); err == nil {
		h.CloseIdleConnections()
	}
}

func TestPathsOfTheAPI(t *testing.T) {
	cases := map[string]struct {
		want apiPath
		ok   bool
	}{
		"/api/v1/namespaces/shop/pods/web-0/status": {apiPath{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "shop", "web-0", "status"}, true},
		"/apis/apps/v1/namespaces/shop/deployments": {apiPath{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "shop", "", ""}, true},
		"/api/v1/namespaces/shop/finalize":          {apiPath{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", "shop", "finalize"}, true},
		"/api/v1/nodes/n1":                          {apiPath{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", "n1", ""}, true},
		"/k8s/clusters/c-1/api/v1/nodes":            {apiPath{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", "", ""}, true},
		"/healthz":                                  {apiPath{}, false},
		"/api/v1":                                   {apiPath{}, false},
		"/apis/apps/v1":                             {apiPath{}, false},
	}
	for path, c := range cases {
		got, ok := parsePath(path)
		if ok != c.ok || (ok && got != c.want) {
			t.Errorf("%s: %+v, %v", path, got, ok)
		}
	}
}

func TestPayloads(t *testing.T) {
	cases := map[string]struct {
		payload     any
		want        string
		wantDropped string
	}{
		"any value":                    {payload: map[string]int{"a": 1}, want: `{"a":1}`},
		"raw JSON":                     {payload: []byte(` {"a": [1, 2]} `), want: `{"a":[1,2]}`},
		"nil":                          {payload: nil, want: `null`},
		"too large":                    {payload: strings.Repeat("x", 200), wantDropped: "202 bytes are more than the limit of 100"},
		"not JSON":                     {payload: []byte("CANARY"), wantDropped: "json.RawMessage cannot be marshalled: *json.MarshalerError"},
		"not to be marshalled":         {payload: make(chan int), wantDropped: "chan int cannot be marshalled: *json.UnsupportedTypeError"},
		"with the value of a variable": {payload: corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "CANARY"}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rec := newRecorder(t, Config{MaxPayloadBytes: 100})
			r := reconcileOnce(t, rec, func(ctx context.Context) error {
				SetPayload(ctx, "the last call wins")
				SetPayload(ctx, c.payload)
				return nil
			})
			if (c.want != "" && string(r.Payload) != c.want) || r.PayloadDropped != c.wantDropped {
				t.Errorf("payload %s, dropped %q", r.Payload, r.PayloadDropped)
			}
			if strings.Contains(asJSON(t, r), "CANARY") {
				t.Errorf("a value is in the record: %s", asJSON(t, r))
			}
		})
	}
	t.Run("one that panics", func(t *testing.T) {
		rec, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := reconcileOnce(t, rec, func(ctx context.Context) error {
			SetPayload(ctx, grenade{})
			return nil
		})
		if r.PayloadDropped != "marshalling it panicked" || rec.Stats().Faults != 1 {
			t.Errorf("dropped %q, %+v", r.PayloadDropped, rec.Stats())
		}
	})
}

type grenade struct{}

func (grenade) MarshalJSON() ([]byte, error) { panic("CANARY") }

func TestErrorsOfARunAreRedacted(t *testing.T) {
	rec := newRecorder(t, Config{RedactError: func(s string) string { return strings.ReplaceAll(s, "10.0.0.1", "[ip]") }})
	r := reconcileOnce(t, rec, func(context.Context) error {
		return fmt.Errorf("on 10.0.0.1: %w", errors.New(`env: Invalid value: "CANARY": no`))
	})
	if want := `on [ip]: env: Invalid value: [redacted]: no`; r.Error != want {
		t.Errorf("got %q, want %q", r.Error, want)
	}
}
