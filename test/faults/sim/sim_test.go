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

package sim

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mycompany/pod-operator/internal/controller/fleet"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// readDefinition compiles the CRD once for all tests.
var readDefinition = sync.OnceValues(func() (*Definition, error) { return ReadDefinition("../../..") })

func newLab(t *testing.T) *Lab {
	t.Helper()
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := fleet.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	definition, err := readDefinition()
	if err != nil {
		t.Fatal(err)
	}
	return &Lab{Scheme: scheme, Metrics: metrics, Definition: definition}
}

// everything is all scenarios, of the smaller world and the larger.
func everything() []scenario.Scenario { return slices.Concat(scenario.Simulated(), scenario.Wider()) }

// play runs in a bubble of its own.
func play(t *testing.T, lab *Lab, run Run) (result *Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { result = Play(lab, run) })
	return result
}

// TestWithoutFaults: every scenario comes to rest and breaks no rule.
func TestWithoutFaults(t *testing.T) {
	lab := newLab(t)
	for _, s := range everything() {
		t.Run(s.Name, func(t *testing.T) {
			result := play(t, lab, Run{Scenario: s})
			for _, v := range result.Violations {
				t.Error(v)
			}
			t.Logf("%d steps, recovery %s\nend: %+v\ntally: %v", len(result.Trace), result.Recovery, result.End, result.Tally)
			if t.Failed() {
				for _, line := range result.Trace {
					t.Log(line)
				}
			}
		})
	}
}
