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

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's commands are run by make readme. What docs/start.md has the
// reader type has to be among them, so that it is not wrong alone.
func TestStartTypesWhatTheReadmeTypes(t *testing.T) {
	commands := append(
		regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, "docs/start.md"), -1),
		regexp.MustCompile("(?ms)^```sh\n(.+?)\n```$").FindAllStringSubmatch(read(t, "docs/start.md"), -1)...)
	if len(commands) < 5 {
		t.Fatalf("found %d commands in docs/start.md; the expressions here do not fit it any more", len(commands))
	}
	readme := read(t, "README.md")
	for _, command := range commands {
		if !strings.Contains(readme, command[1]) {
			t.Errorf("docs/start.md has the reader type %q, which the README does not", command[1])
		}
	}
}

// docs/comparison.md names a test for each thing it says of PodManager.
func TestComparisonNamesTestsThatAreThere(t *testing.T) {
	names := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(read(t, "docs/comparison.md"), -1)
	if len(names) == 0 {
		t.Fatal("docs/comparison.md names no test")
	}
	var tests strings.Builder
	for _, folder := range []string{"rollout", "webhooks", "integration"} {
		files, err := filepath.Glob(filepath.Join(root, "test", folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(content)
		}
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "func "+name[1]+"(") {
			t.Errorf("docs/comparison.md names %s, which is not in test/rollout, test/webhooks or test/integration", name[1])
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
