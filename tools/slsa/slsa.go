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

// Package slsa says where a build comes from, in the words of SLSA's provenance. The
// same commit gives the same words: the time is the commit's, because it makes no
// difference when it is built.
package slsa

import (
	"runtime"
	"time"
)

// PredicateType is what such a predicate is called in a statement.
const PredicateType = "https://slsa.dev/provenance/v1"

const (
	buildType        = "https://github.com/mycompany/pod-operator/make-release/v1"
	sourceRepository = "git+https://github.com/mycompany/pod-operator"
)

// Predicate is SLSA's provenance: how something was made, and from which commit.
type Predicate struct {
	BuildDefinition definition `json:"buildDefinition"`
	RunDetails      details    `json:"runDetails"`
}

type definition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	ResolvedDependencies []source          `json:"resolvedDependencies"`
}

type source struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

type details struct {
	Builder  map[string]string `json:"builder"`
	Metadata map[string]string `json:"metadata"`
}

// Provenance is of what a command makes of a commit.
func Provenance(command, version, commit string, date time.Time) Predicate {
	return Predicate{
		BuildDefinition: definition{
			BuildType:            buildType,
			ExternalParameters:   map[string]string{"version": version, "command": command},
			ResolvedDependencies: []source{{URI: sourceRepository, Digest: map[string]string{"gitCommit": commit}}},
		},
		RunDetails: details{
			Builder:  map[string]string{"id": buildType, "go": runtime.Version()},
			Metadata: map[string]string{"startedOn": date.Format(time.RFC3339)},
		},
	}
}
