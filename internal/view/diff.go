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

package view

import (
	"fmt"

	"github.com/pmezard/go-difflib/difflib"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"
)

// diffContext is how many lines around a change are shown.
const diffContext = 2

// TemplateDiff is what differs between two pod templates, as a unified diff of
// YAML; empty where they are equal.
func TemplateDiff(from, to *corev1.PodTemplateSpec) (string, error) {
	if equality.Semantic.DeepEqual(from, to) {
		return "", nil
	}
	var sides [2]string
	for i, template := range []*corev1.PodTemplateSpec{from, to} {
		raw, err := yaml.Marshal(template)
		if err != nil {
			return "", fmt.Errorf("print the template: %w", err)
		}
		sides[i] = string(raw)
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(sides[0]), B: difflib.SplitLines(sides[1]), FromFile: "template", ToFile: "template of the plan", Context: diffContext,
	})
}
