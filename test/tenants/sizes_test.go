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

package tenants

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var measureSizes = flag.Bool("measure-sizes", false, "measure the attacks at the sizes of docs/performance.md")

const (
	manyTemplates = 270
	manyOverQuota = 1000
	victims       = 10
)

// TestManyLargeTemplatesLeaveTheOperatorAlive measures an operator with the memory of
// the manifests that starts beside many large templates: as large as admission lets
// them be, and as large as etcd takes them, stored while the webhooks were away.
func TestManyLargeTemplatesLeaveTheOperatorAlive(t *testing.T) {
	if !*measureSizes {
		t.Skip("a measurement of minutes: -args -measure-sizes makes it")
	}
	for name, bytes := range map[string]int{"as large as admission takes": 250 << 10, "1.2 MB, past admission": 1_200_000} {
		t.Run(name, func(t *testing.T) {
			namespace, victim := suite.Namespace(t), suite.Namespace(t)
			withoutOperator(t, func() {
				op := startOperator(t)
				defer func() { op.Stop(testkit.Patience) }() // its ports are the suite's
				alone := aloneTakes(t, victim)
				rest := op.resident(t)
				op.Stop(testkit.Patience)
				inParallel(t, manyTemplates, func(i int) error {
					return suite.Client.Create(t.Context(), large(namespace, fmt.Sprintf("large-%d", i), bytes, 0))
				})
				begin := time.Now()
				op.start(t)
				ready := time.Since(begin)
				took, _ := servedIn(t, victim)
				expectAllObserved(t, namespace)
				seen, peak := time.Since(begin), op.peak(t)
				begin = time.Now()
				inParallel(t, manyTemplates, func(i int) error { // one request for all of them would time out
					return suite.Client.Delete(t.Context(), large(namespace, fmt.Sprintf("large-%d", i), 0, 0))
				})
				beside, _ := servedIn(t, victim)
				expectNone(t, namespace)
				t.Logf("%d templates of %d KiB: ready after %s, all looked at after %s; a victim took %s at the start, %s while all were deleted, %s alone; gone after %s; "+
					"%d MiB without them, %d MiB at most until all were looked at, %d MiB at most in all",
					manyTemplates, bytes>>10, short(ready), short(seen), short(took), short(beside), short(alone), short(time.Since(begin)), rest>>20, peak>>20, op.peak(t)>>20)
				if op.peak(t) > memoryLimit || !op.Running() {
					t.Errorf("%d MiB, and the manifests give it %d; it runs: %t", op.peak(t)>>20, memoryLimit>>20, op.Running())
				}
			})
		})
	}
}

// TestAThousandPodManagersOverTheirQuota measures how long another tenant waits beside
// them, while they go, and alone.
func TestAThousandPodManagersOverTheirQuota(t *testing.T) {
	if !*measureSizes {
		t.Skip("a measurement of minutes: -args -measure-sizes makes it")
	}
	noise, victim := suite.Namespace(t), suite.Namespace(t)
	full(t, noise)
	withoutOperator(t, func() {
		op := startOperator(t)
		defer func() { op.Stop(testkit.Patience) }() // its ports are the suite's
		_, alone := victimsTake(t, victim)
		makeNoise(t, noise, manyOverQuota)
		beside, text := victimsTake(t, victim)
		op.restart(t)
		started, startText := victimsTake(t, victim)
		if err := suite.Client.DeleteAllOf(t.Context(), &appsv1.PodManager{}, client.InNamespace(noise)); err != nil {
			t.Fatal(err)
		}
		_, deleted := victimsTake(t, victim)
		t.Logf("%d PodManagers of 1,000 replicas with a quota of one pod: another tenant's three pods took, of %d times the least, the median and the most: "+
			"alone %s; beside them %s; after a restart %s; while they are deleted %s; memory at most %d MiB",
			manyOverQuota, victims, alone, text, startText, deleted, op.peak(t)>>20)
		for _, ratio := range []float64{beside, started} {
			if ratio > patienceFactor {
				t.Errorf("%.1f times as long as a ReplicaSet at the same moment, want at most %d", ratio, patienceFactor)
			}
		}
	})
}

// victimsTake is how long fleets of another tenant take, and how much longer than
// ReplicaSets at the same moments, by the medians.
func victimsTake(t *testing.T, namespace string) (ratio float64, text string) {
	t.Helper()
	var ours, theirs []time.Duration
	for range victims {
		o, r := servedIn(t, namespace)
		ours, theirs = append(ours, o), append(theirs, r)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	spread := func(d []time.Duration) string {
		return fmt.Sprintf("%s %s %s", short(d[0]), short(d[len(d)/2]), short(d[len(d)-1]))
	}
	return float64(ours[victims/2]) / float64(max(theirs[victims/2], longFloor)), spread(ours) + " (ReplicaSets " + spread(theirs) + ")"
}

// expectAllObserved waits as long as there are fewer and fewer that were not.
func expectAllObserved(t *testing.T, namespace string) {
	t.Helper()
	left := make([]string, manyTemplates)
	for i := range left {
		left[i] = fmt.Sprintf("large-%d", i)
	}
	testkit.EventuallyEvery(t, 10*time.Second, "all were looked at", func() error {
		left = slices.DeleteFunc(left, func(name string) bool {
			pm := &appsv1.PodManager{}
			testkit.Get(t, suite, namespace, name, pm)
			return pm.Status.ObservedGeneration >= pm.Generation
		})
		if len(left) > 0 {
			return fmt.Errorf("%d were not, %s among them", len(left), left[0])
		}
		return nil
	})
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

func inParallel(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < n; i += 4 {
				if err := do(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func expectNone(t *testing.T, namespace string) {
	t.Helper()
	testkit.Eventually(t, "all PodManagers are gone", func() error {
		var list appsv1.PodManagerList
		if err := suite.Client.List(t.Context(), &list, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%s is there", list.Items[0].Name)
		}
		return nil
	})
}
