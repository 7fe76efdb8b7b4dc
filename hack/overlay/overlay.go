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

// Package overlay has the compiler read other contents of some files, so that a
// program is compiled with faults in it and the checkout is never changed.
package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Edit replaces Length bytes at an offset.
type Edit struct {
	At, Length int
	Text       string
}

// Apply puts edits into a content. Those at one place stay in their order.
func Apply(content string, edits []Edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.At - b.At })
	var out strings.Builder
	at := 0
	for _, e := range edits {
		out.WriteString(content[at:e.At])
		out.WriteString(e.Text)
		at = e.At + e.Length
	}
	out.WriteString(content[at:])
	return out.String()
}

// Write stores contents by file in a folder under a name, and returns the file for the
// compiler's flag -overlay.
func Write(folder, name string, contents map[string]string) (string, error) {
	replace := map[string]string{}
	for file, content := range contents {
		original, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(folder, name, file)
		if err := os.MkdirAll(filepath.Dir(replace[original]), 0o750); err != nil {
			return "", err
		}
		if err := os.WriteFile(replace[original], []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, name+".json")
	return file, os.WriteFile(file, raw, 0o600)
}
