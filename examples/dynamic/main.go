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

// Command dynamic creates and reads a Deployment and a PodManager with the
// dynamic client, which knows no Go types: every object is a tree of maps.
//
// Look at how little differs between a kind of Kubernetes and one of ours, and
// at the fields that were never set: the API server filled in the defaults of
// both, those of the CRD too.
package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	labels := map[string]any{"app": "web"}
	kinds := []struct {
		resource schema.GroupVersionResource
		object   map[string]any
		show     []string
	}{{
		resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{
				"replicas": int64(2), "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{
					"metadata": map[string]any{"labels": labels},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "nginx:1.27"}}},
				},
			},
		},
		show: []string{"spec", "strategy", "rollingUpdate", "maxSurge"},
	}, {
		resource: schema.GroupVersionResource{Group: "apps.mycompany.com", Version: "v1", Resource: "podmanagers"},
		object: map[string]any{
			"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager", "metadata": map[string]any{"name": "fleet"},
			"spec": map[string]any{"replicas": int64(2), "image": "nginx:1.27"},
		},
		show: []string{"spec", "update", "strategy"},
	}}
	for _, kind := range kinds {
		objects := client.Resource(kind.resource).Namespace(namespace)
		created, err := objects.Create(ctx, &unstructured.Unstructured{Object: kind.object}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create %s: %w", kind.resource, err)
		}
		got, err := objects.Get(ctx, created.GetName(), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get %s: %w", kind.resource, err)
		}
		replicas, _, err := unstructured.NestedInt64(got.Object, "spec", "replicas")
		if err != nil {
			return err
		}
		byDefault, _, err := unstructured.NestedString(got.Object, kind.show...)
		if err != nil {
			return err
		}
		fmt.Println(got.GroupVersionKind(), got.GetName(), "asks for", replicas, "pods; by default", kind.show[len(kind.show)-1], "is", byDefault)
	}
	return nil
}
