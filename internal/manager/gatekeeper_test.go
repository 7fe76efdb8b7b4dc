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

package manager

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/crdgate"
)

// cachedCRD has the metadata of every CRD.
type cachedCRD struct{ client.Reader }

func (cachedCRD) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetName(key.Name)
	obj.SetResourceVersion("2")
	return nil
}

// liveCRD answers with one CRD, or with an error.
type liveCRD struct {
	client.Reader
	crd apiextensionsv1.CustomResourceDefinition
	err error
}

func (l *liveCRD) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*apiextensionsv1.CustomResourceDefinitionList).Items = []apiextensionsv1.CustomResourceDefinition{l.crd}
	return l.err
}

// A CRD that cannot be read for a moment does not stop its controller; one that
// loses fields does, and the readiness probe says so until it is mended.
func TestAKindIsStoppedOnlyForWhatItsCRDSays(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	live := &liveCRD{err: errors.New("the server is busy")}
	gate := crdgate.New(&informertest.FakeInformers{Scheme: scheme}, &appsv1.PodManager{}, appsv1.GroupVersion.WithKind("PodManager"))
	if err := gate.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := &gatekeeper{
		cache: cachedCRD{}, live: live, log: logr.Discard(), gates: map[string]*crdgate.Gate{podManagerCRD: gate},
		refused: map[string]string{}, looked: map[string]string{},
	}
	look := func() error {
		_, err := d.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: podManagerCRD}})
		return err
	}

	if err := look(); err == nil || !strings.Contains(err.Error(), "the server is busy") {
		t.Errorf("a CRD that cannot be read: %v", err)
	}
	if !gate.IsOpen() || d.ready(nil) != nil {
		t.Errorf("the controller stopped, or the operator is not ready: %v", d.ready(nil))
	}

	live.err = nil
	live.crd = apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: podManagerCRD, ResourceVersion: "2"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1", Served: true, Storage: true}, {Name: "v1alpha1", Served: true},
		}},
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	if gate.IsOpen() || d.ready(nil) == nil {
		t.Error("the controller goes on though fields get lost")
	}
}
