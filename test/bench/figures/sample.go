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

// Package figures turns what a benchmark measured into what people read:
// medians and ranges, ratios, tables, the verdict on each target, Markdown and
// SVG. It knows nothing of clusters.
//
// A ratio compares two contenders of the same repetition, which ran within
// minutes of each other on the same machine, and the ratio that is told is the
// median of those. Absolute times depend on the machine; the ratios do so
// much less, and the counts not at all.
package figures

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Sample is one contender's run of one step.
type Sample struct {
	Step       string `json:"step"`
	Contender  string `json:"contender"`
	Repetition int    `json:"repetition"`
	// Seconds until the step's goal was reached.
	Seconds float64 `json:"seconds"`
	// Milestones are the seconds until something on the way to it.
	Milestones map[string]float64 `json:"milestones,omitempty"`
	// Writes are what the controller sent, by verb and resource, whatever the
	// answer was.
	Writes map[string]int `json:"writes"`
	// Reads are its GET and LIST requests, by verb and resource.
	Reads map[string]int `json:"reads,omitempty"`
	// DryRuns are writes that asked for nothing to be stored: pods that the
	// admission webhook tries.
	DryRuns int `json:"dryRuns,omitempty"`
	// Lists are its LIST requests.
	Lists int `json:"lists"`
	// Conflicts are its requests that were answered with 409.
	Conflicts int `json:"conflicts"`
	// ControllerCPU and APIServerCPU are seconds.
	ControllerCPU float64 `json:"controllerCPU"`
	APIServerCPU  float64 `json:"apiServerCPU"`
	// PeakMemory of the controller in bytes, resident.
	PeakMemory int64 `json:"peakMemory"`
	// PrivateMemory is the peak of what of it is not a file's.
	PrivateMemory int64 `json:"privateMemory"`
	// Others is the share of the machine that programs beside the cluster, the
	// contender and the benchmark took meanwhile.
	Others float64 `json:"others"`
}

// TotalWrites is the sum of all writes.
func (s *Sample) TotalWrites() int {
	sum := 0
	for _, n := range s.Writes {
		sum += n
	}
	return sum
}

// StatusWrites are the writes of owners' statuses.
func (s *Sample) StatusWrites() int {
	sum := 0
	for kind, n := range s.Writes {
		if strings.HasSuffix(kind, "/status") && !strings.HasSuffix(kind, " pods/status") {
			sum += n
		}
	}
	return sum
}

// PlannerCost is what one pass of the planner costs per pod.
type PlannerCost struct {
	Fleet          string  `json:"fleet"`
	Pods           int     `json:"pods"`
	NanosPerPod    float64 `json:"nanosPerPod"`
	AllocsPerPod   float64 `json:"allocsPerPod"`
	AllocatedBytes float64 `json:"bytesPerPod"`
}

// Step is what was measured in a step, when, and at which commit.
type Step struct {
	Name string `json:"name"`
	// Title says in words, and with the sizes, what the step does.
	Title string `json:"title"`
	// Goal is what the seconds are counted to.
	Goal string    `json:"goal"`
	Time time.Time `json:"time"`
	// Commit is what was checked out, if that is known.
	Commit  string   `json:"commit,omitempty"`
	Samples []Sample `json:"samples"`
}

// Results are everything that was measured.
type Results struct {
	Kubernetes string `json:"kubernetes"`
	CPUs       int    `json:"cpus"`
	// FullSize: the sizes are those that the targets are set for.
	FullSize bool          `json:"fullSize"`
	Steps    []Step        `json:"steps"`
	Planner  []PlannerCost `json:"planner,omitempty"`
	// CacheBytesPerPod is what a cached pod takes, with its places in the indexes.
	CacheBytesPerPod float64 `json:"cacheBytesPerPod,omitempty"`
}

// Add puts a sample into its step.
func (r *Results) Add(s Sample) error {
	step := r.Step(s.Step)
	if step == nil {
		return fmt.Errorf("a sample of %q, which is no step of this run", s.Step)
	}
	step.Samples = append(step.Samples, s)
	return nil
}

// Step finds a step, or nil.
func (r *Results) Step(name string) *Step {
	for i := range r.Steps {
		if r.Steps[i].Name == name {
			return &r.Steps[i]
		}
	}
	return nil
}

// Merge takes over from an earlier run the steps that this one did not
// measure. Steps are taken whole: nothing is compared across runs.
func (r *Results) Merge(earlier Results) {
	for i := range earlier.Steps {
		if r.Step(earlier.Steps[i].Name) == nil {
			r.Steps = append(r.Steps, earlier.Steps[i])
		}
	}
	slices.SortStableFunc(r.Steps, func(a, b Step) int { return strings.Compare(a.Name, b.Name) })
	if len(r.Planner) == 0 {
		r.Planner = earlier.Planner
	}
	if r.CacheBytesPerPod == 0 {
		r.CacheBytesPerPod = earlier.CacheBytesPerPod
	}
	r.FullSize = r.FullSize && earlier.FullSize
}

// Contenders of a step, in the order of their first sample.
func (s *Step) Contenders() []string {
	var names []string
	for i := range s.Samples {
		if !slices.Contains(names, s.Samples[i].Contender) {
			names = append(names, s.Samples[i].Contender)
		}
	}
	return names
}

// Of are the samples of one contender, by repetition.
func (s *Step) Of(contender string) map[int]*Sample {
	samples := map[int]*Sample{}
	for i := range s.Samples {
		if s.Samples[i].Contender == contender {
			samples[s.Samples[i].Repetition] = &s.Samples[i]
		}
	}
	return samples
}

// Write stores the results as JSON.
func (r *Results) Write(path string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o600)
}

// Read loads results that Write stored.
func Read(path string) (Results, error) {
	var r Results
	raw, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// inWords lists requests, the most frequent first.
func inWords(counts map[string]int) string {
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	words := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		words = append(words, fmt.Sprintf("%s %s", Thousands(counts[kind]), kind))
	}
	return strings.Join(words, ", ")
}
