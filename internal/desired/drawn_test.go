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

package desired

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit/drawn"
)

// draws is how many PodManagers show what the generator draws.
const draws = 200

// TestEveryFieldOfTheSpecIsDrawn walks the API type: what the generator never
// draws, no random test reaches. When you add a field, draw it.
func TestEveryFieldOfTheSpecIsDrawn(t *testing.T) {
	values := drawn.New(metav1.Duration{}, intstr.IntOrString{}, corev1.PodTemplateSpec{}, corev1.PersistentVolumeClaim{})
	if err := values.Enums("../../api/apps/v1"); err != nil {
		t.Fatal(err)
	}
	for seed := range draws {
		values.Add(podManagerGenerator().Example(seed).Spec)
	}
	for _, missing := range values.Missing(appsv1.PodManagerSpec{}) {
		t.Error(missing)
	}
}

// TestEveryFieldOfTheSpecMatters exchanges one field of a PodManager for that of
// another: for some pair the planner is asked for something else, or the pod or
// its claims are others. A field that never does is one that the operator
// ignores.
func TestEveryFieldOfTheSpecMatters(t *testing.T) {
	matters := map[string]bool{}
	for seed := range draws {
		one, other := podManagerGenerator().Example(seed), podManagerGenerator().Example(seed+draws)
		before := meaning(t, one)
		eachField("spec", reflect.ValueOf(&one.Spec).Elem(), reflect.ValueOf(&other.Spec).Elem(), func(path string) {
			matters[path] = matters[path] || meaning(t, one) != before
		})
	}
	for path, does := range matters {
		// The API has one order of victims, so there is nothing to choose.
		if !does && path != "spec.ScaleDown.Prefer" {
			t.Errorf("%s changes nothing of what the operator does", path)
		}
	}
}

// eachField gives every field of one, for the time of a call, the other's value.
func eachField(path string, one, other reflect.Value, call func(path string)) {
	if one.Kind() == reflect.Struct {
		for i := range one.NumField() {
			eachField(path+"."+one.Type().Field(i).Name, one.Field(i), other.Field(i), call)
		}
		return
	}
	kept := reflect.New(one.Type()).Elem()
	kept.Set(one)
	one.Set(other)
	call(path)
	one.Set(kept)
}

// meaning is all that the operator makes of a PodManager, as text.
func meaning(t *testing.T, pm *appsv1.PodManager) string {
	t.Helper()
	fleet := PodManager(pm)
	pod := corev1.Pod{Spec: *fleet.Template.Spec.DeepCopy()}
	fleet.Finish(&pod)
	var claims []*corev1.PersistentVolumeClaim
	for _, template := range fleet.Desired.Claims.Templates {
		claim, err := fleet.Claim(template, template+"-web-0")
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, claim)
	}
	text, err := json.Marshal([]any{fleet.Desired, fleet.Template, pod, claims})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever is asked for, the planner gets numbers that it can work with.
func TestWhatIsAskedForIsInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pm := podManagerGenerator().Draw(t, "PodManager")
		d := PodManager(pm).Desired
		u := &d.Update
		if u.MaxUnavailable > max(2, d.Replicas) || u.MaxSurge > max(2, d.Replicas) || u.Partition > max(2, d.Replicas) {
			t.Errorf("with %d replicas: %+v", d.Replicas, u)
		}
		if d.FailedPods.Initial <= 0 || d.FailedPods.Initial > d.FailedPods.Max || u.ProgressDeadline <= d.MinReady {
			t.Errorf("waits do not fit each other: %+v, %+v, minReady %s", d.FailedPods, u, d.MinReady)
		}
		if d.Identity == "" || u.Strategy == "" || u.OnFailure == "" {
			t.Errorf("a default is missing: %+v", d)
		}
		if (d.Deletion != "") != (pm.DeletionTimestamp != nil) {
			t.Errorf("deletion %q, and the owner goes: %t", d.Deletion, pm.DeletionTimestamp != nil)
		}
	})
}
