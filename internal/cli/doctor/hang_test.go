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

package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/explain"
)

// An API server waits 30 s for a conversion by an operator that hangs.
func TestAnOperatorThatHangsDoesNotKeepTheDoctor(t *testing.T) {
	answers := map[string]string{
		"/version": `{"major":"1","minor":"37","gitVersion":"v1.37.0"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps.mycompany.com","versions":[
			{"groupVersion":"apps.mycompany.com/v1","version":"v1"},{"groupVersion":"apps.mycompany.com/v1alpha1","version":"v1alpha1"}]}]}`,
		"/apis/apps.mycompany.com/v1":       podManagerResources("v1"),
		"/apis/apps.mycompany.com/v1alpha1": podManagerResources("v1alpha1"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		switch {
		case known:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answer))
		case strings.Contains(r.URL.Path, "podmanagers"):
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := &checkup{client: c, config: config, http: server.Client(), explain: &explain.Options{Off: true}, user: "shop", configuration: "pod-operator", now: time.Now}
	done := make(chan []Finding, 1)
	go func() { done <- check.examine(t.Context(), 100*time.Millisecond) }()
	select {
	case findings := <-done:
		if !has(findings, OK, "v1.37.0") || !has(findings, ToDo, "cannot be read as v1alpha1: no answer came in time") {
			t.Errorf("the findings are %+v", findings)
		}
	case <-time.After(time.Minute):
		t.Fatal("it is still waiting")
	}
}

func podManagerResources(version string) string {
	return `{"kind":"APIResourceList","groupVersion":"apps.mycompany.com/` + version + `","resources":[
		{"name":"podmanagers","singularName":"podmanager","namespaced":true,"kind":"PodManager","verbs":["get","list"]}]}`
}
