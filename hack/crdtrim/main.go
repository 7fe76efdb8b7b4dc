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

// Command crdtrim makes generated CRDs fit for a plain client-side apply, and
// has them admit only what can be decoded.
//
//	crdtrim FILE...
//
// A PodTemplateSpec's schema with its descriptions is larger than the 256 KiB
// that kubectl's last-applied annotation may hold, so the descriptions inside
// every embedded pod template and volume claim go; those of our own fields stay. The template's
// container lists get bounds (the name's is the API's own), because the API
// server refuses a CEL rule over a list whose cost it cannot bound.
//
// Numbers, numbers or strings, quantities and times get the bounds of their Go types.
// Without them the API server stores what no typed client can decode, and one
// such object would keep every other from being listed.
package main

import (
	"fmt"
	"math"
	"os"

	"sigs.k8s.io/yaml"
)

// maxContainers bounds the container lists. No node runs a pod with so many.
const maxContainers = 256

// quantity is what resource.ParseQuantity reads. The generated pattern also
// admits exponents that are no whole numbers, and 1e-999999999, which it computes
// for hours.
const quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`

// moment is what metav1.Time reads. The format date-time also admits lower case and
// offsets of 99 hours.
const moment = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

// maxQuantityLength is more than any quantity needs.
const maxQuantityLength = 64

// maxNameLength is the length of a DNS label, which container names are.
const maxNameLength = 63

func main() {
	for _, path := range os.Args[1:] {
		if err := trimFile(path); err != nil {
			fmt.Fprintf(os.Stderr, "crdtrim: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func trimFile(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return err
	}
	for _, version := range list(object(crd, "spec"), "versions") {
		schema := object(version.(map[string]any), "schema", "openAPIV3Schema")
		spec := object(schema, "properties", "spec", "properties")
		dropDescriptions(object(spec, "template", "properties"))
		boundContainers(object(spec, "template", "properties", "spec", "properties"))
		dropDescriptions(object(spec, "volumeClaimTemplates", "items"))
		boundNumbers(schema)
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte("---\n"), out...), 0o644)
}

// dropDescriptions walks a schema. A property may itself be named
// description, so only text values go.
func dropDescriptions(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, isText := n["description"].(string); isText {
			delete(n, "description")
		}
		for _, child := range n {
			dropDescriptions(child)
		}
	case []any:
		for _, child := range n {
			dropDescriptions(child)
		}
	}
}

// boundNumbers walks a schema and bounds what is decoded into an int32, an
// IntOrString, a Quantity or a Time.
func boundNumbers(node any) {
	switch n := node.(type) {
	case map[string]any:
		_, hasPattern := n["pattern"].(string)
		switch {
		case n["x-kubernetes-int-or-string"] == true && hasPattern:
			n["pattern"], n["maxLength"] = quantity, maxQuantityLength
		case n["type"] == "string" && n["format"] == "date-time":
			setDefault(n, "pattern", moment)
		case n["x-kubernetes-int-or-string"] == true, n["type"] == "integer" && n["format"] == "int32":
			setDefault(n, "minimum", math.MinInt32)
			setDefault(n, "maximum", math.MaxInt32)
		}
		for _, child := range n {
			boundNumbers(child)
		}
	case []any:
		for _, child := range n {
			boundNumbers(child)
		}
	}
}

func setDefault(n map[string]any, key string, value any) {
	if _, set := n[key]; !set {
		n[key] = value
	}
}

func boundContainers(podSpec map[string]any) {
	for _, name := range []string{"containers", "initContainers"} {
		containers := object(podSpec, name)
		if containers == nil {
			continue
		}
		containers["maxItems"] = maxContainers
		object(containers, "items", "properties", "name")["maxLength"] = maxNameLength
	}
}

func object(from map[string]any, path ...string) map[string]any {
	for _, key := range path {
		from, _ = from[key].(map[string]any)
	}
	return from
}

func list(from map[string]any, key string) []any {
	items, _ := from[key].([]any)
	return items
}
