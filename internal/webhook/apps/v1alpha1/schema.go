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

package v1alpha1

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=podmanagers.apps.mycompany.com,verbs=get

const crdName = "podmanagers.apps.mycompany.com"

// schema checks v1 PodManagers as the API server would: by the CRD that is
// installed, with the API server's own code.
type schema struct {
	reader client.Reader

	mu sync.Mutex
	// version is the CRD's resourceVersion that compiled was made from.
	version  string
	compiled *compiled
}

type compiled struct {
	structural *structuralschema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

func newSchema(reader client.Reader) *schema { return &schema{reader: reader} }

// check returns what v1's schema has against an object.
func (s *schema) check(ctx context.Context, object map[string]any) (field.ErrorList, error) {
	c, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	defaulting.Default(object, c.structural)
	problems := validation.ValidateCustomResource(nil, object, c.values)
	if len(problems) > 0 {
		// Rules may stumble over values of the wrong shape.
		return problems, nil
	}
	problems, _ = c.rules.Validate(ctx, nil, c.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return problems, nil
}

// get compiles the schema once for each version of the CRD.
func (s *schema) get(ctx context.Context) (*compiled, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := s.reader.Get(ctx, client.ObjectKey{Name: crdName}, &crd); err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crdName, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compiled != nil && s.version == crd.ResourceVersion {
		return s.compiled, nil
	}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name != appsv1.GroupVersion.Version {
			continue
		}
		c, err := compile(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("compile the schema of %s: %w", crdName, err)
		}
		s.version, s.compiled = crd.ResourceVersion, c
		return c, nil
	}
	return nil, fmt.Errorf("CustomResourceDefinition %s has no version %s", crdName, appsv1.GroupVersion.Version)
}

func compile(props *apiextensionsv1.JSONSchemaProps) (*compiled, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	values, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &compiled{structural: structural, values: values, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}
