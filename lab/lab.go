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

package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mycompany/pod-operator/lab/trace"
)

// keptSteps bounds the memory of a lab that runs for days.
const keptSteps = 3000

// Options say what a lab offers beyond watching. The zero value is fit for any program.
type Options struct {
	// Changes are the buttons that change something on the cluster.
	Changes []Change
	// Second starts and stops a second operator. Without it the page has no such button.
	Second func(start bool) error
	// Restarts says that an operator that crashed is started again.
	Restarts bool
	// Clock is the operator's, if it has one that can be turned.
	Clock *Clock
	// Root is the folder with lab/exercises and .lab; empty means that there is no map.
	Root string
	// Kubeconfig is shown for use in a terminal.
	Kubeconfig string
}

// Change is a button that changes something.
type Change struct {
	ID   string     `json:"id"`
	Name trace.Text `json:"name"`
	// Do makes the change. Object is what it is made to, as steps name it.
	Object string                          `json:"-"`
	Do     func(ctx context.Context) error `json:"-"`
}

// ErrUnchanged is what Do returns where the object is so already.
var ErrUnchanged = errors.New("lab: nothing changed")

// Lab collects the steps of one operator, or of two, and holds and breaks them.
type Lab struct {
	options Options
	// token is what a page has to show: other users of the machine reach the port, too.
	token  string
	begun  time.Time
	gates  gates
	faults faults

	mu          sync.Mutex
	steps       []trace.Step
	dropped     int // steps that are no longer kept
	subscribers map[chan struct{}]bool
	stored      map[string]stored
	processes   []*process
	since       Since
	runs        map[string]int // number of the run, by the ID of its flight record
	number      int
}

// stored is an object at the API server, as far as a watch told.
type stored struct {
	version    string
	generation int64
}

// New makes a lab.
func New(options Options) *Lab {
	l := &Lab{
		options: options, token: rand.Text(), begun: time.Now(), subscribers: map[chan struct{}]bool{}, stored: map[string]stored{}, runs: map[string]int{},
	}
	l.gates.changed = l.notify
	l.faults.armed = map[string]bool{}
	return l
}

// text makes a sentence; both languages get the same arguments.
func text(en, zh string, args ...any) trace.Text {
	return trace.Text{EN: fmt.Sprintf(en, args...), ZH: fmt.Sprintf(zh, args...)}
}

// step adds a step and tells the pages.
func (l *Lab) step(s trace.Step) {
	l.mu.Lock()
	l.addStep(s)
	l.mu.Unlock()
	l.notify()
}

// addStep is called with the lock held.
func (l *Lab) addStep(s trace.Step) {
	s.At = time.Since(l.begun).Milliseconds()
	l.steps = append(l.steps, s)
	if over := len(l.steps) - keptSteps; over > 0 {
		l.steps = slices.Delete(l.steps, 0, over)
		l.dropped += over
	}
}

func (l *Lab) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.subscribers {
		select {
		case c <- struct{}{}:
		default: // it looks anyway
		}
	}
}

// subscribe returns a channel that says when to look again.
func (l *Lab) subscribe() (changed chan struct{}, end func()) {
	changed = make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers[changed] = true
	return changed, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subscribers, changed)
	}
}

// stepsFrom returns the steps from a number on, and the number of the first of them.
func (l *Lab) stepsFrom(n int) (first int, steps []trace.Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(max(n, l.dropped), l.dropped+len(l.steps))
	return n, slices.Clone(l.steps[n-l.dropped:])
}

// Walk is what has been recorded so far.
func (l *Lab) Walk() trace.Walk {
	_, steps := l.stepsFrom(0)
	return trace.Walk{Title: text("A recorded walk", "一次录制的过程"), Steps: steps}
}

// storedList names the objects at the API server. It is called with the lock held.
func (l *Lab) storedList() []string {
	list := []string{}
	for _, name := range slices.Sorted(maps.Keys(l.stored)) {
		list = append(list, name+" @"+l.stored[name].version)
	}
	return list
}

// store notes what a watch or a list says of the API server. An older version is no news:
// two operators have a watch each.
func (l *Lab) store(object string, meta *objectMeta, deleted bool) (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.stored[object]
	if deleted {
		delete(l.stored, object)
	} else if !known || newer(meta.ResourceVersion, before.version) {
		l.stored[object] = stored{version: meta.ResourceVersion, generation: meta.Generation}
	}
	if len(meta.OwnerReferences) == 0 && (deleted || known && meta.Generation > before.generation) {
		l.changedOutside(object, deleted)
	}
	return l.storedList()
}

// prune forgets what a list no longer has: it went while no watch was open.
func (l *Lab) prune(kind string, listed map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.stored, func(object string, _ stored) bool { return strings.HasPrefix(object, kind+" ") && !listed[object] })
}

// newer compares resource versions, which are numbers at every API server of Kubernetes.
func newer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }
