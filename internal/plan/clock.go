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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// onOurClock puts a memory right that was written by a clock ahead of ours: our
// own before it was set back, or that of an operator elsewhere. What it says of
// the time to come is moved to the present, or replacements would wait until our
// clock has caught up. Times that pods name are corrected where they are read.
func (s *scene) onOurClock(record *appsv1.FailureRecord) *appsv1.FailureRecord {
	if record == nil || !record.LastTime.After(s.now) {
		return record
	}
	ahead := record.LastTime.Sub(s.moment().Time)
	moved := *record
	moved.LastTime = metav1.NewTime(record.LastTime.Add(-ahead))
	moved.RetryTime = metav1.NewTime(record.RetryTime.Add(-ahead))
	return &moved
}
