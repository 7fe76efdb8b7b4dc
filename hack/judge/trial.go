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

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/hack/overlay"
)

// fault is one that a person could make.
type fault struct {
	// rule is the planner's rule that is broken, or the name of a mend that is
	// taken back.
	rule string
	// what is wrong.
	what  string
	edits []edit
	// by finds it.
	by finder
}

func (f *fault) name() string { return f.rule + ": " + f.what }

// edit replaces a text that the file has exactly once.
type edit struct{ file, find, replace string }

// finder is what finds a fault: a world of the small worlds, with its number of
// pods, or a test of the simulator with its flags, such as a schedule that is kept.
type finder struct {
	tier, test string
	flags      []string
}

// small is a small world, by its name, with so many pods.
func small(world string, pods int) finder {
	return finder{tier: "small", test: fmt.Sprintf("^TestSmallWorlds$/^worlds$/^%s$/^%d_pods$", regexp.QuoteMeta(strings.ReplaceAll(world, " ", "_")), pods)}
}

// random are schedules of the simulator from a seed on.
func random(seed, schedules int) finder {
	return finder{tier: "sim", test: "^TestRandomSchedules$", flags: []string{fmt.Sprintf("-seed=%d", seed), fmt.Sprintf("-schedules=%d", schedules)}}
}

// deviations are the schedules of the simulator that deviate at one place, one of
// so many.
func deviations(stride int) finder {
	return finder{tier: "sim", test: "^TestEveryDeviation$", flags: []string{fmt.Sprintf("-stride=%d", stride)}}
}

// kept is a schedule of the simulator that once broke a rule.
func kept(schedule string) finder {
	return finder{tier: "sim", test: "^TestRegressions$/^" + schedule + "\\.json$"}
}

func (f finder) String() string {
	name := strings.NewReplacer("^TestSmallWorlds$/^worlds$/", "", "TestSmallWorlds/worlds/", "", "^", "", "$", "", "_", " ", `\`, "").Replace(f.test)
	return strings.TrimSpace(f.tier + ": " + name + " " + strings.Join(f.flags, " "))
}

// apply returns the files as the fault changes them.
func (f *fault) apply(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range f.edits {
		text, known := files[e.file]
		if !known {
			raw, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name(), err)
			}
			text = string(raw)
		}
		if n := strings.Count(text, e.find); n != 1 {
			return nil, fmt.Errorf("%s: the edit does not apply: %s has %d times, and should have once:\n%s", f.name(), e.file, n, e.find)
		}
		files[e.file] = strings.Replace(text, e.find, e.replace, 1)
	}
	return files, nil
}

// verdict is what became of a fault: broke is the rule that was broken and how.
type verdict struct {
	broke string
	by    finder
	took  time.Duration
	err   error
}

// trial compiles and runs the tiers.
type trial struct {
	root, dir         string
	search, simulator bool
	// all are the tests of each tier with all faults that can be switched on; alone
	// are those that cannot.
	all   map[string]string
	alone map[int]bool
	// unsound are the finders, and their tests, that break a rule in the code as it is.
	unsound map[string]bool
}

var folders = map[string]string{"small": "test/faults/small", "sim": "test/faults/sim"}

// everything is what a search goes through: the small worlds, and the simulator
// where that is asked for, which takes long.
func everything(simulator bool) []finder {
	list := []finder{{tier: "small", test: "^TestSmallWorlds$"}}
	if simulator {
		list = append(list, random(1, 400), deviations(80))
	}
	return list
}

// begin runs the finders on the code as it is: one that finds something there cannot
// tell a fault.
func begin(ctx context.Context, faults []fault, o options) (*trial, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "judge-")
	if err != nil {
		return nil, err
	}
	t := &trial{root: root, dir: dir, search: o.search, simulator: o.simulator, unsound: map[string]bool{}, all: map[string]string{}}
	finders := map[string][]finder{}
	for _, f := range faults {
		finders[f.by.tier] = append(finders[f.by.tier], f.by)
	}
	if o.search {
		finders = map[string][]finder{}
		for _, f := range everything(o.simulator) {
			finders[f.tier] = append(finders[f.tier], f)
		}
	}
	files, alone, err := t.switches(faults)
	if err != nil {
		t.end()
		return nil, err
	}
	t.alone = alone
	for tier, list := range finders {
		if err := t.settle(ctx, tier, files, list); err != nil {
			t.end()
			return nil, err
		}
	}
	return t, nil
}

func (t *trial) end() { _ = os.RemoveAll(t.dir) }

// switches are the files with all faults that can be switched on. Each edit has to
// apply.
func (t *trial) switches(faults []fault) (files map[string]string, alone map[int]bool, err error) {
	for i := range faults {
		if _, err := faults[i].apply(t.root); err != nil {
			return nil, nil, err
		}
	}
	files, alone, err = switchable(func(file string) (string, error) {
		raw, err := os.ReadFile(filepath.Join(t.root, file))
		return string(raw), err
	}, faults)
	for file, text := range files {
		if i := strings.Index(text, "judgeFault =="); i >= 0 {
			name := regexp.MustCompile(`(?m)^package .*$`).FindString(text)
			files[filepath.Join(filepath.Dir(file), "judge_switch.go")] = name + switchFile
		}
	}
	return files, alone, err
}

// settle compiles a tier, and finds out which of its finders are sound: one that
// breaks a rule without a fault cannot tell one.
func (t *trial) settle(ctx context.Context, tier string, files map[string]string, list []finder) error {
	binary, err := t.compile(ctx, "all", tier, files)
	if err != nil {
		return err
	}
	t.all[tier] = binary
	done := map[string]bool{}
	for _, f := range list {
		if done[f.String()] {
			continue
		}
		done[f.String()] = true
		out, err := t.play(ctx, binary, 0, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !ran.Match(out) {
			return fmt.Errorf("%s runs no test: has its name changed?\n%s", f, out)
		}
		t.unsound[f.String()] = err != nil
		for _, found := range failure.FindAllSubmatch(out, -1) {
			t.unsound[string(found[1])] = true
		}
	}
	return nil
}

// try looks whether the finder finds a fault.
func (t *trial) try(ctx context.Context, i int, f fault) verdict {
	finders := []finder{f.by}
	if t.search {
		finders = everything(t.simulator)
	}
	for _, by := range finders {
		binary, number := t.all[by.tier], i+1
		if t.alone[number] {
			files, err := f.apply(t.root)
			if err != nil {
				return verdict{err: err}
			}
			if binary, err = t.compile(ctx, fmt.Sprint(number), by.tier, files); err != nil {
				return verdict{err: err}
			}
		}
		if v := t.judge(ctx, binary, number, by); v.broke != "" || v.err != nil {
			return v
		}
	}
	return verdict{by: f.by}
}

// judge runs a finder on the code with the fault.
func (t *trial) judge(ctx context.Context, binary string, number int, by finder) verdict {
	if !t.search && t.unsound[by.String()] {
		return verdict{err: fmt.Errorf("%s breaks a rule in the code as it is: choose another with -search", by)}
	}
	began := time.Now()
	out, err := t.play(ctx, binary, number, by)
	took := time.Since(began)
	var failed *exec.ExitError
	switch {
	case err == nil || ctx.Err() != nil:
		return verdict{err: ctx.Err()}
	case !errors.As(err, &failed):
		return verdict{err: err}
	case !t.search:
		broke := violation(out)
		if broke == "" {
			return verdict{err: fmt.Errorf("%s fails, and breaks no rule:\n%s", by, out)}
		}
		return verdict{broke: broke, by: by, took: took}
	}
	return t.quickest(out, by, took)
}

// compile compiles the tests of a tier with a fault.
func (t *trial) compile(ctx context.Context, name, tier string, files map[string]string) (string, error) {
	binary := filepath.Join(t.dir, tier+"-"+name+".test")
	file, err := overlay.Write(t.dir, name, files)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", binary, "./"+folders[tier])
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the code with the fault does not compile: %w\n%s", err, out)
	}
	return binary, nil
}

// play runs a finder, in a folder of its own with the tests' data: what breaks is
// stored there and not in the checkout.
func (t *trial) play(ctx context.Context, binary string, number int, f finder) ([]byte, error) {
	room, err := os.MkdirTemp(t.dir, "room-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(room)
	folder := filepath.Join(room, folders[f.tier])
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, err
	}
	if err := os.Symlink(filepath.Join(t.root, "config"), filepath.Join(room, "config")); err != nil { // with the CRDs
		return nil, err
	}
	data := filepath.Join(t.root, folders[f.tier], "testdata")
	if _, err := os.Stat(data); err == nil {
		if err := os.CopyFS(filepath.Join(folder, "testdata"), os.DirFS(data)); err != nil {
			return nil, err
		}
	}
	flags := append([]string{"-test.run", f.test, "-test.timeout=5m"}, f.flags...)
	if number == 0 {
		flags = append(flags, "-test.v")
	}
	if !t.search {
		flags = append(flags, "-test.failfast")
	}
	cmd := exec.CommandContext(ctx, binary, flags...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number))
	return cmd.CombinedOutput()
}

var (
	// A rule is a letter, or L1, L2, S1 …, at the beginning of a line or after the
	// version that broke it.
	rule = regexp.MustCompile(`(?m)^\s*((?:[A-Z]|[LS]\d)(?: at version \d+)?: .*)$`)
	// ran: a test ran that has no others in it.
	ran     = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL): (TestSmallWorlds/\S+_wrong|Test[^/\s]+/shards/\S+|(?:TestRegressions|TestRefusalsOfALargeFleet)/\S+|TestEveryDeviation/scenarios/\S+) `)
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+) \((\d+\.\d+)s\)$`)
)

func violation(out []byte) string {
	if found := rule.FindSubmatch(out); found != nil {
		return string(found[1])
	}
	return ""
}

// quickest is the world that found a fault in the shortest time, of those that are
// sound.
func (t *trial) quickest(out []byte, by finder, took time.Duration) verdict {
	best := verdict{}
	for _, at := range failure.FindAllSubmatchIndex(out, -1) {
		name := string(out[at[2]:at[3]])
		seconds, err := time.ParseDuration(string(out[at[4]:at[5]]) + "s")
		broke := violation(out[at[1]:])
		leaf := by.tier == "sim" || strings.Count(name, "/") > 2
		if err != nil || broke == "" || !leaf || t.unsound[name] || best.broke != "" && best.took <= seconds {
			continue
		}
		best = verdict{broke: broke, by: finder{tier: by.tier, test: name}, took: seconds}
		if by.tier == "sim" {
			best.by, best.took = by, took
		}
	}
	return best
}
