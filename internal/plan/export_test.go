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

package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The tests of this package play fleets forward with internal/report and
// internal/forecast, which import it: links_test.go, in package plan_test, sets
// these.
var (
	Report  func(Desired, Observed, Decision, []Outcome, time.Time) Reported
	Foresee func(Desired, Observed, time.Time) Forecast
)

// Reported is report.Reported.
type Reported struct {
	Status    appsv1.PodManagerStatus
	Events    []Event
	Decisions []appsv1.Decision
}

// Event is report.Event.
type Event struct {
	Type, Reason, Action, Note, Pod string
	UID                             types.UID
}

// Forecast is forecast.Forecast.
type Forecast struct {
	First    Decision
	Actions  []Action
	Blocked  []Blocked
	Passes   int
	Complete bool
}
