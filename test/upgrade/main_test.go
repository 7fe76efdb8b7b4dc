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

// Package upgrade replaces the operator by another build while its fleets run:
// nothing of what an operator keeps may depend on the order of Go's fields, on
// the bytes of its own encoding, or on defaults that a later release adds.
package upgrade

import (
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

func TestMain(m *testing.M) {
	testkit.Main(m, &suite, testkit.Setup{Webhooks: true, WithoutOperator: true, Cluster: localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
	}})
}
