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
	"slices"
	"testing"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// Where no operator has seen the spec, no rollout has begun that a budget could hold back.
func TestASpecThatNoOperatorHasSeenIsNotHeldBackByABudget(t *testing.T) {
	blocked := []plan.Blocked{
		{Verb: plan.UpdatePod, Pod: "web-1", Count: 2, By: appsv1.BlockedByBudget, Message: "2 pods are available, at least 2 must be"},
		{Verb: plan.CreatePod, Pod: "web-3", By: appsv1.BlockedByOrder, Message: "web-2 is not ready"},
		{Verb: plan.UpdatePod, Pod: "web-0", By: appsv1.BlockedByPause, Message: "spec.paused is true"},
	}
	for name, test := range map[string]struct {
		observed int64
		want     []string
		text     string
	}{
		"it has seen an older one":  {2, []string{ByOperator, "Paused"}, "the latest spec is held back by NotSeen: the operator has not seen generation 3 yet"},
		"it has never seen it":      {0, []string{ByOperator, "Paused"}, "the latest spec is held back by NotSeen: the operator has not seen generation 3 yet"},
		"it has seen the very spec": {3, []string{"Budget", "OrderedReady", "Paused"}, "the update of web-1 and 1 more is held back by Budget: 2 pods are available, at least 2 must be"},
	} {
		t.Run(name, func(t *testing.T) {
			status := &appsv1.PodManagerStatus{ObservedGeneration: test.observed}
			holds := Holds(status, nil, blocked, Subject{Name: "web", Unseen: Unseen(3, status)}, time.Now())
			var by []string
			for _, h := range holds {
				by = append(by, h.By)
			}
			if !slices.Equal(by, test.want) || holds[0].Text != test.text {
				t.Errorf("held back by %v, want %v: %q", by, test.want, holds[0].Text)
			}
		})
	}
}
