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

package dashboard

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// A log that a reader does not read is up to a megabyte of the operator's memory.
func TestALogIsNotHeldForEver(t *testing.T) {
	text := strings.Repeat("a line\n", 20_000)
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	defer cluster.Close()
	s := New(Parts{Viewers: NewViewers(&rest.Config{Host: cluster.URL}, scheme.Scheme, meta.NewDefaultRESTMapper(nil))})
	m := &listener{ResponseRecorder: httptest.NewRecorder()}
	request := httptest.NewRequest(http.MethodGet, "/api/pods/shop/web-0/log", http.NoBody)
	request.SetPathValue("namespace", "shop")
	request.SetPathValue("pod", "web-0")
	s.showLog(m, request.WithContext(context.WithValue(t.Context(), tokenKey{}, "ada")))
	if m.Code != http.StatusOK || m.Body.String() != text {
		t.Fatalf("answered %d with %d bytes, want %d", m.Code, m.Body.Len(), len(text))
	}
	if m.unlimited {
		t.Error("the reader may take as long as it likes")
	}
}
