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
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// The parts of SPDX 2.3 that a Go binary needs.
type (
	spdx struct {
		Version       string         `json:"spdxVersion"`
		License       string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      spdxCreation   `json:"creationInfo"`
		Packages      []spdxPackage  `json:"packages"`
		Relationships []spdxRelation `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID       string         `json:"SPDXID"`
		Name     string         `json:"name"`
		Version  string         `json:"versionInfo,omitempty"`
		Location string         `json:"downloadLocation"`
		Analyzed bool           `json:"filesAnalyzed"`
		License  string         `json:"licenseConcluded"`
		Refs     []spdxExternal `json:"externalRefs,omitempty"`
	}
	spdxExternal struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelation struct {
		From string `json:"spdxElementId"`
		Kind string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// writeSBOM lists the modules that are really in a binary, as the compiler
// wrote them into it.
func writeSBOM(o options, binary, to string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read what is in %s: %w", binary, err)
	}
	raw, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	doc := spdx{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "pod-operator-" + o.stamp.version,
		Namespace: "https://" + info.Main.Path + "/sbom/" + hex.EncodeToString(sum[:]),
		Creation:  spdxCreation{Created: o.stamp.date.Format(time.RFC3339), Creators: []string{"Tool: pod-operator-tools-image"}},
	}
	add := func(name, version, kind string) {
		id := fmt.Sprintf("SPDXRef-Package-%d", len(doc.Packages))
		doc.Packages = append(doc.Packages, spdxPackage{
			ID: id, Name: name, Version: version, Location: "NOASSERTION", License: "NOASSERTION",
			Refs: []spdxExternal{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: "pkg:golang/" + name + "@" + version}},
		})
		from := "SPDXRef-Package-0"
		if kind == "DESCRIBES" {
			from = doc.ID
		}
		doc.Relationships = append(doc.Relationships, spdxRelation{From: from, Kind: kind, To: id})
	}
	add(info.Main.Path, o.stamp.version, "DESCRIBES")
	add("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "DEPENDS_ON")
	for _, dep := range info.Deps {
		for dep.Replace != nil {
			dep = dep.Replace
		}
		add(dep.Path, dep.Version, "DEPENDS_ON")
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(out, '\n'), 0o644)
}
