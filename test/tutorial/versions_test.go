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

package tutorial

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// The page promises versions that fit together: those that we are built with.
func TestTheVersionsAreOurs(t *testing.T) {
	raw, err := os.ReadFile(page())
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string][]string{
		"kubebuilder":                         {"tools", "sigs.k8s.io/kubebuilder/v4"},
		"controller-runtime":                  {".", "sigs.k8s.io/controller-runtime"},
		"k8s.io/api, apimachinery, client-go": {".", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go"},
		"controller-gen":                      {"tools", "sigs.k8s.io/controller-tools"},
		"kustomize":                           {"tools", "sigs.k8s.io/kustomize/kustomize/v5"},
		"delve":                               {"tools", "github.com/go-delve/delve"},
	}
	rows := regexp.MustCompile(`(?m)^\| (.+) \| (v[0-9.]+) \|$`).FindAllStringSubmatch(string(raw), -1)
	if len(rows) != len(modules) {
		t.Errorf("the table has %d versions, want %d", len(rows), len(modules))
	}
	for _, row := range rows {
		where, ok := modules[row[1]]
		if !ok {
			t.Errorf("%q is an unknown module", row[1])
			continue
		}
		mod, err := os.ReadFile(filepath.Join(testkit.Root(), where[0], "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, module := range where[1:] {
			if !strings.Contains(string(mod), "\t"+module+" "+row[2]) {
				t.Errorf("the page says %s %s, but %s/go.mod does not", module, row[2], where[0])
			}
		}
	}
	for _, version := range []string{"v0.23.0", "v5.8.2"} {
		if !strings.Contains(string(raw), "_VERSION ?= "+version+"/") {
			t.Errorf("section 1 does not set %s", version)
		}
	}
}
