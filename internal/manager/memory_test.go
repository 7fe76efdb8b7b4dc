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
	"math"
	"runtime/debug"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	for name, test := range map[string]struct {
		container, gomemlimit string
		want                  int64
	}{
		"leaves a tenth of the container's memory": {container: "1000", want: 900},
		"unless GOMEMLIMIT is set":                 {container: "1000", gomemlimit: "1000", want: math.MaxInt64},
		"sets none outside of a container":         {want: math.MaxInt64},
		"nor where the limit is no number":         {container: "512Mi", want: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(math.MaxInt64)
			defer debug.SetMemoryLimit(before)
			t.Setenv(memoryVariable, test.container)
			t.Setenv("GOMEMLIMIT", test.gomemlimit)
			LimitMemory()
			if got := debug.SetMemoryLimit(-1); got != test.want {
				t.Errorf("the limit is %d, want %d", got, test.want)
			}
		})
	}
}
