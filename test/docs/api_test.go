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

package docs

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	appsv1alpha1 "github.com/mycompany/pod-operator/api/apps/v1alpha1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
)

// TestEveryBlockOfASpecHasAnExample: docs/api.md shows each object, each spec, and each
// block of fields in a spec, as it is in a manifest: our types decode it to the letter.
func TestEveryBlockOfASpecHasAnExample(t *testing.T) {
	kinds := map[string]func() any{
		"apps-v1-":        func() any { return &appsv1.PodManager{} },
		"apps-v1alpha1-":  func() any { return &appsv1alpha1.PodManager{} },
		"batch-v1alpha1-": func() any { return &batchv1alpha1.ImoocPod{} },
		"collector-v1-":   func() any { return &collectorv1.Collector{} },
		"test-v1alpha1-":  func() any { return &testv1alpha1.HelloWorld{} },
	}
	sections := map[string]string{}
	for _, section := range strings.Split(read(t, "docs/api.md"), `<a id="`)[1:] {
		anchor, text, _ := strings.Cut(section, `"`)
		sections[anchor] = text
	}
	link := regexp.MustCompile(`\]\(#([^)]+)\)`)
	seen := map[string]bool{}
	var look func(anchor string)
	look = func(anchor string) {
		text := sections[anchor]
		if seen[anchor] || strings.HasSuffix(anchor, "status") || !strings.Contains(text, "| field | type |") {
			return
		}
		seen[anchor] = true
		examples := blocks(text)
		if len(examples) != 1 || examples[0].language != "yaml" {
			t.Errorf("%s has %d examples: write one into docs/site/api/example.tpl", anchor, len(examples))
			return
		}
		for prefix, kind := range kinds {
			if strings.HasPrefix(anchor, prefix) {
				if err := yaml.UnmarshalStrict([]byte(examples[0].text), kind()); err != nil {
					t.Errorf("the example of %s: %v", anchor, err)
				}
			}
		}
		_, table, _ := strings.Cut(text, "| field | type |")
		for _, to := range link.FindAllStringSubmatch(table, -1) {
			look(to[1])
		}
	}
	for _, object := range []string{
		"apps-v1-podmanager", "apps-v1alpha1-podmanager", "batch-v1alpha1-imoocpod", "collector-v1-collector", "test-v1alpha1-helloworld",
	} {
		look(object)
	}
	if len(seen) < 15 {
		t.Errorf("only %d blocks were found", len(seen))
	}
}
