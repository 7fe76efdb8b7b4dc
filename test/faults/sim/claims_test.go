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

package sim

import (
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// TestAClaimThatVanishesIsMadeAgain: the user deletes the claim of a pod that is
// not on a node yet, where nothing protects it.
func TestAClaimThatVanishesIsMadeAgain(t *testing.T) {
	l := newLaboratory(t)
	const name = "a claim is deleted by hand"
	vanished := false
	schedule := func(_ int, options []Option) int {
		binds := false
		for i, o := range options {
			binds = binds || o.Text == "the node binds pod web-0"
			if binds && !vanished && strings.HasPrefix(o.Text, "the user: delete claim "+scenario.Claim(0)) {
				vanished = true
				return i
			}
		}
		return 0
	}
	result := l.play(t, Case{Scenario: name, Hasty: true}, schedule)
	if !vanished {
		t.Fatal("the claim was never deleted in time")
	}
	if len(result.Violations) > 0 {
		t.Error(tell(Case{Scenario: name, Hasty: true}, result))
	}
}
