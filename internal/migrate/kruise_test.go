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

package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// read reads a workload from a manifest.
func read(t *testing.T, kind *Kind, manifest string) *Workload {
	t.Helper()
	top := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &top.Object); err != nil {
		t.Fatal(err)
	}
	top.SetGroupVersionKind(kind.GroupVersionKind)
	w := &Workload{Kind: kind, Name: "web", Parts: []Part{{top}}}
	if err := kind.read(&reader{t.Context(), fake.NewClientBuilder().Build()}, w); err != nil {
		t.Fatal(err)
	}
	return w
}

// words are values with a space between any two.
func words(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

func TestACloneSet(t *testing.T) {
	w := read(t, CloneSets, `
metadata: {generation: 2}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "web:1"}]}}
  minReadySeconds: 5
  updateStrategy: {type: InPlaceIfPossible, partition: 50%, maxUnavailable: 2, maxSurge: 1, paused: true, scatterStrategy: [{key: a, value: b}], inPlaceUpdateStrategy: {}}
  scaleStrategy: {podsToDelete: [web-a]}
  lifecycle: {preDelete: {}}
status: {observedGeneration: 2, replicas: 4, updatedReplicas: 4}
`)
	s := &w.Spec
	got := words(*s.Replicas, s.Identity, s.MinReadySeconds, s.Paused, s.Update.Strategy, s.Update.Partition, s.Update.MaxUnavailable, s.Update.MaxSurge)
	if want := "4 Random 5 true InPlaceIfPossible 50% 2 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if want := []string{"spec.lifecycle", "spec.updateStrategy.scatterStrategy", "spec.scaleStrategy"}; !slices.Equal(w.Losses, want) {
		t.Errorf("lost %q, want %q", w.Losses, want)
	}
	if w.Busy != "" {
		t.Errorf("busy: %s", w.Busy)
	}
}

func TestACloneSetWithClaimsIsRefused(t *testing.T) {
	w := read(t, CloneSets, `
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "web:1"}]}}
  volumeClaimTemplates: [{metadata: {name: data}}]
status: {replicas: 1, updatedReplicas: 1}
`)
	if w.Obstacle() == "" {
		t.Error("its claims have random names, and nothing is in the way")
	}
}

func TestAnAdvancedStatefulSet(t *testing.T) {
	w := read(t, AdvancedStatefulSets, `
spec:
  replicas: 3
  serviceName: web
  podManagementPolicy: Parallel
  reserveOrdinals: [1, "5-7"]
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "web:1"}]}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2, maxUnavailable: 50%, podUpdatePolicy: InPlaceOnly, minReadySeconds: 9, unorderedUpdate: {priorityStrategy: {}}}}
  volumeClaimTemplates: [{metadata: {name: data}}]
status: {replicas: 3, updatedReplicas: 3}
`)
	s := &w.Spec
	got := words(s.Identity, s.ServiceName, s.PodManagementPolicy, s.ReserveOrdinals, s.Update.Strategy, s.Update.Partition, s.Update.MaxUnavailable,
		len(s.VolumeClaimTemplates), s.MinReadySeconds)
	if want := "Ordinal web Parallel [1 5 6 7] InPlaceIfPossible 2 50% 1 9"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.Identity != appsv1.IdentityOrdinal || len(w.Losses) != 2 {
		t.Errorf("identity %s, lost %q", s.Identity, w.Losses)
	}
}

// Only OpenKruise opens its readiness gates: a pod of the PodManager's would never be ready.
func TestTheGatesThatOnlyOpenKruiseOpensAreLeftOut(t *testing.T) {
	for _, kind := range []*Kind{CloneSets, AdvancedStatefulSets} {
		w := read(t, kind, `
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      readinessGates: [{conditionType: InPlaceUpdateReady}, {conditionType: example.com/warm}]
      containers: [{name: app, image: "web:1"}]
`)
		if gates := w.Spec.Template.Spec.ReadinessGates; len(gates) != 1 || gates[0].ConditionType != "example.com/warm" {
			t.Errorf("%s: the gates are %v", kind.Kind, gates)
		}
		if !slices.ContainsFunc(w.Losses, func(lost string) bool { return strings.Contains(lost, "InPlaceUpdateReady") }) {
			t.Errorf("%s: lost %q", kind.Kind, w.Losses)
		}
		old := corev1.Pod{Spec: *w.Spec.Template.Spec.DeepCopy()}
		old.Labels = w.Spec.Template.Labels
		old.Spec.ReadinessGates = append(old.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "InPlaceUpdateReady"})
		made := *old.DeepCopy()
		made.Spec.ReadinessGates = w.Spec.Template.Spec.ReadinessGates
		r := &run{Mover: &Mover{Client: fakeClient(t)}, Workload: w}
		err := r.returnable(t.Context(), w.Manager(), []corev1.Pod{old, made})
		if err == nil || !strings.HasPrefix(err.Error(), "ask what you may do") { // after template and pods
			t.Errorf("%s: %v", kind.Kind, err)
		}
	}
}

// A CloneSet that leaves its pods alone until they are deleted became a PodManager that changed them.
func TestACloneSetThatIsUpdatedOnDelete(t *testing.T) {
	w := read(t, CloneSets, `
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "web:1"}]}}
  updateStrategy: {type: OnDelete}
status: {replicas: 1, updatedReplicas: 1}
`)
	if got := w.Spec.Update.Strategy; got != appsv1.UpdateOnDelete {
		t.Errorf("the strategy is %s, want OnDelete", got)
	}
}
