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

package preflight

import (
	"context"
	"slices"

	"golang.org/x/sync/singleflight"
)

// maxTrials is how many trials the API server does for us at a time. One takes
// it some milliseconds, so this is enough for hundreds a second.
const maxTrials = 8

// trials bound what admission costs the API server. A client that reaches the webhook
// port, or creates many objects as a dry run, has a pod tried for each: trials
// wait for each other, within their Budget, and requests about the same pod at
// the same time share one.
type trials struct {
	slots   chan struct{}
	running singleflight.Group
}

func newTrials() *trials { return &trials{slots: make(chan struct{}, maxTrials)} }

// begin waits for a slot. It returns false when the context ended before one
// was free.
func (t *trials) begin(ctx context.Context) bool {
	select {
	case t.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *trials) end() { <-t.slots }

// answer is what the cluster says of a pod.
type answer struct{ tried, secured Findings }

// share asks once for all callers with the same question at the same time. The
// first caller may leave before the answer is there, and the others still get
// it.
func (t *trials) share(ctx context.Context, question string, ask func(context.Context) answer) answer {
	shared := t.running.DoChan(question, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Budget)
		defer cancel()
		return ask(ctx), nil
	})
	select {
	case result := <-shared:
		a, _ := result.Val.(answer)
		return answer{a.tried.clone(), a.secured.clone()} // each changes its own
	case <-ctx.Done():
		return answer{tried: warn("the pod was not tried: the API server did not answer within %s", Budget)}
	}
}

func (f Findings) clone() Findings {
	return Findings{Warnings: slices.Clone(f.Warnings), Problems: slices.Clone(f.Problems)}
}
