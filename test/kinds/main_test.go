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

// Package kinds drives the smaller kinds (ImoocPod, HelloWorld, Collector) on a
// real API server, controller manager and scheduler, with kwok for the
// kubelets. All tests share one cluster and one operator, which logs in as its
// own ServiceAccount; each test has a namespace of its own. Tests that take
// CRDs away start a cluster of their own.
package kinds

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// update writes the measured table into docs/collector.md.
var update = flag.Bool("update", false, "write what was measured into docs/collector.md")

var (
	// suite is the shared cluster.
	suite *testkit.Suite
	// logPath is where all operators of this process log to.
	logPath string
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kinds:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	logFile, err := os.CreateTemp("", "operator-*.log")
	if err != nil {
		return 1, err
	}
	defer logFile.Close()
	logPath = logFile.Name()
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))

	suite, err = testkit.NewSuite(ctx, clusterOptions())
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Cluster.Stop()) }()
	stop, err := suite.StartOperator(ctx, testkit.OperatorOptions())
	if err != nil {
		return 1, err
	}
	code = m.Run()
	err = stop()
	if err == nil && code == 0 && wholeSuite() {
		err = checkRights(ctx)
	}
	if code != 0 || err != nil {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
		return code, err
	}
	return code, os.Remove(logFile.Name())
}

func clusterOptions() localkube.Options {
	return localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
		// A client that sets an owner reference with blockOwnerDeletion needs
		// the right to the owner's finalizers: production clusters enforce it.
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	}
}

// wholeSuite: whether a right was never used is no question when only some
// tests ran.
func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}
