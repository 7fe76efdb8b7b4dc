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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/access"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func collector(namespace, name string, labels map[string]string) *collectorv1.Collector {
	return &collectorv1.Collector{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       collectorv1.CollectorSpec{Selector: metav1.LabelSelector{MatchLabels: labels}},
	}
}

// expectCounting waits until a Collector counts.
func expectCounting(t testing.TB, namespace, name string) *collectorv1.Collector {
	t.Helper()
	col := collector(namespace, name, nil)
	testkit.Eventually(t, "Collector "+name+" counts", func() error {
		col = testkit.Read(t, suite, col)
		return settled(col, col.Status.ObservedGeneration, col.Status.Conditions)
	})
	expectKstatus(t, col, status.CurrentStatus)
	return col
}

// expectChange waits until the newest change is the one that is named and has
// settled.
func expectChange(t testing.TB, namespace, name, change string) collectorv1.Change {
	t.Helper()
	var newest collectorv1.Change
	testkit.Eventually(t, "the change "+change+" has settled", func() error {
		col := testkit.Read(t, suite, collector(namespace, name, nil))
		if len(col.Status.RecentChanges) == 0 {
			return errors.New("no change yet")
		}
		newest = col.Status.RecentChanges[0]
		if newest.Change != change || newest.State != collectorv1.ChangeSettled {
			return fmt.Errorf("the newest is %+v", newest)
		}
		return nil
	})
	return newest
}

// web is a Deployment of pods with a number of containers.
func web(namespace string, replicas int32, containers int) *kappsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := deployment(namespace, "web")
	d.Spec = kappsv1.DeploymentSpec{
		Replicas: ptr.To(replicas),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
	}
	for i := range containers {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers,
			corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "nginx:1.27"})
	}
	return d
}

// witness counts pod events by a watch of the test's own, as kubectl get
// --watch would.
type witness struct {
	mu     sync.Mutex
	counts collectorv1.EventCounts
}

func newWitness(t testing.TB, namespace, selector string) *witness {
	t.Helper()
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	pods := clients.CoreV1().Pods(namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	w, err := pods.Watch(context.Background(), metav1.ListOptions{LabelSelector: selector, ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	seen := &witness{}
	go func() {
		for e := range w.ResultChan() {
			seen.count(e.Type)
		}
	}()
	return seen
}

func (w *witness) count(kind watch.EventType) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch kind {
	case watch.Added:
		w.counts.Added++
	case watch.Modified:
		w.counts.Modified++
	case watch.Deleted:
		w.counts.Deleted++
	}
}

// peek returns what was counted so far.
func (w *witness) peek() collectorv1.EventCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts
}

func TestCollectorListsAddressesAndCountsPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	d := web(ns, 2, 1)
	suite.Create(t, d)
	testkit.Eventually(t, "the pods run", func() error {
		if d = testkit.Read(t, suite, d); d.Status.AvailableReplicas != 2 {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
	suite.Create(t, collector(ns, "watcher", map[string]string{"app": "web"}))
	col := expectCounting(t, ns, "watcher")
	// What was there before is no event.
	if col.Status.Pods != 2 || col.Status.Workloads != 1 || col.Status.Events.Total() != 0 || col.Status.Since == nil {
		t.Errorf("at the start the status is %+v", col.Status)
	}
	suite.Create(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "other", Labels: map[string]string{"app": "other"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}},
	})
	suite.Patch(t, d, `{"spec":{"replicas":4}}`)
	expectChange(t, ns, "watcher", "replicas 2 -> 4")
	col = testkit.Read(t, suite, col)

	var want []string
	for _, pod := range suite.Pods(t, ns, map[string]string{"app": "web"}) {
		want = append(want, pod.Status.PodIP)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, col.Status.IPs); diff != "" || col.Status.IPCount != 4 {
		t.Errorf("status.ips (-pods +status), %d in all:\n%s", col.Status.IPCount, diff)
	}
	if col.Status.Events.Added != 2 || col.Status.Pods != 4 {
		t.Errorf("the status is %+v", col.Status)
	}
	suite.ExpectEvent(t, col, corev1.EventTypeNormal, collectorv1.ReasonSettled, "replicas 2 -> 4 triggered")
	suite.ExpectSilence(t, ns, 3*time.Second)
}

func TestCollectorCountsAllKindsOfWorkloads(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, collector(ns, "all", map[string]string{"team": "blue"}))
	expectCounting(t, ns, "all")
	labels := map[string]string{"team": "blue"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }

	set := &kappsv1.StatefulSet{ObjectMeta: meta("set"), Spec: kappsv1.StatefulSetSpec{
		Replicas: ptr.To(int32(2)), ServiceName: "set", Selector: selector, Template: template,
	}}
	suite.Create(t, set)
	expectPods(t, expectChange(t, ns, "all", "created, replicas 2"), "StatefulSet", 2, 0)
	if err := suite.Client.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	expectPods(t, expectChange(t, ns, "all", "deleted"), "StatefulSet", 0, 2)

	suite.Create(t, &kappsv1.ReplicaSet{ObjectMeta: meta("bare"), Spec: kappsv1.ReplicaSetSpec{
		Replicas: ptr.To(int32(1)), Selector: selector, Template: template,
	}})
	expectPods(t, expectChange(t, ns, "all", "created, replicas 1"), "ReplicaSet", 1, 0)
	suite.Kubectl(t, "-n", ns, "scale", "replicaset/bare", "--replicas=3")
	expectPods(t, expectChange(t, ns, "all", "replicas 1 -> 3"), "ReplicaSet", 2, 0)
	suite.Kubectl(t, "-n", ns, "delete", "replicaset/bare", "--cascade=foreground")
	expectPods(t, expectChange(t, ns, "all", "deleted"), "ReplicaSet", 0, 3)

	template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-1"}
	suite.Create(t, &kappsv1.DaemonSet{ObjectMeta: meta("daemon"), Spec: kappsv1.DaemonSetSpec{Selector: selector, Template: template}})
	expectPods(t, expectChange(t, ns, "all", "created"), "DaemonSet", 1, 0)

	pm := testkit.MakePodManager(ns, "fleet").Replicas(3).Template(corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
	}).Obj()
	suite.Create(t, pm)
	expectPods(t, expectChange(t, ns, "all", "created, replicas 3"), "PodManager", 3, 0)
	suite.Kubectl(t, "-n", ns, "scale", "pm/fleet", "--replicas=1")
	expectPods(t, expectChange(t, ns, "all", "replicas 3 -> 1"), "PodManager", 0, 2)
}

func expectPods(t testing.TB, c collectorv1.Change, kind string, added, deleted int64) {
	t.Helper()
	if c.Kind != kind || c.Events.Added != added || c.Events.Deleted != deleted {
		t.Errorf("%s of %s %s: %+v, want %d added and %d deleted pods of a %s", c.Change, c.Kind, c.Name, c.Events, added, deleted, kind)
	}
	want := []collectorv1.KindEvents{{Kind: kind, EventCounts: c.WorkloadEvents}, {Kind: "Pod", EventCounts: c.Events}}
	slices.SortFunc(want, func(a, b collectorv1.KindEvents) int { return strings.Compare(a.Kind, b.Kind) })
	if diff := cmp.Diff(want, c.EventsByKind); diff != "" {
		t.Errorf("%s of %s %s: events by kind (-want +got):\n%s", c.Change, c.Kind, c.Name, diff)
	}
}

// grant lets a service account read a namespace, as the condition says.
func grant(t testing.TB, home, account, namespace string) {
	t.Helper()
	suite.Kubectl(t, strings.Fields(access.Grant(home, account, namespace))[1:]...)
}

func TestCollectorWatchesTheNamespacesOfItsSpec(t *testing.T) {
	t.Parallel()
	home, other, third := suite.Namespace(t), suite.Namespace(t), suite.Namespace(t)
	col := collector(home, "afar", map[string]string{"app": "web"})
	col.Spec.Namespaces, col.Spec.ServiceAccountName = []string{other, third}, "reader"
	for _, ns := range col.Spec.Namespaces {
		grant(t, home, "reader", ns)
	}
	suite.Create(t, col)
	expectCounting(t, home, "afar")
	for _, ns := range []string{home, other, third} {
		suite.Create(t, web(ns, 1, 1))
	}
	testkit.Eventually(t, "both namespaces were counted", func() error {
		col = testkit.Read(t, suite, col)
		if n := len(col.Status.RecentChanges); n != 2 || col.Status.Events.Added != 2 {
			return fmt.Errorf("%d changes, %+v", n, col.Status.Events)
		}
		return nil
	})
	for _, c := range col.Status.RecentChanges {
		if c.Namespace == home {
			t.Errorf("it counted in %s: %+v", home, c)
		}
	}

	// A changed spec begins again at 0, where nothing happens any more.
	d := deployment(home, "web")
	testkit.Eventually(t, "the pod at home runs", func() error {
		if d = testkit.Read(t, suite, d); d.Status.AvailableReplicas != 1 {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
	suite.Patch(t, col, fmt.Sprintf(`{"spec":{"namespaces":[%q]}}`, home))
	testkit.Eventually(t, "it counts anew", func() error {
		col = testkit.Read(t, suite, col)
		if err := settled(col, col.Status.ObservedGeneration, col.Status.Conditions); err != nil {
			return err
		}
		if col.Status.Events.Total() != 0 || len(col.Status.RecentChanges) != 0 || col.Status.Pods != 1 {
			return fmt.Errorf("%+v", col.Status)
		}
		return nil
	})
}

func TestCollectorSaysThatItsSelectorIsWrong(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	col := collector(ns, "wrong", nil)
	col.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles", Values: []string{"web"}}}
	suite.Create(t, col)
	testkit.Eventually(t, "it is stalled", func() error {
		col = testkit.Read(t, suite, col)
		return stalled(col, col.Status.Conditions, collectorv1.ReasonInvalidSelector)
	})
	expectKstatus(t, col, status.FailedStatus)
	suite.ExpectEvent(t, col, corev1.EventTypeWarning, collectorv1.ReasonFailed, "Resembles")
	suite.Patch(t, col, `{"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}}`)
	expectCounting(t, ns, "wrong")
}

// TestTheDocumentedWayToOtherNamespacesWorks follows docs/collector.md to the
// letter.
func TestTheDocumentedWayToOtherNamespacesWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "collector.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Other namespaces\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, ns := range []string{"shop", "bank"} {
		suite.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	}
	ran := 0
	for line := range strings.Lines(section) {
		if command, is := strings.CutPrefix(line, "kubectl "); is {
			suite.Kubectl(t, strings.Fields(command)...)
			ran++
		}
	}
	_, manifest, _ := strings.Cut(section, "```yaml\n")
	manifest, _, _ = strings.Cut(manifest, "```")
	file := filepath.Join(t.TempDir(), "collector.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil || ran == 0 {
		t.Fatalf("%d commands: %v", ran, err)
	}
	suite.Kubectl(t, "apply", "-f", file)
	expectCounting(t, "default", "collector-elsewhere")
	suite.Kubectl(t, "delete", "-f", file)
}

// openWatches are the watches of the operator in a namespace that have not
// ended, by their audit log.
func openWatches(t testing.TB, s *testkit.Suite, namespace string) []string {
	t.Helper()
	events, err := s.Cluster.AuditEvents(0)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]string{}
	for i := range events {
		e := &events[i]
		if e.Verb != "watch" || e.User.Username != testkit.OperatorUser || e.ObjectRef.Namespace != namespace {
			continue
		}
		if e.Stage == "ResponseComplete" {
			delete(open, e.AuditID)
		} else {
			open[e.AuditID] = e.RequestURI
		}
	}
	return slices.Sorted(maps.Values(open))
}

// TestCollectorsShareTheirWatches: however many read a namespace, with whatever
// selectors, at home or from elsewhere, it has one watch of each kind. With the
// last of them the watches end.
func TestCollectorsShareTheirWatches(t *testing.T) {
	t.Parallel()
	ns, home := suite.Namespace(t), suite.Namespace(t)
	for i := range 3 {
		suite.Create(t, collector(ns, fmt.Sprintf("short-%d", i), map[string]string{"app": fmt.Sprint("web-", i)}))
		expectCounting(t, ns, fmt.Sprintf("short-%d", i))
	}
	grant(t, home, "default", ns)
	afar := collector(home, "afar", nil)
	afar.Spec.Namespaces = []string{ns}
	suite.Create(t, afar)
	expectCounting(t, home, "afar")
	expectWatches := func(n int) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("%d watches are open", n), func() error {
			if open := openWatches(t, suite, ns); len(open) != n {
				return fmt.Errorf("%d are open:\n%s", len(open), strings.Join(open, "\n"))
			}
			return nil
		})
	}
	expectWatches(6)
	suite.Kubectl(t, "-n", ns, "delete", "collectors", "--all")
	expectGone(t, ns)
	expectWatches(6)
	suite.Kubectl(t, "-n", home, "delete", "collectors", "--all")
	expectWatches(0)
}

// expectGone: the operator has seen that a namespace has no Collectors. One that
// was made after them counts.
func expectGone(t testing.TB, namespace string) {
	t.Helper()
	suite.Create(t, collector(namespace, "last", map[string]string{"app": "none"}))
	expectCounting(t, namespace, "last")
	suite.Kubectl(t, "-n", namespace, "delete", "collector", "last")
}

func TestCollectorWritesItsStatusOnceASecondAtMost(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, collector(ns, "calm", map[string]string{"app": "web"}))
	expectCounting(t, ns, "calm")
	mark, start := suite.AuditMark(t), time.Now()
	suite.Create(t, web(ns, 60, 1))
	change := expectChange(t, ns, "calm", "created, replicas 60")
	if change.Events.Added != 60 || change.Events.Modified != 120 {
		t.Errorf("%+v", change.Events)
	}
	events, err := suite.Cluster.AuditEvents(mark)
	if err != nil {
		t.Fatal(err)
	}
	elapsed := time.Since(start) // after the log was read, which goes on meanwhile
	writes := 0
	for i := range events {
		if e := &events[i]; e.Mutating() && e.RequestReceivedTimestamp.After(start) && e.ObjectRef.Resource == "collectors" && e.ObjectRef.Subresource == "status" && e.ObjectRef.Namespace == ns {
			writes++
		}
	}
	if most := int(elapsed/time.Second) + 2; writes > most {
		t.Errorf("%d writes in %s for %d events", writes, elapsed, change.Events.Total())
	}
	t.Logf("%d status writes in %s for %d events of pods", writes, elapsed.Round(time.Second/10), change.Events.Total())
}

func TestACollectorNeedsTheRightToListPods(t *testing.T) {
	t.Parallel()
	home, other := suite.Namespace(t), suite.Namespace(t)
	as := func(user string) client.Client {
		config, err := suite.Cluster.RESTConfigFor(user)
		if err != nil {
			t.Fatal(err)
		}
		c, err := testkit.NewClient(config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	// The local user has edit in one namespace; the maker may only make
	// Collectors; the reader may also list pods everywhere.
	local, maker, reader := "local-"+home, "maker-"+home, "reader-"+home
	suite.Kubectl(t, "-n", home, "create", "rolebinding", "local", "--clusterrole=edit", "--user="+local)
	suite.Kubectl(t, "-n", home, "create", "role", "maker", "--verb=create", "--resource=collectors.collector.ip.mycompany.com")
	suite.Kubectl(t, "-n", home, "create", "rolebinding", "maker", "--role=maker", "--user="+maker)
	suite.Kubectl(t, "-n", home, "create", "rolebinding", "reader", "--clusterrole=edit", "--user="+reader)
	suite.Kubectl(t, "create", "clusterrolebinding", reader, "--clusterrole=view", "--user="+reader)

	for name, c := range map[string]struct {
		user       string
		namespaces []string
		refused    string
	}{
		"at home, with the right to list pods":         {local, nil, ""},
		"home named, with the right to list pods":      {local, []string{home}, ""},
		"elsewhere, with rights at home only":          {local, []string{other}, "may not list pods in all namespaces"},
		"at home and elsewhere, rights at home only":   {local, []string{home, other}, "may not list pods in all namespaces"},
		"at home, without the right to list pods":      {maker, nil, "may not list pods in namespace " + home},
		"elsewhere, with the right to list everywhere": {reader, []string{other}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			writer := as(c.user)
			testkit.Eventually(t, "the API server answers as the policy says", func() error {
				col := collector(home, "c", map[string]string{"app": "web"})
				col.Spec.Namespaces = c.namespaces
				err := writer.Create(t.Context(), col, client.DryRunAll)
				switch {
				case c.refused == "":
					return err
				case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.refused):
					return fmt.Errorf("got %w, want it to say %q", err, c.refused)
				}
				return nil
			})
		})
	}
}
