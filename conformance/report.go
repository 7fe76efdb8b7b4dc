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
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Report is what a run found out about one kind on one version of Kubernetes.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Date       string `json:"date"`
	// Suite is the commit of the suite.
	Suite          string          `json:"suite,omitempty"`
	Kubernetes     string          `json:"kubernetes"`
	Nodes          string          `json:"nodes,omitempty"`
	Implementation Implementation  `json:"implementation"`
	Profiles       []ProfileReport `json:"profiles"`
}

// Implementation is the kind under judgement and its controller.
type Implementation struct {
	Adapter    string `json:"adapter"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Version    string `json:"version,omitempty"`
}

// ProfileReport are the results of one profile.
type ProfileReport struct {
	Name       Profile    `json:"name"`
	Result     string     `json:"result"`
	Statistics Statistics `json:"statistics"`
	Passed     []string   `json:"passed,omitempty"`
	Failed     []Remark   `json:"failed,omitempty"`
	Skipped    []Remark   `json:"skipped,omitempty"`
	NotApplied []Remark   `json:"notApplicable,omitempty"`
}

// Statistics count outcomes.
type Statistics struct {
	Passed        int `json:"passed"`
	Failed        int `json:"failed"`
	Skipped       int `json:"skipped"`
	NotApplicable int `json:"notApplicable"`
}

// Remark is a behaviour and what there is to say about it.
type Remark struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func newReport(config *rest.Config, a *Adapter) (*Report, error) {
	kubernetes, err := kubernetesVersion(config)
	if err != nil {
		return nil, err
	}
	apiVersion, kind := a.GVK().ToAPIVersionAndKind()
	return &Report{
		APIVersion: APIVersion, Kind: ReportKind, Date: time.Now().UTC().Format(time.RFC3339), Kubernetes: kubernetes,
		Implementation: Implementation{Adapter: a.Metadata.Name, APIVersion: apiVersion, Kind: kind},
	}, nil
}

func (r *Report) add(results []Result) {
	for _, profile := range Profiles() {
		p := ProfileReport{Name: profile}
		for _, result := range results {
			if result.Behaviour.Profile == profile {
				p.add(result)
			}
		}
		switch s := p.Statistics; {
		case s == Statistics{}:
			continue
		case s.Failed > 0:
			p.Result = "failure"
		case s.Skipped > 0:
			p.Result = "partial"
		case s.Passed == 0:
			p.Result = "notApplicable"
		default:
			p.Result = "success"
		}
		r.Profiles = append(r.Profiles, p)
	}
}

func (p *ProfileReport) add(result Result) {
	remark := Remark{Name: result.Behaviour.Name, Reason: result.Message}
	switch result.Outcome {
	case Passed:
		p.Statistics.Passed++
		p.Passed = append(p.Passed, remark.Name)
	case Failed:
		p.Statistics.Failed++
		p.Failed = append(p.Failed, remark)
	case Skipped:
		p.Statistics.Skipped++
		p.Skipped = append(p.Skipped, remark)
	case NotApplicable:
		p.Statistics.NotApplicable++
		p.NotApplied = append(p.NotApplied, remark)
	}
}

// Failures are all that failed, in every profile.
func (r *Report) Failures() []Remark {
	var failures []Remark
	for _, p := range r.Profiles {
		failures = append(failures, p.Failed...)
	}
	return failures
}

// Outcome is that of one behaviour; empty where it did not run.
func (r *Report) Outcome(name string) (Outcome, string) {
	for _, p := range r.Profiles {
		if slices.Contains(p.Passed, name) {
			return Passed, ""
		}
		for outcome, remarks := range map[Outcome][]Remark{Failed: p.Failed, Skipped: p.Skipped, NotApplicable: p.NotApplied} {
			for _, remark := range remarks {
				if remark.Name == name {
					return outcome, remark.Reason
				}
			}
		}
	}
	return "", ""
}

// String is a table.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) on Kubernetes %s\n\n", r.Implementation.Kind, r.Implementation.Adapter, r.Kubernetes)
	fmt.Fprintf(&b, "%-10s %-14s %7s %7s %8s %15s\n", "profile", "result", "passed", "failed", "skipped", "does not apply")
	for _, p := range r.Profiles {
		s := p.Statistics
		fmt.Fprintf(&b, "%-10s %-14s %7d %7d %8d %15d\n", p.Name, p.Result, s.Passed, s.Failed, s.Skipped, s.NotApplicable)
	}
	for _, failure := range r.Failures() {
		fmt.Fprintf(&b, "\n%s: %s\n", failure.Name, failure.Reason)
	}
	return b.String()
}

// Minor is the version of Kubernetes without the patch: 1.37.
func (r *Report) Minor() string {
	parts := strings.SplitN(strings.TrimPrefix(r.Kubernetes, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// Write puts a report where reports are kept: DIR/1.37/deployment.yaml.
func (r *Report) Write(dir string) (string, error) {
	data, err := yaml.Marshal(r)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, r.Minor(), r.Implementation.Adapter+".yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, data, 0o644) // a public document
}

// ReadReports reads all reports of a folder.
func ReadReports(dir string) ([]*Report, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var reports []*Report
	for _, file := range files {
		if filepath.Base(file) == testsFile {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := &Report{}
		if err := yaml.UnmarshalStrict(data, r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}
