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

// Command workqueue shows what a controller may count on when it takes keys
// from a queue, one property a line. It needs no cluster.
//
// Look at claims.go: each property is a function of a few lines that tries it
// on a queue and returns what it saw. main_test.go holds them to it.
package main

import "fmt"

func main() {
	for _, claim := range []struct {
		name string
		try  func() string
	}{
		{"order", order},
		{"no duplicates", noDuplicates},
		{"parallel workers", parallelWorkers},
		{"added while it is worked on", addedWhileProcessing},
		{"delay", delay},
		{"rate limit and forget", rateLimit},
		{"shut down", shutDown},
		{"shut down with drain", shutDownWithDrain},
		{"metrics", metrics},
	} {
		fmt.Printf("%-28s %s\n", claim.name+":", claim.try())
	}
}
