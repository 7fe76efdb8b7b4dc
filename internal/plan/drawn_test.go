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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/pod-operator/internal/testkit/drawn"
)

// TestEveryFieldIsDrawn walks the types of the planner's input: what the
// generators never draw, no property test reaches. When you add a field, draw it
// in generators_test.go, and say there what of it should not occur.
func TestEveryFieldIsDrawn(t *testing.T) {
	values := drawn.New(metav1.Time{})
	for _, folder := range []string{".", "../../api/apps/v1"} {
		if err := values.Enums(folder); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range 400 {
		f := anyFleet().Example(seed)
		values.Add(f.desired)
		values.Add(f.observed)
	}
	for _, missing := range append(values.Missing(Desired{}), values.Missing(Observed{})...) {
		t.Error(missing)
	}
}
