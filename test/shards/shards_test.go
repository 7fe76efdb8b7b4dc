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

package shards

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/shard"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func total(writes map[string]map[string]int, verb string) int {
	n := 0
	for _, of := range writes {
		n += of[verb]
	}
	return n
}

// Operators share the work, take over from one that was killed in the middle
// of it, and hand over when others come and go. Nothing is made twice.
func TestOperatorsShareTheWork(t *testing.T) {
	const count = 8
	first, second := startSharded(t, count), startSharded(t, count)
	shared(t, count, 2)

	mark := auditMark(t)
	f := makeFleets(t, 4, 6, 2)
	f.ready(2)
	f.labelled(count)
	writes := f.podWrites(mark)
	if writes[first.user]["create"] == 0 || writes[second.user]["create"] == 0 || total(writes, "create") != 48 {
		t.Errorf("48 pods were to be made by both: %v", writes)
	}

	before := f.allPods()
	mark = auditMark(t)
	f.scale(5)
	first.Kill()
	f.ready(5)
	shared(t, count, 1)
	writes = f.podWrites(mark)
	// A create whose asker was killed may be missing from the log.
	if n := total(writes, "create"); n > 72 || total(writes, "delete") != 0 {
		t.Errorf("72 pods were to be made and none deleted: %v", writes)
	}
	for uid, pod := range before {
		if _, ok := f.allPods()[uid]; !ok {
			t.Errorf("pod %s/%s was replaced", pod.Namespace, pod.Name)
		}
	}

	startSharded(t, count)
	startSharded(t, count)
	f.scale(3)
	shared(t, count, 3)
	f.ready(3)
	if !second.Stop(testkit.Patience) {
		t.Error("an operator had to be killed")
	}
	f.scale(4)
	shared(t, count, 2)
	f.ready(4)
}

// An operator that stops in the middle of its work for longer than its Leases
// last, and goes on when others have taken over, does no harm: what it was in
// the middle of it may finish before it looks at the clock, and that is put
// right. Beyond that, nothing is made or deleted twice.
func TestAPausedOperatorComesBack(t *testing.T) {
	const count = 4
	first := startSharded(t, count)
	startSharded(t, count)
	shared(t, count, 2)
	f := makeFleets(t, 2, 4, 2)
	f.ready(2)
	mark := auditMark(t)
	f.scale(6)
	if err := first.Pause(); err != nil {
		t.Fatal(err)
	}
	f.ready(6)
	shared(t, count, 1)
	f.scale(4)
	resumed := auditMark(t)
	if err := first.Resume(); err != nil {
		t.Fatal(err)
	}
	f.ready(4)
	shared(t, count, 2)
	f.ready(4)
	writes, late := f.podWrites(mark), f.podWrites(resumed)[first.user]
	made, gone := total(writes, "create"), total(writes, "delete")
	if made > 32+late["create"] || gone > 16+late["create"]+late["delete"] {
		t.Errorf("32 pods were to be made and 16 deleted, not %d and %d, of which the one that came back did %v: %v", made, gone, late, writes)
	}
	if late["create"] > 32 {
		t.Errorf("the one that came back made %d pods; there were 32 to make when it stopped", late["create"])
	}
}

// At rest the operators renew their Leases, and do nothing else.
func TestQuietShards(t *testing.T) {
	const count = 4
	// With Leases as long as they come: one that a busy machine loses changes
	// hands, and its new holder lists.
	flag := fmt.Sprintf("--shards=%d", count)
	start(t, flag)
	start(t, flag)
	shared(t, count, 2)
	f := makeFleets(t, 2, 2, 2)
	f.ready(2)
	f.labelled(count)
	settle := time.Now().Add(5 * time.Second) // events and the last status are told within 2 s
	testkit.Eventually(t, "things have settled", func() error { return until(settle) })
	mark := auditMark(t)
	quiet := time.Now().Add(10 * time.Second)
	testkit.Eventually(t, "time has passed", func() error { return until(quiet) })
	events, err := suite.Cluster.AuditEvents(mark)
	if err != nil {
		t.Fatal(err)
	}
	leases := 0
	for _, e := range events {
		switch {
		case !strings.HasPrefix(e.User.Username, "operator-"):
		case e.ObjectRef.Resource == "leases" && e.Verb != "list":
			leases++
		case !slices.Contains(f.namespaces, e.ObjectRef.Namespace) && e.ObjectRef.Namespace != "":
			// The namespaces of other tests are being deleted.
		case e.Mutating() || e.Verb == "list":
			t.Errorf("%s sent %s %s", e.User.Username, e.Verb, e.RequestURI)
		}
	}
	if leases == 0 {
		t.Error("no lease was renewed: the audit log was not read")
	}
}

func until(end time.Time) error {
	if left := time.Until(end); left > 0 {
		return fmt.Errorf("%s to go", left)
	}
	return nil
}

func auditMark(t *testing.T) localkube.AuditMark {
	t.Helper()
	mark, err := suite.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// What one leader made is taken over by operators with shards, then by
// operators with more of them, then by a leader again: no pod is replaced.
func TestChangingToShardsAndBackReplacesNothing(t *testing.T) {
	leader := start(t, "--leader-elect", "--controllers=podmanager")
	f := makeFleets(t, 2, 4, 3)
	f.ready(3)
	pods := f.allPods()

	// It waits for the leader to go.
	sharded := startSharded(t, 4)
	leader.Stop(testkit.Patience)
	shared(t, 4, 1)
	f.labelled(4)
	f.same(pods)
	f.scale(4)
	f.ready(4)
	f.labelled(4)
	pods = f.allPods()

	// It waits for those with another number to go.
	more := startSharded(t, 16)
	sharded.Stop(testkit.Patience)
	shared(t, 16, 1)
	f.labelled(16)
	f.same(pods)
	f.scale(5)
	f.ready(5)
	pods = f.allPods()

	start(t, "--leader-elect", "--controllers=podmanager")
	more.Stop(testkit.Patience)
	f.scale(6)
	f.ready(6)
	for uid, pod := range pods {
		if _, ok := f.allPods()[uid]; !ok {
			t.Errorf("pod %s/%s was replaced", pod.Namespace, pod.Name)
		}
	}
}

// Edited labels are corrected, and the objects that carry them stay.
func TestEditedLabelsArePutRight(t *testing.T) {
	const count = 4
	startSharded(t, count)
	shared(t, count, 1)
	f := makeFleets(t, 1, 2, 3)
	f.ready(3)
	f.labelled(count)
	ns := f.namespaces[0]
	wrong := strconv.Itoa((shard.Of(ns, "web-0", count) + 1) % count)
	tests := map[string]struct {
		obj   client.Object
		label string
	}{
		"a pod in another shard":       {obj: podNamed(ns, "web-0-1"), label: `"` + wrong + `"`},
		"a pod in none":                {obj: podNamed(ns, "web-0-1"), label: `null`},
		"a pod with nonsense":          {obj: podNamed(ns, "web-0-1"), label: `"nonsense"`},
		"an owner in another shard":    {obj: testkit.MakePodManager(ns, "web-0").Obj(), label: `"` + wrong + `"`},
		"an owner in none of them all": {obj: testkit.MakePodManager(ns, "web-0").Obj(), label: `null`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pods := f.allPods()
			patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, appsv1.LabelShard, tt.label)
			if err := suite.Client.Patch(t.Context(), tt.obj, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				t.Fatal(err)
			}
			f.labelled(count)
			f.ready(3)
			f.same(pods)
		})
	}
}

// A foreign pod with the name of an ordinal is in no shard, so no cache shows it.
// It keeps its ordinal from the fleet, and no other.
func TestAForeignPodKeepsOnlyItsOrdinal(t *testing.T) {
	const count = 2
	startSharded(t, count)
	shared(t, count, 1)
	ns := suite.Namespace(t)
	stranger := podNamed(ns, "web-1")
	stranger.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
	if err := suite.Client.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	if err := suite.Client.Create(t.Context(), testkit.MakePodManager(ns, "web").Replicas(5).Image("nginx:1.27").Obj()); err != nil {
		t.Fatal(err)
	}
	expect := func(ready int32) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("%d pods are ready", ready), func() error {
			pm := &appsv1.PodManager{}
			if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web"}, pm); err != nil {
				return err
			}
			if pm.Status.ReadyReplicas != ready {
				return fmt.Errorf("%d are", pm.Status.ReadyReplicas)
			}
			return nil
		})
	}
	expect(4)
	if err := suite.Client.Delete(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	expect(5)
}

func podNamed(ns, name string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = ns, name
	return pod
}
