//go:build !race

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

package flightrecorder

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The race detector takes minutes for this, and memory of its own.
//
// Everything that the recorder may fill is filled past its limit: the records, the triggers that
// wait in a queue, the table of managers, the table of writes.
func TestTheDefaultBudgetHoldsOnTheHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills 64 MiB")
	}
	before := heap()
	rec := newRecorder(t, Config{})
	tap := newTestTap(t, rec)
	for i := range 60_000 {
		rec.keep(full(i))
		pod := versioned("7", []metav1.ManagedFieldsEntry{managed("kubectl", "", i%60, ownsReplicas), managed("kubelet", "status", i%60, ownsStatus)})
		pod.UID = types.UID(fmt.Sprintf("uid-%030d", i))
		rec.managers.note(pod)
		rec.writes.note(writeKey{pod.UID, fmt.Sprint(i)}, cause{record: fmt.Sprintf("a1b2c3d4-%d", i)})
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("pm-%d", i)}}
		tap.note(request, toldEvent(&Trigger{
			Kind: TriggerStartup, ResourceVersion: fmt.Sprint(i),
			Object: &ObjectRef{APIVersion: "v1", Kind: "Pod", Namespace: strings.Clone("shop"), Name: fmt.Sprintf("pod-%d", i)},
		}), priorityqueue.AddOpts{}, false)
	}
	used := heap() - before
	stats := rec.Stats()
	t.Logf("%d records of %d objects, %d evicted: estimated at %.1f MiB, on the heap %.1f MiB, of %.0f MiB",
		stats.Records, stats.Objects, stats.Evicted, mib(stats.Bytes), mib(used), mib(stats.MaxBytes))
	if stats.Evicted == 0 || stats.Bytes < stats.MaxBytes/10*8 {
		t.Errorf("not full: %+v", stats)
	}
	if used > DefaultMaxBytes {
		t.Errorf("%.1f MiB on the heap", mib(used))
	}
	if used < DefaultMaxBytes/2 {
		t.Errorf("only %.1f MiB on the heap: the estimate wastes more than half", mib(used))
	}
	runtime.KeepAlive(tap)
}
