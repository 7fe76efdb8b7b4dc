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
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

func TestLimitMemory(t *testing.T) {
	for name, test := range map[string]struct {
		container, gomemlimit string
		want                  int64
	}{
		"leaves a tenth of the container's memory": {container: "1000", want: 900},
		"unless GOMEMLIMIT is set":                 {container: "1000", gomemlimit: "1000", want: math.MaxInt64},
		"sets none outside of a container":         {want: math.MaxInt64},
		"nor where the limit is no number":         {container: "512Mi", want: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(math.MaxInt64)
			defer debug.SetMemoryLimit(before)
			t.Setenv(memoryVariable, test.container)
			t.Setenv("GOMEMLIMIT", test.gomemlimit)
			LimitMemory()
			if got := debug.SetMemoryLimit(-1); got != test.want {
				t.Errorf("the limit is %d, want %d", got, test.want)
			}
		})
	}
}

func TestScarceMemoryIsReportedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		live []int64
		want int
	}{
		"not below the threshold":         {live: []int64{0, 300, 599}, want: 0},
		"once while it stays scarce":      {live: []int64{599, 600, 700, 1000}, want: 1},
		"again when it was enough before": {live: []int64{600, 599, 600}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			w := &memoryWatch{limit: 1000, log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})}
			for _, live := range test.live {
				w.look(live)
			}
			if len(lines) != test.want {
				t.Fatalf("logged %d times, want %d: %q", len(lines), test.want, lines)
			}
			for _, line := range lines {
				if !strings.Contains(line, "resources.limits.memory") {
					t.Errorf("the line does not say what to raise: %s", line)
				}
			}
		})
	}
}

func TestLiveMemoryIsWhatIsInUse(t *testing.T) {
	const size = 64 << 20
	runtime.GC()
	before := liveMemory()
	kept := make([]byte, size)
	runtime.GC()
	if grown := liveMemory() - before; grown < size/2 {
		t.Errorf("with %d bytes more in use, live memory grew by %d", size, grown)
	}
	runtime.KeepAlive(kept)
	runtime.GC()
	if grown := liveMemory() - before; grown > size/2 {
		t.Errorf("what is not in use any more counts: live memory grew by %d", grown)
	}
}

// standIn is a manager to which something can be added, and which does not run it.
type standIn struct {
	ctrl.Manager
	log   logr.Logger
	added []manager.Runnable
}

func (s *standIn) GetLogger() logr.Logger { return s.log }

func (s *standIn) Add(r manager.Runnable) error {
	s.added = append(s.added, r)
	return nil
}

func TestTheOperatorWatchesItsMemory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lines []string
	mgr := &standIn{log: funcr.New(func(_, line string) { lines = append(lines, line); cancel() }, funcr.Options{})}
	if err := addMemoryWatch(mgr); err != nil || len(mgr.added) != 0 {
		t.Fatalf("without a limit, %d runnables were added (%v)", len(mgr.added), err)
	}
	t.Setenv(memoryVariable, "1000")
	for range 2 { // an operator that is stopped may start again in the same process
		if err := addMemoryWatch(mgr); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	if err := mgr.added[0].Start(ctx); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "Memory is scarce") {
		t.Errorf("logged %q", lines)
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	used := 0.0
	for _, family := range families {
		if family.GetName() == "podmanager_memory_used_ratio" {
			used = family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	if used < 1 {
		t.Errorf("the metric says %v", used)
	}
}
