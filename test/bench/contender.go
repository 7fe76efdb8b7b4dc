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

package bench

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mycompany/pod-operator/test/bench/figures"
)

// contender is a controller and the kind that it keeps pods for. Beside the
// kind, they all ask for the same pod.
type contender struct {
	name string
	// steps that it can do.
	steps string
	gvr   schema.GroupVersionResource
	kind  string
	// start is how its process is started.
	start func(*stage, *contender) (*process, error)
	// spec is what the kind wants beside replicas, selector and template.
	spec map[string]any
	// bare: it has no status, so its pods tell when it is done.
	bare bool
	// workers of a bare loop.
	workers int
}

func contenders() []contender {
	apps := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
	}
	ours := schema.GroupVersionResource{Group: "apps.mycompany.com", Version: "v1", Resource: "podmanagers"}
	kruise := schema.GroupVersionResource{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}
	quarter := map[string]any{"maxUnavailable": "25%", "maxSurge": "25%"}
	with := func(key string, value any) map[string]any {
		m := map[string]any{key: value}
		for k, v := range quarter {
			m[k] = v
		}
		return m
	}
	list := []contender{
		{
			name: figures.PodManager, steps: "abcdefg", gvr: ours, kind: "PodManager", start: startManager,
			spec: map[string]any{"update": with("strategy", "InPlaceIfPossible")},
		},
		{
			name: figures.PodManagerRecreate, steps: "d", gvr: ours, kind: "PodManager", start: startManager,
			spec: map[string]any{"update": with("strategy", "Recreate")},
		},
		{name: figures.ReplicaSet, steps: "abcefg", gvr: apps("replicasets"), kind: "ReplicaSet", start: startKubeControllers("replicaset-controller")},
		{
			name: figures.Deployment, steps: "abcdefg", gvr: apps("deployments"), kind: "Deployment",
			start: startKubeControllers("deployment-controller", "replicaset-controller"),
			spec:  map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": quarter}},
		},
		{
			name: figures.StatefulSet, steps: "abcdefg", gvr: apps("statefulsets"), kind: "StatefulSet",
			start: startKubeControllers("statefulset-controller"),
			spec: map[string]any{
				"serviceName": "none", "podManagementPolicy": "Parallel",
				"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "25%"}},
			},
		},
		{
			name: figures.CloneSet, steps: "abcdefg", gvr: kruise, kind: "CloneSet", start: startKruise,
			spec: map[string]any{"updateStrategy": with("type", "InPlaceIfPossible")},
		},
		{
			name: figures.CloneSetRecreate, steps: "d", gvr: kruise, kind: "CloneSet", start: startKruise,
			spec: map[string]any{"updateStrategy": with("type", "ReCreate")},
		},
	}
	for _, workers := range []int{1, 8, 32} {
		list = append(list, contender{
			name: figures.RawLoop + strconv.Itoa(workers), steps: "ab", kind: "ConfigMap", bare: true, workers: workers,
			gvr:   schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			start: startRawLoop,
		})
	}
	return append(
		list,
		contender{name: figures.RawOpen, steps: "e", kind: "OpenFleet", gvr: rawGVR(openResource), start: startRawResource},
		contender{name: figures.RawTyped, steps: "e", kind: "TypedFleet", gvr: rawGVR(typedResource), start: startRawResource},
		contender{name: figures.RawServed, steps: "e", kind: servedKind, gvr: rawGVR(servedResource), start: startRawResource},
	)
}

func contenderNames(cloneSet bool) []string {
	var names []string
	for _, c := range contenders() {
		if cloneSet || !strings.HasPrefix(c.name, figures.CloneSet) {
			names = append(names, c.name)
		}
	}
	return names
}

// chosen are the contenders of a run, in the order of the table.
func chosen(names []string) []contender {
	return slices.DeleteFunc(contenders(), func(c contender) bool { return !slices.Contains(names, c.name) })
}

func (c *contender) does(step string) bool { return strings.Contains(c.steps, step[:1]) }

const (
	oldImage = "nginx:1.27"
	newImage = "nginx:1.28"
	// fleetLabel is on every pod of an object.
	fleetLabel = "fleet"
)

// object is the contender's object: so many pods with one container.
func (c *contender) object(namespace, name string, replicas int) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(c.gvr.GroupVersion().WithKind(c.kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	if c.bare {
		object.Object["data"] = map[string]any{"replicas": strconv.Itoa(replicas)}
		return object
	}
	labels := map[string]any{fleetLabel: name}
	spec := map[string]any{
		"replicas": int64(replicas),
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": oldImage}}},
		},
	}
	if c.gvr.Group != "apps.mycompany.com" && c.gvr.Group != rawGroup {
		spec["selector"] = map[string]any{"matchLabels": labels}
	}
	for key, value := range c.spec {
		spec[key] = value
	}
	object.Object["spec"] = spec
	return object
}

// scalePatch is a merge patch.
func (c *contender) scalePatch(replicas int) []byte {
	if c.bare {
		return []byte(`{"data":{"replicas":"` + strconv.Itoa(replicas) + `"}}`)
	}
	return []byte(`{"spec":{"replicas":` + strconv.Itoa(replicas) + `}}`)
}

// imagePatch is a JSON patch, because a merge patch would replace the whole
// list of containers.
func imagePatch(image string) []byte {
	return []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"` + image + `"}]`)
}
