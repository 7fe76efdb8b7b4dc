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
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
)

// kruiseNamespace is where OpenKruise keeps its certificate.
const kruiseNamespace = "kruise-system"

// kruiseManifests are the parts of OpenKruise's config/default that CloneSet
// needs: the CRDs and the webhooks for CloneSets. Its other webhooks look at
// pods, and so at those of all contenders.
func kruiseManifests(config string) ([]*unstructured.Unstructured, error) {
	objects, err := install.Render(filepath.Join(config, "default"))
	if err != nil {
		return nil, err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(kruiseNamespace)
	chosen := []*unstructured.Unstructured{namespace}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			chosen = append(chosen, object)
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			if err := keepCloneSetWebhooks(object); err != nil {
				return nil, fmt.Errorf("read the webhooks of %s: %w", config, err)
			}
			chosen = append(chosen, object)
		}
	}
	return chosen, nil
}

func keepCloneSetWebhooks(configuration *unstructured.Unstructured) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	webhooks = slices.DeleteFunc(webhooks, func(raw any) bool {
		webhook, _ := raw.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(webhook, "rules")
		return !slices.ContainsFunc(rules, func(raw any) bool {
			rule, _ := raw.(map[string]any)
			resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
			return slices.Contains(resources, "clonesets")
		})
	})
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

// startKruise runs the manager that the user built.
func startKruise(s *stage, c *contender) (*process, error) {
	var ports [4]int
	for i := range ports {
		port, err := localkube.FreePort()
		if err != nil {
			return nil, err
		}
		ports[i] = port
	}
	p, err := s.run(c, s.options.CloneSetManager, []string{
		"--enable-leader-election=false", "--rest-config-qps=" + qps, "--rest-config-burst=" + qps,
		fmt.Sprintf("--metrics-addr=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-probe-addr=127.0.0.1:%d", ports[1]),
		fmt.Sprintf("--pprof-addr=127.0.0.1:%d", ports[2]),
	}, []string{
		"POD_NAMESPACE=" + kruiseNamespace, "WEBHOOK_HOST=localhost", fmt.Sprintf("WEBHOOK_PORT=%d", ports[3]),
		"WEBHOOK_CERT_DIR=" + filepath.Join(s.dir, "kruise-certs"),
	})
	if err != nil {
		return nil, err
	}
	p.ready = fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1])
	return p, nil
}
