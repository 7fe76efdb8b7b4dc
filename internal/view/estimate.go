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
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/mycompany/pod-operator/internal/forecast"
)

// Estimate is how long a change would take: the sum of its waves, each of which
// lasts until its pods are available.
type Estimate struct {
	// Seconds is nil where the fleet has no pod that shows how long one takes.
	Seconds *int64 `json:"seconds,omitempty"`
	// MinReadySeconds is the part of it that minReadySeconds takes, and is
	// known in any case.
	MinReadySeconds int64 `json:"minReadySeconds,omitempty"`
	// StopSeconds is how long recreated pods may take to stop, in all waves; it
	// is not part of Seconds, because only their grace period is known.
	StopSeconds int64 `json:"stopSeconds,omitempty"`
	// Text is a sentence with what it is based on.
	Text string `json:"text"`
}

// NewEstimate adds up the waves of a preview. Pods that are only deleted take no
// time: nothing waits for them.
// NewEstimate adds the waves up. unknown says why nothing is known of the duration; empty means
// that the pace tells.
func NewEstimate(p Preview, pace forecast.Pace, unknown string, minReady, grace time.Duration) *Estimate {
	var total, settling, stopping time.Duration
	known, used := unknown == "", basis{}
	for wave := 1; wave <= p.Waves; wave++ {
		w := waveOf(p.Steps, wave)
		switch {
		case w.starts && pace.Started == 0, w.restarts && pace.Changed+pace.Started == 0:
			known = false
		case w.starts && pace.Start >= inPlacePace(pace):
			used.start, total = true, total+pace.Start
		case w.restarts:
			used.inPlace, total = true, total+inPlacePace(pace)
		case w.starts:
			used.start, total = true, total+pace.Start
		}
		if w.starts || w.restarts {
			settling += minReady
		}
		if w.stops {
			stopping += grace
		}
	}
	if p.Waves == 0 {
		return nil
	}
	e := &Estimate{MinReadySeconds: seconds(settling), StopSeconds: seconds(stopping)}
	if known {
		all := seconds(total + settling)
		e.Seconds = &all
	}
	if unknown != "" {
		used = basis{}
	}
	e.Text = e.sentence(p.Waves, pace, used, unknown, minReady, grace)
	return e
}

// wave is what happens in one.
type wave struct{ starts, restarts, stops bool }

func waveOf(steps []Step, number int) wave {
	var w wave
	for _, step := range steps {
		if step.Wave != number {
			continue
		}
		w.starts = w.starts || step.What == Create || step.What == Recreate || step.What == Move
		w.stops = w.stops || step.What == Recreate || step.What == Move
		w.restarts = w.restarts || step.What == InPlace && step.restarts
	}
	return w
}

// inPlacePace is the time of a change in place, or that of a start where no pod
// has been changed in place: it takes no longer.
func inPlacePace(pace forecast.Pace) time.Duration {
	if pace.Changed == 0 {
		return pace.Start
	}
	return pace.InPlace
}

// basis is which times an estimate uses.
type basis struct{ start, inPlace bool }

func (e *Estimate) sentence(waves int, pace forecast.Pace, used basis, unknown string, minReady, grace time.Duration) string {
	text := Count(waves, "wave")
	var because []string
	switch {
	case e.Seconds == nil:
		text += ", duration unknown"
		because = append(because, cmp.Or(unknown, "no ready pod shows how long a pod takes to become ready"))
	case *e.Seconds == 0:
		text += ", at once"
	default:
		text += ", in about " + human(*e.Seconds)
	}
	if used.inPlace && pace.Changed > 0 {
		because = append(because, fmt.Sprintf("pods were ready %s after their last change in place", duration.HumanDuration(pace.InPlace)))
	}
	if used.start || used.inPlace && pace.Changed == 0 {
		because = append(because, fmt.Sprintf("pods were ready %s after they were created", duration.HumanDuration(pace.Start)))
	}
	if e.MinReadySeconds > 0 {
		because = append(because, fmt.Sprintf("minReadySeconds takes %s in each wave", duration.HumanDuration(minReady)))
	}
	if e.StopSeconds > 0 {
		because = append(because, fmt.Sprintf("recreated pods may take up to %s to stop, which is not counted", duration.HumanDuration(grace)))
	}
	if len(because) > 0 {
		text += ": " + strings.Join(because, "; ")
	}
	return text + "."
}

func seconds(d time.Duration) int64 { return int64(d.Round(time.Second) / time.Second) }

func human(seconds int64) string { return duration.HumanDuration(time.Duration(seconds) * time.Second) }
