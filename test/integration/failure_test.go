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
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestFailedPodsAreReplacedWithBackoff: the first failure is repaired at once,
// the second after the initial wait, and from the third on a user should look.
func TestFailedPodsAreReplacedWithBackoff(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	// A failure counts with the one before if it comes within twice the longest
	// wait: that is long, because machines are slow.
	f.Create(f.Build().Replicas(2).Failures(1, 4*time.Second, time.Minute))
	f.ExpectReady(2)
	waits := []time.Duration{0, 4 * time.Second, 8 * time.Second}
	for i, wait := range waits {
		old := f.Pod("web-1")
		age(t, old.CreationTimestamp.Time) // one that fails in its first second waits one
		if last := f.Get().Status.Failures; last != nil {
			age(t, last.LastTime.Time)
		}
		failedAt := time.Now().Truncate(time.Second)
		failPod(f, "web-1", "")
		pm := f.Expect("the failure is counted", func(pm *appsv1.PodManager) error {
			if f := pm.Status.Failures; f == nil || int(f.Count) != i+1 {
				return fmt.Errorf("failures: %+v", f)
			}
			return nil
		})
		if got := pm.Status.Failures.RetryTime.Sub(pm.Status.Failures.LastTime.Time); got != wait {
			t.Errorf("failure %d waits %s, not %s", i+1, got, wait)
		}
		if last := pm.Status.Failures.LastTime; last.Time.Before(failedAt) {
			t.Errorf("failure %d is told for %s and happened after %s", i+1, last, failedAt)
		}
		if i == len(waits)-1 {
			pm, _ = f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonPodsFailing)
			expectKstatus(t, pm, status.FailedStatus)
			f.ExpectEvent(corev1.EventTypeWarning, appsv1.ReasonFailed, "failed, 3 times in a row; the next replacement waits 8s")
		}
		successor := f.ExpectSuccessor(old)
		if retry := pm.Status.Failures.RetryTime; successor.CreationTimestamp.Time.Before(retry.Time) {
			t.Errorf("failure %d was repaired at %s, not at %s", i+1, successor.CreationTimestamp, retry)
		}
		expectDecision(f, 2, appsv1.ReasonDeleted, "web-1", appsv1.WhyPodFailed)
	}
}

// TestEvictedAndFinishedPodsAreReplaced, each with its own reason.
func TestEvictedAndFinishedPodsAreReplaced(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(*corev1.PodStatus)
		want string
	}{
		"evicted": {
			func(s *corev1.PodStatus) { s.Phase, s.Reason = corev1.PodFailed, "Evicted" },
			appsv1.WhyEvicted,
		},
		"finished": {
			func(s *corev1.PodStatus) { s.Phase = corev1.PodSucceeded },
			appsv1.WhyPodFinished,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := suite.NewFleet(t, "web")
			f.Create(f.Build().Replicas(2))
			f.ExpectReady(2)
			old := f.Pod("web-0")
			setPodStatus(f, "web-0", func(s *corev1.PodStatus) {
				setReady(s, corev1.ConditionFalse)
				test.end(s)
			})
			f.ExpectSuccessor(old)
			expectDecision(f, 2, appsv1.ReasonDeleted, "web-0", test.want)
		})
	}
}

// TestFailedPodsOfARandomFleetAreKept for inspection, as many as the limit
// says, the newest ones; their successors do not wait for them.
func TestFailedPodsOfARandomFleetAreKept(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "crowd")
	f.Create(f.Build().Random().Replicas(2).Failures(1, time.Second, time.Second))
	f.ExpectReady(2)
	var last string
	for range 2 {
		alive := slices.DeleteFunc(f.Pods(), ended)
		last = alive[0].Name
		if record := f.Get().Status.Failures; record != nil {
			age(t, record.LastTime.Time)
		}
		failPod(f, last, "OOMKilled")
		f.Expect("the pod has a successor", func(pm *appsv1.PodManager) error {
			if slices.Contains(pm.Status.Nodes, last) {
				return errors.New("it still counts as alive")
			}
			return testkit.Settled(pm, 2)
		})
	}
	testkit.Eventually(t, "one failed pod is kept, the newest", func() error {
		dead := slices.DeleteFunc(f.Pods(), func(p corev1.Pod) bool { return !ended(p) })
		if diff := cmp.Diff([]string{last}, testkit.Names(dead)); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// pool makes nodes that only pods for them run on.
func pool(t *testing.T, name string, count int) {
	t.Helper()
	err := suite.Cluster.CreateNodes(t.Context(), localkube.NodeOptions{
		Count: count, Prefix: name + "-", Labels: map[string]string{"pool": name},
		Taints: []corev1.Taint{{Key: "pool", Value: name, Effect: corev1.TaintEffectNoSchedule}},
	})
	if err != nil {
		t.Fatalf("create nodes: %v", err)
	}
	t.Cleanup(func() { suite.Kubectl(cleanup{t}, "delete", "node", "-l", "pool="+name) })
	testkit.Eventually(t, "the nodes take pods", func() error {
		var nodes corev1.NodeList
		if err := suite.Client.List(t.Context(), &nodes, client.MatchingLabels{"pool": name}); err != nil {
			return err
		}
		for i := range nodes.Items {
			// Its own taint is left, that of a node that is not ready is not.
			if taints := nodes.Items[i].Spec.Taints; len(taints) != 1 {
				return fmt.Errorf("node %s has taints %v", nodes.Items[i].Name, taints)
			}
		}
		return nil
	})
}

func inPool(name string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"pool": name}
		s.Tolerations = []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpExists}}
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		}}
	}
}

// stuck makes pods that terminate for ever, as on a node without a kubelet.
const stuck = "1h"

// TestPodsOnAGoneNodeAreReplaced: no kubelet will ever confirm their end, so
// the deletion is forced; and the proof is the API server's, not the cache's.
func TestPodsOnAGoneNodeAreReplaced(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "gone")
	pool(t, "gone", 2)
	f.Create(f.Build().Replicas(4).PodSpec(inPool("gone")).
		Annotate("localkube.mycompany.com/termination-delay", stuck))
	f.ExpectReady(4)
	before := f.Pods()
	lost := slices.DeleteFunc(slices.Clone(before), func(p corev1.Pod) bool { return p.Spec.NodeName != "gone-1" })
	kept := slices.DeleteFunc(slices.Clone(before), func(p corev1.Pod) bool { return p.Spec.NodeName == "gone-1" })
	if len(lost) == 0 || len(kept) == 0 {
		t.Fatalf("the pods are not spread: %d and %d", len(lost), len(kept))
	}
	suite.Kubectl(t, "delete", "node", "gone-1")
	for i := range lost {
		f.ExpectSuccessor(&lost[i])
	}
	expectDecision(f, 4, appsv1.ReasonDeleted, lost[0].Name, appsv1.WhyNodeGone)
	after := f.UIDs()
	for i := range kept {
		if after[kept[i].Name] != kept[i].UID {
			t.Errorf("pod %s on the other node was replaced", kept[i].Name)
		}
	}
}

// TestPodsOnAnOutOfServiceNodeAreReplaced: the taint vouches that nothing runs
// there any more.
func TestPodsOnAnOutOfServiceNodeAreReplaced(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "fenced")
	pool(t, "fenced", 2)
	f.Create(f.Build().Replicas(2).PodSpec(inPool("fenced")).
		Annotate("localkube.mycompany.com/termination-delay", stuck))
	f.ExpectReady(2)
	before := f.Pods()
	node := before[0].Spec.NodeName
	// With the effect NoExecute Kubernetes deletes the pods as well, by their names
	// alone: a successor that is made sooner would be deleted in their place.
	suite.Kubectl(t, "taint", "node", node, corev1.TaintNodeOutOfService+"=nodeshutdown:NoSchedule")
	for i := range before {
		if before[i].Spec.NodeName == node {
			f.ExpectSuccessor(&before[i])
		}
	}
	f.ExpectReady(2)
	for _, pod := range f.Pods() {
		if pod.Spec.NodeName == node {
			t.Errorf("pod %s is on the fenced node", pod.Name)
		}
	}
}

// TestPodsOnANodeThatIsNotReadyAreLeftAlone: it may come back, and two pods of
// one ordinal must never run.
func TestPodsOnANodeThatIsNotReadyAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	silent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent-1"}}
	suite.Create(t, silent) // its kubelet is not simulated
	t.Cleanup(func() { suite.Kubectl(cleanup{t}, "delete", "node", "silent-1") })
	f.Create(f.Build().Replicas(2).
		PodSpec(func(s *corev1.PodSpec) { s.NodeName = "silent-1" }))
	f.Expect("its pods are there", func(pm *appsv1.PodManager) error { return live(pm, 2) })
	for _, name := range []string{"web-0", "web-1"} {
		setPodStatus(f, name, func(s *corev1.PodStatus) {
			s.Phase = corev1.PodRunning
			setReady(s, corev1.ConditionTrue)
		})
	}
	f.ExpectReady(2)

	// The node falls silent: its pods count as not ready, and nothing else.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent-1"}}
	body := `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`
	err := suite.Client.Status().Patch(t.Context(), node, client.RawPatch("application/strategic-merge-patch+json", []byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"web-0", "web-1"} {
		setPodStatus(f, name, func(s *corev1.PodStatus) { setReady(s, corev1.ConditionFalse) })
	}
	f.Expect("no pod is ready", func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != 0 {
			return fmt.Errorf("%d are", pm.Status.ReadyReplicas)
		}
		return live(pm, 2)
	})
	// The operator has seen it all, and goes on with other work.
	f.Scale(3)
	f.Expect("it is scaled", func(pm *appsv1.PodManager) error { return live(pm, 3) })
	f.ExpectUntouched("web-0", "web-1")
}

func live(pm *appsv1.PodManager, n int) error {
	if pm.Status.ObservedGeneration != pm.Generation || int(pm.Status.CurrentReplicas) != n {
		return fmt.Errorf("%d pods live", pm.Status.CurrentReplicas)
	}
	return nil
}

// TestTerminatingPodsAreCountedApart: an ordinal's successor waits for the
// name, and says so; a random one does not wait.
func TestTerminatingPodsAreCountedApart(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	web, crowd := suite.Fleet(t, ns, "web"), suite.Fleet(t, ns, "crowd")
	web.Create(web.Build().Replicas(2))
	crowd.Create(crowd.Build().Random().Replicas(2))
	web.ExpectReady(2)
	crowd.ExpectReady(2)
	held := []corev1.Pod{*web.Pod("web-1"), crowd.Pods()[0]}
	for i := range held {
		suite.Patch(t, &held[i], `{"metadata":{"finalizers":["example.com/hold"]}}`)
		suite.Delete(t, &held[i])
	}
	pm, _ := web.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonWaitingForTermination)
	expectKstatus(t, pm, status.InProgressStatus)
	if s := pm.Status; s.CurrentReplicas != 1 || s.TerminatingReplicas != 1 || slices.Contains(s.Nodes, "web-1") {
		t.Errorf("web: %d live, %d terminating, %v", s.CurrentReplicas, s.TerminatingReplicas, s.Nodes)
	}
	crowd.Expect("it has its two pods beside the terminating one", func(pm *appsv1.PodManager) error {
		if s := pm.Status; s.AvailableReplicas != 2 || s.CurrentReplicas != 2 || s.TerminatingReplicas != 1 {
			return fmt.Errorf("%d available, %d live, %d terminating", s.AvailableReplicas, s.CurrentReplicas, s.TerminatingReplicas)
		}
		return nil
	})
	for i := range held {
		suite.Patch(t, &held[i], `{"metadata":{"finalizers":null}}`)
	}
	web.ExpectSuccessor(&held[0])
	web.ExpectReady(2)
	crowd.ExpectReady(2)
}

// cleanup runs kubectl after a test, when the test's own context is done.
type cleanup struct{ *testing.T }

func (c cleanup) Context() context.Context { return context.Background() }
