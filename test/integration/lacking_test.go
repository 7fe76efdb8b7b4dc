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

package integration

import (
	"os"
	"testing"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestWithoutTheResizeSubresource: on a cluster that cannot resize pods, a new size
// replaces them, and the history says why.
func TestWithoutTheResizeSubresource(t *testing.T) {
	if os.Getenv("K8S") != "1.34" {
		t.Skip("only Kubernetes 1.34 still lets the resize subresource be turned off: make control-plane K8S=1.34, then K8S=1.34 go test")
	}
	t.Parallel()
	options := clusterOptions()
	options.FeatureGates = map[string]bool{"InPlacePodVerticalScaling": false}
	s := newCluster(t, options)
	stop, err := s.StartOperator(t.Context(), testkit.OperatorOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	f := s.NewFleet(t, "web")
	f.Apply(3, `template: {spec: {containers: [{name: app, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}]}}`)
	f.ExpectRolledOut(3)
	before := f.UIDs()
	f.Patch(`{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.27","resources":{"requests":{"cpu":"200m","memory":"64Mi"}}}]}}}`)
	f.ExpectRolledOut(3)
	f.ExpectNewPods(before)
	f.ExpectHistory("Deleted", appsv1.WhyRolloutRecreate, "the resize was refused: ResizePod "+f.Namespace+"/")
}
