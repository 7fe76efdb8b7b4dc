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
	"path/filepath"
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

func TestMain(m *testing.M) {
	testkit.Main(m, &suite, testkit.Setup{Webhooks: true, Verdict: checkRights, Cluster: localkube.Options{
		Audit: localkube.AuditOptions{Level: localkube.AuditMetadata},
		// A client that sets an owner reference with blockOwnerDeletion needs
		// the right to the owner's finalizers: production clusters enforce it.
		APIServerArgs: []string{
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
			"--admission-control-config-file=" + filepath.Join(testkit.Root(), "test", "webhooks", "testdata", "pod-security.yaml"),
		},
	}})
}
