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
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mycompany/pod-operator/lab/trace"
)

// The faults, one button each.
const (
	FaultFreeze      = "freeze"       // on and off
	FaultDrop        = "drop"         // at once
	FaultRelist      = "relist"       // at once
	FaultHide        = "hide"         // the next watch event
	FaultConflict    = "conflict"     // the next write, as the five that follow
	FaultTooMany     = "toomany"      //
	FaultTimeout     = "timeout"      //
	FaultCrashBefore = "crash-before" //
	FaultCrashDuring = "crash-during" //
	FaultCrashAfter  = "crash-after"  //
	FaultSecond      = "second"       // on and off
	FaultClock       = "clock"        // at once

	faultExpired = "expired" // what FaultRelist does to the next watch
)

var writeFaults = []string{FaultConflict, FaultTooMany, FaultTimeout, FaultCrashBefore, FaultCrashDuring, FaultCrashAfter}

// faults are armed by a button and taken by what they hit.
type faults struct {
	mu     sync.Mutex
	armed  map[string]bool
	second bool
}

// take disarms one of these faults and returns it.
func (f *faults) take(some ...string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range some {
		if f.armed[fault] {
			delete(f.armed, fault)
			return fault
		}
	}
	return ""
}

// state lists the faults that are armed or on.
func (f *faults) state() (on []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for fault := range f.armed {
		on = append(on, fault)
	}
	if f.second {
		on = append(on, FaultSecond)
	}
	slices.Sort(on)
	return on
}

// offered lists the faults that have a button here.
func (l *Lab) offered() []string {
	some := []string{FaultFreeze, FaultDrop, FaultRelist, FaultHide}
	some = append(some, writeFaults...)
	if l.options.Second != nil {
		some = append(some, FaultSecond)
	}
	if l.options.Clock != nil {
		some = append(some, FaultClock)
	}
	return some
}

// inject does what a fault button asks for. Pressed again, a button takes back what it armed.
func (l *Lab) inject(fault string) error {
	if !slices.Contains(l.offered(), fault) {
		return fmt.Errorf("there is no fault %q here", fault)
	}
	switch fault {
	case FaultFreeze:
		frozen := false
		l.gates.set(func(g *gates) { g.frozen = !g.frozen; frozen = g.frozen })
		l.sayFault(fault, frozen, text("The watch flows again: the reflector reads what it has missed, in order.", "watch 恢复：reflector 按顺序读取积压的事件。"))
	case FaultDrop, FaultRelist:
		l.sayFault(fault, true, trace.Text{})
		for _, p := range l.alive() {
			p.drop(fault == FaultRelist)
		}
	case FaultSecond:
		return l.toggleSecond()
	case FaultClock:
		l.options.Clock.Turn(clockTurn)
		l.sayFault(fault, true, trace.Text{})
	default:
		l.faults.mu.Lock()
		on := !l.faults.armed[fault]
		for _, other := range writeFaults { // a write has one fate
			if slices.Contains(writeFaults, fault) {
				delete(l.faults.armed, other)
			}
		}
		if on {
			l.faults.armed[fault] = true
		} else {
			delete(l.faults.armed, fault)
		}
		l.faults.mu.Unlock()
		l.notify()
	}
	return nil
}

func (l *Lab) sayFault(fault string, on bool, off trace.Text) {
	t := explain(fault, "")
	if !on {
		t = off
	}
	l.step(trace.Step{Box: trace.BoxFault, Verb: fault, Text: t})
}

func (l *Lab) toggleSecond() error {
	l.faults.mu.Lock()
	start := !l.faults.second
	l.faults.mu.Unlock()
	if err := l.options.Second(start); err != nil {
		return fmt.Errorf("start or stop the second operator: %w", err)
	}
	l.faults.mu.Lock()
	l.faults.second = start
	l.faults.mu.Unlock()
	l.sayFault(FaultSecond, start, text("The second operator, b, is stopped.", "第二个 operator（b）已停止。"))
	return nil
}

// alive are the processes that run.
func (l *Lab) alive() (alive []*process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.processes {
		if !p.isDead() {
			alive = append(alive, p)
		}
	}
	return alive
}

// explain says what a fault did to what it hit, and what follows.
func explain(fault, what string) trace.Text {
	switch fault {
	case FaultFreeze:
		return text("The watch is frozen: the API server goes on, but the reflector reads nothing, so the cache grows old. Change something and compare what is stored with what is cached.",
			"watch 被冻结：API server 继续工作，但 reflector 读不到事件，缓存越来越旧。修改一下对象，比较已存储与已缓存的内容。")
	case FaultDrop:
		return text("The connections of all watches break. Each reflector opens a new watch from the last version that it has seen: nothing is lost.",
			"所有 watch 连接断开。每个 reflector 从最后看到的版本重新 watch，不会丢事件。")
	case FaultRelist, faultExpired:
		return text("The API server answers 410 Gone: the version is too old to continue from. The reflector lists everything again, which also brings back what was hidden.",
			"API server 响应 410 Gone：版本太旧，无法继续。reflector 重新列出全部对象，被隐藏的变化也随之出现。")
	case FaultHide:
		return text("%s is hidden from the reflector. The cache stays wrong until this object changes again, or until the next relist.",
			"%s 没有交给 reflector。缓存一直是错的，直到该对象再次变化或下一次 relist。", what)
	case FaultConflict:
		return text("%s gets 409 Conflict and is not stored: the API server's copy is newer than the one that was read. Return the error: the queue tries again, with a fresh read.",
			"%s 得到 409 Conflict，没有存储：API server 上的版本比读到的新。返回错误即可，队列会重试并重新读取。", what)
	case FaultTooMany:
		return text("%s gets 429 Too Many Requests with Retry-After. client-go waits and sends it again by itself; Reconcile sees only that it took longer.",
			"%s 得到 429 Too Many Requests，带 Retry-After。client-go 会自己等待并重发，Reconcile 只觉得变慢了。", what)
	case FaultTimeout:
		return text("%s was carried out, but the answer is lost and Reconcile gets a time-out. The next run must find out by itself that it is done.",
			"%s 已经执行，但响应丢失，Reconcile 得到超时错误。下一次调谐必须自己发现它已完成。", what)
	case FaultCrashDuring:
		return text("The operator crashes while it waits for the answer to %s. The API server has done it; no process knows.",
			"operator 在等待 %s 的响应时崩溃。API server 已经执行，但没有进程知道。", what)
	case FaultSecond:
		return text("A second operator, b, runs beside the first without waiting for the lease, as after a leader that was suspended. Each has its own cache, and both write.",
			"第二个 operator（b）不等租约就与第一个同时运行，就像被挂起的旧 leader。它们各有缓存，都会写入。")
	case FaultClock:
		return text("The operator's clock is turned forward by two hours. It reaches what the operator reads from its clock; the queue's timers and the API server keep the real time, so the operator notices at its next reconcile.",
			"operator 的时钟向前拨了两小时。只影响 operator 从该时钟读到的时间；队列的定时器和 API server 仍是真实时间，所以要到下一次调谐才会发现。")
	}
	return text("%s", "%s", what)
}

// clockTurn is how far the button turns the clock.
const clockTurn = 2 * time.Hour

// Clock is the real time, and how far it was turned.
type Clock struct {
	mu     sync.Mutex
	turned time.Duration
}

// Now is the time that the operator reads.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.turned)
}

// Turn turns the clock.
func (c *Clock) Turn(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turned += by
}
