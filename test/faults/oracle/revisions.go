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

package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TemplateOf is the template that a stored revision holds, as in a StatefulSet's:
// under spec.template.
func TemplateOf(revision *kappsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var data struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("read revision %s: %w", revision.Name, err)
	}
	return &data.Spec.Template, nil
}

// WantedTemplate is the template of a PodManager as docs/api.md explains it: image is
// "shorthand for a template with one container named app. Where a template is set
// too, it is the image of the template's container app". serviceName is the pods'
// subdomain. Where the template names no app label, it is the PodManager's name.
func WantedTemplate(pm *appsv1.PodManager) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	if pm.Spec.Template != nil {
		t = pm.Spec.Template.DeepCopy()
	}
	if len(t.Spec.Containers) == 0 {
		t.Spec.Containers = []corev1.Container{{Name: appsv1.AppContainer}}
	}
	for i := range t.Spec.Containers {
		if c := &t.Spec.Containers[i]; c.Name == appsv1.AppContainer && pm.Spec.Image != "" {
			c.Image = pm.Spec.Image
		}
	}
	if _, ok := t.Labels[appsv1.LabelApp]; !ok {
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[appsv1.LabelApp] = pm.Name
	}
	if pm.Spec.ServiceName != "" {
		t.Spec.Subdomain = pm.Spec.ServiceName
	}
	return t
}

// SameTemplate compares two templates by meaning: "1000m equals 1, and an empty
// list equals no list".
func SameTemplate(a, b *corev1.PodTemplateSpec) bool {
	left, right := plain(a), plain(b)
	return within("", left, right) == "" && within("", right, left) == ""
}

// Differs says where a pod is not what a template asks for, or nothing: what the
// template sets, the pod has. What the API server, a webhook or the operator added
// is no difference, and a volume of a claim template is that of the pod's claim.
// Sizes that another client chose are compared as well: the caller knows who wrote
// them.
func Differs(pod *corev1.Pod, template *corev1.PodTemplateSpec, claims []string) string {
	t := template.DeepCopy()
	t.Spec.Volumes = slices.DeleteFunc(t.Spec.Volumes, func(v corev1.Volume) bool { return slices.Contains(claims, v.Name) })
	want := map[string]any{"labels": t.Labels, "annotations": t.Annotations, "spec": t.Spec}
	have := map[string]any{"labels": pod.Labels, "annotations": pod.Annotations, "spec": pod.Spec}
	return within("", plain(want), plain(have))
}

// plain is an object as JSON has it, without what is empty.
func plain(obj any) any {
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(err) // API types can be marshalled
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	return prune(value)
}

func prune(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			if child = prune(child); child == nil {
				delete(value, key)
			} else {
				value[key] = child
			}
		}
		if len(value) == 0 {
			return nil
		}
	case []any:
		for i := range value {
			value[i] = prune(value[i])
		}
		if len(value) == 0 {
			return nil
		}
	}
	return value
}

// within names the first field that is set in want and different in have.
func within(path string, want, have any) string {
	switch want := want.(type) {
	case nil:
		return ""
	case map[string]any:
		other, _ := have.(map[string]any)
		for _, key := range sortedKeys(want) {
			if at := within(path+"."+key, want[key], other[key]); at != "" {
				return at
			}
		}
		return ""
	case []any:
		other, _ := have.([]any)
		for i := range want {
			if at := within(path+"["+strconv.Itoa(i)+"]", want[i], partner(want[i], i, other)); at != "" {
				return at
			}
		}
		return ""
	}
	if want == have || sameQuantity(path, want, have) {
		return ""
	}
	return strings.TrimPrefix(path, ".")
}

// partner finds the element of a list that one of another list is compared with:
// that of the same name, or else the one in its place.
func partner(element any, at int, list []any) any {
	if object, ok := element.(map[string]any); ok && object["name"] != nil {
		for _, other := range list {
			if o, ok := other.(map[string]any); ok && o["name"] == object["name"] {
				return other
			}
		}
		return nil
	}
	if at < len(list) {
		return list[at]
	}
	return nil
}

func sameQuantity(path string, a, b any) bool {
	if !strings.Contains(path, ".resources.") {
		return false
	}
	left, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	right, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && left.Cmp(right) == 0
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
