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
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// watcher tells what an operator that has a cluster for itself asks for.
type watcher struct {
	*testkit.Suite
	metrics string
}

// since are the operator's requests after a mark, leases aside.
func (w *watcher) since(t *testing.T, mark localkube.AuditMark) []localkube.AuditEvent {
	t.Helper()
	return w.Requests(t, mark, func(e *localkube.AuditEvent) bool { return e.ObjectRef.Resource != "leases" })
}

// reconciles is how often the operator has looked at a fleet so far.
func (w *watcher) reconciles(t *testing.T) float64 {
	t.Helper()
	code, text, err := scrape(t, w.metrics, "")
	if err != nil || code != http.StatusOK {
		t.Fatalf("read the metrics: %d, %v", code, err)
	}
	sum := 0.0
	for _, result := range []string{"success", "error", "requeue", "requeue_after"} {
		n, _ := metric(text, fmt.Sprintf(`controller_runtime_reconcile_total{controller="podmanager",result=%q}`, result))
		sum += n
	}
	return sum
}

// fleet is one in the default namespace.
func (w *watcher) fleet(t *testing.T, name string) *testkit.Fleet {
	t.Helper()
	return w.Fleet(t, "default", name)
}

// TestQuietOperator has an operator for itself, as a program, and counts what
// it asks the API server for.
func TestQuietOperator(t *testing.T) {
	testkit.Long(t, "it takes a quiet minute")
	t.Parallel()
	s := newCluster(t, clusterOptions())
	login, err := s.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	p := startManager(t, s, login, "--leader-elect", "--metrics-bind-address="+address, "--metrics-secure=false")
	p.expectServing(t)
	w := &watcher{Suite: s, metrics: "http://" + address + "/metrics"}

	t.Run("a hundred pods are a hundred creates and few status writes", func(t *testing.T) { testHundred(t, w) })
	t.Run("changes that no plan reads are no reason to look", func(t *testing.T) { testDeaf(t, w) })
	t.Run("a quiet minute is quiet", func(t *testing.T) { testQuietMinute(t, w) })
	p.terminate(t)
}

func testHundred(t *testing.T, w *watcher) {
	w.Create(t, testkit.MakePodManager("default", "hundred").Replicas(0).Obj())
	pm := w.fleet(t, "hundred").ExpectReady(0)
	mark, looks, start := w.AuditMark(t), w.reconciles(t), time.Now()
	w.Patch(t, pm, `{"spec":{"replicas":100}}`)
	w.fleet(t, "hundred").ExpectReady(100)
	looks = w.reconciles(t) - looks

	var creates, statusWrites int
	var others []string
	for _, e := range w.since(t, mark) {
		switch right(e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource, e.Verb) {
		case "create pods":
			creates++
		case "patch podmanagers/status.apps.mycompany.com":
			statusWrites++
		case "create events":
		default:
			if e.Verb != "watch" {
				others = append(others, e.Verb+" "+e.RequestURI)
			}
		}
	}
	// Both are paced by time: a machine that needs more than half a minute gets
	// some more.
	late := max(0, time.Since(start)-30*time.Second)
	if creates != 100 {
		t.Errorf("%d creates for 100 pods", creates)
	}
	if statusWrites < 1 || statusWrites > 10+int(late/(5*time.Second)) {
		t.Errorf("%d status writes for one scale", statusWrites)
	}
	if len(others) > 0 {
		t.Errorf("and %s", strings.Join(others, ", "))
	}
	// Every pod is created, scheduled, started and ready: 400 events at least.
	if looks > 150+4*late.Seconds() {
		t.Errorf("%v reconciles for one scale", looks)
	}
	t.Logf("0 to 100: %d creates, %d status writes, %v reconciles", creates, statusWrites, looks)
}

// testDeaf changes what no planner reads: an annotation of a pod, a label of
// the owner, the deletion cost.
func testDeaf(t *testing.T, w *watcher) {
	w.Create(t, testkit.MakePodManager("default", "deaf").Replicas(3).Obj())
	pm := w.fleet(t, "deaf").ExpectReady(3)
	w.settled(t) // the write that told it may not be in the audit log yet
	mark, looks := w.AuditMark(t), w.reconciles(t)
	const changes = 20
	for i := range changes {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = "default", fmt.Sprintf("deaf-%d", i%3)
		body := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/seen":"%d",%q:"%d"}}}`, i, corev1.PodDeletionCost, i)
		w.Patch(t, pod, body)
		w.Patch(t, pm, fmt.Sprintf(`{"metadata":{"labels":{"seen":"%d"}}}`, i))
	}
	// What comes after in the same watch has been seen: so have they.
	w.Create(t, testkit.MakePodManager("default", "later").Replicas(1).Obj())
	w.fleet(t, "later").ExpectReady(1)
	for _, e := range w.since(t, mark) {
		// Events of the fleet's beginning may still be on their way.
		if strings.HasPrefix(e.ObjectRef.Name, "deaf") && e.Mutating() && e.ObjectRef.Resource != "events" {
			t.Errorf("the operator asked for %s %s", e.Verb, e.RequestURI)
		}
	}
	if looks = w.reconciles(t) - looks; looks >= changes {
		t.Errorf("%v reconciles for %d changes that mean nothing", looks, changes)
	}
}

// settled waits until the operator has had nothing to say for a moment.
func (w *watcher) settled(t *testing.T) {
	t.Helper()
	last, since := w.AuditMark(t), time.Now()
	testkit.Eventually(t, "the operator has come to rest", func() error {
		if len(w.since(t, last)) > 0 {
			last, since = w.AuditMark(t), time.Now()
		}
		if time.Since(since) < 3*time.Second {
			return errors.New("it has just asked for something")
		}
		return nil
	})
}

func testQuietMinute(t *testing.T, w *watcher) {
	// Fleets at rest in every way there is.
	w.Create(t, testkit.MakePodManager("default", "ordinal").Replicas(3).Obj())
	w.Create(t, testkit.MakePodManager("default", "paused").Replicas(2).Paused().Obj())
	w.Create(t, testkit.MakePodManager("default", "none").Replicas(0).Obj())
	w.Create(t, testkit.MakePodManager("default", "patient").Replicas(2).MinReady(1).Obj())
	w.Create(t, testkit.MakePodManager("default", "crowd").Random().Replicas(2).Obj())
	w.fleet(t, "ordinal").ExpectReady(3)
	w.fleet(t, "paused").ExpectReady(2)
	w.fleet(t, "none").ExpectReady(0)
	w.fleet(t, "patient").ExpectReady(2)
	w.keepACorpse(t, "crowd")
	w.settled(t)

	mark, looks := w.AuditMark(t), w.reconciles(t)
	select {
	case <-time.After(time.Minute):
	case err := <-w.Cluster.Died():
		t.Fatal(err)
	}
	for _, e := range w.since(t, mark) {
		if e.Mutating() || e.Verb == "list" || e.Verb == "get" {
			t.Errorf("in a quiet minute the operator asked for %s %s: %s", e.Verb, e.RequestURI, e.RequestObject)
		}
	}
	if looks = w.reconciles(t) - looks; looks > 0 {
		t.Errorf("%v reconciles in a quiet minute", looks)
	}
}

// keepACorpse fails a pod of a fleet that keeps it to be looked at.
func (w *watcher) keepACorpse(t *testing.T, name string) {
	t.Helper()
	pm := w.fleet(t, name).ExpectReady(2)
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "default", pm.Status.Nodes[0]
	body := `{"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}]}}`
	if err := w.Client.Status().Patch(t.Context(), pod, client.RawPatch("application/strategic-merge-patch+json", []byte(body))); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the failed pod has a successor", func() error {
		pm := w.fleet(t, name).ExpectReady(2)
		if slices.Contains(pm.Status.Nodes, pod.Name) {
			return errors.New("it still counts as alive")
		}
		return nil
	})
}
