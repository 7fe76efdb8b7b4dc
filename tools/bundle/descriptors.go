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
	"maps"
	"slices"
	"strings"
	"unicode"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// How the console shows a field that is not plain text.
const (
	number     = "urn:alm:descriptor:com.tectonic.ui:number"
	text       = "urn:alm:descriptor:com.tectonic.ui:text"
	toggle     = "urn:alm:descriptor:com.tectonic.ui:booleanSwitch"
	podCount   = "urn:alm:descriptor:com.tectonic.ui:podCount"
	choice     = "urn:alm:descriptor:com.tectonic.ui:select:"
	conditions = "urn:alm:descriptor:io.kubernetes.conditions"
)

// descriptors describe the simple fields of the spec and the status, from the
// schema: what it says of a field is what the console shows.
func descriptors(schema *apiextensionsv1.JSONSchemaProps) (spec []operatorsv1alpha1.SpecDescriptor, status []operatorsv1alpha1.StatusDescriptor) {
	spec = fields(schema.Properties["spec"])
	for _, f := range fields(schema.Properties["status"]) {
		status = append(status, operatorsv1alpha1.StatusDescriptor(f))
	}
	return spec, status
}

func fields(schema apiextensionsv1.JSONSchemaProps) []operatorsv1alpha1.SpecDescriptor {
	var all []operatorsv1alpha1.SpecDescriptor
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		if shown := widget(name, &field); shown != nil && field.Description != "" {
			all = append(all, operatorsv1alpha1.SpecDescriptor{
				Path: name, DisplayName: title(name), Description: firstSentence(field.Description), XDescriptors: shown,
			})
		}
	}
	return all
}

// widget is how to show a field; nil leaves it to the YAML.
func widget(name string, field *apiextensionsv1.JSONSchemaProps) []string {
	switch {
	case name == "conditions":
		return []string{conditions}
	case name == "replicas" || name == "size":
		return []string{podCount}
	case len(field.Enum) > 0:
		var choices []string
		for _, value := range field.Enum {
			choices = append(choices, choice+strings.Trim(string(value.Raw), `"`))
		}
		return choices
	case field.Type == "boolean":
		return []string{toggle}
	case field.Type == "integer":
		return []string{number}
	case field.Type == "string":
		return []string{text}
	}
	return nil
}

// title makes "Revision History Limit" of revisionHistoryLimit.
func title(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case i == 0:
			r = unicode.ToUpper(r)
		case unicode.IsUpper(r):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
