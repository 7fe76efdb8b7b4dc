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

package webhooks

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// badInput is something that is refused, and the sentence that its writer gets.
type badInput struct {
	gvk schema.GroupVersionKind
	// name is "bad" unless it is the name that is bad.
	name string
	spec string
	// patch makes the object bad, which is good without it; through is the
	// version it is sent to, where it is not the object's own.
	patch   string
	through string
	want    string
}

var (
	podManager  = schema.GroupVersionKind{Group: "apps.mycompany.com", Version: "v1", Kind: "PodManager"}
	oldManager  = schema.GroupVersionKind{Group: "apps.mycompany.com", Version: "v1alpha1", Kind: "PodManager"}
	imoocPod    = schema.GroupVersionKind{Group: "batch.tutorial.kubebuilder.io", Version: "v1alpha1", Kind: "ImoocPod"}
	helloWorld  = schema.GroupVersionKind{Group: "test.jiaozi.com", Version: "v1alpha1", Kind: "HelloWorld"}
	collectorOf = schema.GroupVersionKind{Group: "collector.ip.mycompany.com", Version: "v1", Kind: "Collector"}
)

// TestBadInput sends what must not get in to a real API server, as kubectl
// does, with strict field validation. The message is compared to the letter:
// it is what a person sees.
func TestBadInput(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	if n := len(badInputs()); n < 40 {
		t.Errorf("only %d bad inputs", n)
	}
	for name, in := range badInputs() {
		t.Run(name, func(t *testing.T) {
			got, err := send(t, ns, in)
			if err != nil {
				t.Fatal(err)
			}
			if got != in.want {
				t.Errorf("the message is\n%s\nwant\n%s", got, in.want)
			}
		})
	}
}

// send returns the message with which an input was refused.
func send(t testing.TB, ns string, in badInput) (string, error) {
	t.Helper()
	c := client.WithFieldValidation(suite.Client, "Strict")
	object, err := in.object(ns)
	if err != nil {
		return "", err
	}
	err = c.Create(t.Context(), object)
	if in.patch != "" {
		if err != nil {
			return "", fmt.Errorf("create what is good: %w", err)
		}
		defer func() { remove(t, object) }()
		patch, jsonErr := yaml.YAMLToJSON([]byte(in.patch))
		if jsonErr != nil {
			return "", jsonErr
		}
		target := object.DeepCopy()
		if in.through != "" {
			target.SetAPIVersion(in.gvk.Group + "/" + in.through)
		}
		err = c.Patch(t.Context(), target, client.RawPatch(types.MergePatchType, patch))
	}
	if err == nil {
		return "", fmt.Errorf("it was taken")
	}
	return strings.ReplaceAll(err.Error(), ns, "NAMESPACE"), nil
}

func (in badInput) object(ns string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(in.gvk)
	object.SetNamespace(ns)
	if object.SetName(in.name); in.name == "" {
		object.SetName("bad")
	}
	var spec any
	if err := yaml.Unmarshal([]byte(in.spec), &spec); err != nil {
		return nil, err
	}
	if spec != nil {
		object.Object["spec"] = spec
	}
	return object, nil
}
