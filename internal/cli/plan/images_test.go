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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
)

const twoContainers = `{template: {spec: {initContainers: [{name: setup, image: busybox:1}], containers: [{name: web, image: nginx:1}, {name: proxy, image: envoy:1}]}}}`

func TestFlagsChangeWhatTheyName(t *testing.T) {
	podManager, alpha := kinds[desired.PodManagerGVK], kinds[appsv1alpha1.GroupVersion.WithKind("PodManager")]
	imoocPod, helloWorld := kinds[desired.ImoocPodGVK], kinds[desired.HelloWorldGVK]
	five := int32(5)
	for name, c := range map[string]struct {
		kind  kind
		edits edits
		spec  string
		want  string
		fails string
	}{
		"nothing":                                    {podManager, edits{}, "{image: nginx:1}", "{image: nginx:1}", ""},
		"the image":                                  {podManager, edits{images: []string{"nginx:2"}}, "{image: nginx:1}", "{image: nginx:2}", ""},
		"the image where there is none":              {podManager, edits{images: []string{"nginx:2"}}, "{}", "{image: nginx:2}", ""},
		"the container app by its name":              {podManager, edits{images: []string{"app=nginx:2"}}, "{image: nginx:1}", "{image: nginx:2}", ""},
		"an image with a digest":                     {podManager, edits{images: []string{"app=nginx@sha256:0123"}}, "{image: nginx:1}", "{image: 'nginx@sha256:0123'}", ""},
		"an app in the template":                     {podManager, edits{images: []string{"app=nginx:2"}}, "{template: {spec: {containers: [{name: app, image: nginx:1}]}}}", "{template: {spec: {containers: [{name: app, image: nginx:2}]}}}", ""},
		"an app in both, of which spec.image counts": {podManager, edits{images: []string{"app=nginx:2"}}, "{image: nginx:1, template: {spec: {containers: [{name: app}]}}}", "{image: nginx:2, template: {spec: {containers: [{name: app, image: nginx:2}]}}}", ""},
		"one container":                              {podManager, edits{images: []string{"proxy=envoy:2"}}, twoContainers, strings.Replace(twoContainers, "envoy:1", "envoy:2", 1), ""},
		"two containers":                             {podManager, edits{images: []string{"proxy=envoy:2", "setup=busybox:2"}}, twoContainers, strings.NewReplacer("envoy:1", "envoy:2", "busybox:1", "busybox:2").Replace(twoContainers), ""},
		"all containers":                             {podManager, edits{images: []string{"*=all:2"}}, twoContainers, strings.NewReplacer("envoy:1", "all:2", "busybox:1", "all:2", "nginx:1", "all:2").Replace(twoContainers), ""},
		"a container that is not there":              {podManager, edits{images: []string{"db=pg:2"}}, twoContainers, "", "there is no container db: the containers are web, proxy, setup"},
		"no container, and none is app":              {podManager, edits{images: []string{"nginx:2"}}, twoContainers, "", "give CONTAINER=IMAGE, where the containers are web, proxy, setup"},
		"another container than the only":            {podManager, edits{images: []string{"db=pg:2"}}, "{image: nginx:1}", "", "there is no container db: the containers are app"},
		"no image":                                   {podManager, edits{images: []string{"app="}}, "{image: nginx:1}", "", "give IMAGE or CONTAINER=IMAGE"},
		"replicas":                                   {podManager, edits{replicas: &five}, "{image: nginx:1}", "{image: nginx:1, replicas: 5}", ""},
		"the size of v1alpha1":                       {alpha, edits{replicas: &five, images: []string{"nginx:2"}}, "{size: 1, image: nginx:1}", "{size: 5, image: nginx:2}", ""},
		"the only image of v1alpha1":                 {alpha, edits{images: []string{"proxy=envoy:2"}}, "{image: nginx:1}", "", "v1alpha1 shows one image"},
		"the replicas of an ImoocPod":                {imoocPod, edits{replicas: &five}, "{}", "{replicas: 5}", ""},
		"the size of a HelloWorld":                   {helloWorld, edits{replicas: &five}, "{size: 1}", "{size: 5}", ""},
		"the image of a HelloWorld":                  {helloWorld, edits{images: []string{"nginx:2"}}, "{size: 1}", "", "cannot be set"},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": specOf(t, c.spec)}}
			err := c.edits.onto(c.kind, object)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("the error is %v, want %q in it", err, c.fails)
				}
				return
			}
			if diff := cmp.Diff(specOf(t, c.want), object.Object["spec"]); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func specOf(t *testing.T, text string) map[string]any {
	t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte("{apiVersion: v1, kind: X, spec: " + text + "}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := object.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return object.Object["spec"].(map[string]any)
}
