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

// Command vulndb keeps a copy of the part of Go's vulnerability database that can
// concern our programs, for machines that do not reach https://vuln.go.dev: the
// entries of the standard library and of the modules that the operator is built from.
//
//	vulndb -from CHECKOUT   takes it from a checkout of https://github.com/golang/vulndb
//	vulndb -to FOLDER       writes it as a database that govulncheck reads
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is what an index needs of an entry in the OSV format. raw is all of it.
type entry struct {
	ID        string `json:"id"`
	Withdrawn string `json:"withdrawn"`
	Affected  []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
	} `json:"affected"`

	raw json.RawMessage
}

func main() {
	file := flag.String("file", "tools/vuln/osv.jsonl", "The copy: a line that says how old it is, and a line for each entry.")
	from := flag.String("from", "", "A checkout of the database to take the copy from.")
	to := flag.String("to", "", "A folder to write the database to.")
	flag.Parse()
	var err error
	switch {
	case *from != "":
		err = take(*from, *file)
	case *to != "":
		err = write(*file, *to)
	default:
		err = errors.New("give -from or -to")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

// take copies the entries of our modules.
func take(checkout, file string) error {
	age, err := output("git", "-C", checkout, "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	modified, err := time.Parse(time.RFC3339, age)
	if err != nil {
		return err
	}
	list, err := output("go", "list", "-m", "-f", "{{.Path}}", "all")
	if err != nil {
		return err
	}
	ours := append(strings.Fields(list), "stdlib", "toolchain")
	names, err := filepath.Glob(filepath.Join(checkout, "data", "osv", "*.json"))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"modified": %q}`+"\n", modified.UTC().Format(time.RFC3339))
	for _, name := range names { // sorted
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if e.Withdrawn != "" || !slices.ContainsFunc(e.modules(), func(m string) bool { return slices.Contains(ours, m) }) {
			continue
		}
		if err := json.Compact(&text, raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text.WriteByte('\n')
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// modules are those that an entry is about.
func (e *entry) modules() []string {
	names := map[string]bool{}
	for _, a := range e.Affected {
		names[a.Package.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// write writes a database as https://go.dev/security/vuln/database describes it, and
// says how old it is.
func write(file, dir string) error {
	age, entries, err := read(file)
	if err != nil {
		return err
	}
	type vuln struct {
		ID       string `json:"id"`
		Modified string `json:"modified"`
	}
	type module struct {
		Path  string `json:"path"`
		Vulns []vuln `json:"vulns"`
	}
	index, vulns := map[string]*module{}, []vuln{}
	var errs []error
	for i := range entries {
		e := &entries[i]
		vulns = append(vulns, vuln{e.ID, age.Modified})
		for _, path := range e.modules() {
			if index[path] == nil {
				index[path] = &module{Path: path}
			}
			index[path].Vulns = append(index[path].Vulns, vuln{e.ID, age.Modified})
		}
		errs = append(errs, store(dir, filepath.Join("ID", e.ID+".json"), e.raw))
	}
	modules := slices.SortedFunc(maps.Values(index), func(a, b *module) int { return cmp.Compare(a.Path, b.Path) })
	errs = append(errs, store(dir, "index/db.json", age), store(dir, "index/modules.json", modules), store(dir, "index/vulns.json", vulns))
	fmt.Fprintf(os.Stderr, "the copy of the vulnerability database is of %s and has %d entries about our modules\n", age.Modified, len(entries))
	return errors.Join(errs...)
}

type age struct {
	Modified string `json:"modified"`
}

func read(file string) (age age, entries []entry, err error) {
	f, err := os.Open(file)
	if err != nil {
		return age, nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		if first {
			if err := json.Unmarshal(lines.Bytes(), &age); err != nil {
				return age, nil, err
			}
			continue
		}
		e := entry{raw: slices.Clone(lines.Bytes())}
		if err := json.Unmarshal(e.raw, &e); err != nil {
			return age, nil, err
		}
		entries = append(entries, e)
	}
	return age, entries, lines.Err()
}

func store(dir, name string, content any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}
