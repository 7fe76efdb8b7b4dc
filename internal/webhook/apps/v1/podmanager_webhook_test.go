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

package v1

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/webhook/preflight"
)

func TestPodPath(t *testing.T) {
	containers := func(names ...string) *corev1.PodTemplateSpec {
		template := &corev1.PodTemplateSpec{}
		for _, name := range names {
			template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: name})
		}
		return template
	}
	tests := map[string]struct {
		image       string
		template    *corev1.PodTemplateSpec
		field, want string
	}{
		"a field of the template":                    {template: containers("app"), field: "spec.volumes[0].name", want: "spec.template.spec.volumes[0].name"},
		"a label":                                    {image: "i", field: "metadata.labels", want: "spec.template.metadata.labels"},
		"the pod as a whole":                         {template: containers("app"), field: "", want: "spec.template"},
		"the image, by shorthand":                    {image: "i", field: "spec.containers[0].image", want: "spec.image"},
		"the image of app among others":              {image: "i", template: containers("side", "app"), field: "spec.containers[1].image", want: "spec.image"},
		"the image of another":                       {image: "i", template: containers("side", "app"), field: "spec.containers[0].image", want: "spec.template.spec.containers[0].image"},
		"the image of app where no shorthand is set": {template: containers("app"), field: "spec.containers[0].image", want: "spec.template.spec.containers[0].image"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pm := &appsv1.PodManager{Spec: appsv1.PodManagerSpec{Image: tt.image, Template: tt.template}}
			if got := podPath(pm)(tt.field); got != tt.want {
				t.Errorf("%s comes from %s, want %s", tt.field, got, tt.want)
			}
		})
	}
}

// A finalizer in a namespace that is not watched would keep the object for ever.
func TestTheFinalizerIsForWatchedNamespaces(t *testing.T) {
	tests := map[string]struct {
		scope preflight.Scope
		old   *metav1.ObjectMeta
		has   []string
		want  []string
	}{
		"all namespaces":                        {want: []string{appsv1.Finalizer}},
		"this one":                              {scope: preflight.Scope{"here"}, want: []string{appsv1.Finalizer}},
		"another":                               {scope: preflight.Scope{"there"}},
		"it is there already":                   {has: []string{appsv1.Finalizer}, want: []string{appsv1.Finalizer}},
		"an update, which may well take it off": {old: &metav1.ObjectMeta{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			metadata := &metav1.ObjectMeta{Namespace: "here", Finalizers: tt.has}
			prepare(tt.scope, metadata, tt.old)
			if diff := cmp.Diff(tt.want, metadata.Finalizers); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATakeOverNamesAWorkload(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		refused     bool
	}{
		"no annotation":                    {nil, false},
		"a Deployment":                     {map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}, false},
		"a kind of another group":          {map[string]string{appsv1.AnnotationTakeOver: "clonesets.apps.kruise.io/web.eu"}, false},
		"pods, which have no group":        {map[string]string{appsv1.AnnotationTakeOver: "pods/web"}, false},
		"no value":                         {map[string]string{appsv1.AnnotationTakeOver: ""}, true},
		"no name":                          {map[string]string{appsv1.AnnotationTakeOver: "deployments.apps"}, true},
		"an empty name":                    {map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/"}, true},
		"a kind instead of a resource":     {map[string]string{appsv1.AnnotationTakeOver: "Deployment/web"}, true},
		"a name with a namespace before":   {map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/shop/web"}, true},
		"what a shell might make of quote": {map[string]string{appsv1.AnnotationTakeOver: `"deployments.apps/web"`}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := &validator{}
			pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "here", Annotations: tt.annotations}}
			err := v.checkTakeOver(pm)
			if (err != nil) != tt.refused {
				t.Errorf("error %v, want one: %t", err, tt.refused)
			}
			if err != nil && !strings.Contains(err.Error(), appsv1.AnnotationTakeOver+" must name the workload") {
				t.Errorf("error %v, want one that says what to write", err)
			}
			// Objects from before the webhook can still be deleted.
			pm.DeletionTimestamp = &metav1.Time{}
			if err := v.checkTakeOver(pm); err != nil {
				t.Errorf("an object that goes is refused: %v", err)
			}
		})
	}
}

// A template that is too large is refused before it is compressed.
func TestATemplateIsMeasuredFirst(t *testing.T) {
	noise := make([]byte, maxTemplates)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Args: []string{base64.StdEncoding.EncodeToString(noise)}}}}}
	_, err := (&validator{}).ValidateCreate(t.Context(), &appsv1.PodManager{Spec: appsv1.PodManagerSpec{Template: template}})
	if err == nil || !strings.Contains(err.Error(), "put files into ConfigMaps") {
		t.Errorf("error %v, want one about the template", err)
	}
}

func TestKeepShard(t *testing.T) {
	label := func(value string) map[string]string { return map[string]string{appsv1.LabelShard: value} }
	const right = "27" // of default/web, among 32
	tests := map[string]struct {
		has  map[string]string
		old  *metav1.ObjectMeta
		want map[string]string
	}{
		"a new object":                              {want: label(right)},
		"a new object that brings a wrong one":      {has: label("3"), want: label(right)},
		"an edit that takes it off":                 {old: &metav1.ObjectMeta{Labels: label(right)}, want: label(right)},
		"an edit that changes it":                   {has: label("3"), old: &metav1.ObjectMeta{Labels: label(right)}, want: label(right)},
		"an edit that puts it right":                {has: label(right), old: &metav1.ObjectMeta{Labels: label("3")}, want: label(right)},
		"an edit of an old object without":          {old: &metav1.ObjectMeta{}},
		"an edit that gives an old object any":      {has: label("3"), old: &metav1.ObjectMeta{}, want: map[string]string{}},
		"an edit that gives an old object its own":  {has: label(right), old: &metav1.ObjectMeta{}, want: label(right)},
		"an edit while the number of shards shifts": {old: &metav1.ObjectMeta{Labels: label("3")}, want: label("3")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			metadata := &metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: tt.has}
			keepShard(32, metadata, tt.old)
			if diff := cmp.Diff(tt.want, metadata.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}
