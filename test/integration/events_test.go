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
	ns := suite.Namespace(t)
	create(t, testkit.MakePodManager(ns, "web").Replicas(2).Obj())
	expectReady(t, ns, "web", 2)
	<-time.After(1100 * time.Millisecond) // the field has seconds
	scale(t, ns, "web", 1)
	expectEvent(t, ns, "web", corev1.EventTypeNormal, "Deleted", "web-1")

	out := suite.Kubectl(t, "get", "events", "-n", ns, "--sort-by=.lastTimestamp",
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

// expectWarningCount waits until the warnings about an object, as kubectl
// counts them, are n, and have a time.
func expectWarningCount(t *testing.T, namespace, name string, n int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("kubectl counts %d warnings", n), func() error {
		var list corev1.EventList
		if err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		got := 0
		for i := range list.Items {
			e := &list.Items[i]
			if e.InvolvedObject.Name != name || e.Type != corev1.EventTypeWarning {
				continue
			}
			got += int(e.Count)
			if e.LastTimestamp.Before(&e.FirstTimestamp) || e.FirstTimestamp.IsZero() {
				t.Errorf("%s was first seen at %s and last at %s", e.Reason, e.FirstTimestamp, e.LastTimestamp)
			}
		}
		if got != n {
			return fmt.Errorf("it counts %d", got)
		}
		return nil
	})
}
