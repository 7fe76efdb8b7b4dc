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

package manager

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/internal/fairqueue"
)

func TestEachReconcileIsOneLineAtVerbosity4(t *testing.T) {
	web := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}}
	for name, test := range map[string]struct {
		verbosity int
		want      []string
	}{
		"not by default": {verbosity: 3},
		"at 4, with how long it took and whether it failed": {verbosity: 4, want: []string{
			`"controller"="fleet" "namespace"="default" "name"="web" "took"="2s" "failed"=false`,
			`"controller"="fleet" "namespace"="default" "name"="web" "took"="0s" "failed"=true`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			log := funcr.New(func(_, line string) {
				_, about, _ := strings.Cut(line, `"msg"="Reconciled" `)
				lines = append(lines, about)
			}, funcr.Options{Verbosity: test.verbosity})
			clock := testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
			limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
			made := logReconciles(log, clock, fairqueue.New(1, clock))("fleet", limiter)
			queue, ok := made.(priorityqueue.PriorityQueue[reconcile.Request])
			if !ok {
				t.Fatalf("controller-runtime finds no priority queue in %T", made)
			}
			t.Cleanup(queue.ShutDown)

			queue.Add(web)
			got, _, _ := queue.GetWithPriority()
			queue.AddWithOpts(priorityqueue.AddOpts{}, web) // an event meanwhile
			clock.Step(2 * time.Second)
			queue.Done(got)
			got, _, _ = queue.GetWithPriority()
			queue.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, got)
			queue.Done(got)
			if got != web {
				t.Errorf("the queue gave out %v", got)
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
