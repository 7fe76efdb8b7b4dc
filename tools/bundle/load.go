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

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// shipped is what config/ has of interest to OLM.
type shipped struct {
	deployment kappsv1.Deployment
	metrics    corev1.Service
	servingCA  corev1.ConfigMap
	budget     policyv1.PodDisruptionBudget
	crds       []apiextensionsv1.CustomResourceDefinition
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
	validating admissionregistrationv1.ValidatingWebhookConfiguration
	// bound are the ClusterRoles of the operator's own bindings; the other
	// ClusterRoles are for people.
	roles        map[string]rbacv1.Role
	clusterRoles map[string]rbacv1.ClusterRole
	bound        []string
	// examples are the samples, in their order.
	examples []map[string]any
}

// load renders config/; folder is what is installed of it.
func load(root, folder string) (*shipped, error) {
	objects, err := render(filepath.Join(root, "config", folder))
	if err != nil {
		return nil, err
	}
	s := &shipped{roles: map[string]rbacv1.Role{}, clusterRoles: map[string]rbacv1.ClusterRole{}}
	for _, object := range objects {
		if err := s.take(object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	// Elsewhere the operator writes the paths of the webhooks.
	webhooks, err := render(filepath.Join(root, "config", "webhook"))
	if err != nil {
		return nil, err
	}
	for _, object := range webhooks {
		if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
			if err := s.take(object); err != nil {
				return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	slices.SortFunc(s.crds, func(a, b apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	samples, err := render(filepath.Join(root, "config", "samples"))
	if err != nil {
		return nil, err
	}
	for _, sample := range samples {
		if s.has(sample.GroupVersionKind().Group) {
			s.examples = append(s.examples, sample.Object)
		}
	}
	return s, nil
}

// has says whether there is a CRD of an API group.
func (s *shipped) has(group string) bool {
	return slices.ContainsFunc(s.crds, func(crd apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Group == group })
}

func render(dir string) ([]*unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", dir, err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		raw, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &object.Object); err != nil {
			return nil, fmt.Errorf("read what %s renders: %w", dir, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// take keeps an object that OLM needs.
func (s *shipped) take(object *unstructured.Unstructured) error {
	into := func(typed any) error {
		return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true)
	}
	switch object.GetKind() {
	case "Deployment":
		return into(&s.deployment)
	case "Service":
		if strings.HasSuffix(object.GetName(), "-metrics-service") {
			return into(&s.metrics)
		}
	case "ConfigMap":
		return into(&s.servingCA)
	case "PodDisruptionBudget":
		return into(&s.budget)
	case "CustomResourceDefinition":
		var crd apiextensionsv1.CustomResourceDefinition
		defer func() { s.crds = append(s.crds, crd) }()
		return into(&crd)
	case "MutatingWebhookConfiguration":
		return into(&s.mutating)
	case "ValidatingWebhookConfiguration":
		if strings.HasSuffix(object.GetName(), "identity") {
			return nil // it is never called
		}
		return into(&s.validating)
	case "Role":
		var role rbacv1.Role
		defer func() { s.roles[role.Name] = role }()
		return into(&role)
	case "ClusterRole":
		var role rbacv1.ClusterRole
		defer func() { s.clusterRoles[role.Name] = role }()
		return into(&role)
	case "RoleBinding", "ClusterRoleBinding":
		name, _, err := unstructured.NestedString(object.Object, "roleRef", "name")
		s.bound = append(s.bound, name)
		return err
	}
	return nil
}

// almExamples are the samples as the console wants them.
func (s *shipped) almExamples() (string, error) {
	raw, err := json.MarshalIndent(s.examples, "", "  ")
	return string(raw), err
}
