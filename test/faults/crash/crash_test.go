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

package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
	"github.com/mycompany/pod-operator/test/faults/summary"
	"github.com/mycompany/pod-operator/test/faults/witness"
)

// quiet is how long nothing may change before a run without faults counts as
// at rest, and how long nothing may be written at the end of any.
const quiet = 1500 * time.Millisecond

// long is longer than the operator holds back a status about progress: for so
// long nothing may change if no condition says that a fleet is at rest, and so
// late the last write may come.
const long = 6 * time.Second

// lookEvery is the time between two looks: a look is four lists, and many cases run
// at once.
const lookEvery = 100 * time.Millisecond

// fair is how a scenario goes without faults.
type fair struct {
	scenario.Scenario
	// ends are the states after each step, writes the operator's writes.
	ends   []oracle.End
	writes int
	tally  map[string]int
}

// TestCrashPoints plays every scenario with every fault at every write.
func TestCrashPoints(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	all := learn(t, draw(rng, scenario.All(), *plays))
	type point struct {
		*fair
		fault
	}
	var list []point
	for _, f := range all {
		for k := 1; k <= f.writes; k++ {
			for _, at := range faultsAt(k) {
				list = append(list, point{f, at})
			}
		}
	}
	total := len(list)
	list = draw(rng, list, *points)
	counts := &counter{}
	t.Run("points", func(t *testing.T) {
		for _, p := range list {
			t.Run(fmt.Sprintf("%s/write %d/%s", p.Name, p.at, p.what), func(t *testing.T) {
				t.Parallel()
				counts.watch(t)
				counts.took(try(t, p.fair, begin(t, once(p.fault)), func() {}))
			})
		}
	})
	line := summary.Line{
		Tier: "2 real API server, crash points", Cases: len(list), Violations: counts.violations, Longest: counts.longest,
		Seed: seed, Note: fmt.Sprintf("of %d points in %d scenarios", total, len(all)),
	}
	if err := summary.Write("2-crash-points", line); err != nil {
		t.Error(err)
	}
	t.Logf("%+v", line)
}

// draw takes n of a list at random; 0 takes all.
func draw[T any](rng *rand.Rand, list []T, n int) []T {
	if n <= 0 || n >= len(list) {
		return list
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}

type counter struct {
	mu         sync.Mutex
	violations int
	longest    time.Duration
}

// watch counts a case that fails, for whatever reason.
func (c *counter) watch(t *testing.T) {
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.Failed() {
			c.violations++
		}
	})
}

func (c *counter) took(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, d)
}

// learn plays the scenarios without faults.
func learn(t *testing.T, scenarios []scenario.Scenario) []*fair {
	t.Helper()
	var all []*fair
	t.Run("without faults", func(t *testing.T) {
		for _, s := range scenarios {
			f := &fair{Scenario: s}
			all = append(all, f)
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				c := begin(t, nil)
				for _, step := range s.Steps {
					c.take(step)
					f.ends = append(f.ends, c.rest(s.Anonymous, step.Unready))
				}
				f.writes = c.operator.line.writes
				f.tally = oracle.Tally(c.story())
				c.judge(s)
				t.Logf("%d writes", f.writes)
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// try plays a scenario on a stage with faults, and tells how long the operator
// took to come to rest after the step that took it longest. calm is called when
// nothing may go wrong any more.
func try(t *testing.T, f *fair, c *stage, calm func()) (longest time.Duration) {
	for i, step := range f.Steps {
		c.take(step)
		start := time.Now()
		c.reach(f.ends[i], f.Anonymous)
		longest = max(longest, time.Since(start))
	}
	calm()
	c.stayQuiet()
	c.judge(f.Scenario)
	if f.Uncounted {
		return longest
	}
	if diff := cmp.Diff(total(f.tally, f.Anonymous), total(oracle.Tally(c.story()), f.Anonymous)); diff != "" {
		t.Errorf("S4: other creates and deletes than without faults (-without +with):\n%s", diff)
	}
	return longest
}

// total adds up what is done to pods whose names do not matter.
func total(tally map[string]int, anonymous bool) map[string]int {
	if !anonymous {
		return tally
	}
	sums := map[string]int{}
	for key, n := range tally {
		verb, _, _ := strings.Cut(key, " ")
		sums[verb] += n
	}
	return sums
}

// stage is one run: a namespace and an operator.
type stage struct {
	t         *testing.T
	namespace string
	operator  *operator
	// encore is the plan of the lives after the first, and lives how many there were.
	encore plan
	lives  int

	mu    sync.Mutex
	wrote map[string]bool
}

// operator is one life of the operator.
type operator struct {
	line *line
	stop func() error
}

// peace is the plan in which nothing goes wrong.
func peace(int) string { return "" }

// begin starts the first life of an operator; nil means peace.
func begin(t *testing.T, first plan) *stage {
	t.Helper()
	if first == nil {
		first = peace
	}
	c := &stage{t: t, namespace: suite.Namespace(t), encore: peace, wrote: map[string]bool{}}
	c.start(first)
	t.Cleanup(func() {
		if err := c.operator.stop(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the operator ended with %v", err)
		}
		c.strike()
	})
	return c
}

// strike removes the finalizers, because no operator is left to do so, and those of
// holds: the namespace would terminate for ever, and many of those slow the API server
// down.
func (c *stage) strike() {
	ctx := context.Background()
	left, err := watched.Objects(ctx, c.namespace)
	if err != nil {
		c.t.Errorf("list what is left: %v", err)
	}
	for _, obj := range left {
		if _, claim := obj.(*corev1.PersistentVolumeClaim); claim || len(obj.GetFinalizers()) == 0 {
			continue
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := suite.Client.Patch(ctx, obj, patch); client.IgnoreNotFound(err) != nil {
			c.t.Errorf("take the finalizers off: %v", err)
		}
	}
}

// start begins a life of the operator, on a line of its own.
func (c *stage) start(what plan) {
	c.t.Helper()
	config, err := suite.OperatorConfig(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	l := newLine(what, func(version string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrote[version] = true
	})
	// The filter of a watch reads JSON.
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.Wrap(l.wrap)
	options := testkit.OperatorOptions()
	options.Namespaces, options.Controllers, options.Record = []string{c.namespace}, []string{"podmanager"}, false
	stop, err := testkit.RunOperator(context.Background(), config, options)
	if err != nil {
		c.t.Fatalf("start the operator: %v", err)
	}
	c.operator = &operator{line: l, stop: sync.OnceValue(stop)}
	c.lives++
}

// tend starts the operator again where it crashed.
func (c *stage) tend() {
	c.t.Helper()
	if !c.operator.line.isCut() {
		return
	}
	_ = c.operator.stop() // it lost its line: whatever it says
	c.start(c.encore)
}

func (c *stage) take(step scenario.Step) {
	c.t.Helper()
	world := scenario.World{Client: suite.Client, Namespace: c.namespace, Now: time.Now()}
	if err := step.Do(c.t.Context(), world); err != nil {
		c.t.Fatalf("%s: %v", step.Name, err)
	}
}

func (c *stage) look(anonymous bool) (oracle.End, []client.Object) {
	c.t.Helper()
	all, err := watched.Objects(c.t.Context(), c.namespace)
	if err != nil {
		c.t.Fatal(err)
	}
	return oracle.Normalise(all, anonymous), all
}

// rest waits until nothing has changed for a while.
func (c *stage) rest(anonymous, unready bool) oracle.End {
	c.t.Helper()
	enough := quiet
	if unready {
		enough = long
	}
	var last oracle.End
	since := time.Now()
	testkit.EventuallyEvery(c.t, lookEvery, "the namespace is at rest", func() error {
		end, all := c.look(anonymous)
		if !cmp.Equal(end, last) || slices.ContainsFunc(all, func(obj client.Object) bool { return unfinished(obj, unready) }) ||
			!unready && unnoticed(all) {
			last, since = end, time.Now()
			return errors.New("it changes")
		}
		if time.Since(since) < enough {
			return errors.New("it has not been quiet for long")
		}
		return nil
	})
	return last
}

// unfinished: something has to happen to it yet.
func unfinished(obj client.Object, unready bool) bool {
	pm, owner := obj.(*appsv1.PodManager)
	if !owner || unready {
		return obj.GetDeletionTimestamp() != nil
	}
	return pm.DeletionTimestamp != nil || pm.Status.ObservedGeneration != pm.Generation ||
		!meta.IsStatusConditionTrue(pm.Status.Conditions, appsv1.ConditionReady) ||
		meta.IsStatusConditionTrue(pm.Status.Conditions, appsv1.ConditionReconciling)
}

// unnoticed: what a step did has not been answered yet, although the owner's
// status, which is from before, says that all is well.
func unnoticed(all []client.Object) bool {
	live := map[types.UID]int32{}
	for _, obj := range all {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		if pod.Status.Phase == corev1.PodPending {
			return true
		}
		if ref := metav1.GetControllerOf(pod); ref != nil && oracle.Live(pod) {
			live[ref.UID]++
		}
	}
	for _, obj := range all {
		if pm, ok := obj.(*appsv1.PodManager); ok && live[pm.UID] != *pm.Spec.Replicas {
			return true
		}
	}
	return len(oracle.Leftovers(all)) > 0 // which the garbage collector takes
}

// reach waits for the end of a step without faults (L1).
func (c *stage) reach(want oracle.End, anonymous bool) {
	c.t.Helper()
	testkit.EventuallyEvery(c.t, lookEvery, "the namespace is as without faults", func() error {
		c.tend()
		end, _ := c.look(anonymous)
		if diff := cmp.Diff(want, end); diff != "" {
			return fmt.Errorf("L1: (-without faults +with):\n%s", diff)
		}
		return nil
	})
}

// stayQuiet is L2: at rest nothing is written. The pods may reach the end before
// the status says so, so the last write has a moment to come.
func (c *stage) stayQuiet() {
	c.t.Helper()
	c.tend()
	before, writes, since := c.versions(), -1, time.Now()
	l := c.operator.line
	err := wait.PollUntilContextTimeout(c.t.Context(), 50*time.Millisecond, long, true, func(context.Context) (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.writes != writes {
			writes, since = l.writes, time.Now()
		}
		return time.Since(since) >= quiet, nil
	})
	if err != nil {
		c.t.Errorf("L2: the operator writes at rest: %s", cmp.Diff(before, c.versions()))
	}
}

func (c *stage) versions() map[string]string {
	_, all := c.look(false)
	return witness.Versions(all)
}

// story is what the witness saw, complete up to what there is now.
func (c *stage) story() []oracle.Revision {
	c.t.Helper()
	var history []oracle.Revision
	testkit.Eventually(c.t, "the witness has seen everything", func() error {
		var there map[string]string
		history, there = watched.History(c.namespace)
		if diff := cmp.Diff(c.versions(), there); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range history {
		if c.wrote[history[i].Object.GetResourceVersion()] {
			history[i].Actor = oracle.Operator
		}
	}
	return history
}

// judge asks the oracles.
func (c *stage) judge(s scenario.Scenario) {
	c.t.Helper()
	_, all := c.look(false)
	history, rules := c.story(), oracle.Rules{FinalizerStripped: s.Stripped}
	found := slices.Concat(oracle.Check(history, rules), oracle.Leftovers(all), oracle.Told(history, rules), oracle.Needless(history, rules),
		oracle.AtRest(history, rules, time.Now()), oracle.ToldAtRest(history, rules, time.Now()))
	for _, v := range found {
		c.t.Error(v)
	}
}
