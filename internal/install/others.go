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

package install

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OfOthers is what the manager of another project needs of what that ships, when it runs
// as a process with the rights of an admin: its namespace, no Deployment and no roles, and
// the webhooks of some resources, on a port.
func OfOthers(objects []*unstructured.Unstructured, namespace string, resources []string, port int) []*unstructured.Unstructured {
	var chosen []*unstructured.Unstructured
	if namespace != "" {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		object.SetName(namespace)
		chosen = append(chosen, object)
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition", "ConfigMap", "Secret":
			chosen = append(chosen, object)
		case "Service":
			chosen = append(chosen, here(object))
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			if keepWebhooks(object, resources, port) {
				chosen = append(chosen, object)
			}
		}
	}
	return chosen
}

// here makes a Service another name for this machine. The API server asks webhooks by
// the name of their Service, for which their certificates are, and finds the process.
func here(service *unstructured.Unstructured) *unstructured.Unstructured {
	service.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	return service
}

// keepWebhooks leaves those of some resources, on a port; false where none is left.
func keepWebhooks(configuration *unstructured.Unstructured, resources []string, port int) bool {
	all, _ := configuration.Object["webhooks"].([]any)
	var kept []any
	for _, item := range all {
		webhook, _ := item.(map[string]any)
		rules, _ := webhook["rules"].([]any)
		if !slices.ContainsFunc(rules, func(rule any) bool { return about(rule, resources) }) {
			continue
		}
		if service, ok, _ := unstructured.NestedMap(webhook, "clientConfig", "service"); ok {
			service["port"] = int64(port)
			webhook["clientConfig"].(map[string]any)["service"] = service
		}
		kept = append(kept, webhook)
	}
	configuration.Object["webhooks"] = kept
	return len(kept) > 0
}

func about(rule any, resources []string) bool {
	fields, _ := rule.(map[string]any)
	list, _, _ := unstructured.NestedStringSlice(fields, "resources")
	return slices.ContainsFunc(list, func(resource string) bool { return slices.Contains(resources, resource) })
}
