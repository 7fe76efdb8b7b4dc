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
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// shelf is a cluster with PodManagers as they are stored, whatever is in them,
// for a person who may read some namespaces; "" is for all.
type shelf struct {
	objects    []string
	readable   []string
	namespaces []string
	// broken are versions that cannot be served.
	broken []string
}

func (s shelf) checkup(t *testing.T) *checkup {
	t.Helper()
	scheme := clientgoscheme.Scheme
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{List: s.list}).Build()
	return &checkup{client: c, user: "shop", configuration: "pod-operator-admission", now: func() time.Time { return noon }}
}

func (s shelf) list(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	switch list := list.(type) {
	case *corev1.NamespaceList:
		if s.namespaces == nil {
			return forbidden("namespaces")
		}
		for _, name := range s.namespaces {
			ns := corev1.Namespace{}
			ns.Name = name
			list.Items = append(list.Items, ns)
		}
		return nil
	case *appsv1.PodManagerList:
		return errors.New("json: cannot unmarshal number 9999999999 into Go value of type int32")
	case *unstructured.UnstructuredList:
		gvk := list.GroupVersionKind()
		switch {
		case gvk.Kind != "PodManagerList":
			return &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
		case slices.Contains(s.broken, gvk.Version):
			return apierrors.NewInternalError(errors.New("conversion webhook failed"))
		case !slices.Contains(s.readable, "") && !slices.Contains(s.readable, o.Namespace):
			return forbidden("podmanagers")
		}
		return s.fill(list, o.Namespace)
	}
	return errors.New("what is asked for?")
}

func (s shelf) fill(list *unstructured.UnstructuredList, namespace string) error {
	for _, raw := range s.objects {
		object := unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(raw), &object.Object); err != nil {
			return err
		}
		if namespace == "" || object.GetNamespace() == namespace {
			list.Items = append(list.Items, object)
		}
	}
	return nil
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", errors.New("no"))
}

const (
	well      = `{"metadata":{"namespace":"shop","name":"well"},"spec":{"replicas":1}}`
	elsewhere = `{"metadata":{"namespace":"farm","name":"well"},"spec":{"replicas":1}}`
	// The schema of an int-or-string takes a number that no int32 holds.
	poisoned = `{"metadata":{"namespace":"farm","name":"evil"},"spec":{"update":{"maxSurge":9999999999}}}`
	broken   = `{"metadata":{"namespace":"farm","name":"bad"},"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e1.5"}}}]}}}}`
)

// has reports whether a finding of that level says that.
func has(findings []Finding, level Level, text string) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == level && strings.Contains(f.Text, text) })
}

// Objects that the operator has to leave aside are named, with what to do.
func TestObjectsThatCannotBeDecodedAreNamed(t *testing.T) {
	findings := shelf{objects: []string{well, poisoned, broken}, readable: []string{""}}.checkup(t).work(t.Context())
	for _, want := range []string{"PodManager farm/evil cannot be decoded", "PodManager farm/bad cannot be decoded"} {
		if !has(findings, ToDo, want) {
			t.Errorf("%q is not to do in %+v", want, findings)
		}
	}
	if !has(findings, OK, "1 object can be decoded") || !has(findings, OK, "1 PodManager") {
		t.Errorf("the good one is lost: %+v", findings)
	}
	advised := slices.ContainsFunc(findings, func(f Finding) bool {
		return strings.HasPrefix(f.Advice, "kubectl edit podmanagers.apps.mycompany.com evil -n farm")
	})
	if !advised {
		t.Errorf("nothing says how to mend it: %+v", findings)
	}
}

// Every namespace that may be read is looked at.
func TestAllNamespacesThatMayBeReadAreLookedAt(t *testing.T) {
	all := []string{well, elsewhere, poisoned}
	for name, c := range map[string]struct {
		shelf shelf
		count string
		bad   bool
		aside string
	}{
		"all of them":                {shelf{objects: all, readable: []string{""}}, "2 objects", true, ""},
		"two, and one that is not":   {shelf{objects: all, readable: []string{"shop", "farm"}, namespaces: []string{"farm", "shop", "bank"}}, "2 objects", true, "1 namespace may hold more"},
		"one's own, if none is told": {shelf{objects: all, readable: []string{"shop", "farm"}}, "1 object can", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			findings := c.shelf.checkup(t).work(t.Context())
			if !has(findings, OK, c.count) || has(findings, ToDo, "farm/evil") != c.bad || has(findings, Note, "may hold more") != (c.aside != "") || !has(findings, Note, c.aside) && c.aside != "" {
				t.Errorf("the findings are %+v", findings)
			}
		})
	}
}

// What could not be listed is not said to be well.
func TestNothingThatCouldBeListedIsNotZeroObjects(t *testing.T) {
	for name, s := range map[string]shelf{
		"no right, and no namespace is told": {objects: []string{well}},
		"no right in any namespace":          {objects: []string{well}, namespaces: []string{"shop", "farm"}},
	} {
		t.Run(name, func(t *testing.T) {
			if findings := s.checkup(t).work(t.Context()); has(findings, OK, "") || !has(findings, Note, "may not") {
				t.Errorf("the findings are %+v", findings)
			}
		})
	}
	if findings := (shelf{readable: []string{""}}).checkup(t).work(t.Context()); !has(findings, OK, "0 objects can be decoded") {
		t.Errorf("an empty cluster is not well: %+v", findings)
	}
}

// A version that cannot be served is found, though the others can.
func TestEveryServedVersionIsRead(t *testing.T) {
	s := shelf{objects: []string{well}, readable: []string{"shop"}, broken: []string{"v1alpha1"}}
	findings := s.checkup(t).readVersions(t.Context(), []string{"v1", "v1alpha1"})
	if !has(findings, ToDo, "cannot be read as v1alpha1") || !has(findings, OK, "can be read as v1") {
		t.Errorf("the findings are %+v", findings)
	}
	s.broken = nil
	findings = s.checkup(t).readVersions(t.Context(), []string{"v1alpha1", "v1"})
	if len(findings) != 1 || !has(findings, OK, "can be read as v1 and v1alpha1") {
		t.Errorf("the findings are %+v", findings)
	}
}
