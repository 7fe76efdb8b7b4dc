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
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// make readme runs the commands of docs/start.md. What the README shows of them has
// to be there too, so that it is not wrong alone.
func TestTheReadmeQuotesTheQuickstart(t *testing.T) {
	console := regexp.MustCompile("(?ms)^```console\n(.+?)\n```$")
	start := read(t, "docs/start.md") + read(t, "docs/any-workload.md")
	quotes := console.FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(quotes) == 0 {
		t.Fatal("the README shows no output")
	}
	for _, quote := range quotes {
		for line := range strings.Lines(quote[1]) {
			if line = strings.TrimSuffix(line, "\n"); line != "…" && !strings.Contains(start, line+"\n") {
				t.Errorf("README.md shows %q, docs/start.md and docs/any-workload.md do not: copy it from there", line)
			}
		}
	}
}

// The README is what people read first, and they stop early.
func TestTheReadmeIsShort(t *testing.T) {
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > 120 {
		t.Errorf("README.md has %d lines, want 120 at most", lines)
	}
}

// A folder of tests that the index lacks is found by no one who asks its question.
func TestTheIndexOfTestsIsWhole(t *testing.T) {
	index := read(t, "test/README.md")
	folders, err := os.ReadDir(filepath.Join(root, "test"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if name := folder.Name(); folder.IsDir() && !strings.Contains(index, "["+name+"]("+name+")") {
			t.Errorf("test/README.md does not name test/%s", name)
		}
	}
}

// Words that leave out who does what, or that no colleague would say, are in no text of
// the project: name the thing.
func TestPlainWords(t *testing.T) {
	vague := regexp.MustCompile(`(?i)\b(some|any|no)body\b|\bwhoever\b|\b(tells|speaks) of\b|\b(mourn|usurp)|\b(hears|heard|ears|moot|deeds?|elders?|farewell|doorman|whereabouts)\b`)
	exempt := []string{"CHANGELOG.md", "CODE_OF_CONDUCT.md", "test/docs/pages_test.go"}
	out, err := exec.Command("git", "-C", root, "ls-files", "*.go", "*.md", "*.yaml", "*.js", "*.html").Output()
	if err != nil {
		t.Skipf("this is no checkout: %v", err)
	}
	for _, name := range strings.Fields(string(out)) {
		if slices.Contains(exempt, name) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if !vague.Match(content) {
			continue
		}
		for number, line := range strings.Split(string(content), "\n") {
			if word := vague.FindString(line); word != "" && !strings.Contains(line, "NoBody") {
				t.Errorf("%s:%d says %q", name, number+1, word)
			}
		}
	}
}

// These pages name a test for each thing that they say of PodManager.
func TestPagesNameTestsThatAreThere(t *testing.T) {
	var tests strings.Builder
	for _, folder := range []string{"webhooks", "integration"} {
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
	for _, page := range []string{"docs/comparison.md", "docs/you-asked.md"} {
		names := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(read(t, page), -1)
		if len(names) == 0 {
			t.Errorf("%s names no test", page)
		}
		for _, name := range names {
			if !strings.Contains(tests.String(), "func "+name[1]+"(") {
				t.Errorf("%s names %s, which is not in test/webhooks or test/integration", page, name[1])
			}
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
