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
)

func TestRelease(t *testing.T) {
	expectPlans(t, saidOf, map[string]planned{
		"a pod whose labels were edited away is released, and its ordinal waits for the name": {
			given:   aFleet(2, ordinal(0), ordinal(1).drifted()),
			want:    []string{"ReleasePod web-1 LabelsEdited"},
			blocked: []string{"CreatePod web-1 NameTaken"},
		},
		"with random names its successor comes at once, under another name": {
			given: aFleet(1, random(0).drifted()).random(),
			want: []string{
				"ReleasePod " + randomName(0) + " LabelsEdited",
				"CreatePod " + randomName(1) + " Missing",
			},
		},
		"one that is not needed is released all the same": {
			given: aFleet(1, ordinal(0), ordinal(4).drifted()),
			want:  []string{"ReleasePod web-4 LabelsEdited"},
		},
		"even when it failed, or its node is gone": {
			given: aFleet(0, ordinal(0).drifted().failed(time.Second), ordinal(1).drifted().nodeGone()),
			want:  []string{"ReleasePod web-0 LabelsEdited", "ReleasePod web-1 LabelsEdited"},
		},
		"one that terminates is no longer released, and its ordinal waits for its end": {
			given:   aFleet(1, ordinal(0).drifted().terminating()),
			blocked: []string{"CreatePod web-0 Terminating"},
		},
	})
}
