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

package manager_test

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// side is an operator with its own fleets.
type side struct {
	namespace string
	client    client.WithWatch
	seen      watch.Interface
	replicas  int32
}

const benchFleets, benchPods = 1, 10

// burst scales all fleets by one pod, up or down in turns, and waits until the
// pods have come or gone. It does not wait for the status, which the operator
// writes once a second at most.
func (s *side) burst(b *testing.B) time.Duration {
	b.Helper()
	s.replicas = 2*benchPods + 1 - s.replicas
	start := time.Now()
	open := map[string]bool{}
	for i := range benchFleets {
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("fleet-%d", i)}}
		body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.replicas)
		if err := s.client.Patch(context.Background(), pm, client.RawPatch(types.MergePatchType, body)); err != nil {
			b.Fatal(err)
		}
		open[fmt.Sprintf("%s-%d", pm.Name, benchPods)] = true
	}
	s.await(b, open, map[bool]watch.EventType{true: watch.Added, false: watch.Deleted}[s.replicas > benchPods])
	return time.Since(start)
}

// await waits until each of the pods had the event.
func (s *side) await(b *testing.B, open map[string]bool, kind watch.EventType) {
	b.Helper()
	deadline := time.After(testkit.Patience)
	for len(open) > 0 {
		select {
		case event, ok := <-s.seen.ResultChan():
			if !ok {
				b.Fatal("the API server ended the watch: measure fewer turns")
			}
			if pod, isPod := event.Object.(*corev1.Pod); isPod && event.Type == kind {
				delete(open, pod.Name)
			}
		case <-deadline:
			b.Fatalf("%d fleets of %s are not done", len(open), s.namespace)
		}
	}
}

// processor is the processor time that this process has spent.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func newSide(b *testing.B, suite *testkit.Suite, namespace string, record bool) *side {
	b.Helper()
	ctx := context.Background()
	if err := suite.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		b.Fatal(err)
	}
	options := testkit.OperatorOptions()
	options.Namespaces, options.Record, options.Controllers = []string{namespace}, record, []string{"podmanager"}
	stop, err := suite.StartOperator(ctx, options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := stop(); err != nil {
			b.Error(err)
		}
	})
	scheme, err := manager.Scheme()
	if err != nil {
		b.Fatal(err)
	}
	s := &side{namespace: namespace, replicas: benchPods}
	if s.client, err = client.NewWithWatch(suite.Cluster.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		b.Fatal(err)
	}
	if s.seen, err = s.client.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.seen.Stop)
	open := map[string]bool{}
	for i := range benchFleets {
		pm := testkit.MakePodManager(namespace, fmt.Sprintf("fleet-%d", i)).Replicas(benchPods).Obj()
		if err := s.client.Create(ctx, pm); err != nil {
			b.Fatal(err)
		}
		for slot := range benchPods {
			open[fmt.Sprintf("%s-%d", pm.Name, slot)] = true
		}
	}
	s.await(b, open, watch.Added)
	return s
}

// BenchmarkTheOperatorWithItsRecorder runs the whole operator twice on one API
// server, with and without its recorder, and has both do the same work in turns:
// a fleet of ten pods is scaled by one. It prints the median time without
// the recorder, what it is more with it in the median of the pairs, and the
// processor time that this process, operator and user in one, spends on a change.
func BenchmarkTheOperatorWithItsRecorder(b *testing.B) {
	log.SetLogger(logr.Discard())
	suite, err := testkit.NewSuite(context.Background(), localkube.Options{Components: localkube.APIOnly()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = suite.Cluster.Stop() })
	plain, recorded := newSide(b, suite, "plain", false), newSide(b, suite, "recorded", true)
	for range 4 {
		plain.burst(b)
		recorded.burst(b)
	}
	var without, with []time.Duration
	var spentWithout, spentWith time.Duration
	for turn := 0; b.Loop(); turn++ {
		first, second := plain, recorded
		if turn%2 == 1 {
			first, second = recorded, plain
		}
		for _, s := range []*side{first, second} {
			before := processor(b)
			took := s.burst(b)
			if spent := processor(b) - before; s == plain {
				without, spentWithout = append(without, took), spentWithout+spent
			} else {
				with, spentWith = append(with, took), spentWith+spent
			}
		}
	}
	// Both of a pair are measured one after the other, so that what else the
	// machine does meanwhile slows both.
	var ratios []float64
	for i := range without {
		ratios = append(ratios, float64(with[i])/float64(without[i]))
	}
	slices.Sort(ratios)
	slices.Sort(without)
	b.ReportMetric(float64(without[len(without)/2].Microseconds())/1000, "bare-ms/change")
	b.ReportMetric(100*(ratios[len(ratios)/2]-1), "overhead-%")
	b.ReportMetric(float64(spentWithout.Microseconds())/float64(len(without)*benchFleets), "bare-cpu-µs/change")
	b.ReportMetric(float64(spentWith.Microseconds())/float64(len(with)*benchFleets), "recorded-cpu-µs/change")
	b.ReportMetric(0, "ns/op")
}
