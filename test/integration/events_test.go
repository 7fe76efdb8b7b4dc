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

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestEventsAreSortedByTheirTime: kubectl sorts our events among those of the
// scheduler and the kubelets, which have a time in the field that people use.
func TestEventsAreSortedByTheirTime(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(2))
	f.ExpectReady(2)
	<-time.After(1100 * time.Millisecond) // the field has seconds
	f.Scale(1)
	f.ExpectEvent(corev1.EventTypeNormal, "Deleted", "web-1")

	out := suite.Kubectl(t, "get", "events", "-n", f.Namespace, "--sort-by=.lastTimestamp",
		"-o", `jsonpath={range .items[*]}{.lastTimestamp} {.involvedObject.kind} {.reason}{"\n"}{end}`)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	place := map[string]int{}
	for i, line := range lines {
		if strings.HasPrefix(line, " ") {
			t.Errorf("the event %q has no time", line)
		}
		if fields := strings.Fields(line); len(fields) == 3 {
			place[fields[1]+" "+fields[2]] = i + 1
		}
	}
	scheduled, made, deleted := place["Pod Scheduled"], place["PodManager Created"], place["PodManager Deleted"]
	if made == 0 || scheduled == 0 || deleted < made || deleted < scheduled {
		t.Errorf("the order is not that of what happened:\n%s", out)
	}
}

// expectWarningCount waits until the warnings about web, as kubectl counts them,
// are n, and have a time.
func expectWarningCount(f *testkit.Fleet, n int) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("kubectl counts %d warnings", n), func() error {
		var list corev1.EventList
		if err := suite.Client.List(f.Context(), &list, client.InNamespace(f.Namespace)); err != nil {
			f.Fatal(err)
		}
		got := 0
		for i := range list.Items {
			e := &list.Items[i]
			if e.InvolvedObject.Name != "web" || e.Type != corev1.EventTypeWarning {
				continue
			}
			got += int(e.Count)
			if e.LastTimestamp.Before(&e.FirstTimestamp) || e.FirstTimestamp.IsZero() {
				f.Errorf("%s was first seen at %s and last at %s", e.Reason, e.FirstTimestamp, e.LastTimestamp)
			}
		}
		if got != n {
			return fmt.Errorf("it counts %d", got)
		}
		return nil
	})
}
