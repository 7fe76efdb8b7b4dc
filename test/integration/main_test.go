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
// cluster and one operator, which serves all kinds and logs in as its own
// ServiceAccount; each test has a namespace of its own, so they run side by
// side. Tests that need the operator for themselves, take CRDs away or count
// what an idle operator does start a cluster of their own.
//
// The files are named after their topic: rollout_… are rollouts of PodManagers,
// kinds_… are ImoocPod, HelloWorld and Collector. What nodes do to pods (slow
// starts, crash loops, images that cannot be pulled, rejections, answers to a
// resize) is asked for by annotations and image names, which
// internal/localkube/stages explains.
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
	"strconv"
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// update writes the measured table into docs/collector.md.
var update = flag.Bool("update", false, "write what was measured into docs/collector.md")

var (
	// suite is the shared cluster.
	suite *testkit.Suite
	// audited collects what operators did, on all clusters.
	audited = &auditTrail{}
	// statuses sees every version of every PodManager.
	statuses *statusWitness
)

func TestMain(m *testing.M) {
	cluster := clusterOptions()
	cluster.Nodes = localkube.NodeOptions{Count: 6, Pods: 500}
	testkit.Main(m, &suite, testkit.Setup{Cluster: cluster, Operator: serving, Before: before, Verdict: verdict})
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

// serving is an operator with metrics and probes. It elects no leader, or it would
// end when the machine is too slow for a Lease; TestProgram has operators that do.
func serving(options *manager.Options) (err error) {
	if options.MetricsAddress, err = testkit.FreeAddress(); err != nil {
		return err
	}
	options.ProbeAddress, err = testkit.FreeAddress()
	return err
}

// minParallel is how many tests run side by side at least: most of a test's time
// is spent waiting.
const minParallel = 6

func before(ctx context.Context, s *testkit.Suite) error {
	parallel, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err != nil {
		return err
	}
	if err := flag.Set("test.parallel", strconv.Itoa(max(parallel, minParallel))); err != nil {
		return err
	}
	statuses, err = newStatusWitness(ctx, s.Cluster.RESTConfig())
	return err
}

// verdict judges what can be judged only when all tests are done.
func verdict(ctx context.Context, s *testkit.Suite) error {
	err := errors.Join(statuses.stop(), audited.add(s.Cluster), audited.checkWrites())
	if !testkit.WholeSuite() {
		return err
	}
	granted, grantedErr := grantedRights(ctx, s.Client)
	return errors.Join(err, grantedErr, audited.checkRights(granted), statuses.checkStates())
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
