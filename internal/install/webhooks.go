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

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// CallByURL has the API server call the webhooks of manifests at an address,
// https://HOST:PORT, in place of their Service: for an operator that runs as a
// process beside the cluster. The operator may choose another port later.
func CallByURL(objects []*unstructured.Unstructured, base string) {
	byURL := func(config map[string]any) {
		path, _, _ := unstructured.NestedString(config, "service", "path")
		delete(config, "service")
		config["url"] = base + path
	}
	for _, object := range objects {
		webhooks, _ := object.Object["webhooks"].([]any)
		for _, item := range webhooks {
			webhook, _ := item.(map[string]any)
			if config, ok := webhook["clientConfig"].(map[string]any); ok {
				byURL(config)
			}
		}
		config, ok, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "conversion", "webhook", "clientConfig")
		if conversion, isMap := config.(map[string]any); ok && isMap {
			byURL(conversion)
		}
	}
}
