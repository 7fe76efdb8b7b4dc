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

package fleet

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/mycompany/pod-operator/internal/plan"
)

// Gauges of fleets that another process works on now would count them twice.
func TestLeavingDropsTheGauges(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	measured(m, "a", size{desired: 3})
	measured(m, "b", size{desired: 3})
	others, err := NewMetrics(registry) // those of another shard of the same process
	if err != nil {
		t.Fatal(err)
	}
	measured(others, "c", size{desired: 3})
	series := func() int {
		n, err := testutil.GatherAndCount(registry, "podmanager_replicas_desired", "podmanager_replicas_ready", "podmanager_stalled")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := series(); n != 9 {
		t.Fatalf("%d series of three fleets", n)
	}
	m.Leave()
	if n := series(); n != 3 {
		t.Errorf("%d series are left, want those of the other shard's fleet", n)
	}
}

// measured is a fleet of a size.
func measured(m *Metrics, name string, is size) {
	fleets := newMemories()
	m.begin("podmanager", fleets)
	fleets.measure(fleets.of(fleetOwner(name)), is)
}

func TestTheGaugesTellTheSizes(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	measured(m, "a", size{desired: 4})
	measured(m, "b", size{desired: 3, ready: 2, stalled: true})
	want := `# HELP podmanager_replicas_desired Pods asked for.
# TYPE podmanager_replicas_desired gauge
podmanager_replicas_desired{kind="podmanager",name="a",namespace="ns"} 4
podmanager_replicas_desired{kind="podmanager",name="b",namespace="ns"} 3
# HELP podmanager_replicas_ready Pods that are ready.
# TYPE podmanager_replicas_ready gauge
podmanager_replicas_ready{kind="podmanager",name="a",namespace="ns"} 0
podmanager_replicas_ready{kind="podmanager",name="b",namespace="ns"} 2
# HELP podmanager_stalled 1 while the fleet is stalled and waits for help.
# TYPE podmanager_stalled gauge
podmanager_stalled{kind="podmanager",name="a",namespace="ns"} 0
podmanager_stalled{kind="podmanager",name="b",namespace="ns"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "podmanager_replicas_desired", "podmanager_replicas_ready", "podmanager_stalled"); err != nil {
		t.Error(err)
	}
}

// An eviction is a deletion that a PodDisruptionBudget may refuse; no pod is
// left to have been patched.
func TestEvictedPodsCountAsDeleted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []plan.Outcome
	for _, verb := range []plan.Verb{plan.EvictPod, plan.DeletePod, plan.UpdatePod} {
		outcomes = append(outcomes, plan.Outcome{Result: plan.Done, Action: plan.Action{Verb: verb, Pod: "web-0", Why: plan.Why{Reason: string(verb)}}})
	}
	m.decided("podmanager", outcomes, nil)
	for name, want := range map[string]float64{
		"evicted": testutil.ToFloat64(m.deleted.WithLabelValues("podmanager", "EvictPod")),
		"deleted": testutil.ToFloat64(m.deleted.WithLabelValues("podmanager", "DeletePod")),
		"patched": testutil.ToFloat64(m.patched.WithLabelValues("podmanager", "UpdatePod")),
	} {
		if want != 1 {
			t.Errorf("of one pod that was %s, %v is counted", name, want)
		}
	}
	if n := testutil.CollectAndCount(m.patched); n != 1 {
		t.Errorf("%d reasons of patched pods, want that of the update alone", n)
	}
}

// TestTwoManagersOfOneProcessShareTheGauges.
func TestTwoManagersOfOneProcessShareTheGauges(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, name := range []string{"a", "b"} {
		m, err := NewMetrics(registry)
		if err != nil {
			t.Fatal(err)
		}
		measured(m, name, size{})
	}
	if n, err := testutil.GatherAndCount(registry, "podmanager_replicas_desired"); n != 2 || err != nil {
		t.Errorf("%d series of two fleets, %v", n, err)
	}
}

// TestCountersAreServedFromTheStart: at zero, so that a rate over them is zero
// and not nothing.
func TestCountersAreServedFromTheStart(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.begin("podmanager", newMemories())
	for _, name := range []string{"podmanager_stale_skips_total", "podmanager_reconcile_total", "podmanager_pods_per_decision"} {
		if n, err := testutil.GatherAndCount(registry, name); err != nil || n == 0 {
			t.Errorf("%s is not served: %v", name, err)
		}
	}
}
