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
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// memoryVariable is where the Deployment passes on the memory limit of the container, in
// bytes.
const memoryVariable = "MEMORY_LIMIT"

// memoryScarce is the share of the container's memory that live objects may take. Above it
// Go has to collect garbage after less than half as much again was allocated, and a burst
// of changes may have the kernel end the process.
const memoryScarce = 0.6

// memoryOfContainer is 0 where there is no limit.
func memoryOfContainer() int64 {
	bytes, err := strconv.ParseInt(os.Getenv(memoryVariable), 10, 64)
	if err != nil || bytes < 0 {
		return 0
	}
	return bytes
}

// LimitMemory has Go collect garbage harder as its memory comes near nine tenths of what
// the container may take. The rest is for what Go does not count, such as the pages of the
// program and the kernel's buffers. GOMEMLIMIT says otherwise.
func LimitMemory() {
	if limit := memoryOfContainer(); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// memoryWatch warns in the log before the container's limit is reached, and shows the share
// of it that is in use. It counts what was live after the last garbage collection: all of
// the process grows up to the limit before Go collects, however little of it is needed.
type memoryWatch struct {
	limit  int64
	log    logr.Logger
	warned bool
}

// addMemoryWatch does nothing where there is no limit.
func addMemoryWatch(mgr ctrl.Manager) error {
	limit := memoryOfContainer()
	if limit == 0 {
		return nil
	}
	used := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podmanager_memory_used_ratio", Help: "Memory that is live after a garbage collection, as a share of the container's limit.",
	}, func() float64 { return float64(liveMemory()) / float64(limit) })
	if err := metrics.Registry.Register(used); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return fmt.Errorf("register metrics: %w", err)
	}
	w := &memoryWatch{limit: limit, log: mgr.GetLogger().WithName("memory")}
	return mgr.Add(everyReplica(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(context.Context) { w.look(liveMemory()) }, 10*time.Second)
		return nil
	}))
}

// look warns once each time that memory becomes scarce.
func (w *memoryWatch) look(live int64) {
	used := float64(live) / float64(w.limit)
	if used >= memoryScarce && !w.warned {
		w.log.Info("Memory is scarce: raise resources.limits.memory, see docs/operations.md#memory",
			"usedPercent", int(100*used), "liveBytes", live, "limitBytes", w.limit)
	}
	w.warned = used >= memoryScarce
}

// liveMemory is what was live after the last garbage collection.
func liveMemory() int64 {
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample)
	return int64(sample[0].Value.Uint64()) //nolint:gosec // bytes of memory fit
}
