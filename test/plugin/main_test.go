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

// Package plugin runs the kubectl plugin against a real API server with the
// operator on it: one cluster and one operator for all tests, a namespace each.
package plugin

import (
	"context"
	"flag"
	"testing"

	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// update writes the transcripts in testdata/ anew: go test ./test/plugin -update.
var update = flag.Bool("update", false, "write the transcripts in testdata/ anew")

var (
	suite *testkit.Suite
	// origin is where the operator explains itself.
	origin string
)

func TestMain(m *testing.M) {
	testkit.Main(m, &suite, testkit.Setup{Webhooks: true, Operator: explaining})
}

// explaining is an operator that can be asked.
func explaining(options *manager.Options) (err error) {
	options.Explain.Address, err = testkit.FreeAddress()
	origin = "https://" + options.Explain.Address
	return err
}

// restart ends the operator and starts it with other options, until the test
// ends.
func restart(t *testing.T, change func(*manager.Options)) {
	t.Helper()
	again := func(change func(*manager.Options)) {
		if err := suite.Suspend(); err != nil {
			t.Fatalf("stop the operator: %v", err)
		}
		options := suite.Operator
		change(&options)
		if err := suite.Resume(context.Background(), options); err != nil {
			t.Fatalf("start the operator: %v", err)
		}
	}
	again(change)
	t.Cleanup(func() { again(func(*manager.Options) {}) })
}
