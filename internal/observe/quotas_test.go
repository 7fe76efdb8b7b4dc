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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestQuotaHasMoreRoom(t *testing.T) {
	quota := func(hard, used string) *corev1.ResourceQuota {
		q := &corev1.ResourceQuota{}
		if hard != "" {
			q.Status.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse(hard), "cpu": resource.MustParse("1")}
			q.Status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse(used), "cpu": resource.MustParse("1")}
		}
		return q
	}
	for name, c := range map[string]struct {
		before, after *corev1.ResourceQuota
		want          bool
	}{
		"it is raised":               {quota("1", "1"), quota("2", "1"), true},
		"a pod went":                 {quota("1", "1"), quota("1", "0"), true},
		"it limits pods no more":     {quota("1", "1"), quota("", ""), true},
		"a pod was made":             {quota("2", "1"), quota("2", "2"), false},
		"it is lowered":              {quota("2", "1"), quota("1", "1"), false},
		"it limits pods from now on": {quota("", ""), quota("5", "1"), false},
		"nothing is different":       {quota("2", "2"), quota("2", "2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := QuotaHasMoreRoom(c.before, c.after); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			before, after := c.before.DeepCopy(), c.after.DeepCopy()
			if got := QuotaHasMoreRoom(cachedAs(t, SlimQuota, before), cachedAs(t, SlimQuota, after)); got != c.want {
				t.Errorf("%v from the cache, want %v", got, c.want)
			}
		})
	}
}
