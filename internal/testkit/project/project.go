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

// Package project finds the project's files for tests. It imports nothing of the
// project, so that every test can import it.
package project

import (
	"os"
	"path/filepath"
)

// Root is the folder of the project: the nearest one with a go.mod above the
// folder in which the process started. Paths are trimmed, so the compiler does
// not tell where a file was.
func Root() string { return root }

var root = findRoot()

func findRoot() string {
	start, _ := os.Getwd()
	for dir := start; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return start // a test says which file it misses there
}
