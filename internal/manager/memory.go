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

package manager

import (
	"os"
	"runtime/debug"
	"strconv"
)

// memoryVariable is where the Deployment passes on the memory limit of the container, in
// bytes.
const memoryVariable = "MEMORY_LIMIT"

// LimitMemory has Go collect garbage harder as its memory comes near nine tenths of what
// the container may take. The rest is for what Go does not count, such as the pages of the
// program and the kernel's buffers. GOMEMLIMIT says otherwise.
func LimitMemory() {
	bytes, err := strconv.ParseInt(os.Getenv(memoryVariable), 10, 64)
	if err != nil || bytes <= 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(bytes / 10 * 9)
}
