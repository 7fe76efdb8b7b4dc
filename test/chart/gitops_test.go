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

package chart

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// healthScripts are Argo CD's scripts by kind.
func healthScripts(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "config", "argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{}
	for key, script := range config.Data {
		group, kind, ok := strings.Cut(strings.TrimPrefix(key, "resource.customizations.health."), "_")
		if !ok {
			t.Fatalf("%s names no kind", key)
		}
		scripts[kind+"."+group] = script
	}
	return scripts
}

// health runs a script as Argo CD does: obj is the object, and what it returns
// has a status and a message. Argo CD gives scripts no library but the basics.
func health(script string, object map[string]any) (state, message string, err error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	l.SetGlobal("obj", toLua(l, object))
	if err := l.DoString(script); err != nil {
		return "", "", err
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("it returns %s", l.Get(-1).Type())
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String(), nil
}

func toLua(l *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, item := range value {
			table.RawSetString(key, toLua(l, item))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, item := range value {
			table.Append(toLua(l, item))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	}
	return lua.LNil
}

// expected is what Argo CD should say where kstatus says this.
func expected(object *unstructured.Unstructured) (string, error) {
	result, err := status.Compute(object)
	if err != nil {
		return "", err
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	paused := slices.ContainsFunc(conditions, func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["type"] == "Paused" && condition["status"] == "True"
	})
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	switch {
	case result.Status == status.FailedStatus:
		return "Degraded", nil
	case paused && observed == object.GetGeneration() && object.GetDeletionTimestamp() == nil:
		return "Suspended", nil
	case result.Status == status.CurrentStatus:
		return "Healthy", nil
	}
	return "Progressing", nil
}

// argo watches what an operator writes and asks the scripts about each version.
type argo struct {
	scripts map[string]string

	mu   sync.Mutex
	said map[string]int
	errs []error
}

// watchAsArgo watches our kinds until the test ends.
func watchAsArgo(c *cluster) *argo {
	c.Helper()
	a := &argo{scripts: healthScripts(c.T), said: map[string]int{}}
	clients, err := dynamic.NewForConfig(c.kube.RESTConfig())
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.Cleanup(cancel)
	for _, resource := range []schema.GroupVersionResource{
		{Group: "apps.mycompany.com", Version: "v1", Resource: "podmanagers"},
		{Group: "batch.tutorial.kubebuilder.io", Version: "v1alpha1", Resource: "imoocpods"},
		{Group: "test.jiaozi.com", Version: "v1alpha1", Resource: "helloworlds"},
		{Group: "collector.ip.mycompany.com", Version: "v1", Resource: "collectors"},
	} {
		events, err := clients.Resource(resource).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			c.Fatal(err)
		}
		go func() {
			for event := range events.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok && object.GetKind() != "Status" {
					a.see(object)
				}
			}
		}()
	}
	return a
}

func (a *argo) see(object *unstructured.Unstructured) {
	got, message, err := health(a.scripts[object.GetKind()+"."+object.GroupVersionKind().Group], object.Object)
	want, problem := expected(object)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said[object.GetKind()+" "+got]++
	if err != nil || problem != nil || got != want || message == "" {
		tree, _ := yaml.Marshal(object.Object["status"])
		a.errs = append(a.errs, fmt.Errorf("%s %s: the script says %s (%s), want %s: %w %w\n%s",
			object.GetKind(), object.GetName(), got, message, want, err, problem, tree))
	}
}

// expect waits until each of these was said, and fails where a script erred.
func (a *argo) expect(t *testing.T, states ...string) {
	t.Helper()
	testkit.Eventually(t, "the scripts have said all of that", func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, state := range states {
			if a.said[state] == 0 {
				return fmt.Errorf("nothing was %s; they said %v", state, slices.Sorted(maps.Keys(a.said)))
			}
		}
		return nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, err := range a.errs {
		t.Error(err)
	}
}
