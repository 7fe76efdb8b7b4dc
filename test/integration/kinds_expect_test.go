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

package integration

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settled: the conditions are of this generation, Ready is True and nothing is
// under way.
func settled(obj client.Object, observed int64, conditions []metav1.Condition) error {
	if observed != obj.GetGeneration() {
		return fmt.Errorf("status is for generation %d of %d", observed, obj.GetGeneration())
	}
	for _, c := range conditions {
		if c.Type != "Ready" && c.Type != "Available" {
			return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	if !meta.IsStatusConditionTrue(conditions, "Ready") {
		return fmt.Errorf("not ready: %+v", conditions)
	}
	return nil
}

// stalled: kstatus and the conditions agree that nothing moves without help.
func stalled(obj client.Object, conditions []metav1.Condition, reason string) error {
	c := meta.FindStatusCondition(conditions, "Stalled")
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || c.ObservedGeneration != obj.GetGeneration() {
		return fmt.Errorf("Stalled is %+v, not %s", c, reason)
	}
	if meta.IsStatusConditionTrue(conditions, "Ready") {
		return errors.New("stalled and ready at once")
	}
	return nil
}
