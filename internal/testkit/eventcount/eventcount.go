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

// Package eventcount drives Deployments through the changes that docs/collector.md
// lists, and counts the events of each change: with a Collector, and as a first
// controller would, with informer handlers and a work queue. The suites on
// simulated and on real kubelets share it, so their tables have the same rows.
//
// The Deployments, with 2 and with 4 containers in a pod, make their steps at the
// same time. A step ends when the Collector says that the changes have settled.
package eventcount

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// Containers are the numbers of containers in a pod that are measured.
var Containers = [2]int{2, 4}

// Row is a step as it was measured with 2 and with 4 containers.
type Row [len(Containers)]Measured

// Measured is what a step of one Deployment triggered.
type Measured struct {
	Step
	// Events are what the Collector counted, by kind.
	Events map[string]collectorv1.EventCounts
	// Calls are what the controller counted.
	Calls Calls
}

// Run makes all changes and returns a row for each. The pods run the images, one
// after the other; shape completes their spec.
func Run(t testing.TB, suite *testkit.Suite, images [3]string, shape func(*corev1.PodSpec)) []Row {
	t.Helper()
	namespace := suite.Namespace(t)
	meter := &collectorv1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "meter"}}
	if err := suite.Client.Create(t.Context(), meter); err != nil {
		t.Fatalf("create the Collector: %v", err)
	}
	waitCounting(t, suite.Client, meter)
	counter := startController(t, suite.Cluster.RESTConfig(), namespace)

	var rows []Row
	var subjects []*subject
	first := map[*subject]int{} // the row of a Deployment's first step
	for _, life := range []struct {
		name  string
		steps []Step
	}{{"scaled", ofFour()}, {"steady", ofTwo()}} {
		for _, containers := range Containers {
			s := &subject{
				client: suite.Client, namespace: namespace, name: fmt.Sprintf("%s-%d", life.name, containers),
				containers: containers, images: images, shape: shape, steps: life.steps,
			}
			subjects = append(subjects, s)
			first[s] = len(rows)
		}
		rows = append(rows, make([]Row, len(life.steps))...)
	}
	for i := range rows {
		var busy []*subject
		for _, s := range subjects {
			if i < len(s.steps) {
				s.perform(t, s.steps[i])
				busy = append(busy, s)
			}
		}
		for _, s := range busy {
			step := s.steps[i]
			change := waitSettled(t, suite.Client, meter, s.name, s.described(step))
			m := Measured{Step: step, Events: byKind(change.EventsByKind), Calls: counter.take(t, s.name)}
			m.check(t, s.name)
			rows[first[s]+i][column(s.containers)] = m
		}
	}
	counter.compare(t, suite.Client, meter)
	return rows
}

func column(containers int) int {
	for i, n := range Containers {
		if n == containers {
			return i
		}
	}
	panic(fmt.Sprintf("pods with %d containers are not measured", containers))
}

func byKind(list []collectorv1.KindEvents) map[string]collectorv1.EventCounts {
	events := map[string]collectorv1.EventCounts{}
	for _, k := range list {
		events[k.Kind] = k.EventCounts
	}
	return events
}

func waitCounting(t testing.TB, c client.Client, meter *collectorv1.Collector) {
	t.Helper()
	testkit.Eventually(t, "the Collector counts", func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(meter), meter); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(meter.Status.Conditions, collectorv1.ConditionReady) {
			return fmt.Errorf("conditions: %+v", meter.Status.Conditions)
		}
		return nil
	})
}

// waitSettled waits until the newest change of a Deployment is the one that is
// described and has settled.
func waitSettled(t testing.TB, c client.Client, meter *collectorv1.Collector, name, described string) collectorv1.Change {
	t.Helper()
	var newest collectorv1.Change
	testkit.Eventually(t, fmt.Sprintf("the change %q of %s has settled", described, name), func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(meter), meter); err != nil {
			return err
		}
		for _, newest = range meter.Status.RecentChanges {
			if newest.Name != name {
				continue
			}
			if newest.Change != described || newest.State != collectorv1.ChangeSettled {
				return fmt.Errorf("the newest change is %+v", newest)
			}
			return nil
		}
		return errors.New("no change yet")
	})
	return newest
}

// check compares with what a step must do on any kind of node. A pod that is
// created is written at least twice more, by the scheduler and the kubelet; one
// that is deleted, too: by the client and the kubelet.
func (m Measured) check(t testing.TB, name string) {
	t.Helper()
	for kind, want := range map[string]collectorv1.EventCounts{
		"Deployment": {Added: m.deployments, Modified: 1},
		"ReplicaSet": {Added: m.sets},
		"Pod":        {Added: m.created, Modified: 2 * (m.created + m.deleted), Deleted: m.deleted},
	} {
		got := m.Events[kind]
		if got.Added != want.Added || got.Deleted != want.Deleted || got.Modified < want.Modified {
			t.Errorf("%s: %s: %+v events of kind %s, want %d added, %d deleted and at least %d modified",
				name, m.Title, got, kind, want.Added, want.Deleted, want.Modified)
		}
	}
	if got, want := m.Calls.PodsComeAndGo(), m.created+m.deleted; got != want {
		t.Errorf("%s: %s: OnAdd and OnDelete were called %d times for pods, want %d", name, m.Title, got, want)
	}
	specs := int64(0)
	if m.spec {
		specs = 1
	}
	if m.Calls.Specs != specs {
		t.Errorf("%s: %s: the predicate let %d events of the Deployment through, want %d", name, m.Title, m.Calls.Specs, specs)
	}
	if events, reconciles := m.total(), m.Calls.Reconciles; reconciles < 1 || reconciles > events {
		t.Errorf("%s: %s: %d reconciles for %d events", name, m.Title, reconciles, events)
	}
}

func (m Measured) total() int64 {
	sum := int64(0)
	for _, events := range m.Calls.Handlers {
		sum += events.Total()
	}
	return sum
}
