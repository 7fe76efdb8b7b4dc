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
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	problems "github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// write writes the bundle anew.
func write(o options, csv *operatorsv1alpha1.ClusterServiceVersion, s *shipped) error {
	folder := filepath.Join(o.out, "manifests")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.MkdirAll(filepath.Join(o.out, "metadata"), 0o755)); err != nil {
		return err
	}
	files := map[string]any{packageName + ".clusterserviceversion.yaml": csv}
	for i := range s.crds {
		crd := s.crds[i].DeepCopy()
		crd.Labels, crd.Status.Conditions = nil, nil
		crd.Spec.Conversion = nil // one version is served, and none other was ever stored
		names := crd.Spec.Names
		files[crd.Spec.Group+"_"+names.Plural+".yaml"] = crd
	}
	for _, name := range slices.Sorted(maps.Keys(s.clusterRoles)) {
		if role := s.clusterRoles[name]; !slices.Contains(s.bound, name) {
			files[name+".clusterrole.yaml"] = &role
		}
	}
	metrics := s.metrics.DeepCopy()
	metrics.Namespace = "" // OLM puts it where the operator is
	files[metrics.Name+".service.yaml"] = metrics
	servingCA := s.servingCA.DeepCopy()
	servingCA.Namespace = ""
	files[servingCA.Name+".configmap.yaml"] = servingCA
	budget := s.budget.DeepCopy()
	budget.Namespace = ""
	files[budget.Name+".poddisruptionbudget.yaml"] = budget
	for name, object := range files {
		if err := writeYAML(filepath.Join(folder, name), object); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	annotations := map[string]any{"annotations": metadata(o)}
	if err := writeYAML(filepath.Join(o.out, "metadata", "annotations.yaml"), annotations); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "bundle.Dockerfile"), []byte(dockerfile(o)), 0o644)
}

func metadata(o options) map[string]string {
	return map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1":       "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1":       "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":        "metadata/",
		"operators.operatorframework.io.bundle.package.v1":         packageName,
		"operators.operatorframework.io.bundle.channels.v1":        o.channel,
		"operators.operatorframework.io.bundle.channel.default.v1": o.channel,
	}
}

// dockerfile builds the bundle's image, from the folder that it is in.
func dockerfile(o options) string {
	text := "FROM scratch\n\n"
	labels := metadata(o)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		text += fmt.Sprintf("LABEL %s=%s\n", key, labels[key])
	}
	return text + "\nCOPY manifests /manifests/\nCOPY metadata /metadata/\n"
}

// writeYAML writes an object without its status and without times that are not set.
func writeYAML(path string, object any) error {
	if typed, ok := object.(runtime.Object); ok {
		tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			return err
		}
		delete(tree, "status")
		unstructured.RemoveNestedField(tree, "metadata", "creationTimestamp")
		object = tree
	}
	raw, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}

// judge has the validators look at a bundle.
func judge(dir string) (warnings []string, err error) {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	objects := bundle.ObjectsToValidate()
	validators := slices.Concat(validation.DefaultBundleValidators, validator.Validators{
		validation.OperatorHubV2Validator, validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator,
		validation.ObjectValidator, validation.GoodPracticesValidator, validation.AlphaDeprecatedAPIsValidator,
	})
	var errs []error
	for _, v := range validators {
		for _, result := range v.Validate(objects...) {
			for _, e := range result.Errors {
				errs = append(errs, plain(e))
			}
			for _, w := range result.Warnings {
				warnings = append(warnings, plain(w).Error())
			}
		}
	}
	slices.Sort(warnings)
	return slices.Compact(warnings), errors.Join(errs...)
}

func plain(e problems.Error) error { return errors.New(e.Detail) }
