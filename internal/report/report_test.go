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

package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A rollout is one line, however many passes it takes; what takes it back, with
// the same spec, is another; and no line counts a pod twice.
func TestHistoryMergesWhatOneDecisionDid(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	entry := func(second int, revision string, pods ...string) appsv1.Decision {
		return appsv1.Decision{
			Time: metav1.NewTime(noon.Add(time.Duration(second) * time.Second)), Generation: 1, Revision: revision,
			Action: appsv1.ReasonUpdated, Reason: appsv1.WhyRolloutInPlace, Count: int32(len(pods)), Pods: pods,
		}
	}
	for name, test := range map[string]struct {
		entries []appsv1.Decision // oldest first
		want    []string          // newest first
	}{
		"the passes of one rollout":       {[]appsv1.Decision{entry(0, "web-new", "a"), entry(1, "web-new", "b", "c")}, []string{"web-new 3 [a b c]"}},
		"an undo is the opposite":         {[]appsv1.Decision{entry(0, "web-new", "a", "b"), entry(1, "web-old", "a"), entry(2, "web-old", "b")}, []string{"web-old 2 [a b]", "web-new 2 [a b]"}},
		"of other pods, too":              {[]appsv1.Decision{entry(0, "web-new", "a"), entry(1, "web-old", "b")}, []string{"web-old 1 [b]", "web-new 1 [a]"}},
		"and so is the way forth again":   {[]appsv1.Decision{entry(0, "web-new", "a"), entry(1, "web-old", "a"), entry(2, "web-new", "a")}, []string{"web-new 1 [a]", "web-old 1 [a]", "web-new 1 [a]"}},
		"a pod that is touched twice":     {[]appsv1.Decision{entry(0, "web-new", "a", "b"), entry(1, "web-new", "a"), entry(2, "web-new", "b")}, []string{"web-new 2 [a b]", "web-new 2 [a b]"}},
		"what comes at the end of it":     {[]appsv1.Decision{entry(0, "web-new", "a"), entry(10, "web-new", "b")}, []string{"web-new 2 [a b]"}},
		"what comes long after is not it": {[]appsv1.Decision{entry(0, "web-new", "a"), entry(11, "web-new", "b")}, []string{"web-new 1 [b]", "web-new 1 [a]"}},
		"ten pods are named and the rest is counted": {
			[]appsv1.Decision{entry(0, "web-new", "a", "b", "c", "d", "e", "f", "g", "h", "i"), entry(1, "web-new", "j", "k", "l")},
			[]string{"web-new 12 [a b c d e f g h i j]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reporter{}
			for _, d := range test.entries {
				r.remember(d)
			}
			var got []string
			for _, e := range r.status.History {
				got = append(got, fmt.Sprint(e.Revision, " ", e.Count, " ", e.Pods))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnePodHasAndTwoPodsHave(t *testing.T) {
	if one, two := podsHave(1), podsHave(2); one != "1 pod has" || two != "2 pods have" {
		t.Errorf("got %q and %q", one, two)
	}
}
