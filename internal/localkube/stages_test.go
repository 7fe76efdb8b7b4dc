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

package localkube

import (
	"io/fs"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// kwok patches by name. A patch that names the UID too is refused when the pod
// is another one by now.
func TestEveryPatchOfAPodNamesItsUID(t *testing.T) {
	names, err := fs.Glob(stages, "stages/pod-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	patches := 0
	for _, name := range names {
		data, err := stages.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var stage struct {
			Spec struct {
				Weight int
				Steps  []struct {
					Patch *struct{ Root, Template string }
				}
			}
		}
		if err := yaml.Unmarshal(data, &stage); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if stage.Spec.Weight != 0 {
			t.Errorf("%s has weight %d: an extra stage would not always win over it", name, stage.Spec.Weight)
		}
		for _, step := range stage.Spec.Steps {
			if step.Patch == nil {
				continue
			}
			patches++
			if step.Patch.Root != "" || !strings.Contains(step.Patch.Template, "uid: {{ .metadata.uid | Quote }}") {
				t.Errorf("a patch in %s does not name the pod's UID", name)
			}
		}
	}
	if patches == 0 {
		t.Error("no stage patches a pod")
	}
}
