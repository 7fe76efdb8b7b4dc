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
	"errors"
	"fmt"
	"os"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	suite *testkit.Suite
	// operator is how the shared operator runs, and stopOperator ends it.
	operator     manager.Options
	stopOperator func() error
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		code = 1
	}
	os.Exit(code)
}

// run starts one cluster and one operator for all tests. The operator logs in as
// its own ServiceAccount.
func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	logFile, err := os.CreateTemp("", "operator-*.log")
	if err != nil {
		return 1, err
	}
	defer logFile.Close()
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))

	if suite, err = testkit.NewWebhookSuite(ctx, localkube.Options{}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Cluster.Stop()) }()
	if operator, err = testkit.WebhookOptions(); err != nil {
		return 1, err
	}
	if err := startOperator(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	if err = stopOperator(); code != 0 || err != nil {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
		return code, err
	}
	return code, os.Remove(logFile.Name())
}

func startOperator(ctx context.Context) (err error) {
	if stopOperator, err = suite.StartOperator(ctx, operator); err != nil {
		return err
	}
	if err := testkit.WaitServing(ctx, operator); err != nil {
		return errors.Join(err, stopOperator())
	}
	return nil
}

// withoutOperator does something while no operator runs, and no webhook answers.
func withoutOperator(t testing.TB, do func()) {
	t.Helper()
	if err := stopOperator(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := startOperator(context.Background()); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}
