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

package plan_test

import (
	"time"

	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

func init() {
	plan.Report = func(desired plan.Desired, observed plan.Observed, decision plan.Decision, outcomes []plan.Outcome, now time.Time) plan.Reported {
		r := report.Report(desired, observed, decision, outcomes, now)
		reported := plan.Reported{Status: r.Status, Decisions: r.Decisions}
		for _, e := range r.Events {
			reported.Events = append(reported.Events, plan.Event{Type: e.Type, Reason: e.Reason, Action: e.Action, Note: e.Note, Pod: e.Pod, UID: e.UID})
		}
		return reported
	}
	plan.Foresee = func(desired plan.Desired, observed plan.Observed, now time.Time) plan.Forecast {
		return plan.Forecast(forecast.Of(desired, observed, now))
	}
}
