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

package oracle

import (
	"slices"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// entries judges status.history, which "keeps the last 10 decisions that touched pods,
// newest first". What is new in it really happened: each pod that it names was touched
// in this way, as often as it is named, for a reason that can be seen, and no pod counts
// twice. When it was touched is not compared: the answer to a write may be lost, and the
// next try told. Two leaders, and an operator and its successor, may both tell what they
// both asked for.
func (t *teller) entries() {
	list := t.status().History
	if len(list) > appsv1.MaxHistory {
		t.report("history has %d entries", len(list))
	}
	if !t.rules.Jumped && !slices.IsSortedFunc(list, func(a, b appsv1.Decision) int { return b.Time.Compare(a.Time.Time) }) {
		t.report("history is not newest first")
	}
	var acts, others []touch
	for i := range list {
		if slices.ContainsFunc(t.before.Status.History, func(e appsv1.Decision) bool { return same(&e, &list[i]) }) {
			continue
		}
		if acts == nil {
			notOurs := func(a touch) bool { return a.owner != t.m.object.UID || a.Version > t.to }
			acts = slices.DeleteFunc(append(t.touches(), t.meanwhile(t.lastSeen())...), notOurs)
			others = slices.DeleteFunc(t.meanwhile(0), func(a touch) bool {
				return notOurs(a) || slices.ContainsFunc(acts, func(b touch) bool { return a.pod == b.pod })
			})
		}
		t.entry(&list[i], acts, others)
	}
}

// namedBefore: an entry that has grown since named the pod already.
func (t *teller) namedBefore(e *appsv1.Decision, name string) bool {
	return slices.ContainsFunc(t.before.Status.History, func(b appsv1.Decision) bool {
		return b.Action == e.Action && b.Reason == e.Reason && b.Revision == e.Revision && slices.Contains(b.Pods, name)
	})
}

// lastSeen is what the writer of the last status had seen.
func (t *teller) lastSeen() int64 {
	since := int64(0)
	for _, m := range t.owners[t.m.object.UID].moments {
		if m.Version < t.to && wrote(m.Revision) && m.Seen > 0 {
			since = min(m.Seen, t.from)
		}
	}
	return since
}

// meanwhile are the deletions that others asked for since then: the operator
// asked for them, too, and was told that it is done. Where "a node is deleted, or tainted"
// out of service, the operator "replaces its pods" (docs/rollouts.md), and the garbage
// collector of pods may be faster.
func (t *teller) meanwhile(since int64) []touch {
	var list []touch
	for _, l := range t.pods {
		for i, m := range l.moments {
			if i == 0 || wrote(m.Revision) || m.Version <= since {
				continue
			}
			asked := &Revision{Version: t.to, Floor: t.m.Floor, Seen: since, Gone: m.Gone}
			a := touch{Revision: asked, pod: m.object, before: l.moments[i-1].object}
			if a.what, a.owner = a.kind(); a.what == appsv1.ReasonDeleted && (!a.forced() || t.nodeLost(a.before.Spec.NodeName, m.Version)) {
				list = append(list, a)
			}
		}
	}
	return list
}

func same(a, b *appsv1.Decision) bool {
	return a.Time.Equal(&b.Time) && a.Action == b.Action && a.Reason == b.Reason && a.Count == b.Count
}

// wordOf is what an entry calls an act. A pod can be evicted instead of deleted, and
// let go when its labels are edited or its owner goes.
func wordOf(action string) string {
	switch action {
	case appsv1.ReasonEvicted:
		return appsv1.ReasonDeleted
	case appsv1.ReasonOrphaned:
		return appsv1.ReasonReleased
	}
	return action
}

func (t *teller) entry(e *appsv1.Decision, acts, others []touch) {
	if e.Action == appsv1.ReasonRolledBack {
		return
	}
	names := slices.Compact(slices.Sorted(slices.Values(e.Pods)))
	if len(names) != len(e.Pods) || len(e.Pods) != min(int(e.Count), appsv1.MaxHistoryPods) {
		t.report("history says that %d pods were %s, and names %v", e.Count, e.Action, e.Pods)
	}
	touched, times := map[string][]touch{}, 0
	for _, a := range acts {
		if a.what == wordOf(e.Action) {
			touched[a.pod.Name] = append(touched[a.pod.Name], a)
			times++
		}
	}
	told, named := t.toldOf(wordOf(e.Action))
	for _, a := range others { // before the last status, when the operator asked for the same
		if a.what != wordOf(e.Action) {
			continue
		}
		times++
		if t.namedBefore(e, a.pod.Name) {
			touched[a.pod.Name] = append(touched[a.pod.Name], a)
		}
	}
	switch {
	case int(e.Count) > len(touched):
		t.report("history says that %d pods were %s, and %d were", e.Count, e.Action, len(touched))
	case told > times && !t.twice():
		t.report("history says that pods were %s %d times, and they were %d times", e.Action, told, times)
	}
	for _, name := range e.Pods {
		t.entryFor(e, name, touched[name], named[name])
	}
	if most := t.surplus(e, touched); len(e.Pods) == int(e.Count) && int(e.Count) > most {
		t.report("history says that %d pods were %s because of %s, and %d were too many", e.Count, e.Action, e.Reason, most)
	}
}

// surplus is how many pods can have been too many, in the passes that took those of an
// entry: with random names any of them may be, but no more than there were beyond replicas.
func (t *teller) surplus(e *appsv1.Decision, touched map[string][]touch) int {
	if !t.spec.Random || e.Reason != appsv1.WhyScaleDown && e.Reason != appsv1.WhySurgeOver {
		return int(e.Count)
	}
	passes := map[int64]int{}
	for _, name := range e.Pods {
		for i := range touched[name] {
			a := &touched[name][i]
			_, live := t.count(a.owner, a.Seen, a.Version-1, isLive)
			for _, owner := range t.asks(a) {
				spec := SpecOf(owner.object)
				if !spec.Random {
					return int(e.Count) // it went for its ordinal
				}
				passes[a.Seen] = max(passes[a.Seen], live-spec.Replicas)
			}
		}
	}
	most := 0
	for _, surplus := range passes {
		most += surplus
	}
	return most
}

// twice: there was more than one operator.
func (t *teller) twice() bool { return t.rules.Split || t.rules.Restarts > 0 }

// toldOf is how often the history says that something was done to pods, and to which.
func (t *teller) toldOf(word string) (times int, named map[string]int) {
	named = map[string]int{}
	for i := range t.status().History {
		e := &t.status().History[i]
		if wordOf(e.Action) != word {
			continue
		}
		times += int(e.Count)
		for _, name := range e.Pods {
			named[name]++
		}
	}
	return times, named
}

// entryFor judges what an entry says of one pod.
func (t *teller) entryFor(e *appsv1.Decision, name string, acts []touch, told int) {
	if told > len(acts) && (!t.twice() || len(acts) == 0) {
		t.report("history says that %s was %s %d times, and it was %d times", name, e.Action, told, len(acts))
	}
	if wordOf(e.Action) != appsv1.ReasonDeleted {
		return
	}
	var causes []string
	for i := range acts {
		causes = append(causes, t.causesToGo(&acts[i], &t.rules)...)
	}
	if len(causes) > 0 && !slices.Contains(causes, e.Reason) {
		t.report("history says that %s was %s because of %s, and what can be seen is %v", name, e.Action, e.Reason, slices.Compact(slices.Sorted(slices.Values(causes))))
	}
}
