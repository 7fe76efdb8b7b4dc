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

package oracle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

func specOf(replicas *int32, options ...func(*appsv1.PodManager)) *oracle.Spec {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	pm.Spec.Replicas = replicas
	for _, o := range options {
		o(pm)
	}
	return oracle.SpecOf(pm)
}

// The numbers are those of the tables in docs/api.md and docs/rollouts.md.
func TestTheBudgetOfASpec(t *testing.T) {
	for name, c := range map[string]struct {
		spec                                  *oracle.Spec
		replicas, deleted, restarted, surging int
	}{
		"nothing is set":            {specOf(nil), 3, 0, 1, 1},
		"25% of 4":                  {specOf(ptr.To[int32](4)), 4, 1, 1, 1},
		"25% of 5":                  {specOf(ptr.To[int32](5)), 5, 1, 1, 2},
		"25% of 8":                  {specOf(ptr.To[int32](8)), 8, 2, 2, 2},
		"0 as it is written":        {specOf(nil, budget(0, 1)), 3, 0, 0, 1},
		"0% as it is written":       {specOf(nil, budget("0%", "1%")), 3, 0, 0, 1},
		"1% rounds to 0":            {specOf(nil, budget("1%", 1)), 3, 0, 1, 1},
		"both 0":                    {specOf(nil, budget(0, 0)), 3, 1, 1, 0},
		"rounds to 0, and no surge": {specOf(nil, budget("10%", 0)), 3, 1, 1, 0},
		"numbers":                   {specOf(nil, budget(2, 3)), 3, 2, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			got := []int{c.spec.Replicas, c.spec.Unavailable(), c.spec.UnavailableInPlace(), c.spec.SurgeAllowed()}
			if diff := cmp.Diff([]int{c.replicas, c.deleted, c.restarted, c.surging}, got); diff != "" {
				t.Errorf("replicas, unavailable, in place, surge (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheSurgeOfDrains(t *testing.T) {
	two := func(pm *appsv1.PodManager) { pm.Spec.Disruption.MaxSurge = share(2) }
	claimed := claims(appsv1.ClaimRetain)
	for name, c := range map[string]struct {
		spec *oracle.Spec
		want int
	}{
		"the greater of both": {specOf(nil, surgeFirst, two), 2},
		"without SurgeFirst":  {specOf(nil, two), 1},
		"with claims":         {specOf(nil, surgeFirst, two, claimed), 1},
	} {
		if got := c.spec.SurgeAllowed(); got != c.want {
			t.Errorf("%s: %d pods more, want %d", name, got, c.want)
		}
	}
}

func TestOrdinals(t *testing.T) {
	spec := specOf(ptr.To[int32](3), reserve(1, 1, 4))
	if diff := cmp.Diff([]int{0, 2, 3}, spec.Base()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for ordinal, want := range map[int]bool{-1: false, 0: true, 1: false, 2: true, 3: true, 4: false, 5: false} {
		if got := spec.InBase(ordinal); got != want {
			t.Errorf("ordinal %d is in the base: %t", ordinal, got)
		}
	}
	for name, want := range map[string]bool{"web-0": true, "web-12": true, "web-01": false, "web-": false, "web-x": false, "web-+1": false, "other-1": false} {
		if _, got := spec.Ordinal(name); got != want {
			t.Errorf("%s is a name of the fleet: %t", name, got)
		}
	}
	claimed := specOf(nil, claims(appsv1.ClaimDelete))
	if ordinal, ok := claimed.ClaimOrdinal(oracle.ClaimName("data", "web-2")); !ok || ordinal != 2 {
		t.Errorf("the claim of web-2 is that of ordinal %d, %t", ordinal, ok)
	}
}

func TestTheBackoffOfASpec(t *testing.T) {
	spec := specOf(nil)
	var waits []time.Duration
	for failures := range 9 {
		waits = append(waits, spec.Backoff(failures))
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{0, 0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s}, waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTemplatesByMeaning(t *testing.T) {
	template := func(image, cpu string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{sizedContainer(image, cpu)}}}
	}
	if !oracle.SameTemplate(template(image1, "1"), template(image1, "1000m")) {
		t.Error("1 is 1000m")
	}
	if oracle.SameTemplate(template(image1, "1"), template(image2, "1")) || oracle.SameTemplate(template(image1, "1"), template(image1, "2")) {
		t.Error("other images and sizes are other templates")
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node1, Containers: []corev1.Container{{Name: "injected", Image: "x"}, sizedContainer(image1, "1000m")}}}
	if at := oracle.Differs(pod, template(image1, "1"), nil); at != "" {
		t.Errorf("the pod differs at %s", at)
	}
	if at := oracle.Differs(pod, template(image2, "1"), nil); at != "spec.containers[0].image" {
		t.Errorf("the pod differs at %q", at)
	}
}
