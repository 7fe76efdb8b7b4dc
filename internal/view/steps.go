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

package view

import (
	"fmt"
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Resized is the preview of a workload whose pods another controller makes:
// how many come or go is known, but not which.
func Resized(workload string, from, to int) Preview {
	why := fmt.Sprintf("%s has %s, and its owner asks for %d", workload, Count(from, "pod"), to)
	switch {
	case to > from:
		return summed([]Step{{What: Create, Reason: appsv1.WhyScaleUp, Why: why, Count: to - from, Wave: 1}})
	case to < from:
		return summed([]Step{{What: Delete, Reason: appsv1.WhyScaleDown, Why: why, Count: from - to, Wave: 1}})
	}
	return summed(nil)
}

// HeldBack is the preview of pods that will not come.
func HeldBack(pods int, by, why string) Preview {
	return summed([]Step{{What: Held, Reason: by, Why: why, Count: pods}})
}

// Before is the preview with steps that come first.
func (p Preview) Before(steps []Step) Preview {
	p.Steps, p.Counts = append(steps, p.Steps...), map[string]int{}
	p.sum()
	return p
}

// After is the preview with steps after it.
func (p Preview) After(steps []Step) Preview {
	p.Steps, p.Counts = append(slices.Clone(p.Steps), steps...), map[string]int{}
	p.sum()
	return p
}

// summed is the preview of steps that are all there is.
func summed(steps []Step) Preview {
	p := Preview{Steps: append([]Step{}, steps...), Counts: map[string]int{}, Complete: true}
	p.sum()
	return p
}

// Interrupts reports whether pods that run now would be replaced, restarted or deleted.
func (p Preview) Interrupts() bool {
	return p.Disruptive || p.Counts[Move]+p.Counts[Evict] > 0 || slices.ContainsFunc(p.Steps, func(s Step) bool { return s.restarts })
}

// sum counts the steps.
func (p *Preview) sum() {
	for _, step := range p.Steps {
		p.Counts[step.What] += max(1, step.Count)
		p.Waves = max(p.Waves, step.Wave)
	}
	p.Disruptive = p.Counts[Recreate]+p.Counts[Delete] > 0
	p.Summary = Summary(p.Counts)
}
