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

package webhooks

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/shard"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// With shards a PodManager is born with the label of its own, through either
// version, and no edit changes it.
func TestShardsAreLabelledAtAdmission(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	s := own(t, localkube.APIOnly())
	s.Kubectl(t, "apply", "-f", filepath.Join(testkit.Root(), "config", "shards", "role.yaml"))
	options := webhookOptions(t)
	timing, err := manager.ParseFlags([]string{"--shards=8"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	options.Shards, options.LeaderElectionNamespace = timing.Shards, testkit.OperatorNamespace
	serve(t, s, options)

	// One of the shards sees to it that the API server asks about evictions.
	surging := testkit.MakePodManager("default", "surging").Replicas(0).Obj()
	surging.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	if err := s.Client.Create(t.Context(), surging); err != nil {
		t.Fatal(err)
	}
	expectAskedOn(t, s, "default", true)

	old := &v1alpha1.PodManager{}
	old.Namespace, old.Name, old.Spec.Size = "default", "old", ptr.To[int32](1)
	old.Spec.Image = "nginx:1.27"
	for _, obj := range []client.Object{testkit.MakePodManager("default", "web").Replicas(2).Image("nginx:1.27").Obj(), old} {
		if err := s.Client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		want := strconv.Itoa(shard.Of("default", obj.GetName(), 8))
		if got := obj.GetLabels()[appsv1.LabelShard]; got != want {
			t.Errorf("%s is created in shard %q and not %s", obj.GetName(), got, want)
		}
	}
	want := strconv.Itoa(shard.Of("default", "web", 8))
	for _, edit := range []string{appsv1.LabelShard + "-", appsv1.LabelShard + "=nonsense"} {
		s.Kubectl(t, "label", "--overwrite", "pm", "web", edit)
		pm := &appsv1.PodManager{}
		if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, pm); err != nil {
			t.Fatal(err)
		}
		if got := pm.Labels[appsv1.LabelShard]; got != want {
			t.Errorf("after kubectl label pm web %s it is in shard %q", edit, got)
		}
	}
	testkit.Eventually(t, "both have their pods", func() error {
		for name, pods := range map[string]int32{"web": 2, "old": 1} {
			pm := &appsv1.PodManager{}
			if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, pm); err != nil {
				return err
			}
			if pm.Status.CurrentReplicas != pods {
				return fmt.Errorf("%s has %d", name, pm.Status.CurrentReplicas)
			}
		}
		return nil
	})
}
