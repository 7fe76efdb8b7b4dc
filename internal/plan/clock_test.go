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

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A clock that was set back, or another operator's that was ahead, delays no
// replacement by more than the backoff.
func TestAFailureOfTheTimeToComeIsOneOfNow(t *testing.T) {
	f := aFleet(1, ordinal(0).failed(time.Second)).failures(2, -time.Hour, 10*time.Second)
	got := f.plan()
	if diff := cmp.Diff(failureRecord(newRev, 2, 0, 10*time.Second), got.Failures); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got.NextLook > 10*time.Second {
		t.Errorf("the next look is in %s, want 10s at most", got.NextLook)
	}
	past := f.failures(2, time.Minute, 10*time.Second).plan().Failures
	if past.LastTime.Time.Equal(noon()) {
		t.Errorf("a failure of the past became one of now: %+v", past)
	}
}
