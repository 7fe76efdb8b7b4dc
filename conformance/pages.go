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

package conformance

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// TestsKind is the kind of the file with the results of the project's own tests.
const TestsKind = "TestReport"

// TestReport is how the project's own tests went on one version of Kubernetes.
type TestReport struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Date       string      `json:"date"`
	Suite      string      `json:"suite,omitempty"`
	Kubernetes string      `json:"kubernetes"`
	Tests      []TestSuite `json:"tests"`
}

// TestSuite is a package of tests.
type TestSuite struct {
	Name    string   `json:"name"`
	Passed  int      `json:"passed"`
	Skipped int      `json:"skipped"`
	Failed  []string `json:"failed,omitempty"`
}

// testsFile lies beside the reports of a version.
const testsFile = "tests.yaml"

// Write puts the results beside the reports of the version.
func (r *TestReport) Write(dir, minor string) error {
	data, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, minor, testsFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644) // a public document
}

// readTests reads them; nil where a version has none.
func readTests(dir, minor string) (*TestReport, error) {
	data, err := os.ReadFile(filepath.Join(dir, minor, testsFile))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &TestReport{}
	return r, yaml.UnmarshalStrict(data, r)
}

// column is a kind on the page of the comparison.
type column struct{ adapter, title string }

func columns() []column {
	return []column{
		{"podmanager", "PodManager"},
		{"podmanager-random", "PodManager, random names"},
		{"deployment", "Deployment"},
		{"statefulset", "StatefulSet"},
		{"replicaset", "ReplicaSet"},
	}
}

// newest are the reports of the newest version, by adapter.
func newest(reports []*Report) map[string]*Report {
	out := map[string]*Report{}
	for _, r := range reports {
		name := r.Implementation.Adapter
		if out[name] == nil || minorNumber(r.Minor()) > minorNumber(out[name].Minor()) {
			out[name] = r
		}
	}
	return out
}

func minorNumber(minor string) (n int) {
	if _, err := fmt.Sscanf(minor, "1.%d", &n); err != nil {
		return 0
	}
	return n
}

// foreign are kinds of other projects. A report of theirs is there when the manager was
// built and judged; make matrix does not do that.
func foreign() []column {
	return []column{
		{"cloneset", "CloneSet"},
		{"advancedstatefulset", "Advanced StatefulSet"},
		{"rollout", "Argo Rollout"},
		{"leaderworkerset", "LeaderWorkerSet"},
		{"agent-sandbox", "SandboxWarmPool"},
	}
}

// Comparison are the tables of behaviours for a page, of the newest version there is.
func Comparison(reports []*Report) string {
	var b strings.Builder
	latest := newest(reports)
	if first := latest[columns()[0].adapter]; first != nil {
		fmt.Fprintf(&b, "Run on Kubernetes %s; each report names its commit. `–` means that the behaviour does not apply.\n\n", first.Kubernetes)
	}
	compare(&b, columns(), latest)
	judged := slices.DeleteFunc(foreign(), func(c column) bool { return latest[c.adapter] == nil })
	if len(judged) == 0 {
		return b.String()
	}
	b.WriteString("\nKinds of other projects, with managers that were [built for it](conformance.md#kinds-of-other-projects):\n\n")
	for i, c := range judged {
		judged[i].title = fmt.Sprintf("%s, %s", c.title, latest[c.adapter].Implementation.Version)
	}
	compare(&b, judged, latest)
	return b.String()
}

// compare writes one table, and its remarks.
func compare(b *strings.Builder, columns []column, latest map[string]*Report) {
	b.WriteString("| behaviour |")
	for _, c := range columns {
		fmt.Fprintf(b, " %s |", c.title)
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(columns)) + "|\n")
	for _, behaviour := range Behaviours() {
		fmt.Fprintf(b, "| %s |", behaviour.Title)
		for _, c := range columns {
			fmt.Fprintf(b, " %s |", cell(latest[c.adapter], behaviour.Name))
		}
		b.WriteString("\n")
	}
	b.WriteString("| times that kstatus said Current too early |")
	for _, c := range columns {
		fmt.Fprintf(b, " %s |", tooEarly(latest[c.adapter]))
	}
	b.WriteString("\n")
	for _, c := range columns {
		if r := latest[c.adapter]; r != nil {
			b.WriteString(remarks(c.title, r))
		}
	}
}

func cell(r *Report, behaviour string) string {
	if r == nil {
		return "not run"
	}
	switch outcome, reason := r.Outcome(behaviour); outcome {
	case Passed:
		return "yes"
	case Failed:
		if isEarly(reason) && !strings.Contains(behaviour, "honest") {
			return beside(behaviour, reason)
		}
		return "**no**"
	case NotApplicable:
		return "–"
	}
	return "not run"
}

// isEarly: the behaviour failed by nothing but that kstatus said Current too early, which
// has a row of its own.
func isEarly(reason string) bool { return strings.HasPrefix(reason, "kstatus sa") }

// beside is what a behaviour showed of the pods where kstatus was wrong. It is checked
// last, except in reports in which it says Current: they end there, with the last step
// of rollout-broken-serves, and in the middle of the others.
func beside(behaviour, reason string) string {
	if strings.HasPrefix(reason, "kstatus says") && behaviour != "rollout-broken-serves" {
		return "not seen"
	}
	return "yes"
}

// tooEarly counts the behaviours in which kstatus said Current too early.
func tooEarly(r *Report) string {
	if r == nil {
		return "not run"
	}
	n := 0
	for _, failure := range r.Failures() {
		if isEarly(failure.Reason) {
			n++
		}
	}
	return strconv.Itoa(n)
}

// remarks say what failed, and why the rest does not apply.
func remarks(title string, r *Report) string {
	var b strings.Builder
	for _, failure := range r.Failures() {
		if isEarly(failure.Reason) {
			fmt.Fprintf(&b, "\n%s in `%s`: %s.\n", title, failure.Name, strings.TrimSuffix(failure.Reason, ": "))
			continue
		}
		fmt.Fprintf(&b, "\n%s fails `%s`: %s.\n", title, failure.Name, short(failure.Reason))
	}
	var reasons []string
	for _, p := range r.Profiles {
		for _, remark := range p.NotApplied {
			for reason := range strings.SplitSeq(remark.Reason, "; ") {
				if !slices.Contains(reasons, reason) {
					reasons = append(reasons, reason)
				}
			}
		}
	}
	if len(reasons) > 0 {
		fmt.Fprintf(&b, "\n`–` for %s, because %s.\n", title, strings.Join(reasons, "; "))
	}
	return b.String()
}

// short leaves the list of pods out.
func short(reason string) string {
	text, _, _ := strings.Cut(reason, ": "+objectName+"-")
	return text
}

// Matrix is the table of versions for a page.
func Matrix(dir string) (string, error) {
	reports, err := ReadReports(dir)
	if err != nil {
		return "", err
	}
	byMinor := map[string][]*Report{}
	for _, r := range reports {
		byMinor[r.Minor()] = append(byMinor[r.Minor()], r)
	}
	var minors []string
	for minor := range byMinor {
		minors = append(minors, minor)
	}
	slices.SortFunc(minors, func(a, b string) int { return cmp.Compare(minorNumber(b), minorNumber(a)) })
	var b strings.Builder
	b.WriteString("| Kubernetes | integration tests | an upgrade of the operator | conformance of PodManager | Deployment | StatefulSet | ReplicaSet |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, minor := range minors {
		tests, err := readTests(dir, minor)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", byMinor[minor][0].Kubernetes, tests.cell("integration"), tests.cell("upgrade"))
		for _, adapter := range []string{"podmanager", "deployment", "statefulset", "replicaset"} {
			fmt.Fprintf(&b, " %s |", summary(byMinor[minor], adapter))
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

func (r *TestReport) cell(name string) string {
	if r == nil {
		return "not run"
	}
	for _, s := range r.Tests {
		if s.Name != name {
			continue
		}
		if len(s.Failed) > 0 {
			return fmt.Sprintf("**%d failed**: %s", len(s.Failed), strings.Join(s.Failed, ", "))
		}
		if s.Skipped == 0 {
			return fmt.Sprintf("%d passed", s.Passed)
		}
		return fmt.Sprintf("%d passed, %d skipped", s.Passed, s.Skipped)
	}
	return "not run"
}

// summary is what a kind passed of what applies to it.
func summary(reports []*Report, adapter string) string {
	for _, r := range reports {
		if r.Implementation.Adapter != adapter {
			continue
		}
		passed, all := 0, 0
		for _, p := range r.Profiles {
			passed += p.Statistics.Passed
			all += p.Statistics.Passed + p.Statistics.Failed
		}
		return fmt.Sprintf("%d of %d", passed, all)
	}
	return "not run"
}
