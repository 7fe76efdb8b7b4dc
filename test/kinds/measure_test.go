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

package kinds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/testkit/eventcount"
)

// TestCollectorMeasuresWhatAChangeTriggers drives Deployments through their lives
// and compares the numbers with the table in docs/collector.md. How often the
// controllers of Deployments and ReplicaSets write a status varies; how often
// pods are written does not.
func TestCollectorMeasuresWhatAChangeTriggers(t *testing.T) {
	testkit.Long(t, "it measures for a minute")
	t.Parallel()
	rows := eventcount.Run(t, suite, [3]string{"nginx:1.27", "nginx:1.28", "nginx:1.29"}, func(*corev1.PodSpec) {})
	for _, row := range rows {
		for i, m := range row {
			for kind, events := range m.Events {
				if calls := m.Calls.Handlers[kind]; calls != events {
					t.Errorf("%s, %d containers: the Collector counted %+v events of kind %s, informer handlers %+v",
						m.Title, eventcount.Containers[i], events, kind, calls)
				}
			}
		}
	}
	if !t.Failed() {
		eventcount.Page(t, "measured on kwok", eventcount.Table(rows), *update,
			eventcount.ColumnChange, eventcount.ColumnPod, eventcount.ColumnPodsComeAndGo, eventcount.ColumnSpecs)
	}
}
