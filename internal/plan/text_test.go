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

import "testing"

func TestOnePodIsAndTwoPodsAre(t *testing.T) {
	for want, got := range map[string]string{
		"1 pod":      NumberOf(1, "pod"),
		"2 pods":     NumberOf(2, "pod"),
		"0 pods are": podsAre(0),
		"1 pod is":   podsAre(1),
		"2 pods are": podsAre(2),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
