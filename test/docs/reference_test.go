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
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	plugin "github.com/mycompany/pod-operator/internal/cli/root"
	"github.com/mycompany/pod-operator/internal/manager"
)

var update = flag.Bool("update", false, "write the tables of docs/reference.md from the code")

// TestReferenceIsComplete: docs/reference.md has every verb, flag, metric, label,
// annotation and reason that the code has, in the words of the code.
//
//	go test ./test/docs -run TestReferenceIsComplete -update
//
// writes them.
func TestReferenceIsComplete(t *testing.T) {
	page := read(t, "docs/reference.md")
	want := page
	for name, table := range referenceTables(t) {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("docs/reference.md has no place for the table %q", name)
		}
		want = before + begin + "\n" + table + "\n" + end + after
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, "docs", "reference.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, want); diff != "" {
		t.Errorf("docs/reference.md (-) and the code (+); -update writes it:\n%s", diff)
	}
}

// referenceTables are the tables of the page, by the names of their places.
func referenceTables(t *testing.T) map[string]string {
	t.Helper()
	apps := constants(t, "api/apps/v1", "api/apps/v1alpha1")
	hello, collector, imooc := constants(t, "api/test/v1alpha1"), constants(t, "api/collector/v1"), constants(t, "api/batch/v1alpha1")
	quarantine := constants(t, "internal/manager")
	tables := map[string]string{
		"verbs":         verbs(),
		"plugin flags":  pluginFlags(),
		"manager flags": managerFlags(t),
		"metrics":       metrics(t),
		"labels":        table("label", append(named(apps, "Label"), named(imooc, "Label")...)),
		"annotations":   table("annotation", named(apps, "Annotation")),
		"other names":   table("name", append(named(apps, "Finalizer"), named(apps, "Gate")...)),
		"conditions":    table("condition", named(apps, "Condition")),
		"events":        table("event", append(events(apps), named(quarantine, "reasonUnreadable")...)),
		"reasons":       table("reason", conditionReasons(apps)),
		"why":           table("reason", named(apps, "Why")),
		"blockers":      table("blocker", named(apps, "BlockedBy")),
		"unavailable":   table("reason", named(apps, "Unavailable")),
		"helloworld":    table("name", append(append(named(hello, "Label"), named(hello, "Condition")...), named(hello, "Reason")...)),
		"collector":     table("name", append(named(collector, "Condition"), named(collector, "Reason")...)),
	}
	for name, content := range tables {
		if strings.Count(content, "\n") < 3 {
			t.Errorf("the table %q is empty: the code is no longer as this test reads it", name)
		}
	}
	return tables
}

// A constant is a name that users see, and its comment.
type constant struct {
	name, value, comment string
	group                string // the comment of the const block
}

// constants are the string constants of folders, in the order of the files.
func constants(t *testing.T, folders ...string) []constant {
	t.Helper()
	var found []constant
	for _, folder := range folders {
		files, values := parsed(t, folder), map[string]string{}
		readConstants(files, values) // a constant may be made of one from a later file
		found = append(found, readConstants(files, values)...)
	}
	return found
}

func readConstants(files []*ast.File, values map[string]string) []constant {
	var found []constant
	for _, file := range files {
		for _, declaration := range file.Decls {
			block, ok := declaration.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			for _, item := range block.Specs {
				spec, ok := item.(*ast.ValueSpec)
				if !ok || len(spec.Values) != 1 {
					continue
				}
				c := constant{name: spec.Names[0].Name, comment: flat(spec.Doc.Text()), group: flat(block.Doc.Text())}
				if c.comment == "" {
					c.comment = c.group // a constant of its own
				}
				if c.value, ok = evaluate(spec.Values[0], values); ok {
					values[c.name] = c.value
					found = append(found, c)
				}
			}
		}
	}
	return found
}

// evaluate reads a string: a literal, a known constant, or a sum of them.
func evaluate(expression ast.Expr, values map[string]string) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		value, ok := values[e.Name]
		return value, ok
	case *ast.BinaryExpr:
		left, ok := evaluate(e.X, values)
		right, too := evaluate(e.Y, values)
		return left + right, ok && too && e.Op == token.ADD
	}
	return "", false
}

// parsed are the files of a folder, without tests and generated ones.
func parsed(t *testing.T, folder string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if base := filepath.Base(name); strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "zz_generated") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatalf("%s has no Go files", folder)
	}
	return files
}

func named(all []constant, prefix string) []constant {
	return slices.DeleteFunc(slices.Clone(all), func(c constant) bool { return !strings.HasPrefix(c.name, prefix) })
}

func events(all []constant) []constant {
	return slices.DeleteFunc(named(all, "Reason"), func(c constant) bool { return !strings.Contains(c.group, "events") })
}

func conditionReasons(all []constant) []constant {
	return slices.DeleteFunc(named(all, "Reason"), func(c constant) bool { return strings.Contains(c.group, "events") })
}

// table has a row for each constant. Comments begin with the constant's name,
// which readers of the page do not know.
func table(head string, all []constant) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | meaning |\n|---|---|\n", head)
	for _, c := range all {
		comment := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(c.comment, c.name), ":"))
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.value, cell(comment))
	}
	return b.String()
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

func cell(text string) string { return strings.ReplaceAll(flat(text), "|", `\|`) }

func command() *cobra.Command {
	return plugin.New(kube.NewSession(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: io.Discard}))
}

// verbs are the plugin's, with the flags of each.
func verbs() string {
	var b strings.Builder
	b.WriteString("| verb | does | flags of its own |\n|---|---|---|\n")
	var walk func(*cobra.Command, string)
	walk = func(c *cobra.Command, parent string) {
		for _, sub := range c.Commands() {
			if sub.HasSubCommands() {
				walk(sub, parent+sub.Name()+" ")
				continue
			}
			var flags []string
			sub.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				flags = append(flags, fmt.Sprintf("`--%s`: %s", f.Name, strings.TrimSuffix(f.Usage, ".")))
			})
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell(parent+sub.Use), cell(sub.Short), cell(strings.Join(flags, "; ")))
		}
	}
	walk(command(), "")
	return b.String()
}

// pluginFlags are those that every verb has, without kubectl's own.
func pluginFlags() string {
	kubectls := pflag.NewFlagSet("", pflag.ContinueOnError)
	kube.NewSession(genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}).Flags.AddFlags(kubectls)
	var b strings.Builder
	b.WriteString("| flag | meaning |\n|---|---|\n")
	command().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if kubectls.Lookup(f.Name) == nil {
			fmt.Fprintf(&b, "| `--%s` | %s |\n", f.Name, cell(f.Usage))
		}
	})
	return b.String()
}

// flagHelp is how Go's package flag prints a flag.
var flagHelp = regexp.MustCompile(`(?m)^  -(\S+)(?: \S+)?\s*\n((?:    \t.*\n?)+)`)

// managerFlags are what manager --help prints.
func managerFlags(t *testing.T) string {
	t.Helper()
	var help bytes.Buffer
	if _, err := manager.ParseFlags([]string{"--help"}, &help); err == nil {
		t.Fatal("--help is not answered")
	}
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	byDefault := regexp.MustCompile(`\s*\(default (.+)\)$`)
	for _, match := range flagHelp.FindAllStringSubmatch(help.String(), -1) {
		usage, value := flat(match[2]), ""
		if is := byDefault.FindStringSubmatch(usage); is != nil {
			usage, value = byDefault.ReplaceAllString(usage, ""), "`"+strings.Trim(is[1], `"`)+"`"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", match[1], value, cell(usage))
	}
	return b.String()
}

// metrics are the strings that begin as our metrics do, with the help that
// follows each of them in the code.
func metrics(t *testing.T) string {
	t.Helper()
	var found []constant
	for _, folder := range []string{"internal/controller/fleet", "internal/manager"} {
		for _, file := range parsed(t, folder) {
			ast.Inspect(file, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.CallExpr:
					if len(n.Args) > 1 {
						found = append(found, metric(n.Args[0], n.Args[1])...)
					}
				case *ast.CompositeLit:
					fields := map[string]ast.Expr{}
					for _, element := range n.Elts {
						if pair, ok := element.(*ast.KeyValueExpr); ok {
							if key, ok := pair.Key.(*ast.Ident); ok {
								fields[key.Name] = pair.Value
							}
						}
					}
					if fields["Name"] != nil && fields["Help"] != nil {
						found = append(found, metric(fields["Name"], fields["Help"])...)
					}
				}
				return true
			})
		}
	}
	slices.SortFunc(found, func(a, b constant) int { return strings.Compare(a.value, b.value) })
	return table("metric", found)
}

func metric(name, help ast.Expr) []constant {
	value, ok := evaluate(name, nil)
	meaning, too := evaluate(help, nil)
	if !ok || !too || !strings.HasPrefix(value, "podmanager_") {
		return nil
	}
	return []constant{{value: value, comment: meaning}}
}

// Metrics that are named elsewhere, or not as metrics reads them, would be
// missing from the page unnoticed: every such string of the code is on it.
func TestReferenceNamesEveryMetric(t *testing.T) {
	page := read(t, "docs/reference.md")
	name := regexp.MustCompile(`"(podmanager_[a-z_]+)"`)
	seen := 0
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, match := range name.FindAllStringSubmatch(string(content), -1) {
			seen++
			if !strings.Contains(page, "`"+match[1]+"`") {
				t.Errorf("%s names the metric %s, docs/reference.md does not", path, match[1])
			}
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Fatalf("found %d metrics: %v", seen, err)
	}
}
