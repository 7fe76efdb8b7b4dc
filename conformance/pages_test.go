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

package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/conformance"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var update = flag.Bool("update", false, "write the tables of docs/comparison.md and docs/versions.md from the reports")

const reportsDir = "reports"

// TestThePagesSayWhatTheReportsSay: the tables hold no claim that was not run.
func TestThePagesSayWhatTheReportsSay(t *testing.T) {
	reports, err := conformance.ReadReports(reportsDir)
	if err != nil {
		t.Fatal(err)
	}
	matrix, err := conformance.Matrix(reportsDir)
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{"comparison.md": conformance.Comparison(reports), "versions.md": matrix} {
		path := filepath.Join(testkit.Root(), "docs", name)
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const begin, end = "<!-- conformance -->\n", "<!-- /conformance -->\n"
		head, rest, found := strings.Cut(string(page), begin)
		_, tail, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Errorf("docs/%s has no place for the table", name)
			continue
		}
		want := head + begin + "\n" + table + "\n" + end + tail
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, string(page)); diff != "" {
			t.Errorf("docs/%s is not what the reports say: go test ./conformance -run Pages -update (-want +got):\n%s", name, diff)
		}
	}
}

// TestReportsAreOfBehavioursThatExist: a behaviour that is renamed or added is run again
// before its old result is believed.
func TestReportsAreOfBehavioursThatExist(t *testing.T) {
	reports, err := conformance.ReadReports(reportsDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) == 0 {
		t.Fatal("there are no reports")
	}
	for _, r := range reports {
		n := 0
		for _, p := range r.Profiles {
			s := p.Statistics
			n += s.Passed + s.Failed + s.Skipped + s.NotApplicable
		}
		for _, b := range conformance.Behaviours() {
			if outcome, _ := r.Outcome(b.Name); outcome == "" {
				t.Errorf("%s on %s: %s was not run", r.Implementation.Adapter, r.Kubernetes, b.Name)
			}
		}
		if n != len(conformance.Behaviours()) {
			t.Errorf("%s on %s has %d results, and there are %d behaviours", r.Implementation.Adapter, r.Kubernetes, n, len(conformance.Behaviours()))
		}
	}
}

// TestThePageHasAnAdapterThatWorks: the one that readers copy.
func TestThePageHasAnAdapterThatWorks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	_, rest, _ := strings.Cut(page, "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	if _, err := conformance.Parse([]byte(strings.ReplaceAll("\n"+block, "\n   ", "\n"))); err != nil {
		t.Error(err)
	}
	if want := fmt.Sprintf("\n%d such behaviours", len(conformance.Behaviours())); !strings.Contains(page, want) {
		t.Errorf("docs/conformance.md does not say %q", want)
	}
	for _, name := range conformance.Shipped() {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/conformance.md does not name the adapter %s", name)
		}
	}
}
