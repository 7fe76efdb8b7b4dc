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

// Package rollout drives rollouts with kubectl on a real API server: one shared
// cluster, one operator in process, a namespace for every test. The nodes are
// kwok's; what they do to pods (slow starts, crash loops, images that cannot be
// pulled, rejections, answers to a resize) is asked for by annotations and image
// names, which internal/localkube/stages explains. What happens to pods on nodes
// that are gone, out of service or not ready is driven by test/integration,
// which has nodes to spare.
package rollout

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	suite *testkit.Suite
	kube  kubernetes.Interface
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollout:", err)
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
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))
	suite, err = testkit.NewSuite(ctx, localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
		Nodes: localkube.NodeOptions{Count: 6, Pods: 500},
	})
	if err != nil {
		return 1, err
	}
	defer func() { _ = suite.Cluster.Stop() }()
	if kube, err = kubernetes.NewForConfig(suite.Cluster.RESTConfig()); err != nil {
		return 1, err
	}
	stop, err := suite.StartOperator(ctx, testkit.OperatorOptions())
	if err != nil {
		return 1, err
	}
	// Most of a test's time is spent waiting.
	if err := flag.Set("test.parallel", "6"); err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
	} else {
		os.Remove(logFile.Name())
	}
	return code, stop()
}
