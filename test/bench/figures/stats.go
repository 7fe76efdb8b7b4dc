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

package figures

import (
	"fmt"
	"slices"
	"strconv"
)

// Summary is what several repetitions say together.
type Summary struct {
	Median, Min, Max float64
	// Count is how many there were; 0 means that the others mean nothing.
	Count int
}

// Summarize makes a Summary. The median of an even number is the mean of the
// two in the middle.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	median := sorted[n/2]
	if n%2 == 0 {
		median = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return Summary{Median: median, Min: sorted[0], Max: sorted[n-1], Count: n}
}

// Measure takes one number from a sample.
type Measure func(*Sample) float64

// What can be taken from a sample.
var (
	Seconds       Measure = func(s *Sample) float64 { return s.Seconds }
	Writes        Measure = func(s *Sample) float64 { return float64(s.TotalWrites()) }
	StatusWrites  Measure = func(s *Sample) float64 { return float64(s.StatusWrites()) }
	Conflicts     Measure = func(s *Sample) float64 { return float64(s.Conflicts) }
	Lists         Measure = func(s *Sample) float64 { return float64(s.Lists) }
	ControllerCPU Measure = func(s *Sample) float64 { return s.ControllerCPU }
	APIServerCPU  Measure = func(s *Sample) float64 { return s.APIServerCPU }
	PeakMB        Measure = func(s *Sample) float64 { return float64(s.PeakMemory) / 1e6 }
	PrivateMB     Measure = func(s *Sample) float64 { return float64(s.PrivateMemory) / 1e6 }
)

// Milestone takes the seconds to a milestone.
func Milestone(name string) Measure {
	return func(s *Sample) float64 { return s.Milestones[name] }
}

// Summary of a measure over all repetitions of a contender.
func (s *Step) Summary(contender string, m Measure) Summary {
	var values []float64
	for _, sample := range s.Of(contender) {
		values = append(values, m(sample))
	}
	return Summarize(values)
}

// Ratio of a contender to another: of each repetition that both have, then
// over all of those. A repetition in which the other is 0 has no ratio.
func (s *Step) Ratio(contender, to string, m Measure) Summary {
	var values []float64
	others := s.Of(to)
	for repetition, sample := range s.Of(contender) {
		if other, ok := others[repetition]; ok && m(other) > 0 {
			values = append(values, m(sample)/m(other))
		}
	}
	return Summarize(values)
}

// Best is the contender with the smallest median among those named.
func (s *Step) Best(names []string, m Measure) (string, bool) {
	best, found := "", false
	for _, name := range names {
		summary := s.Summary(name, m)
		if summary.Count > 0 && (!found || summary.Median < s.Summary(best, m).Median) {
			best, found = name, true
		}
	}
	return best, found
}

// Thousands writes a number with commas.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(text) - 3; i > start; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// digits writes a summary as "median (min–max)", the range only where there is
// one.
func (s Summary) digits(precision int) string {
	if s.Count == 0 {
		return "–"
	}
	number := func(v float64) string {
		if precision == 0 {
			return Thousands(int(v + 0.5))
		}
		return strconv.FormatFloat(v, 'f', precision, 64)
	}
	if low, high := number(s.Min), number(s.Max); low != high {
		return fmt.Sprintf("%s (%s–%s)", number(s.Median), low, high)
	}
	return number(s.Median)
}
