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

package plugin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestEventsHistoryAndRecordsAgreeOnCounts: how many pods were created, changed and deleted
// is the same in the events, in status.history, in the records, and in why without a
// recorder. Both rollouts begin with the same pod.
func TestEventsHistoryAndRecordsAgreeOnCounts(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 3)
	patch(t, namespace, `{"spec":{"image":"nginx:1.28","update":{"partition":2}}}`)
	testkit.Eventually(t, "one pod is on the new image", func() error {
		if n := historyCounts(t, namespace)["Updated"]; n != 1 {
			return fmt.Errorf("the history counts %d", n)
		}
		return nil
	})
	for _, body := range []string{
		`{"spec":{"image":"nginx:1.29","update":{"partition":0}}}`, `{"spec":{"replicas":5}}`, `{"spec":{"replicas":1}}`,
	} {
		patch(t, namespace, body)
		expectSettled(t, namespace)
	}
	want := map[string]int{"Created": 5, "Updated": 4, "Deleted": 4}
	for place, count := range map[string]func(*testing.T, string) map[string]int{
		"the history": historyCounts, "the events": eventCounts,
		"the records":            func(t *testing.T, _ string) map[string]int { return p.recordCounts(t) },
		"why without a recorder": func(t *testing.T, _ string) map[string]int { return p.with("--no-recorder").storyCounts(t) },
	} {
		testkit.Eventually(t, place+" counts every pod once", func() error {
			if diff := cmp.Diff(want, count(t, namespace)); diff != "" {
				return fmt.Errorf("%s (-want +got):\n%s", place, diff)
			}
			return nil
		})
	}
}

func historyCounts(t *testing.T, namespace string) map[string]int {
	t.Helper()
	pm := &appsv1.PodManager{}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, entry := range pm.Status.History {
		counts[entry.Action] += int(entry.Count)
	}
	return counts
}

// counted is what a note says first: Created 3 pods: web-0 ...
var counted = regexp.MustCompile(`^(\w+) (\d+) pods?: `)

func addNote(counts map[string]int, note string, times int) {
	if m := counted.FindStringSubmatch(note); m != nil {
		n, _ := strconv.Atoi(m[2])
		counts[m[1]] += n * times
	}
}

func eventCounts(t *testing.T, namespace string) map[string]int {
	t.Helper()
	var list corev1.EventList
	if err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for i := range list.Items {
		if e := &list.Items[i]; e.InvolvedObject.Kind == "PodManager" {
			addNote(counts, e.Message, max(1, int(e.Count)))
		}
	}
	return counts
}

type told struct {
	Text   string   `json:"text"`
	Writes []string `json:"writes"`
}

func (p plugin) told(t *testing.T) []told {
	t.Helper()
	var answer struct {
		Items []told `json:"items"`
	}
	if err := json.Unmarshal([]byte(p.story(t, "web", "--limit", "500", "-o", "json")), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Items
}

// recordCounts counts the writes of pods.
func (p plugin) recordCounts(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, moment := range p.told(t) {
		for _, write := range moment.Writes {
			for verb, word := range map[string]string{"create": "Created", "patch": "Updated", "delete": "Deleted"} {
				if strings.HasPrefix(write, verb+" Pod web-") {
					counts[word]++
				}
			}
		}
	}
	return counts
}

func (p plugin) storyCounts(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, moment := range p.told(t) {
		addNote(counts, moment.Text, 1)
	}
	return counts
}
