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

// Package tenants attacks the operator as one who may use it: with the rights of
// a tenant in a namespace, or with the operator's own. Each test does on a real
// API server what an attacker would do, and expects that it gets them nothing
// and costs other tenants nothing. SECURITY.md names the tests in its threat
// model.
package tenants

import (
	"context"
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

func TestMain(m *testing.M) {
	testkit.Main(m, &suite, testkit.Setup{Webhooks: true, Cluster: localkube.Options{Audit: localkube.AuditOptions{Policy: auditPolicy}}})
}

// auditPolicy keeps what the operator's account asked for, and of everything else
// nothing: the attacker asks for a lot.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  users: ["` + testkit.OperatorUser + `"]
- level: None
`

// withoutOperator does something while no operator runs, and no webhook answers.
func withoutOperator(t testing.TB, do func()) {
	t.Helper()
	if err := suite.Suspend(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := suite.Resume(context.Background(), suite.Operator); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}
