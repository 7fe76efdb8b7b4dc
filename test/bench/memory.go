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

package bench

import "time"

// memoryInterval is how often private memory is read. The kernel keeps a peak
// of all resident memory only.
const memoryInterval = 100 * time.Millisecond

// memoryWatch looks for the peak of a process's private memory.
type memoryWatch struct {
	stop chan struct{}
	done chan int64
}

func watchMemory(pid int) *memoryWatch {
	w := &memoryWatch{stop: make(chan struct{}), done: make(chan int64, 1)}
	go func() {
		ticker := time.NewTicker(memoryInterval)
		defer ticker.Stop()
		var peak int64
		for {
			// A process that is gone is reported elsewhere.
			if now, err := privateMemory(pid); err == nil {
				peak = max(peak, now)
			}
			select {
			case <-w.stop:
				w.done <- peak
				return
			case <-ticker.C:
			}
		}
	}()
	return w
}

// end returns the peak.
func (w *memoryWatch) end() int64 {
	close(w.stop)
	return <-w.done
}
