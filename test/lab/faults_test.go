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
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/trace"
)

// TestEachFault injects each fault, lets a change run into it, and looks at what follows. After
// each the operator has to end up with what is asked for.
func TestEachFault(t *testing.T) {
	r := open(t, lab.Options{})
	for _, fault := range []struct {
		name   string
		change string
		// see looks at the steps after the change; where it is nil, the next write meets the fault.
		see func(from int)
	}{
		{lab.FaultFreeze, "scale-1", func(from int) {
			r.see(from, trace.BoxAPI, "MODIFIED", "Web lab/web")
			if n := count(r.steps(from), trace.BoxReflector, "MODIFIED"); n != 0 {
				t.Errorf("a frozen watch delivered %d events", n)
			}
			r.held(lab.GateEvent)
			r.press("fault", lab.FaultFreeze)
		}},
		{lab.FaultDrop, "scale-3", nil},
		{lab.FaultHide, "scale-1", func(from int) {
			r.see(from, trace.BoxFault, lab.FaultHide, "Web lab/web")
			if n := count(r.steps(from), trace.BoxReconcile, "begin"); n != 0 {
				t.Errorf("a hidden event led to %d reconciles", n)
			}
			r.press("fault", lab.FaultRelist)
			r.see(from, trace.BoxReflector, "list", "Web")
		}},
		{lab.FaultConflict, "scale-3", func(from int) {
			r.see(r.see(from, trace.BoxFault, lab.FaultConflict, ""), trace.BoxQueue, "AddRateLimited", "")
		}},
		{lab.FaultTooMany, "scale-1", func(from int) {
			refused := r.see(from, trace.BoxFault, lab.FaultTooMany, "")
			r.see(refused, trace.BoxWrites, "delete", r.steps(refused)[0].Object) // client-go asks again
			if n := count(r.steps(from), trace.BoxQueue, "AddRateLimited"); n != 0 {
				t.Errorf("Reconcile noticed the 429 %d times", n)
			}
		}},
		{lab.FaultTimeout, "scale-3", func(from int) {
			lost := r.see(from, trace.BoxFault, lab.FaultTimeout, "")
			r.see(lost, trace.BoxQueue, "AddRateLimited", "")
		}},
		{lab.FaultCrashBefore, "scale-1", r.restarted},
		{lab.FaultCrashDuring, "scale-3", r.restarted},
		{lab.FaultCrashAfter, "scale-1", r.restarted},
		{lab.FaultSecond, "scale-3", func(from int) {
			r.await(from, "a reconcile of b", func(s trace.Step) bool { return s.Process == "b" && s.Verb == "end" })
			r.rest(from)
			r.press("fault", lab.FaultSecond)
		}},
		{lab.FaultClock, "delete-pod", func(from int) {
			for _, pod := range []string{"web-0", "web-1", "web-2"} {
				r.see(from, trace.BoxWrites, "create", "Pod lab/"+pod)
			}
		}},
	} {
		from := r.mark()
		r.press("fault", fault.name)
		r.press("change", fault.change)
		if fault.see != nil {
			fault.see(from)
		}
		r.rest(from)
		pods := 0
		for _, object := range lastList(r.steps(from), func(s trace.Step) []string { return s.Stored }) {
			pods += strings.Count(object, "Pod lab/web-")
		}
		if want := map[string]int{"scale-1": 1, "scale-3": 3, "delete-pod": 3}[fault.change]; pods != want {
			t.Errorf("after %s and %s there are %d pods, want %d:\n%s", fault.name, fault.change, pods, want, told(r.steps(from)))
		}
	}
}

// restarted waits until the operator has crashed and started again.
func (r *room) restarted(from int) {
	r.Helper()
	r.see(r.see(from, trace.BoxFault, "crash", ""), trace.BoxReconcile, "start", "")
}
