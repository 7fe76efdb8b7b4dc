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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/trace"
)

// Only a key whose reconcile failed backs off; one that asked for a later run has a timer.
func TestATimerIsNoBackOff(t *testing.T) {
	key := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "lab", Name: "web"}}
	for verb, want := range map[string]trace.Queue{
		addAfter:       {Delayed: []string{"lab/web"}},
		addRateLimited: {BackingOff: []string{"lab/web"}},
	} {
		l := New(Options{})
		q := &queue{process: &process{lab: l}, keys: map[reconcile.Request]*keyState{}}
		q.later(key, time.Hour, text("", ""), verb)
		_, steps := l.stepsFrom(0)
		if diff := cmp.Diff(&want, steps[0].Queue); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verb, diff)
		}
	}
}

func TestDurationsHaveNoMoreDigitsThanPeopleRead(t *testing.T) {
	for d, want := range map[time.Duration]string{
		59*time.Minute + 59*time.Second + 123456789: "59m59s",
		1234567890:             "1.235s",
		5*time.Millisecond + 7: "5ms",
		-3 * time.Hour:         "-3h0m0s",
	} {
		if got := trace.Brief(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}
