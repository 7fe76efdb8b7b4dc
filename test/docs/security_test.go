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
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goFiles are the Go files of the project, by their paths.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && name != "." || name == "bin" || name == "dist" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || !entry.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(filepath.Join(root, name))
		files[name] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A threat model that names a test which does not exist shows nothing.
func TestTheTestsOfTheThreatModelExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for name, text := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			all.WriteString(text)
		}
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, test := range named {
		if !strings.Contains(all.String(), "\nfunc "+test[1]+"(t ") {
			t.Errorf("SECURITY.md names %s, and there is no such test", test[1])
		}
	}
}

// listens matches where a program opens a port.
var listens = regexp.MustCompile(`\bnet\.Listen\(|\btls\.Listen\(|\.Listen\(ctx|\.ListenAndServe(TLS)?\(`)

// Every port is in the table: where one is opened, and each flag with an address.
func TestEveryPortIsInTheThreatModel(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, ports, found := strings.Cut(string(page), "\n## Ports\n")
	if !found {
		t.Fatal("SECURITY.md has no section Ports")
	}
	ports, _, _ = strings.Cut(ports, "\n## ")
	flags := regexp.MustCompile(`"([a-z][a-z-]*-bind-address)"`)
	opened := 0
	for name, text := range goFiles(t) {
		first, _, _ := strings.Cut(name, "/")
		switch { // tests, and programs that nothing installs
		case strings.HasSuffix(name, "_test.go"), first == "test", first == "examples", first == "tools", first == "hack", strings.HasPrefix(name, "internal/testkit/"):
			continue
		}
		if listens.MatchString(text) {
			if opened++; !strings.Contains(ports, "("+name+")") {
				t.Errorf("%s opens a port that is not in SECURITY.md", name)
			}
		}
		for _, flag := range flags.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(ports, "`--"+flag[1]+"`") {
				t.Errorf("the flag --%s of %s is not in SECURITY.md", flag[1], name)
			}
		}
	}
	if opened < 5 {
		t.Errorf("only %d files open a port", opened)
	}
}
