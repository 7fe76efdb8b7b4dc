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

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// codeOf are the folders of the code that a row of a table is about.
type codeOf func(table, name string) ([]string, error)

// operator is the program that all tiers are about.
const operator = "./cmd/manager"

// tests are the packages of the tiers, by how the names of their rows begin: the first
// that fits.
var tests = []struct{ name, folder string }{
	{"small worlds", "./test/faults/small"},
	{"simulator against the API server", "./test/faults/conformance"},
	{"simulator", "./test/faults/sim"},
	{"real API server", "./test/faults/crash"},
	{"real program", operator},
}

// codeIn: a row of mutants is about its package, one of a tier about what the tier
// runs of the operator, in internal/.
func codeIn(root string) codeOf {
	shipped := sync.OnceValues(func() ([]string, error) { return linked(root, operator) })
	known := map[string][]string{}
	return func(table, name string) ([]string, error) {
		if table == "mutants" {
			return []string{name}, nil
		}
		at := slices.IndexFunc(tests, func(t struct{ name, folder string }) bool { return strings.HasPrefix(name, t.name) })
		if at < 0 {
			return nil, fmt.Errorf("no tier is named %q", name)
		}
		folder := tests[at].folder
		if known[folder] == nil {
			operators, err := shipped()
			if err != nil {
				return nil, err
			}
			runs, err := linked(root, folder)
			if err != nil {
				return nil, err
			}
			known[folder] = slices.DeleteFunc(runs, func(f string) bool { return !slices.Contains(operators, f) })
		}
		return known[folder], nil
	}
}

// linked are the folders in internal/ that a package and its tests are built of.
func linked(root, folder string) ([]string, error) {
	command := exec.Command("go", "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.Dir}}{{end}}", folder)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var folders []string
	for dir := range strings.Lines(string(out)) {
		if within, ok := strings.CutPrefix(strings.TrimSpace(dir), filepath.Join(top, "internal")+string(filepath.Separator)); ok {
			folders = append(folders, filepath.Join("internal", within))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}
