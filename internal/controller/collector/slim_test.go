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

package collector

import (
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// The fault: one Collector had the operator keep the whole specs of all workloads in its namespace: 400
// Deployments without pods and with templates of 1.2 MB ended it at every start.
func TestALargeWorkloadIsNotKept(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Args: []string{strings.Repeat("x", 1<<20)}}}}}
	for name, obj := range map[string]client.Object{
		"Deployment":  &kappsv1.Deployment{Spec: kappsv1.DeploymentSpec{Template: template}},
		"StatefulSet": &kappsv1.StatefulSet{Spec: kappsv1.StatefulSetSpec{Template: template}},
		"DaemonSet":   &kappsv1.DaemonSet{Spec: kappsv1.DaemonSetSpec{Template: template}},
		"ReplicaSet":  &kappsv1.ReplicaSet{Spec: kappsv1.ReplicaSetSpec{Template: template}},
		"PodManager":  &appsv1.PodManager{Spec: appsv1.PodManagerSpec{Template: &template}},
	} {
		t.Run(name, func(t *testing.T) {
			obj.SetLabels(map[string]string{"team": strings.Repeat("x", 1<<20)})
			obj.SetUID("1")
			for how, raw := range map[string]any{"listed": mustSlim(t, obj), "watched": obj} {
				seen, ok := thingIn(raw)
				if !ok || seen.uid != "1" || seen.workload.kind != name || len(seen.labels) > 0 {
					t.Fatalf("%s: %+v", how, seen)
				}
				if spec, ok := seen.workload.spec.(storedSpec); !ok || len(spec) > observe.Large {
					t.Errorf("%s: a spec of %d bytes is kept as %T", how, len(spec), seen.workload.spec)
				}
			}
		})
	}
}

func mustSlim(t *testing.T, obj client.Object) any {
	t.Helper()
	slimmed, err := slim(obj)
	if err != nil {
		t.Fatal(err)
	}
	if _, whole := slimmed.(client.Object); whole {
		t.Fatalf("the list keeps a %T", slimmed)
	}
	if found, err := meta.Accessor(slimmed); err != nil || found.GetUID() != obj.GetUID() { // as client-go's store asks
		t.Fatalf("its metadata are not found: %v", err)
	}
	return slimmed
}

// What changed is described as before, but for what is in a large template.
func TestDescribeOfStoredSpecs(t *testing.T) {
	large := func(s *kappsv1.DeploymentSpec, argument string) *kappsv1.DeploymentSpec {
		s.Template.Spec.Containers[0].Args = []string{strings.Repeat(argument, observe.Large)}
		return s
	}
	scaled := func() *kappsv1.DeploymentSpec {
		s := base()
		s.Replicas = ptr.To(int32(1_000_000))
		return s
	}
	for name, c := range map[string]struct {
		before, after *kappsv1.DeploymentSpec
		want          string
	}{
		"a number":                     {base(), scaled(), "replicas 3 -> 1000000"},
		"a number beside much":         {large(base(), "a"), large(scaled(), "a"), "replicas 3 -> 1000000"},
		"a large template":             {large(base(), "a"), large(base(), "b"), "template changed"},
		"the same":                     {base(), base(), "spec changed"},
		"a template that became large": {base(), large(base(), "a"), "template changed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe(store(c.before), store(c.after)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestALargeSelectorIsNotKept(t *testing.T) {
	col := &collectorv1.Collector{Spec: collectorv1.CollectorSpec{Selector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "team", Operator: metav1.LabelSelectorOpIn, Values: strings.Split(strings.Repeat("a,", observe.Large), ",")},
	}}}}
	if _, err := Slim(col); err != nil || col.Spec.Selector.Size() > observe.Large {
		t.Fatalf("%v", err)
	}
	if _, why := (&Reconciler{}).selector(col); why == nil || why.reason != collectorv1.ReasonInvalidSelector || !strings.Contains(why.message, "larger than 16 KiB") {
		t.Errorf("it counts: %+v", why)
	}
}
