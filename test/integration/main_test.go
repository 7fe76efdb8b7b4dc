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
// manager and scheduler, with kwok for the kubelets. All tests share one
// cluster and one operator, which logs in as its own ServiceAccount; each test
// has a namespace of its own.
package integration

import (
	"context"
	"fmt"
	"os"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx := context.Background()
	logFile, err := os.CreateTemp("", "operator-*.log")
	if err != nil {
		return 1, err
	}
	defer logFile.Close()
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))

	suite, err = testkit.NewSuite(ctx, localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
		// Whoever sets an owner reference with blockOwnerDeletion needs the
		// right to the owner's finalizers: production clusters enforce it.
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	})
	if err != nil {
		return 1, err
	}
	defer suite.Cluster.Stop()
	options := testkit.OperatorOptions()
	options.LeaderElection = true
	options.LeaderElectionNamespace = testkit.OperatorNamespace
	stop, err := suite.StartOperator(ctx, options)
	if err != nil {
		return 1, err
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
	} else {
		os.Remove(logFile.Name())
	}
	return code, stop()
}
