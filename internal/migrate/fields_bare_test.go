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
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// setAnew are the fields that every running pod has, because the scheduler or the API server
// sets them. They are left out of the template, and a new pod gets its own.
var setAnew = []string{"spec.nodeName", "spec.priority", "spec.preemptionPolicy", "spec.serviceAccount"}

// bareFields are the fields of a pod without a controller.
func bareFields(t *testing.T) *fate {
	f := &fate{}
	var anew []string
	leaves("template", reflect.TypeFor[corev1.PodTemplateSpec](), func(v reflect.Value) reflect.Value { return v }, func(path string, put func(reflect.Value)) {
		if skipped(path) {
			return
		}
		pod := plainest()
		put(reflect.ValueOf(&pod).Elem())
		field := strings.TrimPrefix(path, "template.")
		w := bareWorkload(t, &pod)
		asked, _, _ := unstructured.NestedFieldNoCopy(content(&pod), strings.Split(field, ".")...)
		is, left, _ := unstructured.NestedFieldNoCopy(content(w.Spec.Template), strings.Split(field, ".")...)
		switch {
		case strings.Contains(w.Obstacle(), field[strings.LastIndexByte(field, '.')+1:]):
			f.refused = append(f.refused, "`"+field+"`")
		case slices.ContainsFunc(w.Losses, func(l string) bool { return strings.HasPrefix(l, field+" ") }):
			f.lost = append(f.lost, "`"+field+"`")
		case slices.Contains(setAnew, field) && !left:
			anew = append(anew, "`"+field+"`")
		case cmp.Equal(asked, is):
			f.kept = append(f.kept, "`"+path+"`")
		default:
			t.Errorf("%s is %v, in the template %v, and nothing says so (obstacle %q, lost %q)", field, asked, is, w.Obstacle(), w.Losses)
		}
	})
	if len(anew) != len(setAnew) {
		t.Errorf("set anew are %v, want %v", anew, setAnew)
	}
	f.lost = append(f.lost, "not listed, because the cluster sets it for each pod: "+strings.Join(anew, ", "))
	return f
}

func bareWorkload(t *testing.T, asked *corev1.PodTemplateSpec) *Workload {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-a", Labels: asked.Labels, Annotations: asked.Annotations}, Spec: asked.Spec}
	w, err := ReadBare(t.Context(), fakeClient(t, pod.DeepCopy()), client.ObjectKey{Namespace: "shop", Name: "web"}, labels.SelectorFromSet(labels.Set{"app": "web"}))
	if err != nil {
		t.Fatal(err)
	}
	return w
}
