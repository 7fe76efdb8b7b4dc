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

package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// find makes TestMechanisms look for new cases and write them to
// testdata/mechanisms, instead of playing those that are there.
var find = flag.Bool("find", false, "look for cases that miss a mechanism")

// mechanisms are taken out one by one, and for each a case breaks that does
// not break with it.
var mechanisms = []struct {
	weakness  Weakness
	scenarios []string
	rules     []string
	// plain: the case must need no fault besides delays.
	plain bool
	// script, where a case is too rare to be drawn, says what to choose from
	// the moment on that an option begins with the first line; "before" waits
	// until there is such an option, and does not choose it.
	script []string
}{
	{
		weakness: NoUIDPrecondition, scenarios: []string{"failed pods"}, rules: []string{"N"},
		script: []string{
			"the user: pod web-0 fails", "before operator-1: delete Pod web-0", "operator-1: crashes, its last writes are on their way",
			"an operator starts %d versions behind",
			"operator-2: create Pod web-0", "the network delivers: delete Pod web-0",
		},
	},
	{weakness: NoFreshnessGate, scenarios: []string{"scale up", "scale with random names"}, rules: []string{requests}, plain: true},
	{weakness: NoDeterministic, scenarios: []string{"scale up"}, rules: []string{"S2", "S4"}},
	{weakness: NoLiveRead, scenarios: []string{"delete with cascade orphan", "delete and orphan"}, rules: []string{"L1", "S4", "R"}},
	{weakness: NoFinalizerWait, scenarios: []string{"delete"}, rules: []string{"R"}},
	{
		weakness: NoTrust, scenarios: []string{"scale up"}, rules: []string{"S4"},
		script: []string{
			"operator-1: sees Pod web-2", "operator-1: crashes", "an operator starts %d versions behind",
			"operator-2: its watch of PodManager is stuck",
		},
	},
	{weakness: NoClaimMark, scenarios: []string{"claims of an earlier owner"}, rules: []string{"D"}},
	{weakness: NoFoundMark, scenarios: []string{"claims of a StatefulSet"}, rules: []string{"D"}},
	{weakness: NoForeignStatus, scenarios: []string{"scale up", "scale down"}, rules: []string{"L2"}},
}

// requests is the rule that, without faults, one create is sent for each pod.
const requests = "requests"

// broken are the rules that a run broke.
func broken(c Case, result *Result) []string {
	var rules []string
	for _, v := range result.Violations {
		rules = append(rules, v.Rule)
	}
	made := 0
	for i := range result.History {
		r := &result.History[i]
		if pod, ok := r.Object.(*corev1.Pod); ok && r.Actor == oracle.Operator && r.Version == firstVersion(result.History, pod) {
			made++
		}
	}
	if c.Faults == 0 && result.Creates != made {
		rules = append(rules, requests)
	}
	return rules
}

func firstVersion(history []oracle.Revision, pod *corev1.Pod) int64 {
	for i := range history {
		if history[i].Object.GetUID() == pod.UID {
			return history[i].Version
		}
	}
	return 0
}

// TestMechanisms: a case breaks a rule without the mechanism, and none with it.
func TestMechanisms(t *testing.T) {
	l := newLaboratory(t)
	for _, m := range mechanisms {
		t.Run(string(m.weakness), func(t *testing.T) {
			file := filepath.Join("testdata", "mechanisms", strings.ReplaceAll(string(m.weakness), " ", "-")+".json")
			misses := func(c Case) bool {
				c.Weakness = m.weakness
				return slices.ContainsFunc(broken(c, l.play(t, c, nil)), func(r string) bool { return slices.Contains(m.rules, r) })
			}
			c := read(t, file)
			if *find || !misses(c) || len(broken(c, l.play(t, c, nil))) > 0 {
				// The operator has changed since: another case will do.
				if m.script == nil {
					c = l.search(t, m.scenarios, m.plain, misses)
				} else {
					c = l.follow(t, m.scenarios[0], m.script, misses)
				}
				t.Logf("found %+v", c)
			}
			if *find {
				write(t, file, c)
			}
			if !misses(c) {
				t.Errorf("without the mechanism, the case breaks none of %v: look for another with -find", m.rules)
				weak := c
				weak.Weakness = m.weakness
				t.Log(tell(weak, l.play(t, weak, nil)))
			}
			if got := broken(c, l.play(t, c, nil)); len(got) > 0 {
				t.Errorf("with the mechanism, the case breaks %v", got)
			}
		})
	}
}

// search draws cases until one misses the mechanism and nothing else, and
// shrinks it.
func (l *laboratory) search(t *testing.T, scenarios []string, plain bool, misses func(Case) bool) Case {
	t.Helper()
	for seed := range uint64(5_000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c, schedule := l.drawFrom(rng, scenarios[rng.IntN(len(scenarios))])
		if c.Hasty || plain != (c.Faults == 0) {
			continue
		}
		l.play(t, *c, schedule)
		if !misses(*c) || len(broken(*c, l.play(t, *c, nil))) > 0 {
			continue
		}
		for at := 0; at < len(c.Deviations); {
			fewer := *c
			fewer.Deviations = slices.Delete(slices.Clone(c.Deviations), at, at+1)
			if misses(fewer) && len(broken(fewer, l.play(t, fewer, nil))) == 0 {
				*c = fewer
			} else {
				at++
			}
		}
		return *c
	}
	t.Fatal("no case found")
	return Case{}
}

// follow makes the case that a script tells, with an operator that starts as
// many versions behind as it takes.
func (l *laboratory) follow(t *testing.T, name string, script []string, misses func(Case) bool) Case {
	t.Helper()
	for _, lag := range lags {
		rest := slices.Clone(script)
		for i, line := range rest {
			if strings.Contains(line, "%d") {
				rest[i] = fmt.Sprintf(line, lag)
			}
		}
		c := Case{Scenario: name, Faults: len(script)}
		begun := false
		l.play(t, c, func(decision int, options []Option) int {
			offered := func(text string) int {
				return slices.IndexFunc(options, func(o Option) bool { return strings.HasPrefix(o.Text, text) })
			}
			pick := func() int {
				if len(rest) == 0 {
					return -1
				}
				if next, waits := strings.CutPrefix(rest[0], "before "); waits {
					if offered(next) < 0 {
						return -1
					}
					rest = rest[1:]
				}
				return offered(rest[0])
			}
			if !begun && pick() >= 0 {
				begun, rest = true, rest[1:]
			}
			at := pick()
			if !begun || at < 0 {
				return 0
			}
			rest = rest[1:]
			if at > 0 {
				c.Deviations = append(c.Deviations, [2]int{decision, at})
			}
			return at
		})
		if len(rest) == 0 && misses(c) && len(broken(c, l.play(t, c, nil))) == 0 {
			return c
		}
	}
	t.Fatal("no case found")
	return Case{}
}

func read(t *testing.T, file string) Case {
	t.Helper()
	raw, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	var c Case
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, file string, c Case) {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBackoff: a pod that fails again and again is replaced later and later.
func TestBackoff(t *testing.T) {
	lab := newLab(t)
	waits := func(w Weakness) []time.Duration {
		result := play(t, lab, Run{Scenario: scenario.Failing(5), Weakness: w})
		var born []time.Time
		seen := map[string]bool{}
		for i := range result.History {
			if pod, ok := result.History[i].Object.(*corev1.Pod); ok && !seen[string(pod.UID)] {
				seen[string(pod.UID)] = true
				born = append(born, pod.CreationTimestamp.Time)
			}
		}
		var gaps []time.Duration
		for i := 1; i < len(born); i++ {
			gaps = append(gaps, born[i].Sub(born[i-1]))
		}
		return gaps
	}
	grows := func(gaps []time.Duration) bool {
		least := 10 * time.Second
		for _, gap := range gaps[1:] { // the first failure is repaired at once
			if gap < least {
				return false
			}
			least *= 2
		}
		return true
	}
	if gaps := waits(None); len(gaps) != 5 || !grows(gaps) {
		t.Errorf("successors came after %v", gaps)
	}
	if gaps := waits(NoBackoff); grows(gaps) {
		t.Errorf("without the backoff, successors still came after %v: the test cannot fail", gaps)
	}
}

// TestSlowStart: a template that is refused costs one request in a pass, and
// not one for each pod. What follows is the memory's, below.
func TestSlowStart(t *testing.T) {
	lab := newLab(t)
	sent := func(w Weakness) int {
		requests := play(t, lab, Run{
			Scenario: scenario.Many(40), Weakness: w, Refusals: []Refusal{{Verb: "create", Kind: "Pod", How: ByQuota}},
		}).Requests
		n := 0
		for i := range requests {
			if r := &requests[i]; r.Refused && r.Time.Sub(requests[0].Time) < time.Second {
				n++
			}
		}
		return n
	}
	slow, fast := sent(None), sent(NoSlowStart)
	if fast < 20*slow {
		t.Errorf("%d requests in the first second with the slow start, %d without: want at least 20 times as many", slow, fast)
	}
}

// TestANodeWhoseClockIsAhead by an hour delays nothing: pods that failed are
// replaced, and ready ones are available, as early as where all clocks agree.
func TestANodeWhoseClockIsAhead(t *testing.T) {
	lab := newLab(t)
	for name, s := range map[string]scenario.Scenario{
		"pods that fail": scenario.Failing(5), "minReadySeconds": scenario.Patient(10),
	} {
		t.Run(name, func(t *testing.T) {
			took := func(ahead time.Duration) time.Duration {
				result := play(t, lab, Run{Scenario: s, Ahead: ahead})
				for _, v := range result.Violations {
					// A new operator, which did not see when the pod became ready, waits once more.
					if ahead == 0 || v.Rule != "L2" {
						t.Error(v)
					}
				}
				return result.Took
			}
			right, ahead := took(0), took(time.Hour)
			if more := ahead - right; more > time.Second || more < -time.Second {
				t.Errorf("it takes %s where the node's clock is an hour ahead, and %s where it is right", ahead, right)
			}
		})
	}
}
