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

// Package summary keeps what a run of the fault tests has to say at its end:
// go test shows nothing of a test that passed, so make prints these files.
package summary

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// Line is one row of the table.
type Line struct {
	// Tier is what was tried, for example "1 simulator, random".
	Tier       string
	Cases      int
	Violations int
	// Longest is the longest time that the cluster took to come to rest.
	Longest time.Duration
	// Seed, where cases were drawn at random.
	Seed uint64
	Note string
}

// Write stores a line under a name of its own; a later run replaces it.
func Write(name string, l Line) error {
	dir := filepath.Join(project.Root(), "test-output", "faults")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	text := fmt.Sprintf("%-44s %8d cases  %4d violations  longest recovery %-8s", l.Tier, l.Cases, l.Violations, l.Longest.Round(time.Millisecond))
	if l.Seed != 0 {
		text += fmt.Sprintf("  seed %d", l.Seed)
	}
	if l.Note != "" {
		text += "  " + l.Note
	}
	return os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text+"\n"), 0o600)
}
