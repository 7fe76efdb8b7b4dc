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

package change

import (
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

const liveDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: app, image: "nginx:1.27", imagePullPolicy: IfNotPresent}
      - {name: proxy, image: "envoy:1"}
`

func deploymentOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return object
}

// A file of a Deployment is merged as kubectl apply merges it: containers by their names.
func TestFilesOfNativeKindsAreMergedByKeys(t *testing.T) {
	kind, _ := NativeOf(kappsv1.SchemeGroupVersion.WithKind("Deployment"))
	file := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: app, image: 'nginx:1.28'}]}}}\n"
	got, err := applied(kind, deploymentOf(t, liveDeployment), deploymentOf(t, file))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := got.MarshalJSON()
	for _, want := range []string{"nginx:1.28", "IfNotPresent", "envoy:1", `"replicas":3`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not in %s", want, raw)
		}
	}
}

func TestEditsOfNativeKinds(t *testing.T) {
	deployment, _ := NativeOf(kappsv1.SchemeGroupVersion.WithKind("Deployment"))
	daemonSet, _ := NativeOf(kappsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	for name, given := range map[string]struct {
		kind  Kind
		edits Edits
		want  string
	}{
		"an image of a container":     {deployment, Edits{Images: []string{"app=nginx:1.29"}}, "nginx:1.29"},
		"which container is not said": {deployment, Edits{Images: []string{"nginx:1.29"}}, "there are 2 containers"},
		"no such container":           {deployment, Edits{Images: []string{"none=nginx:1.29"}}, "no container none"},
		"replicas":                    {deployment, Edits{Replicas: ptr.To[int32](7)}, `"replicas":7`},
		"replicas of a DaemonSet":     {daemonSet, Edits{Replicas: ptr.To[int32](7)}, "no number of replicas"},
		"a restart":                   {deployment, Edits{Restart: time.Unix(0, 0)}, `"kubectl.kubernetes.io/restartedAt":"1970-01-01T00:00:00Z"`},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := given.edits.Patch(given.kind, deploymentOf(t, liveDeployment))
			said := string(patch)
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, given.want) {
				t.Error(said)
			}
		})
	}
}
