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

package heaproom

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/mycompany/pod-operator/internal/testkit"
)

func TestASmallHeapHasRoom(t *testing.T) {
	k := &keeper{room: 24 << 20}
	for name, test := range map[string]struct {
		live uint64
		want int
	}{
		"nothing yet":             {0, 2400},
		"a starting operator":     {6 << 20, 400},
		"a thousand pods":         {14 << 20, 150},
		"as much as its room":     {24 << 20, 100},
		"ten thousand pods":       {70 << 20, 40},
		"a hundred thousand pods": {400 << 20, 40},
	} {
		t.Run(name, func(t *testing.T) {
			if got := k.percent(test.live); got != test.want {
				t.Errorf("with %d bytes in use %d %%, want %d %%", test.live, got, test.want)
			}
		})
	}
}

// percentNow is what Go was told last.
func percentNow() int {
	now := debug.SetGCPercent(standard)
	debug.SetGCPercent(now)
	return now
}

// TestTheRoomFollowsTheHeap: each collection asks anew.
func TestTheRoomFollowsTheHeap(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set")
	}
	stop := Keep(64 << 20)
	small := percentNow()
	if small <= standard {
		t.Errorf("a small heap may grow by %d %%, want more than %d %%", small, standard)
	}
	large := make([]byte, 128<<20)
	runtime.GC()
	testkit.Eventually(t, "a large heap has less room", func() error {
		if now := percentNow(); now != least {
			return fmt.Errorf("with %d bytes in use it may grow by %d %%, want %d %%", len(large), now, least)
		}
		return nil
	})
	runtime.KeepAlive(large)
	stop()
	runtime.GC()
	if now := percentNow(); now != standard {
		t.Errorf("after the end the heap may grow by %d %%, want %d %%", now, standard)
	}
}

func TestWhatTheUserSetStays(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := percentNow()
	defer Keep(1 << 40)()
	if now := percentNow(); now != before {
		t.Errorf("GOGC was set, and the heap may grow by %d %%, want %d %%", now, before)
	}
}
