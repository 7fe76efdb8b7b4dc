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
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// The parts of krew's manifest that we use.
type (
	krewPlugin struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       krewSpec          `json:"spec"`
	}
	krewSpec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Platforms        []krewPlatform `json:"platforms"`
	}
	krewPlatform struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		URI    string     `json:"uri"`
		SHA256 string     `json:"sha256"`
		Bin    string     `json:"bin"`
		Files  []krewFile `json:"files"`
	}
	krewFile struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
)

// krew writes the manifest by which krew installs the plugin.
func krew(o options, archives map[platform]string) error {
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "podmanager"},
		Spec: krewSpec{
			Version: o.version, Homepage: "https://github.com/mycompany/pod-operator",
			ShortDescription: "See what PodManagers do to pods, before and after",
			Description: "Plan a change of a PodManager before it is applied, ask why pods were touched and what is held back,\n" +
				"follow and undo rollouts, and check the installation of pod-operator.\n",
		},
	}
	order := func(a, b platform) int { return cmp.Or(cmp.Compare(a.os, b.os), cmp.Compare(a.arch, b.arch)) }
	for _, p := range slices.SortedFunc(maps.Keys(archives), order) {
		sum, err := checksum(filepath.Join(o.out, archives[p]))
		if err != nil {
			return err
		}
		bin := "kubectl-podmanager"
		if p.os == "windows" {
			bin += ".exe"
		}
		at := krewPlatform{
			URI: o.downloads + "/" + o.version + "/" + archives[p], SHA256: sum, Bin: bin,
			Files: []krewFile{{From: bin, To: "."}, {From: "LICENSE", To: "."}},
		}
		at.Selector.MatchLabels = map[string]string{"os": p.os, "arch": p.arch}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, at)
	}
	raw, err := yaml.Marshal(plugin)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "krew.yaml"), raw, 0o644)
}
