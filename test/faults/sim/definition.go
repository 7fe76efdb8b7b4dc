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

package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// Definition is the CRD of PodManagers. With it the server fills in defaults and
// refuses what a real one would, with the API server's own code, so that users can
// try everything, and only what is allowed happens.
type Definition struct {
	structural *structuralschema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

// ReadDefinition reads the CRD from the root of the repository.
func ReadDefinition(root string) (*Definition, error) {
	raw, err := os.ReadFile(filepath.Join(filepath.Clean(root), "config", "crd", "bases", "apps.mycompany.com_podmanagers.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return nil, fmt.Errorf("read the CRD: %w", err)
	}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == appsv1.GroupVersion.Version {
			return compile(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
	}
	return nil, fmt.Errorf("the CRD has no version %s", appsv1.GroupVersion.Version)
}

func compile(props *apiextensionsv1.JSONSchemaProps) (*Definition, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		return nil, fmt.Errorf("convert the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	values, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	return &Definition{structural: structural, values: values, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// admit fills in the defaults of an object, or says why it is refused. before is nil
// for a create.
func (d *Definition) admit(pm, before *appsv1.PodManager) (*appsv1.PodManager, error) {
	next, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pm)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", pm.Name, err)
	}
	defaulting.Default(next, d.structural)
	var old any
	var problems field.ErrorList
	if before == nil {
		problems = validation.ValidateCustomResource(nil, next, d.values)
	} else {
		was, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", pm.Name, err)
		}
		old = was
		problems = validation.ValidateCustomResourceUpdate(nil, next, was, d.values)
	}
	if len(problems) == 0 {
		problems, _ = d.rules.Validate(context.Background(), nil, d.structural, next, old, celconfig.RuntimeCELCostBudget)
	}
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: appsv1.GroupVersion.Group, Kind: "PodManager"}, pm.Name, problems)
	}
	admitted := &appsv1.PodManager{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(next, admitted); err != nil {
		return nil, fmt.Errorf("decode %s: %w", pm.Name, err)
	}
	if problems := withoutImage(admitted); len(problems) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: appsv1.GroupVersion.Group, Kind: "PodManager"}, pm.Name, problems)
	}
	return admitted, nil
}

// withoutImage is what the trial of the pod finds: "If the API server finds a field of the
// pod invalid, the webhook refuses the PodManager". Drawn edits make no other field
// invalid.
func withoutImage(pm *appsv1.PodManager) (problems field.ErrorList) {
	at := field.NewPath("spec", "template", "spec", "containers")
	for i, c := range oracle.WantedTemplate(pm).Spec.Containers {
		if c.Image == "" {
			problems = append(problems, field.Required(at.Index(i).Child("image"), ""))
		}
	}
	return problems
}
