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

package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestApply(t *testing.T) {
	got := Apply("a + b", []Edit{{4, 1, "c"}, {0, 0, "("}, {0, 0, "["}, {2, 1, "-"}, {5, 0, ")"}})
	if want := "([a - c)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrite(t *testing.T) {
	file, err := Write(t.TempDir(), "all", map[string]string{"a/b.go": "package a"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(raw, &overlay); err != nil {
		t.Fatal(err)
	}
	original, err := filepath.Abs("a/b.go")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(overlay.Replace[original])
	if err != nil || string(content) != "package a" {
		t.Errorf("%s is replaced by %q, %v", original, content, err)
	}
}
