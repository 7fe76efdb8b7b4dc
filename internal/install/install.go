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

// Package install puts manifests on a cluster: it renders a kustomize folder in
// process and applies the objects server-side, in kustomize's order, waiting
// for each CRD to be served before anything of its kind follows. The
// playground and the tests install exactly what config/ ships through it.
package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// fieldOwner is who the installed fields belong to.
const fieldOwner = "pod-operator-install"

// Render builds a kustomize folder.
func Render(dir string) ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // namespaces and CRDs first
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", dir, err)
	}
	objects := make([]*unstructured.Unstructured, 0, resources.Size())
	for _, r := range resources.Resources() {
		raw, err := r.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", dir, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &object.Object); err != nil {
			return nil, fmt.Errorf("read what %s renders: %w", dir, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// Apply applies objects and waits until their CRDs are served.
func Apply(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	for _, object := range objects {
		// The object is used again by callers; Apply writes the answer into it.
		body := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := c.Apply(ctx, body, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := waitServed(ctx, c, object.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// waitServed waits until the API server serves a CRD's kind.
func waitServed(ctx context.Context, c client.Client, name string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if last = c.Get(ctx, client.ObjectKey{Name: name}, &crd); last != nil {
			return false, nil
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		last = errors.New("it is not established yet")
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait until CustomResourceDefinition %s is served: %w", name, errors.Join(err, last))
	}
	return nil
}
