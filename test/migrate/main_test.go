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

// Package migrate takes workloads over and gives them back, on a real API server
// with the real controllers of Deployments and StatefulSets. A witness watches
// the pods of every test: none may come or go.
package migrate

import (
	"testing"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

func TestMain(m *testing.M) {
	cluster := localkube.Options{Nodes: localkube.NodeOptions{Count: 6, Pods: 500}}
	testkit.Main(m, &suite, testkit.Setup{Cluster: cluster, Webhooks: true})
}
