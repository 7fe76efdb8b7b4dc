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

package judge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// State is what a kubelet makes of a pod.
type State int

// The states in which a pod can be held, and Ready.
const (
	Ready State = iota
	Unbound
	Pending
	Unready
)

// Case is a workload that is watched.
type Case struct {
	Name string
	// Spread is over how many nodes its pods are spread, and Ages how long ago they
	// became ready.
	Spread int
	Ages   []time.Duration

	world *World
	mu    sync.Mutex
	// hold says in which state a pod is kept.
	hold    func(*corev1.Pod) State
	decided map[types.UID]State
	broken  map[types.UID]bool
	pods    map[types.UID]*corev1.Pod
	changed time.Time
	// What happened since the watch began.
	watching  bool
	Gone      []string
	Came      int
	Fewest    int
	Most      int
	wentEarly map[types.UID]bool
}

// Add begins to watch a case.
func (w *World) Add(name string) *Case {
	c := &Case{Name: name, Spread: len(w.nodes), world: w, pods: map[types.UID]*corev1.Pod{}, wentEarly: map[types.UID]bool{}, broken: map[types.UID]bool{}, changed: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cases[name] = c
	return c
}

// Forget ends the watch.
func (w *World) Forget(c *Case) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.cases, c.Name)
}

// Hold says in which state pods are kept from now on.
func (c *Case) Hold(hold func(*corev1.Pod) State) {
	c.mu.Lock()
	c.hold, c.decided = hold, map[types.UID]State{}
	pods := c.list()
	c.mu.Unlock()
	for _, pod := range pods {
		c.world.queue.Add(pod.Namespace + "/" + pod.Name)
	}
}

// State is what the kubelet makes of a pod.
func (c *Case) State(pod *corev1.Pod) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken[pod.UID] {
		return Unready
	}
	if c.hold == nil {
		return Ready
	}
	if _, ok := c.decided[pod.UID]; !ok {
		c.decided[pod.UID] = c.hold(pod)
	}
	return c.decided[pod.UID]
}

func (c *Case) age(pod *corev1.Pod) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watching || len(c.Ages) == 0 {
		return 0
	}
	return c.Ages[draw(pod, "age")%len(c.Ages)]
}

// Break makes a pod fail its readiness for good.
func (c *Case) Break(ctx context.Context, pod *corev1.Pod) error {
	c.mu.Lock()
	c.broken[pod.UID] = true
	c.mu.Unlock()
	return c.world.report(ctx, pod, false, time.Minute, 3)
}

// Mend lets the pods that were broken become ready.
func (c *Case) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.broken)
}

// Pods are the pods that exist, by name.
func (c *Case) Pods() []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list()
}

func (c *Case) list() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range c.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return pods
}

// Watch begins to count.
func (c *Case) Watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching = true
	c.Gone, c.Came = nil, 0
	c.Fewest, c.Most = c.available(), c.live()
}

// Quiet is for how long nothing has happened.
func (c *Case) Quiet() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.changed)
}

func (c *Case) saw(pod *corev1.Pod, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = time.Now()
	_, known := c.pods[pod.UID]
	if !known && !gone && c.watching {
		c.Came++
	}
	if leaves := gone || pod.DeletionTimestamp != nil; leaves && !c.wentEarly[pod.UID] {
		c.wentEarly[pod.UID] = true
		if c.watching {
			c.Gone = append(c.Gone, pod.Name)
		}
	}
	if gone {
		delete(c.pods, pod.UID)
	} else {
		c.pods[pod.UID] = pod
	}
	if c.watching {
		c.Fewest, c.Most = min(c.Fewest, c.available()), max(c.Most, c.live())
	}
}

func (c *Case) available() int {
	n := 0
	for _, pod := range c.pods {
		if pod.DeletionTimestamp == nil && isReady(pod) {
			n++
		}
	}
	return n
}

func (c *Case) live() int {
	n := 0
	for _, pod := range c.pods {
		if pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// Said is what was said before about a change.
type Said struct {
	// Gone go, and Choices are counts of pods of which some go.
	Gone    []string
	Choices []Choice
	// Waves are the pods in the order in which they go; pods of one wave go together.
	Waves [][]string
	// Came come, and up to Passing more may.
	Came, Passing int
	// Instead may go in the place of those that pass.
	Instead      []string
	Fewest, Most int
	// MayStop: fewer pods may come and go, because the controller stops on the way.
	MayStop bool
}

// Choice is that so many of some pods go.
type Choice struct {
	Count int
	Among []string
}

// Disagree is how what happened differs from what was said; empty where it does not.
// Pods that came after the watch began and went again are Passing ones.
func (c *Case) Disagree(s Said, existed []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone, passed := c.wentOf(existed)
	left := slices.Clone(gone)
	for _, name := range s.Gone {
		at := slices.Index(left, name)
		if at < 0 && s.MayStop {
			continue
		}
		if at < 0 {
			return fmt.Sprintf("%s did not go; %v went", name, gone)
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, choice := range s.Choices {
		n := 0
		left = slices.DeleteFunc(left, func(name string) bool {
			if slices.Contains(choice.Among, name) {
				n++
				return true
			}
			return false
		})
		if n > choice.Count || n < choice.Count && !s.MayStop {
			return fmt.Sprintf("%d of %v went, not %d", n, choice.Among, choice.Count)
		}
	}
	left = slices.DeleteFunc(left, func(name string) bool {
		if slices.Contains(s.Instead, name) {
			passed++
			return true
		}
		return false
	})
	switch {
	case len(left) > 0:
		return fmt.Sprintf("%v went", left)
	case c.Came < s.Came && !s.MayStop || c.Came > s.Came+s.Passing || passed > s.Passing:
		return fmt.Sprintf("%d pods came and %d of them went again, not %d and up to %d", c.Came, passed, s.Came, s.Passing)
	case c.Fewest < s.Fewest:
		return fmt.Sprintf("only %d were available, not %d", c.Fewest, s.Fewest)
	case c.Most > s.Most:
		return fmt.Sprintf("there were %d pods, not %d", c.Most, s.Most)
	}
	return c.outOfOrder(s.Waves, gone)
}

// wentOf are the pods that went, of those that were there before, and how many others did.
func (c *Case) wentOf(existed []string) (gone []string, passed int) {
	for _, name := range c.Gone {
		if slices.Contains(existed, name) && !slices.Contains(gone, name) {
			gone = append(gone, name)
		} else {
			passed++
		}
	}
	return gone, passed
}

// outOfOrder names a pod that went before one of an earlier wave.
func (c *Case) outOfOrder(waves [][]string, gone []string) string {
	at := 0
	for _, wave := range waves {
		last := at
		for _, name := range wave {
			i := slices.Index(gone, name)
			if i >= 0 && i < at {
				return fmt.Sprintf("%s went before its turn: %v, in the order %v", name, gone, waves)
			}
			last = max(last, i+1)
		}
		at = last
	}
	return ""
}

// Tight reports whether the bounds were reached.
func (c *Case) Tight(s Said) (fewest, most bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Fewest == s.Fewest, c.Most == s.Most
}
