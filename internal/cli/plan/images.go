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

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// every means all containers, as in kubectl set image.
const every = "*"

// parseImage reads IMAGE or CONTAINER=IMAGE.
func parseImage(word string) (container, image string, err error) {
	container, image, named := strings.Cut(word, "=")
	if !named {
		container, image = "", word
	}
	if image == "" || named && container == "" {
		return "", "", fmt.Errorf("--set-image %q: give IMAGE or CONTAINER=IMAGE", word)
	}
	return container, image, nil
}

// setImage changes an image in the spec of a PodManager. spec.image is the image
// of the container app, and of the only one where the template has none.
func setImage(spec map[string]any, container, image string) error {
	containers := containersOf(spec, "containers")
	initial := containersOf(spec, "initContainers")
	names := namesOf(slices.Concat(containers, initial))
	if len(containers) == 0 {
		names = append(names, appsv1.AppContainer)
	}
	if container == "" {
		container = appsv1.AppContainer
		if !slices.Contains(names, container) {
			return fmt.Errorf("there is no container %s: give CONTAINER=IMAGE, where the containers are %s", container, strings.Join(names, ", "))
		}
		spec["image"] = image
		return nil
	}
	if container != every && !slices.Contains(names, container) {
		return fmt.Errorf("there is no container %s: the containers are %s", container, strings.Join(names, ", "))
	}
	_, shorthand := spec["image"]
	for _, c := range slices.Concat(containers, initial) {
		if container == every || c["name"] == container {
			c["image"] = image
		}
	}
	if (shorthand || len(containers) == 0) && (container == every || container == appsv1.AppContainer) {
		spec["image"] = image
	}
	return nil
}

// setOnlyImage is for v1alpha1, which shows one image.
func setOnlyImage(spec map[string]any, container, image string) error {
	if container != "" && container != every && container != appsv1.AppContainer {
		return errors.New("v1alpha1 shows one image: give --set-image IMAGE, or a file of " + appsv1.GroupVersion.String())
	}
	spec["image"] = image
	return nil
}

// containersOf are containers of the template. They are those of the spec, not
// copies.
func containersOf(spec map[string]any, field string) []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(spec, "template", "spec", field)
	items, _ := list.([]any)
	var containers []map[string]any
	for _, item := range items {
		if c, ok := item.(map[string]any); ok {
			containers = append(containers, c)
		}
	}
	return containers
}

func namesOf(containers []map[string]any) []string {
	var names []string
	for _, c := range containers {
		if name, ok := c["name"].(string); ok {
			names = append(names, name)
		}
	}
	return names
}
