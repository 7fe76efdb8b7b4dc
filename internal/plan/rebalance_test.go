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

package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// inZone: the pod runs in a zone, made for one where want is not empty.
func (b podBuilder) inZone(zone, want string) podBuilder {
	b.p.Domains = []string{zone}
	if want != "" {
		b.p.RebalancedTo = "zone=" + want
	}
	return b
}

// spread: zones a and b take pods, no zone may have two more than another, and a
// user asked for a rebalance some time ago.
func (f fleet) spread(asked time.Duration) fleet {
	f.desired.Disruption = Disruption{MaxSurge: 1, Deadline: 5 * time.Minute, Spread: []Spread{{Key: "zone", MaxSkew: 1}}, Rebalance: ago(asked)}
	f.observed.Nodes = &Nodes{Open: 2, All: 2, Domains: [][]string{{"a", "b"}}}
	return f
}

func (f fleet) maxSkew(skew int) fleet {
	f.desired.Disruption.Spread[0].MaxSkew = skew
	return f
}

// moving is how many pods may be replaced at once.
func (f fleet) moving(most int) fleet {
	f.desired.Disruption.MaxSurge = most
	return f
}

func (f fleet) auto() fleet {
	f.desired.Disruption.AutoRebalance, f.desired.Disruption.Rebalance = true, time.Time{}
	return f
}

func (f fleet) gaveUp(d time.Duration) fleet {
	f.observed.Status.Rebalance = &appsv1.RebalanceRecord{Time: metav1.NewTime(ago(d)), Message: "no room"}
	return f
}

// saidWithPlaces adds where new pods should run.
func saidWithPlaces(d Decision) []string {
	lines := saidOf(d)
	for i, a := range d.Actions {
		if a.Prefer != nil {
			lines[i] += " to " + a.Prefer.String()
		}
	}
	return lines
}

// twoConstraints adds one before that of the zones, by which the pods are spread
// well enough, though not evenly.
func twoConstraints(f fleet) fleet {
	f = f.spread(time.Minute)
	f.desired.Disruption.Spread = append([]Spread{{Key: "rack", MaxSkew: 5}}, f.desired.Disruption.Spread...)
	f.observed.Nodes.Domains = append([][]string{{"r1", "r2"}}, f.observed.Nodes.Domains...)
	for i := range f.observed.Pods {
		f.observed.Pods[i].Domains = append([]string{"r1"}, f.observed.Pods[i].Domains...)
	}
	return f
}

func TestRebalance(t *testing.T) {
	in := func(zones string, pod func(int) podBuilder) []podBuilder {
		var pods []podBuilder
		for slot, zone := range zones {
			pods = append(pods, pod(slot).inZone(string(zone), ""))
		}
		return pods
	}
	uneven, even := in("aaa", ordinal), in("aba", ordinal)
	surge, waits := []string{"CreatePod web-3 DisruptionSurge to zone=a"}, []string{"EvictPod web-2 Replacement"}
	expectPlans(t, saidWithPlaces, map[string]planned{
		"pods of a crowded zone move": {aFleet(3, uneven...).spread(time.Minute), surge, waits},
		"an even spread stays":        {aFleet(3, even...).spread(time.Minute), nil, nil},
		"several move at once where the zones differ by many": {
			aFleet(7, in("aaaaaab", ordinal)...).spread(time.Minute).moving(3),
			[]string{"CreatePod web-7 DisruptionSurge to zone=a", "CreatePod web-8 DisruptionSurge to zone=a"},
			[]string{"EvictPod web-4 Replacement", "EvictPod web-5 Replacement"},
		},
		"without a request nothing moves":               {aFleet(3, uneven...), nil, nil},
		"nor after an hour":                             {aFleet(3, uneven...).spread(time.Hour), nil, nil},
		"always with Auto":                              {aFleet(3, uneven...).spread(0).auto(), surge, waits},
		"a pod that is newer than the request stays":    {aFleet(3, uneven...).spread(3 * time.Hour / 2), nil, nil},
		"an attempt that was given up ends the request": {aFleet(3, uneven...).spread(time.Minute).gaveUp(30 * time.Second), nil, nil},
		"a new request begins anew":                     {aFleet(3, uneven...).spread(time.Minute).gaveUp(time.Hour), surge, waits},
		"Auto pauses for an hour":                       {aFleet(3, uneven...).spread(0).auto().gaveUp(time.Hour - 1), nil, nil},
		"and tries again":                               {aFleet(3, uneven...).spread(0).auto().gaveUp(time.Hour), surge, waits},
		"a zone without open nodes gets none": {func() fleet {
			f := aFleet(3, uneven...).spread(time.Minute)
			f.observed.Nodes.Domains[0] = []string{"a"}
			return f
		}(), nil, nil},
		"a pod goes when its stand-in is available": {
			aFleet(3, uneven...).with(ordinal(3).surge().inZone("b", "b")).spread(time.Minute),
			[]string{"EvictPod web-2 Rebalance"},
			[]string{"CreatePod web-2 Terminating"},
		},
		"and comes back in the other zone": {
			aFleet(3, uneven[:2]...).with(ordinal(3).surge().inZone("b", "b")).spread(time.Minute),
			[]string{"CreatePod web-2 Missing to zone=b"},
			nil,
		},
		"with random names the stand-in stays while it starts": {
			aFleet(3, in("aaa", random)...).random().with(random(3).inZone("b", "b").pending()).spread(time.Minute),
			nil,
			[]string{"EvictPod " + randomName(2) + " Replacement"},
		},
		"also where it would make the spread right": {
			aFleet(4, in("aaab", random)...).random().with(random(4).inZone("b", "b").pending()).spread(time.Minute),
			nil,
			[]string{"EvictPod " + randomName(2) + " Replacement"},
		},
		"and one that was moved before counts": {
			aFleet(4, in("aaa", random)...).random().with(random(3).inZone("b", "b"), random(4).inZone("b", "b").created(time.Second)).spread(time.Minute),
			[]string{"EvictPod " + randomName(2) + " Rebalance"},
			nil,
		},
		"pods that were moved before count": {
			aFleet(3, in("aa", random)...).random().with(random(2).inZone("b", "b")).spread(time.Minute), nil, nil,
		},
		"and only as many as there are too many do not": {
			aFleet(3, in("aa", random)...).random().with(random(2).inZone("b", "b"), random(3).inZone("b", "b").pending().created(time.Second)).spread(time.Minute),
			[]string{"DeletePod " + randomName(3) + " ScaleDown"},
			nil,
		},
		"the emptiest of three zones is preferred": {
			func() fleet {
				f := aFleet(4, in("aaab", ordinal)...).spread(time.Minute)
				f.observed.Nodes.Domains[0] = []string{"a", "b", "c"}
				return f
			}(),
			[]string{"CreatePod web-4 DisruptionSurge to zone=a"},
			[]string{"EvictPod web-2 Replacement"},
		},
		"the constraint that does not hold decides": {
			twoConstraints(aFleet(3, in("aaa", ordinal)...)),
			[]string{"CreatePod web-3 DisruptionSurge to zone=a"},
			[]string{"EvictPod web-2 Replacement"},
		},
		"also for the pod that comes back": {
			twoConstraints(aFleet(3, in("aa", ordinal)...).with(ordinal(3).surge().inZone("b", "b"))),
			[]string{"CreatePod web-2 Missing to zone=b"},
			nil,
		},
		"also where the stand-in has another cause": {
			aFleet(5, in("aaab", ordinal)...).with(ordinal(5).surge().inZone("b", "")).spread(time.Minute).maxSkew(2),
			[]string{"CreatePod web-4 Missing to zone=b"},
			nil,
		},
		"and without one where any place will do": {
			aFleet(5, in("aaab", ordinal)...).with(ordinal(5).surge().inZone("b", "")).spread(time.Minute).maxSkew(3),
			[]string{"CreatePod web-4 Missing"},
			nil,
		},
		"a pod that was moved within the hour stays with Auto": {
			aFleet(2, ordinal(0).inZone("b", ""), ordinal(1).inZone("b", "b").created(time.Hour-1)).spread(0).auto(),
			[]string{"CreatePod web-2 DisruptionSurge to zone=b"},
			[]string{"EvictPod web-0 Replacement"},
		},
		"and may move again after it": {
			aFleet(2, ordinal(0).inZone("b", ""), ordinal(1).inZone("b", "b").created(time.Hour)).spread(0).auto(),
			[]string{"CreatePod web-2 DisruptionSurge to zone=b"},
			[]string{"EvictPod web-1 Replacement"},
		},
		"nothing moves while it is not known where nodes are": {
			func() fleet {
				f := aFleet(3, uneven...).spread(time.Minute)
				f.observed.Nodes.Domains = nil
				return f
			}(), nil, nil,
		},
		"a pod without a node counts nowhere": {
			aFleet(3, in("ab", ordinal)...).with(ordinal(2).pending()).spread(time.Minute), nil, nil,
		},
		"of two crowded zones the first by name": {
			func() fleet {
				f := aFleet(4, in("bbaa", ordinal)...).spread(time.Minute)
				f.observed.Nodes.Domains[0] = []string{"a", "b", "c"}
				return f
			}(),
			[]string{"CreatePod web-4 DisruptionSurge to zone=a"},
			[]string{"EvictPod web-3 Replacement"},
		},
		"the pod with the lowest deletion cost moves": {
			func() fleet {
				f := aFleet(3, in("aaa", ordinal)...).spread(time.Minute)
				f.observed.Pods[1].DeletionCost, f.observed.Pods[2].DeletionCost = -1, 1
				return f
			}(),
			surge,
			[]string{"EvictPod web-1 Replacement"},
		},
		"then the newest": {
			aFleet(3, ordinal(0).inZone("a", ""), ordinal(1).inZone("a", "").created(time.Minute+1), ordinal(2).inZone("a", "")).spread(time.Minute),
			surge,
			[]string{"EvictPod web-1 Replacement"},
		},
		"missing pods get a hint as long as they could break the constraint": {
			aFleet(6, in("aaa", ordinal)...).spread(time.Minute).maxSkew(2),
			[]string{"CreatePod web-3 Missing to zone=b", "CreatePod web-4 Missing to zone=b", "CreatePod web-5 Missing", "CreatePod web-6 DisruptionSurge to zone=a"},
			[]string{"EvictPod web-2 Replacement"},
		},
		"with random names only the newest stand-ins are left out": {
			aFleet(2, random(0).inZone("a", ""), random(1).inZone("b", "b")).random().
				with(random(2).inZone("b", "b").created(time.Second)).spread(time.Minute),
			[]string{"DeletePod " + randomName(2) + " ScaleDown"},
			nil,
		},
		"a pod that is missing for another reason gets no hint": {
			aFleet(4, in("aab", ordinal)...).spread(time.Minute), []string{"CreatePod web-3 Missing"}, nil,
		},
		"of two that are empty the first by name": {
			func() fleet {
				f := aFleet(3, uneven...).spread(time.Minute)
				f.observed.Nodes.Domains[0] = []string{"a", "c", "b"}
				return f
			}(),
			[]string{"CreatePod web-3 DisruptionSurge to zone=a"},
			waits,
		},
		"and takes the place": {
			aFleet(3, in("aaa", random)...).random().with(random(3).inZone("b", "b")).spread(time.Minute),
			[]string{"EvictPod " + randomName(2) + " Rebalance"},
			nil,
		},
		"wherever the stand-in runs, the pod goes": {
			aFleet(3, uneven...).with(ordinal(3).surge().inZone("b", "a").created(time.Second)).spread(time.Minute),
			[]string{"EvictPod web-2 Rebalance"},
			[]string{"CreatePod web-2 Terminating"},
		},
		"a stand-in that may be in the way of the next wave goes": {
			aFleet(3, ordinal(0).inZone("a", ""), ordinal(1).inZone("a", ""), ordinal(2).inZone("c", "c").created(0)).
				with(ordinal(3).surge().inZone("b", "a").created(time.Second)).spread(time.Minute),
			[]string{"DeletePod web-3 SurgeOver"},
			nil, // the next wave begins when it is gone
		},
		"a wave moves as many pods as stand in": {
			aFleet(6, in("aaaa", ordinal)...).with(ordinal(4).inZone("b", "b").created(0), ordinal(5).inZone("b", "b").created(0).unready()).
				with(ordinal(6).surge().inZone("b", "a").created(time.Second), ordinal(7).surge().inZone("b", "a").created(time.Second)).spread(time.Minute).moving(2),
			[]string{"DeletePod web-7 SurgeOver"},
			nil,
		},
		"and goes on until then": {
			aFleet(6, in("aaaaa", ordinal)...).with(ordinal(5).inZone("b", "b").created(0)).
				with(ordinal(6).surge().inZone("b", "a").created(time.Second), ordinal(7).surge().inZone("b", "a").created(time.Second)).spread(time.Minute).moving(2),
			[]string{"DeletePod web-7 SurgeOver", "EvictPod web-4 Rebalance"},
			[]string{"CreatePod web-4 Terminating"},
		},
		"a pod that comes back elsewhere ends it": {
			aFleet(3, ordinal(0).inZone("a", ""), ordinal(1).inZone("a", ""), ordinal(2).inZone("a", "b").created(time.Second)).spread(time.Minute),
			nil,
			nil,
		},
		"but not one that was moved for an earlier request": {
			aFleet(3, ordinal(0).inZone("a", ""), ordinal(1).inZone("a", ""), ordinal(2).inZone("a", "b").created(3*time.Hour)).spread(time.Minute),
			surge,
			[]string{"EvictPod web-1 Replacement"},
		},
		"nor with Auto one that was moved an hour ago": {
			aFleet(3, ordinal(0).inZone("a", ""), ordinal(1).inZone("a", ""), ordinal(2).inZone("a", "b").created(3*time.Hour)).spread(0).auto(),
			surge,
			[]string{"EvictPod web-1 Replacement"},
		},
		"a rollout goes first": {
			func() fleet {
				f := aFleet(3, uneven...).spread(time.Minute).rollingOut().budget(0, 1)
				f.observed.Pods[0].Revision = oldRev
				return f
			}(),
			[]string{"CreatePod web-3 RolloutSurge"},
			[]string{"UpdatePod web-0 Budget"},
		},
	})
}

func TestARebalanceThatIsGivenUpSaysWhy(t *testing.T) {
	f := aFleet(2, ordinal(0).inZone("a", ""), ordinal(1).inZone("a", "b").created(time.Second)).spread(time.Minute)
	d := f.plan()
	want := "web-1 was made for zone=b and runs on node node-a: there seems to be no room"
	if d.Rebalance == nil || d.Rebalance.Message != want || !d.Rebalance.Time.Equal(&metav1.Time{Time: noon()}) {
		t.Errorf("the record is %+v, want %q now", d.Rebalance, want)
	}
	// The next pass keeps the record as it is.
	f.observed.Status.Rebalance = d.Rebalance
	if again := f.plan().Rebalance; again == nil || *again != *d.Rebalance {
		t.Errorf("the record becomes %+v", again)
	}
}

// TestRebalanceComesToAnEnd: whatever the scheduler does, pods stop moving, and
// where it follows the hint the spread is right.
func TestRebalanceComesToAnEnd(t *testing.T) {
	for _, identity := range []appsv1.Identity{appsv1.IdentityOrdinal, appsv1.IdentityRandom} {
		for _, auto := range []bool{false, true} {
			for _, obedient := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s auto=%t obedient=%t", identity, auto, obedient), func(t *testing.T) {
					f := aFleet(6).spread(0)
					f.desired.Identity = identity
					if auto {
						f = f.auto()
					}
					playRebalance(t, f, obedient)
				})
			}
		}
	}
}

func playRebalance(t *testing.T, f fleet, obedient bool) {
	t.Helper()
	m := newModel(f)
	m.nodes = f.observed.Nodes
	for slot := range 6 {
		p := ordinal(slot)
		if f.desired.Identity == appsv1.IdentityRandom {
			p = random(slot)
		}
		m.pods[p.p.Name] = p.inZone("a", "").p
	}
	m.place = func(a Action) []string {
		if obedient && a.Prefer != nil {
			return []string{a.Prefer.Value}
		}
		return []string{"a"}
	}
	for range 60 {
		m.step(20 * time.Second)
	}
	if d := m.step(time.Second); len(d.Actions) > 0 {
		t.Errorf("after 20 minutes pods still move: %v", saidOf(d))
	}
	inB := 0
	for _, p := range m.pods {
		if len(p.Domains) > 0 && p.Domains[0] == "b" {
			inB++
		}
	}
	if obedient && (inB < 2 || len(m.pods) != 6) {
		t.Errorf("%d of %d pods are in zone b", inB, len(m.pods))
	}
	if most := 3; !obedient && m.total[EvictPod] > most {
		t.Errorf("%d pods were moved in vain", m.total[EvictPod])
	}
}

// TestAStandInTakesNoPlaceOfAMovedPod: the scheduler counts the pods that stand in,
// too, and goes by the spread as much as by a hint. The pods that come back find
// their places all the same.
func TestAStandInTakesNoPlaceOfAMovedPod(t *testing.T) {
	for name, c := range map[string]struct {
		hosts    string // where the pods run, and which other nodes there are
		others   string
		maxSurge int
		room     map[string]int // for so many pods, where that is not enough for all
	}{
		"one node came back, two pods have to move": {"aaabbb", "c", 2, nil},
		"one at a time":       {"aaabbb", "c", 1, nil},
		"two nodes came back": {"aabb", "cd", 2, nil},
		"two nodes came back, and one pod is too few": {"aaa", "bc", 1, nil},
		"two small nodes came back":                   {"aaa", "bc", 1, map[string]int{"a": 3, "b": 1, "c": 1}},
		"many pods on few nodes":                      {"aaaaaaaaaaaabbbbbbbbbbbb", "cd", 6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(len(c.hosts)).spread(0).auto()
			f.desired.Disruption.MaxSurge = c.maxSurge
			f.observed.Nodes = &Nodes{Open: 2, All: 2, Domains: [][]string{strings.Split(c.others, "")}}
			for _, host := range c.hosts {
				if !slices.Contains(f.observed.Nodes.Domains[0], string(host)) {
					f.observed.Nodes.Domains[0] = append(f.observed.Nodes.Domains[0], string(host))
				}
			}
			m := newModel(f)
			m.nodes, m.place = f.observed.Nodes, func(a Action) []string { return []string{m.schedules(a, c.room)} }
			for slot, host := range c.hosts {
				m.pods["web-"+strconv.Itoa(slot)] = ordinal(slot).inZone(string(host), "").p
			}
			for range 100 {
				m.step(10 * time.Second)
			}
			counts := m.perPlace()
			if most, least := slices.Max(counts), slices.Min(counts); most-least > 1 || m.status.Rebalance != nil || len(m.pods) != len(c.hosts) {
				t.Errorf("%v pods on the nodes %v, given up: %+v", counts, f.observed.Nodes.Domains[0], m.status.Rebalance)
			}
		})
	}
}

// perPlace counts the pods in each place that takes new ones.
func (m *model) perPlace() []int {
	counts := make([]int, len(m.nodes.Domains[0]))
	for _, p := range m.pods {
		if i := slices.Index(m.nodes.Domains[0], p.Domains[0]); i >= 0 && !p.Terminating {
			counts[i]++
		}
	}
	return counts
}

// schedules is where a scheduler puts a pod that weighs the spread and the hint
// alike, and then prefers nodes with few pods.
func (m *model) schedules(a Action, room map[string]int) string {
	counts, best, most := m.perPlace(), "", -1
	for i, place := range m.nodes.Domains[0] {
		if n, small := room[place]; small && counts[i] >= n {
			continue
		}
		score := 0
		if a.Prefer != nil && a.Prefer.Value == place {
			score += 1000 + 10*len(room) // where room is short, it decides
		}
		if spread := slices.Max(counts) - slices.Min(counts); spread > 0 {
			score += 1000 * (slices.Max(counts) - counts[i]) / spread
		}
		if score -= counts[i]; most < score || best == "" {
			best, most = place, score
		}
	}
	return best
}

// TestConstraintsThatConflict: where a pod that moves for the sake of one constraint
// always breaks the other, pods stop moving, too.
func TestConstraintsThatConflict(t *testing.T) {
	f := aFleet(4).spread(0).auto()
	f.desired.Disruption.Spread = []Spread{{Key: "rack", MaxSkew: 1}, {Key: "zone", MaxSkew: 1}}
	f.observed.Nodes.Domains = [][]string{{"a", "b"}, {"a", "b"}}
	m := newModel(f)
	m.nodes = f.observed.Nodes
	for slot := range 4 {
		p := ordinal(slot).p
		p.Domains = []string{"a", "a"}
		m.pods[p.Name] = p
	}
	m.place = func(a Action) []string {
		switch {
		case a.Prefer == nil:
			return []string{"a", "a"}
		case a.Prefer.Key == "rack":
			return []string{a.Prefer.Value, "a"}
		}
		return []string{"a", a.Prefer.Value}
	}
	for range 150 {
		m.step(20 * time.Second) // less than an hour in all
	}
	if most := 4; m.total[EvictPod] > most {
		t.Errorf("%d pods were moved in 50 minutes, want %d at most: each once", m.total[EvictPod], most)
	}
}

func TestAFleetThatCannotRebalanceLooksNoMore(t *testing.T) {
	for name, change := range map[string]func(*Disruption){
		"without a constraint": func(d *Disruption) { d.Spread = nil },
		"without a surge":      func(d *Disruption) { d.MaxSurge = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			f := aFleet(1, ordinal(0).inZone("a", "")).spread(0).auto()
			if got := f.plan().NextLook; got != spreadLook {
				t.Fatalf("the next look is after %s, want %s", got, spreadLook)
			}
			change(&f.desired.Disruption)
			if got := f.plan().NextLook; got != 0 {
				t.Errorf("the next look is after %s, want none", got)
			}
		})
	}
}
