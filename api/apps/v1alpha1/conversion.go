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
	"maps"

	"k8s.io/apimachinery/pkg/runtime"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// ToHub turns a v1alpha1 PodManager into the v1 PodManager that it stands for.
// Both are JSON objects; the argument is not changed. The only error is
// ErrTooLarge.
func ToHub(spoke map[string]any) (map[string]any, error) {
	hub := runtime.DeepCopyJSON(spoke)
	hub["apiVersion"] = appsv1.GroupVersion.String()
	keep := takeKept(hub)
	if child(child(hub, "metadata"), "labels")[LabelTooLarge] == tooLarge {
		return nil, ErrTooLarge
	}

	spec := maps.Clone(keep.Spec)
	if spec == nil {
		spec = map[string]any{}
	}
	from := child(hub, "spec")
	move(from, "size", spec, "replicas")
	// A typed client writes an empty image where it was shown none.
	if image, ok := from["image"]; ok && image != "" {
		if shown := container(spec, keep.ImageOf); shown != nil {
			shown["image"] = image
		} else {
			spec["image"] = image
		}
	}
	hub["spec"] = spec

	status := maps.Clone(keep.Status)
	if _, ok := hub["status"]; ok && status == nil {
		status = map[string]any{}
	}
	if status != nil {
		move(child(hub, "status"), "nodes", status, "nodes")
		hub["status"] = status
	}
	return hub, nil
}

// FromHub turns a v1 PodManager into the v1alpha1 PodManager that shows it.
// Both are JSON objects; the argument is not changed. It fits when v1alpha1 can
// carry all that v1 says; otherwise the result can be looked at and ToHub
// refuses it.
func FromHub(hub map[string]any) (spoke map[string]any, fits bool) {
	spoke = runtime.DeepCopyJSON(hub)
	spoke["apiVersion"] = GroupVersion.String()
	// A v1 object has these only if they were copied. They are dropped unread: a
	// kilobyte of the annotation may unpack to a hundred thousand values.
	takeText(spoke)
	if metadata := child(spoke, "metadata"); child(metadata, "labels")[LabelTooLarge] != nil {
		drop(metadata, "labels", LabelTooLarge)
	}

	var keep kept
	spec := map[string]any{}
	if from := child(spoke, "spec"); from != nil {
		move(from, "replicas", spec, "size")
		move(from, "image", spec, "image")
		if _, ok := spec["image"]; !ok {
			keep.ImageOf = appContainer(from)
			if image, ok := container(from, keep.ImageOf)["image"]; ok {
				spec["image"] = image
			}
		}
		keep.Spec = from
	}
	spoke["spec"] = spec

	if from, ok := spoke["status"].(map[string]any); ok {
		status := map[string]any{}
		move(from, "nodes", status, "nodes")
		keep.Status = from
		spoke["status"] = status
	}
	return spoke, keep.putOn(spoke)
}

// appContainer names the container whose image v1alpha1 shows where v1 has no
// image of its own: app, or else the first.
func appContainer(spec map[string]any) string {
	if container(spec, appsv1.AppContainer) != nil {
		return appsv1.AppContainer
	}
	containers, _ := child(child(spec, "template"), "spec")["containers"].([]any)
	if len(containers) == 0 {
		return ""
	}
	first, _ := containers[0].(map[string]any)
	name, _ := first["name"].(string)
	return name
}

// container finds a container of a v1 spec's template by name.
func container(spec map[string]any, name string) map[string]any {
	if name == "" {
		return nil
	}
	containers, _ := child(child(spec, "template"), "spec")["containers"].([]any)
	for _, item := range containers {
		if c, ok := item.(map[string]any); ok && c["name"] == name {
			return c
		}
	}
	return nil
}

func child(object map[string]any, key string) map[string]any {
	c, _ := object[key].(map[string]any)
	return c
}

// move takes a value, where there is one, from one object to another.
func move(from map[string]any, key string, to map[string]any, name string) {
	if value, ok := from[key]; ok {
		to[name] = value
		delete(from, key)
	}
}
