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

package plugin

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// docs/explain.md shows transcripts of TestTranscripts: each of them is, but for what
// differs from run to run, in testdata/.
func TestThePageShowsTheTranscripts(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "explain.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{} // by command
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		command, _, _ := strings.Cut(string(golden), "\n")
		known[command] = append(known[command], narrow(string(golden)))
	}
	shown := transcriptsIn(string(page))
	if len(shown) < 15 {
		t.Errorf("the page shows %d transcripts only", len(shown))
	}
	for _, transcript := range shown {
		command, _, _ := strings.Cut(transcript, "\n")
		if len(known[command]) == 0 {
			t.Errorf("the page shows %q, and no file in testdata/ does", command)
			continue
		}
		diff := ""
		for _, golden := range known[command] {
			if diff = cmp.Diff(golden, narrow(transcript)); diff == "" {
				break
			}
		}
		if diff != "" {
			t.Errorf("%s: testdata/ (-) and the page (+):\n%s", command, diff)
		}
	}
}

// transcriptsIn are the commands of a page, each with its output and, as in testdata/,
// the exit code that the page asks for.
func transcriptsIn(page string) []string {
	var found []string
	for _, block := range regexp.MustCompile("(?s)\n```console\n(.+?\n)```\n").FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`(?m)^\$ echo \$\?\n(\d+)$`).ReplaceAllString(block[1], "(exit code $1)")
		for _, one := range strings.Split("\n"+text, "\n$ ")[1:] {
			found = append(found, normal("$ "+regexp.MustCompile(`\bshop\b`).ReplaceAllString(strings.TrimSuffix(one, "\n"), "shop-0000")))
		}
	}
	return found
}

// narrow is a text whose columns are as wide as what is in them.
func narrow(text string) string {
	text = regexp.MustCompile(`(?m) \d+[smh]$`).ReplaceAllString(text, " AGE") // in the last column
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}
