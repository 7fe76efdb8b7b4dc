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

package rollout

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// fleet is a PodManager named web in a namespace of its own, and what a user
// does to it.
type fleet struct {
	*testing.T
	ns string
	// since is where the audit log ended before the fleet was made.
	since localkube.AuditMark
}

// emptyFleet is a namespace in which nothing was applied yet.
func emptyFleet(t *testing.T) *fleet {
	t.Helper()
	mark, err := suite.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	return &fleet{T: t, ns: suite.Namespace(t), since: mark}
}

// newFleet applies a PodManager with a spec in YAML and waits until its pods
// are available.
func newFleet(t *testing.T, replicas int, spec string) *fleet {
	t.Helper()
	f := emptyFleet(t)
	f.apply(replicas, spec)
	f.expectReady(replicas)
	return f
}

func (f *fleet) apply(replicas int, spec string) {
	f.Helper()
	f.applyYAML(fmt.Sprintf("apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: web}\nspec:\n  replicas: %d\n  %s",
		replicas, strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")))
}

func (f *fleet) applyYAML(manifest string) {
	f.Helper()
	file := filepath.Join(f.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		f.Fatal(err)
	}
	f.kubectl("apply", "-f", file)
}

func (f *fleet) kubectl(args ...string) string {
	f.Helper()
	return suite.Kubectl(f, append([]string{"-n", f.ns}, args...)...)
}

// patch sends a merge patch of the spec.
func (f *fleet) patch(spec string) {
	f.Helper()
	f.kubectl("patch", "pm", "web", "--type=merge", "-p", `{"spec":`+spec+`}`)
}

func (f *fleet) get() *appsv1.PodManager {
	f.Helper()
	pm := &appsv1.PodManager{}
	if err := suite.Client.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: "web"}, pm); err != nil {
		f.Fatalf("get PodManager web: %v", err)
	}
	return pm
}

// pods are those that live, sorted by name.
func (f *fleet) pods() []corev1.Pod {
	f.Helper()
	return slices.DeleteFunc(f.allPods(), func(p corev1.Pod) bool { return !lives(&p) })
}

func lives(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

func (f *fleet) allPods() []corev1.Pod {
	f.Helper()
	var list corev1.PodList
	err := suite.Client.List(f.Context(), &list, client.InNamespace(f.ns), client.MatchingLabels{appsv1.LabelName: "web"})
	if err != nil {
		f.Fatalf("list pods: %v", err)
	}
	return list.Items
}

// uids show whether pods are the very pods they were.
func (f *fleet) uids() map[types.UID]string {
	f.Helper()
	m := map[types.UID]string{}
	for _, p := range f.pods() {
		m[p.UID] = p.Name
	}
	return m
}

func (f *fleet) names() []string {
	f.Helper()
	return slices.Sorted(maps.Values(f.uids()))
}

// expectSamePods: none was replaced.
func (f *fleet) expectSamePods(before map[types.UID]string) {
	f.Helper()
	if after := f.uids(); !maps.Equal(before, after) {
		f.Errorf("the pods were %v and are %v", before, after)
	}
}

// expectNewPods: all were replaced.
func (f *fleet) expectNewPods(before map[types.UID]string) {
	f.Helper()
	for uid, name := range f.uids() {
		if _, ok := before[uid]; ok {
			f.Errorf("pod %s is still the old one", name)
		}
	}
}

// restarts are the restart counts of all containers of all pods.
func (f *fleet) restarts() map[string]int {
	f.Helper()
	m := map[string]int{}
	for _, p := range f.pods() {
		for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
			for i := range list {
				m[list[i].Name] += int(list[i].RestartCount)
			}
		}
	}
	return m
}

// expect waits until the PodManager is as it should be.
func (f *fleet) expect(what string, check func(*appsv1.PodManager) error) *appsv1.PodManager {
	f.Helper()
	var pm *appsv1.PodManager
	testkit.Eventually(f, what, func() error {
		pm = f.get()
		if err := check(pm); err != nil {
			return &unmet{f: f, pm: pm, err: err}
		}
		return nil
	})
	return pm
}

// unmet says how things are, and lists the pods only when it is printed.
type unmet struct {
	f   *fleet
	pm  *appsv1.PodManager
	err error
}

func (u *unmet) Error() string {
	return fmt.Sprintf("%v; conditions %+v; pods %s", u.err, u.pm.Status.Conditions, u.f.table())
}

// table lists the pods for an error.
func (f *fleet) table() string {
	var rows []string
	for _, p := range f.allPods() {
		rows = append(rows, fmt.Sprintf("%s %s %s ready=%t deleted=%t", p.Name, p.Labels[appsv1.LabelRevision], p.Status.Phase,
			isReady(&p), p.DeletionTimestamp != nil))
	}
	return strings.Join(rows, "; ")
}

func isReady(p *corev1.Pod) bool { return conditionOf(p, corev1.PodReady) == corev1.ConditionTrue }

func conditionOf(p *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return p.Status.Conditions[i].Status
		}
	}
	return ""
}

// expectReady waits until n pods are available for the latest spec, on the
// goal, and nothing is under way.
func (f *fleet) expectReady(n int) *appsv1.PodManager {
	f.Helper()
	return f.expect(fmt.Sprintf("%d pods are available and nothing is under way", n), func(pm *appsv1.PodManager) error {
		if err := f.settled(pm, n); err != nil {
			return err
		}
		if s := pm.Status; int(s.UpdatedReplicas) != n || n > 0 && s.CurrentRevision != s.UpdateRevision {
			return fmt.Errorf("%d updated, current %s, update %s", s.UpdatedReplicas, s.CurrentRevision, s.UpdateRevision)
		}
		return nil
	})
}

// settled: n pods are available and nothing is under way, on whatever revision.
func (f *fleet) settled(pm *appsv1.PodManager, n int) error {
	s := pm.Status
	if s.ObservedGeneration != pm.Generation {
		return fmt.Errorf("status is for generation %d of %d", s.ObservedGeneration, pm.Generation)
	}
	if int(s.AvailableReplicas) != n || int(s.CurrentReplicas) != n || s.TerminatingReplicas != 0 {
		return fmt.Errorf("%d available, %d live, %d terminating", s.AvailableReplicas, s.CurrentReplicas, s.TerminatingReplicas)
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.ConditionReconciling || c.Type == appsv1.ConditionStalled {
			return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return nil
}

// expectCondition waits until a condition is True with a reason, and returns
// its message.
func (f *fleet) expectCondition(kind, reason string) string {
	f.Helper()
	pm := f.expect(kind+" says "+reason, func(pm *appsv1.PodManager) error {
		c := meta.FindStatusCondition(pm.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || c.ObservedGeneration != pm.Generation {
			return fmt.Errorf("%s is %+v", kind, c)
		}
		return nil
	})
	return meta.FindStatusCondition(pm.Status.Conditions, kind).Message
}

// expectRevisions waits until the live pods are so many on each image of the
// container app.
func (f *fleet) expectImages(want map[string]int) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("the pods run %v", want), func() error {
		got := map[string]int{}
		for _, p := range f.pods() {
			got[p.Spec.Containers[0].Image]++
		}
		if !maps.Equal(want, got) {
			return fmt.Errorf("they run %v: %s", got, f.table())
		}
		return nil
	})
}

// history finds the newest decision of an action and reason.
func (f *fleet) history(action, reason string) *appsv1.Decision {
	f.Helper()
	pm := f.get()
	for i := range pm.Status.History {
		if d := &pm.Status.History[i]; d.Action == action && d.Reason == reason {
			return d
		}
	}
	return nil
}

func (f *fleet) expectHistory(action, reason, message string) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("the history has %s for %s", action, reason), func() error {
		d := f.history(action, reason)
		if d == nil || !strings.Contains(d.Message, message) {
			return fmt.Errorf("it is %+v", f.get().Status.History)
		}
		return nil
	})
}

// events lists the events about the PodManager.
func (f *fleet) events(kind, reason string) []eventsv1.Event {
	f.Helper()
	var list eventsv1.EventList
	if err := suite.Client.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatalf("list events: %v", err)
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Kind != "PodManager" || e.Type != kind || e.Reason != reason
	})
}

// expectWarnings waits for so many warnings, in one event or in many.
func (f *fleet) expectWarnings(want int) {
	f.Helper()
	testkit.Eventually(f, fmt.Sprintf("%d warnings are told", want), func() error {
		n := 0
		for _, e := range f.events(corev1.EventTypeWarning, appsv1.ReasonFailed) {
			if n++; e.Series != nil {
				n += int(e.Series.Count) - 1
			}
		}
		if n != want {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// requests counts what the operator asked the API server for in the fleet's
// namespace.
func (f *fleet) requests(verb, resource, subresource string) int {
	f.Helper()
	n := 0
	for _, e := range f.audit(f.since) {
		if e.Verb == verb && e.ObjectRef.Resource == resource && e.ObjectRef.Subresource == subresource {
			n++
		}
	}
	return n
}

// audit is what the operator asked for in the fleet's namespace since a mark.
func (f *fleet) audit(since localkube.AuditMark) []localkube.AuditEvent {
	f.Helper()
	events, err := suite.Cluster.AuditEvents(since)
	if err != nil {
		f.Fatalf("read the audit log: %v", err)
	}
	return slices.DeleteFunc(events, func(e localkube.AuditEvent) bool {
		return e.User.Username != testkit.OperatorUser || e.ObjectRef.Namespace != f.ns
	})
}

// revisions lists the stored revisions, oldest first.
func (f *fleet) revisions() []kappsv1.ControllerRevision {
	f.Helper()
	var list kappsv1.ControllerRevisionList
	err := suite.Client.List(f.Context(), &list, client.InNamespace(f.ns), client.MatchingLabels{appsv1.LabelName: "web"})
	if err != nil {
		f.Fatalf("list revisions: %v", err)
	}
	slices.SortFunc(list.Items, func(a, b kappsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

// stays checks for a while that something is and remains so.
func (f *fleet) stays(d time.Duration, check func() error) {
	f.Helper()
	end := time.Now().Add(d)
	testkit.Eventually(f, "the time is over", func() error {
		if err := check(); err != nil {
			f.Fatal(err)
		}
		if left := time.Until(end); left > 0 {
			return fmt.Errorf("%s to go", left)
		}
		return nil
	})
}

// age waits until the clock has moved past the second in which the API keeps
// times: what happens afterwards is later than what happened before.
func (f *fleet) age() {
	f.Helper()
	now := time.Now().Truncate(time.Second)
	testkit.Eventually(f, "a second has passed", func() error {
		if !time.Now().Truncate(time.Second).After(now) {
			return fmt.Errorf("it is still %s", now)
		}
		return nil
	})
}
