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

// Package integration drives the operator on a real API server, controller
// manager and scheduler, with kwok for the kubelets. Most tests share one
// cluster and one operator, which logs in as its own ServiceAccount; each test
// has a namespace of its own, so they run side by side. Tests that need the
// operator for themselves start a cluster of their own.
//
// Two witnesses look at everything that happens on the shared cluster. One
// asks kstatus about every version of every PodManager (kstatus_test.go). The
// other reads the audit log when all tests are done: which rights were used,
// and whether every write carried its preconditions (audit_test.go).
package integration

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
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	// suite is the shared cluster.
	suite *testkit.Suite
	// operator is how the shared operator runs: the tests of its servers ask
	// it for their addresses.
	operator manager.Options
	// scratch is a folder that goes when all tests are done.
	scratch string
	// audited collects what operators did, on all clusters.
	audited = &auditTrail{}
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
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
	if scratch, err = os.MkdirTemp("", "integration-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(scratch)
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))

	suite, err = testkit.NewSuite(ctx, clusterOptions())
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Cluster.Stop()) }()
	stop, err := startOperator(ctx)
	if err != nil {
		return 1, err
	}
	witness, err := newWitness(ctx, suite.Cluster.RESTConfig())
	if err != nil {
		return 1, errors.Join(err, stop())
	}

	code = m.Run()
	err = errors.Join(witness.stop(), stop(), audited.add(suite.Cluster))
	if err == nil && code == 0 {
		err = verdict(ctx, witness)
	}
	if code != 0 || err != nil {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
		return code, err
	}
	return code, os.Remove(logFile.Name())
}

// clusterOptions write down every request, those of operators with their
// bodies.
func clusterOptions() localkube.Options {
	return localkube.Options{
		Audit: localkube.AuditOptions{Policy: auditPolicy},
		// A client that sets an owner reference with blockOwnerDeletion needs
		// the right to the owner's finalizers: production clusters enforce it.
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	}
}

func startOperator(ctx context.Context) (stop func() error, err error) {
	operator = testkit.OperatorOptions()
	operator.LeaderElection = true
	operator.LeaderElectionNamespace = testkit.OperatorNamespace
	if operator.MetricsAddress, err = testkit.FreeAddress(); err != nil {
		return nil, err
	}
	if operator.ProbeAddress, err = testkit.FreeAddress(); err != nil {
		return nil, err
	}
	return suite.StartOperator(ctx, operator)
}

// verdict judges what can be judged only when all tests are done. Whether
// something never happened is no question when only some of them ran.
func verdict(ctx context.Context, w *witness) error {
	err := audited.checkWrites()
	if !wholeSuite() {
		return err
	}
	granted, grantErr := grantedRights(ctx, suite.Client)
	return errors.Join(err, grantErr, audited.checkRights(granted), w.checkStates())
}

func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// newCluster starts a cluster for one test, whose operators are audited too.
func newCluster(t *testing.T, options localkube.Options) *testkit.Suite {
	t.Helper()
	s, err := testkit.NewSuite(t.Context(), options)
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(audited.add(s.Cluster), s.Cluster.Stop()); err != nil {
			t.Error(err)
		}
	})
	return s
}
