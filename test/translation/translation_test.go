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

// Package translation keeps docs/zh in step with what it translates: a page
// and its translation have the same headings, by level, the same tables, by
// rows, and the same code blocks, to the letter. What the prose says, only a
// reader can tell.
//
//	go test ./test/translation -update
//
// takes the code blocks over from the English pages.
package translation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/testkit"
)

var update = flag.Bool("update", false, "take the code blocks over from the English pages")

// pages are the translations, by what they translate.
var pages = map[string]string{
	"README.md":                  "docs/zh/README.md",
	"docs/start.md":              "docs/zh/start.md",
	"docs/concepts.md":           "docs/zh/concepts.md",
	"docs/rollouts.md":           "docs/zh/rollouts.md",
	"docs/any-workload.md":       "docs/zh/any-workload.md",
	"docs/collector.md":          "docs/zh/collector.md",
	"docs/from-the-tutorials.md": "docs/zh/from-the-tutorials.md",
	"docs/lab.md":                "docs/zh/lab.md",
	"docs/tour.md":               "docs/zh/tour.md",
	"docs/tutorial/README.md":    "docs/zh/tutorial.md",
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?\n```$")
	link   = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
)

func TestTranslationsAreInStep(t *testing.T) {
	for english, chinese := range pages {
		t.Run(chinese, func(t *testing.T) {
			from, to := read(t, english), read(t, chinese)
			if *update {
				to = takeOver(t, from, to)
				if err := os.WriteFile(filepath.Join(testkit.Root(), chinese), []byte(to), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(outline(from), outline(to)); diff != "" {
				t.Errorf("headings and tables of %s (-) and %s (+):\n%s", english, chinese, diff)
			}
			if diff := cmp.Diff(fenced.FindAllString(from, -1), fenced.FindAllString(to, -1)); diff != "" {
				t.Errorf("code blocks of %s (-) and %s (+); -update takes them over:\n%s", english, chinese, diff)
			}
		})
	}
}

// A translation lies in another folder, so its links are easily wrong: each has
// to lead to where the English page leads, or to a page that is there.
func TestLinksLeadSomewhere(t *testing.T) {
	for english, chinese := range pages {
		known := map[string]bool{}
		for _, target := range targets(t, english) {
			known[target] = true
		}
		for _, target := range targets(t, chinese) {
			if _, err := os.Stat(filepath.Join(testkit.Root(), target)); err != nil && !known[target] {
				t.Errorf("%s: the link to %s leads nowhere", chinese, target)
			}
		}
	}
}

// A reader of a translation wants to know which links lead to English pages.
func TestEnglishPagesAreMarked(t *testing.T) {
	toEnglish := regexp.MustCompile(`\]\((\.\./[^)#]*\.md)(?:#[^)]*)?\)(（英文）)?`)
	for english, chinese := range pages {
		for _, match := range toEnglish.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, chinese), ""), -1) {
			target := filepath.Join(filepath.Dir(chinese), match[1])
			switch translated, ok := pages[target]; {
			case target == english: // the switch between the languages
			case ok:
				t.Errorf("%s leads to %s: take its translation, %s", chinese, target, translated)
			case match[2] == "":
				t.Errorf("%s leads to %s, which is English: write （英文） behind the link", chinese, target)
			}
		}
	}
}

// targets are where the links of a page lead, seen from the project's folder.
func targets(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
		if !strings.Contains(match[1], "://") {
			out = append(out, filepath.Join(filepath.Dir(page), match[1]))
		}
	}
	return out
}

// outline is the levels of the headings and the sizes of the tables, in order.
func outline(page string) []string {
	var out []string
	rows := 0
	for line := range strings.Lines(fenced.ReplaceAllString(page, "")) {
		if strings.HasPrefix(line, "|") {
			rows++
			continue
		}
		if rows > 0 {
			out = append(out, fmt.Sprintf("a table of %d rows", rows))
			rows = 0
		}
		if level := len(line) - len(strings.TrimLeft(line, "#")); level > 0 {
			out = append(out, fmt.Sprintf("a heading of level %d", level))
		}
	}
	return out
}

// takeOver replaces the code blocks one by one.
func takeOver(t *testing.T, from, to string) string {
	t.Helper()
	blocks := fenced.FindAllString(from, -1)
	if count := len(fenced.FindAllString(to, -1)); count != len(blocks) {
		t.Fatalf("%d code blocks in the page and %d in its translation: which is which?", len(blocks), count)
	}
	i := -1
	return fenced.ReplaceAllStringFunc(to, func(string) string { i++; return blocks[i] })
}

func read(t *testing.T, page string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), page))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
