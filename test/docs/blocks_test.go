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
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// A block is a fenced block of a page.
type block struct {
	language string
	text     string
	line     int // of its first line
}

// blocks are the fenced blocks of a page, in order.
func blocks(page string) []block {
	source := []byte(page)
	var found []block
	// The walker returns no error of its own.
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if fenced, ok := node.(*ast.FencedCodeBlock); ok && entering && fenced.Lines().Len() > 0 {
			found = append(found, block{string(fenced.Language(source)), string(fenced.Lines().Value(source)), lineOf(fenced, source)})
		}
		return ast.WalkContinue, nil
	})
	return found
}

// A step is a command, and what the page shows of its output.
type step struct {
	command string
	shows   string
}

// steps are the commands of a block. In a block of the language console they begin
// with a dollar, and the lines below a command are its output; in one of the language
// sh every line is a command.
func (b block) steps() []step {
	var found []step
	goesOn := func(string) bool { return false }
	for line := range strings.Lines(b.text) {
		command, begins := strings.CutPrefix(line, "$ ")
		last := len(found) - 1
		switch {
		case last >= 0 && goesOn(found[last].command):
			found[last].command += line
		case begins || b.language == "sh" && !comment.MatchString(line):
			found = append(found, step{command: command})
			goesOn = unfinished
		case b.language == "console" && last >= 0:
			found[last].shows += line
		}
	}
	return found
}

var (
	// comment is a line without a command.
	comment = regexp.MustCompile(`^\s*(#|$)`)
	here    = regexp.MustCompile(`<<'?(\w+)'?`)
)

// unfinished says that the next line belongs to the command.
func unfinished(command string) bool {
	if strings.HasSuffix(command, "\\\n") {
		return true
	}
	document := here.FindStringSubmatch(command)
	return len(document) > 1 && !strings.HasSuffix(command, "\n"+document[1]+"\n")
}

// moving is what differs from run to run, and what stands for it.
var moving = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	// Of an answer to why: which events came together, and what they led to.
	{regexp.MustCompile(`(?m)^ {12}(because|wrote|record) .*\n( {21}.*\n)*`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`), "DATE"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|[smhd])(\d+[smh])?\b`), "TIME"},
	{regexp.MustCompile(`node node-\d+`), "node NODE"},
	{regexp.MustCompile(`-[0-9a-z]{10}\b`), "-REVISION"},
	// The width of a column depends on what is in it.
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// agrees reports whether a command printed what the page shows. There … stands for
// any text, and on a line of its own for any lines.
func (s step) agrees(printed string) bool {
	want, got := s.shows, strings.TrimRight(printed, "\n")+"\n"
	for _, m := range moving {
		want, got = m.pattern.ReplaceAllString(want, m.stands), m.pattern.ReplaceAllString(got, m.stands)
	}
	want = regexp.QuoteMeta(want)
	want = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(want, `(?:.*\n)*`)
	want = strings.ReplaceAll(want, "…", ".*")
	return regexp.MustCompile(`\A` + want + `\z`).MatchString(got)
}

func TestBlocksAreReadAsAReaderTypesThem(t *testing.T) {
	page := "# Page\n\n```sh\n# first\nexport A=1   # one\nkubectl get pods \\\n  -o name\n```\n\n1. Then\n\n   ```console\n   $ cat <<'EOF'\n" +
		"   $ no command\n   EOF\n   $ no command\n   $ true\n   ```\n\n```yaml\na: b\n```\n"
	var steps []step
	var languages []string
	for _, b := range blocks(page) {
		languages = append(languages, b.language)
		if b.language != "yaml" {
			steps = append(steps, b.steps()...)
		}
	}
	want := []step{
		{command: "export A=1   # one\n"},
		{command: "kubectl get pods \\\n  -o name\n"},
		{command: "cat <<'EOF'\n$ no command\nEOF\n", shows: ""},
		{command: "no command\n"},
		{command: "true\n"},
	}
	if diff := cmp.Diff(want, steps, cmp.AllowUnexported(step{})); diff != "" {
		t.Errorf("the steps of the page (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sh", "console", "yaml"}, languages); diff != "" {
		t.Errorf("the languages of its blocks (-want +got):\n%s", diff)
	}
}

func TestWhatAPageShowsIsCompared(t *testing.T) {
	for name, test := range map[string]struct {
		shows, printed string
		want           bool
	}{
		"the same text":                          {"web patched\n", "web patched\n", true},
		"another text":                           {"web patched\n", "web created\n", false},
		"a line that the page lacks":             {"web-0\n", "web-0\nweb-1\n", false},
		"a line that is not printed":             {"web-0\nweb-1\n", "web-0\n", false},
		"an age differs":                         {"web-0   1/1   2s\n", "web-0   1/1   10s\n", true},
		"a column is wider":                      {"NAME   AGE\n", "NAME                  AGE\n", true},
		"… stands for the rest of a name":        {"on web-… now\n", "on web-49w4zvbb7w now\n", true},
		"… does not reach over a line":           {"on web-…\n", "on web-1\nweb-2\n", false},
		"a line of … stands for lines":           {"NAME\n…\nweb-2\n", "NAME\nweb-0\nweb-1\nweb-2\n", true},
		"a line of … stands for no line":         {"NAME\n…\n", "NAME\n", true},
		"a line of … does not hide the last one": {"NAME\n…\nweb-2\n", "NAME\nweb-2\nweb-3\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (step{shows: test.shows}).agrees(test.printed); got != test.want {
				t.Errorf("the page shows %q, %q is printed: agrees is %t", test.shows, test.printed, got)
			}
		})
	}
}
