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

// Package webhooks drives the operator's webhooks on a real API server: the
// second version and its conversion, admission, the certificates and the
// admission policies. All tests share one cluster and, where they do not say
// otherwise, one operator, which runs in the test's process and logs in as its
// own ServiceAccount.
package webhooks

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
	// operator is how the shared operator runs.
	operator manager.Options
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "webhooks:", err)
		code = 1
	}
	os.Exit(code)
}

// podSecurity sets a level for the whole cluster, which no label shows.
const podSecurity = `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: privileged, warn: baseline}
`

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	logFile, err := os.CreateTemp("", "operator-*.log")
	if err != nil {
		return 1, err
	}
	defer logFile.Close()
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))

	security, err := os.CreateTemp("", "security-*.yaml")
	if err != nil {
		return 1, err
	}
	defer os.Remove(security.Name())
	if _, err := security.WriteString(podSecurity); err != nil {
		return 1, err
	}
	suite, err = testkit.NewWebhookSuite(ctx, localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
		// A client that sets an owner reference with blockOwnerDeletion needs
		// the right to the owner's finalizers: production clusters enforce it.
		APIServerArgs: []string{
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
			"--admission-control-config-file=" + security.Name(),
		},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Cluster.Stop()) }()
	if operator, err = testkit.WebhookOptions(); err != nil {
		return 1, err
	}
	stop, err := suite.StartOperator(ctx, operator)
	if err != nil {
		return 1, err
	}
	if err := testkit.WaitServing(ctx, operator); err != nil {
		return 1, errors.Join(err, stop())
	}
	code = m.Run()
	err = stop()
	if err == nil && code == 0 {
		err = checkRights()
	}
	if code != 0 || err != nil {
		fmt.Fprintln(os.Stderr, "the operator's log:", logFile.Name())
		return code, err
	}
	return code, os.Remove(logFile.Name())
}
