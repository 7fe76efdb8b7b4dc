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

package migrate

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/podrender"
)

// Difference is where a live pod is not what the template asks for.
type Difference struct {
	Pod, Field string
	Is, Asked  any
	// Harmless: the operator leaves it alone, such as a size that a vertical
	// autoscaler chose.
	Harmless bool
}

func (d Difference) String() string {
	if d.Is == nil {
		return fmt.Sprintf("%s: %s is not set, and the template says %v", d.Pod, d.Field, d.Asked)
	}
	return fmt.Sprintf("%s: %s is %v, and the template says %v", d.Pod, d.Field, d.Is, d.Asked)
}

// Compare holds every live pod against the template. A pod may have more than
// the template says: what the API server and webhooks add. Where a pod differs,
// the API server is asked, with a dry run, what it would make of the template
// today: a webhook that rewrites images does so again.
func Compare(ctx context.Context, c client.Client, w *Workload) []Difference {
	asked := content(w.Spec.Template)
	var all []Difference
	var today map[string]any
	for i := range w.Pods {
		found := differences(&w.Pods[i], asked)
		if len(found) > 0 && today == nil {
			today = tryPod(ctx, c, w)
		}
		if len(found) > 0 && today != nil {
			again := differences(&w.Pods[i], today)
			found = slices.DeleteFunc(found, func(d Difference) bool {
				return !slices.ContainsFunc(again, func(e Difference) bool { return e.Field == d.Field })
			})
		}
		all = append(all, found...)
	}
	return all
}

// tryPod is the template as the API server would store a pod of it, or nil where
// it does not say.
func tryPod(ctx context.Context, c client.Client, w *Workload) map[string]any {
	pod := &corev1.Pod{ObjectMeta: *w.Spec.Template.ObjectMeta.DeepCopy(), Spec: *w.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.GenerateName = w.Namespace, w.Name+"-"
	if err := c.Create(ctx, pod, client.DryRunAll); err != nil {
		return nil
	}
	stored := content(&corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec})
	// What admission chose for this one pod says nothing about another.
	spec, _ := stored["spec"].(map[string]any)
	asked, _ := content(w.Spec.Template)["spec"].(map[string]any)
	for _, field := range []string{"volumes", "nodeName", "hostname"} {
		delete(spec, field)
		if value, ok := asked[field]; ok {
			spec[field] = value
		}
	}
	for _, list := range []string{"containers", "initContainers"} {
		copyField(spec[list], asked[list], "volumeMounts")
	}
	return stored
}

// copyField takes one field of every element from another list.
func copyField(into, from any, field string) {
	a, _ := into.([]any)
	b, _ := from.([]any)
	for _, element := range a {
		target, _ := element.(map[string]any)
		delete(target, field)
		for _, other := range b {
			if source, _ := other.(map[string]any); source["name"] == target["name"] && source[field] != nil {
				target[field] = source[field]
			}
		}
	}
}

func differences(pod *corev1.Pod, asked map[string]any) []Difference {
	is := content(&corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec})
	v := &differ{pod: pod.Name}
	v.maps("", is, asked)
	return v.found
}

// content is a template as plain values.
func content(t *corev1.PodTemplateSpec) map[string]any {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		panic(err) // it is a known type
	}
	return values
}

// differ walks two trees and notes what the first lacks.
type differ struct {
	pod   string
	found []Difference
}

func (v *differ) maps(path string, is, asked map[string]any) {
	for _, key := range sortedKeys(asked) {
		at := strings.TrimPrefix(path+"."+key, ".")
		v.values(at, is[key], asked[key])
	}
}

func (v *differ) values(path string, is, asked any) {
	switch want := asked.(type) {
	case nil:
		return
	case map[string]any:
		have, _ := is.(map[string]any)
		v.maps(path, have, want)
		return
	case []any:
		have, _ := is.([]any)
		v.lists(path, have, want)
		return
	}
	if !reflect.DeepEqual(is, asked) {
		v.found = append(v.found, Difference{Pod: v.pod, Field: path, Is: is, Asked: asked, Harmless: harmless(path)})
	}
}

// lists: of objects, each that is asked for has to be there; others may be, too.
func (v *differ) lists(path string, is, asked []any) {
	for i, want := range asked {
		object, ok := want.(map[string]any)
		if !ok {
			if !reflect.DeepEqual(is, asked) {
				v.found = append(v.found, Difference{Pod: v.pod, Field: path, Is: is, Asked: asked, Harmless: harmless(path)})
			}
			return
		}
		if name, named := object["name"].(string); named {
			at := slices.IndexFunc(is, func(e any) bool { m, _ := e.(map[string]any); return m["name"] == name })
			if at < 0 {
				v.found = append(v.found, Difference{Pod: v.pod, Field: path, Asked: name})
				continue
			}
			have, _ := is[at].(map[string]any)
			v.maps(path+"["+name+"]", have, object)
			continue
		}
		if !slices.ContainsFunc(is, func(e any) bool { return contains(e, object) }) {
			v.found = append(v.found, Difference{Pod: v.pod, Field: fmt.Sprintf("%s[%d]", path, i), Asked: object})
		}
	}
}

// contains: everything that is asked for is there.
func contains(is any, asked map[string]any) bool {
	have, ok := is.(map[string]any)
	v := &differ{}
	v.maps("", have, asked)
	return ok && len(v.found) == 0
}

// harmless: the operator compares revisions, not these fields of pods. Sizes that
// are of no revision, and labels and annotations that others changed, stay.
func harmless(path string) bool {
	return strings.HasPrefix(path, "metadata.") || strings.Contains(path, "].resources.")
}

// sameTemplate compares two templates that come from the API server.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	return reflect.DeepEqual(content(a), content(b))
}

// sameMeaning: the operator makes the same pods of both, also where one has defaults written out.
func sameMeaning(a, b *corev1.PodTemplateSpec) bool {
	return reflect.DeepEqual(podrender.Compare(a, b), podrender.Change{})
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func without(m map[string]any, keys ...string) map[string]any {
	rest := maps.Clone(m)
	maps.DeleteFunc(rest, func(key string, _ any) bool { return slices.Contains(keys, key) })
	return rest
}
