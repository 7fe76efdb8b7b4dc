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
	"cmp"
	"container/heap"
	"strings"
)

// tally counts pods by the value of a node label: its places. The fullest and the
// emptiest of them are each at the top of a heap, so that a move costs no more than
// the logarithm of their number.
type tally struct {
	Spread
	pods   map[string][]brief
	count  map[string]int
	beyond map[string]int  // pods that stand in, which a scheduler counts, too
	open   map[string]bool // places that take new pods
	// full has all places and empty those that take new pods. A place that was
	// counted anew is in them once more, and what they say of it before is skipped.
	full, empty domains
}

func newTally(spread Spread) *tally {
	return &tally{Spread: spread, pods: map[string][]brief{}, count: map[string]int{}, beyond: map[string]int{}, open: map[string]bool{}}
}

// begin takes the places that take new pods; the pods are counted.
func (t *tally) begin(open []string) {
	t.full.fullest = true
	for name, pods := range t.pods {
		t.count[name] = len(pods)
		t.full.list = append(t.full.list, t.at(name))
	}
	for _, name := range open {
		t.open[name] = true
		t.empty.list = append(t.empty.list, t.at(name))
	}
	heap.Init(&t.full)
	heap.Init(&t.empty)
}

func (t *tally) at(name string) domain {
	return domain{name: name, pods: t.count[name], beyond: t.beyond[name]}
}

// add counts n more pods in a place.
func (t *tally) add(name string, n int) {
	t.count[name] += n
	heap.Push(&t.full, t.at(name))
	if t.open[name] {
		heap.Push(&t.empty, t.at(name))
	}
}

// fullest and emptiest are the place with the most pods and, of those that take new
// ones, the place with the fewest: of several that in which the fewest stand in. Then
// it is the first by name.
func (t *tally) fullest() string { return t.top(&t.full) }

func (t *tally) emptiest() string { return t.top(&t.empty) }

func (t *tally) top(p *domains) string {
	for len(p.list) > 0 {
		if first := p.list[0]; first.pods == t.count[first.name] {
			return first.name
		}
		heap.Pop(p)
	}
	return ""
}

// skew is how many more pods the fullest place has than the emptiest; 0 where no
// place takes new pods.
func (t *tally) skew() int {
	if len(t.empty.list) == 0 {
		return 0
	}
	return t.count[t.fullest()] - t.count[t.emptiest()]
}

// domain is a place as it was when it was counted.
type domain struct {
	name         string
	pods, beyond int
}

// domains is a heap.
type domains struct {
	list    []domain
	fullest bool
}

func (p *domains) Len() int      { return len(p.list) }
func (p *domains) Swap(i, j int) { p.list[i], p.list[j] = p.list[j], p.list[i] }
func (p *domains) Push(x any)    { p.list = append(p.list, x.(domain)) } //nolint:forcetypeassert // of this file alone
func (p *domains) Pop() any {
	last := p.list[len(p.list)-1]
	p.list = p.list[:len(p.list)-1]
	return last
}

func (p *domains) Less(i, j int) bool {
	a, b := &p.list[i], &p.list[j]
	if p.fullest {
		return cmp.Or(cmp.Compare(b.pods, a.pods), strings.Compare(a.name, b.name)) < 0
	}
	return cmp.Or(cmp.Compare(a.pods, b.pods), cmp.Compare(a.beyond, b.beyond), strings.Compare(a.name, b.name)) < 0
}
