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

package observe

import (
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/plan"
)

// TestClocksThatAreAhead: a time that is yet to come counts from when it was
// first seen, whenever one looks.
func TestClocksThatAreAhead(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later, earlier := noon.Add(time.Hour), noon.Add(-time.Minute)
	seen := func() []plan.Pod {
		return []plan.Pod{
			{UID: "a", ReadySince: later, FailedAt: earlier, Created: earlier},
			{UID: "b", FailedAt: later, ResizeSince: later, DeletedAt: later, Created: later},
		}
	}
	var c clocks
	for _, now := range []time.Time{noon.Add(300 * time.Millisecond), noon.Add(time.Minute), later.Add(time.Minute)} {
		pods := seen()
		c.correct("me", pods, now)
		if p := pods[0]; !p.ReadySince.Equal(noon) || !p.FailedAt.Equal(earlier) || !p.Created.Equal(earlier) {
			t.Errorf("at %s the first pod is %+v", now, p)
		}
		if p := pods[1]; !p.FailedAt.Equal(noon) || !p.ResizeSince.Equal(noon) || !p.DeletedAt.Equal(noon) || !p.Created.Equal(noon) {
			t.Errorf("at %s the second pod is %+v", now, p)
		}
	}
	other := seen()
	c.correct("other", other, later.Add(time.Minute))
	if !other[0].ReadySince.Equal(later) {
		t.Errorf("a time that has passed is %s, want %s", other[0].ReadySince, later)
	}
	c.correct("me", nil, noon)
	if len(c.ahead) > 0 {
		t.Errorf("%d owners are remembered for pods that are gone", len(c.ahead))
	}
	never := seen()
	c.correct("me", never, time.Time{})
	if !never[0].ReadySince.Equal(later) {
		t.Error("without a time nothing can be ahead of it")
	}
}
