//go:build linux

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

package e2e

import (
	"flag"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/testkit/eventcount"
)

// update writes the measured table into docs/collector.md.
var update = flag.Bool("update", false, "write what was measured into docs/collector.md")

// TestCollectorMeasuresWhatAChangeTriggers counts what real kubelets write. How
// often they write a pod varies from run to run, so only the rest is compared with
// docs/collector.md; eventcount checks the least.
func TestCollectorMeasuresWhatAChangeTriggers(t *testing.T) {
	t.Parallel()
	rows := eventcount.Run(t, suite, [3]string{imageV1, imageV2, imageV3}, func(spec *corev1.PodSpec) {
		on(spec, nodeA) // node B loses its power in another test
		for i := range spec.Containers {
			// The containers of a pod share its ports.
			spec.Containers[i].Args = []string{fmt.Sprintf("--address=:%d", serverPort+i)}
		}
	})
	t.Log("measured:\n" + eventcount.Table(rows))
	if !t.Failed() {
		eventcount.Page(t, "measured on kubelets", eventcount.Table(rows), *update,
			eventcount.ColumnChange, eventcount.ColumnPodsComeAndGo, eventcount.ColumnSpecs)
	}
}
