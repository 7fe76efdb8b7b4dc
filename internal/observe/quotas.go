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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SlimQuota is the transform of ResourceQuotas: it keeps what QuotaHasMoreRoom reads.
func SlimQuota(raw any) (any, error) {
	if q, ok := raw.(*corev1.ResourceQuota); ok {
		q.ObjectMeta = metav1.ObjectMeta{Namespace: q.Namespace, Name: q.Name, UID: q.UID, ResourceVersion: q.ResourceVersion}
		q.Spec = corev1.ResourceQuotaSpec{}
	}
	return raw, nil
}

// QuotaHasMoreRoom reports whether an update of a quota may let through what it refused before.
// The API server compares with the status, so the spec says nothing yet.
func QuotaHasMoreRoom(before, after *corev1.ResourceQuota) bool {
	for name, was := range before.Status.Hard {
		is, still := after.Status.Hard[name]
		if !still {
			return true
		}
		used, used2 := before.Status.Used[name], after.Status.Used[name]
		is.Sub(used2)
		was.Sub(used)
		if is.Cmp(was) > 0 {
			return true
		}
	}
	return false
}
