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

package bench

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/bench/figures"
)

// The benchmark's steps, small and for PodManager alone, with limits on what
// the operator may ask the API server for. Counts are the same on a slow
// machine, as far as waiting does not add status writes: those have a little
// room. A quiet minute is in test/integration.
func TestGuardWrites(t *testing.T) {
	manager := buildManager(t)
	results, err := Run(t.Context(), Options{
		Steps: []string{"a", "b", "c", "d", "e"}, Contenders: []string{figures.PodManager, figures.PodManagerRecreate}, Repeat: 1,
		Sizes:  Sizes{Pods: 100, Killed: 20, Rollout: 100, Objects: 20, ObjectPods: 2},
		Budget: 10 * time.Minute, StepTimeout: 3 * time.Minute, Manager: manager,
	}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for name, limit := range map[string]struct {
		step, contender string
		// pods are the writes that there have to be, at most and at least.
		pods map[string]int
		// others are all writes beside those, at most.
		others int
		// status writes are few of them.
		status int
	}{
		"0 to 100":                     {"a", figures.PodManager, map[string]int{"create pods": 100}, 12, 10},
		"100 to 0":                     {"b", figures.PodManager, map[string]int{"delete pods": 100}, 10, 8},
		"20 force-deleted":             {"c", figures.PodManager, map[string]int{"create pods": 20}, 8, 7},
		"another image, in place":      {"d", figures.PodManager, map[string]int{"patch pods": 100}, 15, 12},
		"another image, by recreating": {"d", figures.PodManagerRecreate, map[string]int{"create pods": 100, "delete pods": 100}, 20, 14},
		// For each object a revision, an event and a status or two.
		"20 objects of 2": {"e", figures.PodManager, map[string]int{"create pods": 40, "create controllerrevisions": 20, "create events": 20}, 40, 40},
	} {
		t.Run(name, func(t *testing.T) {
			sample := results.Step(limit.step).Of(limit.contender)[1]
			if sample == nil {
				t.Fatal("it was not measured")
			}
			others := sample.TotalWrites()
			for kind, n := range limit.pods {
				if sample.Writes[kind] != n {
					t.Errorf("%d × %s, want %d", sample.Writes[kind], kind, n)
				}
				others -= n
			}
			if others > limit.others {
				t.Errorf("%d other writes, at most %d: %v", others, limit.others, sample.Writes)
			}
			if got := sample.StatusWrites(); got > limit.status || got < 1 {
				t.Errorf("%d status writes, at most %d", got, limit.status)
			}
			if sample.Lists > 0 || sample.Conflicts > 0 {
				t.Errorf("%d LISTs and %d conflicts", sample.Lists, sample.Conflicts)
			}
			t.Logf("%v, %v, %d dry runs", sample.Writes, sample.Reads, sample.DryRuns)
		})
	}
}

// plannerLimits are how many allocations a pass may take over ten pods, and for
// each of a hundred thousand: a map or a sentence that every pass makes shows in
// the first, one for every pod in the second. Both have room for what Go's race
// detector adds.
func plannerLimits() map[string]struct{ ten, each float64 } {
	return map[string]struct{ ten, each float64 }{
		"at rest":       {10, 0.02},
		"one pod lost":  {22, 0.02},
		"down to half":  {32, 0.05},
		"another image": {55, 1.4},
	}
}

// The planner's memory per pod does not grow with the fleet. Time is left to
// make bench; internal/plan looks at more fleets.
func TestGuardPlanner(t *testing.T) {
	for _, fleet := range plannerFleets() {
		t.Run(fleet.name, func(t *testing.T) {
			limits, known := plannerLimits()[fleet.name]
			if !known {
				t.Fatal("the fleet has no limits")
			}
			least := 0.0
			for _, pods := range PlannerSizes() {
				desired, observed := fleet.of(pods)
				all := testing.AllocsPerRun(1, func() { plan.Plan(desired, observed, now()) })
				perPod := all / float64(pods)
				t.Logf("%7d pods: %.0f allocations, %.2f per pod", pods, all, perPod)
				if least == 0 || perPod < least {
					least = perPod
				}
				if perPod > 2*least+0.1 {
					t.Errorf("%.2f allocations per pod of %d, and %.2f of fewer", perPod, pods, least)
				}
				if pods == 10 && all > limits.ten || pods == 100_000 && perPod > limits.each {
					t.Errorf("%.0f allocations for %d pods, %.2f per pod; want at most %+v", all, pods, perPod, limits)
				}
			}
		})
	}
}

// cacheLimit is what a pod with one container may take in the cache. It takes
// about 2,900 bytes; what comes back into the cache shows.
const cacheLimit = 3_200

func TestGuardCache(t *testing.T) {
	small, err := CacheBytesPerPod(1_000)
	if err != nil {
		t.Fatal(err)
	}
	large, err := CacheBytesPerPod(20_000)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.0f bytes per pod of 1,000, %.0f of 20,000", small, large)
	if large > cacheLimit || large > 1.2*small {
		t.Errorf("%.0f bytes per pod of 20,000, %.0f of 1,000; at most %d", large, small, cacheLimit)
	}
	dir := filepath.Join(testkit.Root(), "test-output", "bench")
	raw, err := json.Marshal(map[string]float64{"bytesPerPod": large})
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cache.json"), append(raw, '\n'), 0o600)
	}
	if err != nil {
		t.Error(fmt.Errorf("write down the result: %w", err))
	}
}

// buildManager builds the operator as the Makefile does.
func buildManager(t *testing.T) string {
	t.Helper()
	manager := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags="+makefileTags(t), "-o", manager, "./cmd/manager")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return manager
}

func makefileTags(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^GOFLAGS \+= -tags=(\S+)$`).FindStringSubmatch(readFile(t, "Makefile"))
	if found == nil {
		t.Fatal("the Makefile names no tags")
	}
	return found[1]
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestGuardLinker: if the program calls methods by a name that is known only at
// run time, as templates do, the linker keeps every method of every type, and a
// third of the operator's code is unused.
func TestGuardLinker(t *testing.T) {
	program, err := elf.Open(buildManager(t))
	if err != nil {
		t.Skipf("no ELF on this system: %v", err)
	}
	defer program.Close()
	symbols, err := program.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for i := range symbols {
		if symbols[i].Name == "text/template.(*state).evalField" {
			t.Errorf("the operator has %s: find out who needs it with go build -ldflags=-dumpdep", symbols[i].Name)
		}
	}
	// The other tools that build the operator use the same tags.
	for _, name := range []string{"tools/image/main.go", "tools/release/main.go"} {
		if !strings.Contains(readFile(t, name), makefileTags(t)) {
			t.Errorf("%s does not build with the tags %s", name, makefileTags(t))
		}
	}
}
