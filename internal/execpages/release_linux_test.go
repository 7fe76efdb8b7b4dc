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

package execpages

import (
	"os"
	"testing"
)

// What was given back is not resident, and the program runs on.
func TestRelease(t *testing.T) {
	before := residentPages(t)
	released, err := Release()
	if err != nil {
		t.Fatal(err)
	}
	if released == 0 {
		t.Fatal("nothing was released")
	}
	after := residentPages(t)
	t.Logf("resident before %d kB, released %d kB, resident after %d kB", before>>10, released>>10, after>>10)
	if after >= before {
		t.Errorf("%d bytes of the executable were resident before and %d after", before, after)
	}
	if _, err := os.ReadFile("/proc/self/status"); err != nil {
		t.Errorf("the program does not run on: %v", err)
	}
}

func residentPages(t *testing.T) int {
	t.Helper()
	mappings, err := ofExecutable()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, m := range mappings {
		sum += m.resident
	}
	return sum
}
