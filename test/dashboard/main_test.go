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

// Package dashboard asks a running operator, over HTTPS and as various people,
// what it did: one shared cluster, one operator in process, a namespace for
// every test.
package dashboard

import (
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	suite *testkit.Suite
	// origin is where the operator answers.
	origin string
)

// The audit log says who did what.
func TestMain(m *testing.M) {
	audited := localkube.Options{Audit: localkube.AuditOptions{Level: localkube.AuditMetadata}}
	testkit.Main(m, &suite, testkit.Setup{Cluster: audited, Operator: explaining})
}

// explaining is an operator that can be asked.
func explaining(options *manager.Options) (err error) {
	options.Explain.Address, err = testkit.FreeAddress()
	origin = "https://" + options.Explain.Address
	return err
}
