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

package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// TestPodChanged: which changes of a pod are a reason to look at its fleet.
func TestPodChanged(t *testing.T) {
	now := metav1.NewTime(time.Unix(100, 0))
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":                    {func(*corev1.Pod) {}, false},
		"its version":                {func(p *corev1.Pod) { p.ResourceVersion = "2" }, false},
		"an annotation":              {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"its deletion cost":          {func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "1"} }, false},
		"its node":                   {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, false},
		"its address":                {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, false},
		"a condition of no interest": {func(p *corev1.Pod) { p.Status.Conditions[3].Status = corev1.ConditionFalse }, false},
		"when it was scheduled":      {func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = now }, false},
		"another finalizer":          {func(p *corev1.Pod) { p.Finalizers = []string{"example.com/backup"} }, false},
		"a heartbeat of readiness":   {func(p *corev1.Pod) { p.Status.Conditions[1].LastProbeTime = now }, false},

		"a hold":         {func(p *corev1.Pod) { p.Finalizers = []string{appsv1.LabelHoldDelete} }, true},
		"its phase":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"its readiness":  {func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse }, true},
		"ready since":    {func(p *corev1.Pod) { p.Status.Conditions[1].LastTransitionTime = now }, true},
		"its labels":     {func(p *corev1.Pod) { p.Labels = map[string]string{appsv1.LabelDelete: "true"} }, true},
		"its owner":      {func(p *corev1.Pod) { p.OwnerReferences = nil }, true},
		"its end":        {func(p *corev1.Pod) { p.DeletionTimestamp = &now }, true},
		"a new life":     {func(p *corev1.Pod) { p.UID = "b" }, true},
		"its gate":       {func(p *corev1.Pod) { p.Status.Conditions[2].Status = corev1.ConditionTrue }, true},
		"its container":  {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ContainerID = "two" }, true},
		"its start":      {func(p *corev1.Pod) { start(p, now) }, true},
		"no node for it": {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		"a failing pull": {func(p *corev1.Pod) { wait(p, "ImagePullBackOff") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "a", OwnerReferences: []metav1.OwnerReference{{UID: "me"}}},
				Spec: corev1.PodSpec{
					Containers:     []corev1.Container{{Name: "app"}},
					ReadinessGates: []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}},
				},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning,
					Conditions: []corev1.PodCondition{
						{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
						{Type: corev1.PodReady, Status: corev1.ConditionTrue},
						{Type: appsv1.GateInService, Status: corev1.ConditionFalse},
						{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
					},
					ContainerStatuses: []corev1.ContainerStatus{{Name: "app", ContainerID: "one"}},
				},
			}
			after := before.DeepCopy()
			test.change(after)
			if got := podChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("a change of it passes: %t, want %t", got, test.want)
			}
		})
	}
	if !podChanged().Create(event.CreateEvent{Object: &corev1.Pod{}}) || !podChanged().Delete(event.DeleteEvent{Object: &corev1.Pod{}}) {
		t.Error("a pod's beginning or end does not pass")
	}
}

func start(p *corev1.Pod, at metav1.Time) {
	p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: at}
}

func wait(p *corev1.Pod, reason string) {
	p.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
}

// TestOwnerChanged: our own status writes above all are no reason to look.
func TestOwnerChanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*appsv1.PodManager)
		want   bool
	}{
		"its status": {func(pm *appsv1.PodManager) { pm.Status.ReadyReplicas = 3; pm.ResourceVersion = "2" }, false},
		"another client's word in its status": {
			func(pm *appsv1.PodManager) { pm.Status.ReadyReplicas = 3; pm.ResourceVersion = "3" }, true,
		},
		"a label":          {func(pm *appsv1.PodManager) { pm.Labels = map[string]string{"a": "b"} }, false},
		"an annotation":    {func(pm *appsv1.PodManager) { pm.Annotations = map[string]string{"a": "b"} }, false},
		"its spec":         {func(pm *appsv1.PodManager) { pm.Generation++ }, true},
		"its finalizers":   {func(pm *appsv1.PodManager) { pm.Finalizers = nil }, true},
		"its end":          {func(pm *appsv1.PodManager) { pm.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
		"it asks for more": {func(pm *appsv1.PodManager) { pm.Annotations = map[string]string{appsv1.AnnotationRestart: "now"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Generation: 1, Finalizers: []string{appsv1.Finalizer}}}
			after := before.DeepCopy()
			test.change(after)
			r, parts := newReconciler(t)
			r.memories.wrote(r.memories.of(before), "2")
			if got := r.ownerChanged(parts.Ledger).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("a change of it passes: %t, want %t", got, test.want)
			}
		})
	}
}

// TestNodeChanged: what a plan depends on passes, in whatever order it comes.
func TestNodeChanged(t *testing.T) {
	node := func(changes ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{}
		for _, change := range changes {
			change(n)
		}
		return n
	}
	taint := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key}} }
	}
	notice := func(n *corev1.Node) { n.Annotations = map[string]string{appsv1.AnnotationNodeLeaving: "spot"} }
	cordon := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	for name, test := range map[string]struct {
		before, after *corev1.Node
		want          bool
	}{
		"a heartbeat":             {node(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}, false},
		"it is cordoned":          {node(), node(cordon), true},
		"it is uncordoned":        {node(cordon), node(), true},
		"a notice":                {node(), node(notice), true},
		"a notice, then a cordon": {node(notice), node(notice, cordon), true},
		"a cordon, then a notice": {node(cordon), node(notice, cordon), true},
		"it is silent":            {node(), node(taint(corev1.TaintNodeUnreachable)), true},
		"it is fenced":            {node(), node(taint(corev1.TaintNodeOutOfService)), true},
		"it is fenced yet":        {node(taint(corev1.TaintNodeOutOfService)), node(taint(corev1.TaintNodeOutOfService)), false},
		"it is back":              {node(taint(corev1.TaintNodeOutOfService)), node(), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nodeChanged().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.want {
				t.Errorf("it passes: %t, want %t", got, test.want)
			}
		})
	}
	if !nodeChanged().Create(event.CreateEvent{Object: &corev1.Node{}}) || !nodeChanged().Delete(event.DeleteEvent{Object: &corev1.Node{}}) {
		t.Error("a new node and the end of one are reasons to look")
	}
}

func podOf(name string, labels map[string]string, refs ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels, OwnerReferences: refs}}
}

func controlledBy(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: "me", Controller: ptr.To(true)}
}

// TestOwnersOfPods: from a pod back to the fleet that it concerns.
func TestOwnersOfPods(t *testing.T) {
	finder := ownerFinder{
		reader: newCache(t, fleetOwner("web"), fleetOwner("my-web-2")), kind: testKind{},
		watched: Watched{GVK: testGVK, NameLabel: appsv1.LabelName},
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"its controller":                         {podOf("web-0", nil, controlledBy("apps.mycompany.com/v1", "PodManager", "web")), []string{"web"}},
		"its controller in another version":      {podOf("web-0", nil, controlledBy("apps.mycompany.com/v1alpha1", "PodManager", "web")), []string{"web"}},
		"a controller that is gone":              {podOf("x-0", nil, controlledBy("apps.mycompany.com/v1", "PodManager", "gone")), []string{"gone"}},
		"another group's PodManager":             {podOf("web-0", nil, controlledBy("example.com/v1", "PodManager", "web")), nil},
		"an orphan, by its label":                {podOf("any", map[string]string{appsv1.LabelName: "web"}), []string{"web"}},
		"an orphan of an owner that is gone":     {podOf("any", map[string]string{appsv1.LabelName: "gone"}), nil},
		"a stranger that has a slot's name":      {podOf("web-1", nil), []string{"web"}},
		"a stranger of another controller":       {podOf("web-1", nil, controlledBy("apps/v1", "StatefulSet", "web")), []string{"web"}},
		"a name with dashes and digits":          {podOf("my-web-2-7", nil), []string{"my-web-2"}},
		"a name without ordinal":                 {podOf("web-x", nil), nil},
		"a name of no owner":                     {podOf("other-1", nil), nil},
		"an owner that is not the controller":    {podOf("any", nil, metav1.OwnerReference{APIVersion: "apps.mycompany.com/v1", Kind: "PodManager", Name: "web"}), nil},
		"a label of one and the name of another": {podOf("web-1", map[string]string{appsv1.LabelName: "my-web-2"}), []string{"my-web-2", "web"}},
		"a label of no owner and a slot's name":  {podOf("web-1", map[string]string{appsv1.LabelName: "none"}), []string{"web"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, req := range finder.ofPod(t.Context(), test.pod) {
				got = append(got, req.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("it leads to (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheOwnerOfAClaim is the one that its label names, as long as it is there.
func TestTheOwnerOfAClaim(t *testing.T) {
	finder := ownerFinder{
		reader: newCache(t, fleetOwner("web")), kind: testKind{}, watched: Watched{GVK: testGVK, NameLabel: appsv1.LabelName},
	}
	for name, want := range map[string]int{"web": 1, "gone": 0, "": 0} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "data-web-0", Labels: map[string]string{appsv1.LabelName: name},
		}}
		if got := finder.ofClaim(t.Context(), claim); len(got) != want || want > 0 && got[0].Name != name {
			t.Errorf("a claim of %q leads to %v", name, got)
		}
	}
}

// TestWhichChangesOfAClaimCount: those that the planner reads.
func TestWhichChangesOfAClaimCount(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   bool
	}{
		"nothing":       {func(*corev1.PersistentVolumeClaim) {}, false},
		"it is bound":   {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase, c.ResourceVersion = corev1.ClaimBound, "2" }, false},
		"it goes":       {func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }, true},
		"another owner": {func(c *corev1.PersistentVolumeClaim) { c.Labels[appsv1.LabelUID] = "other" }, true},
		"another name":  {func(c *corev1.PersistentVolumeClaim) { c.Labels[appsv1.LabelName] = "other" }, true},
		"a mark":        {func(c *corev1.PersistentVolumeClaim) { c.Annotations[appsv1.AnnotationCondemnedBy] = "me" }, true},
		"a stand-in's":  {func(c *corev1.PersistentVolumeClaim) { c.Annotations[appsv1.AnnotationSurge] = "true" }, true},
		"a note":        {func(c *corev1.PersistentVolumeClaim) { c.Annotations["note"] = "x" }, false},
	} {
		before := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "data-web-0", UID: "uid", ResourceVersion: "1",
			Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: "me"}, Annotations: map[string]string{},
		}}
		after := before.DeepCopy()
		test.change(after)
		if got := claimChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhichChangesOfARevisionCount: those that another process made.
func TestWhichChangesOfARevisionCount(t *testing.T) {
	ledger := observe.NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	revision := func(version string, owner ...metav1.OwnerReference) *kappsv1.ControllerRevision {
		return &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-1", UID: "a", ResourceVersion: version, OwnerReferences: owner,
		}}
	}
	controller := controlledBy("apps.mycompany.com/v1", "PodManager", "web")
	ours := revision("7", controller)
	passes := func(r *kappsv1.ControllerRevision) bool {
		return revisionChanged(ledger).Create(event.CreateEvent{Object: r})
	}
	if !passes(ours) {
		t.Error("one that another process made does not pass")
	}
	ledger.Wrote("me", ours)
	if passes(ours) {
		t.Error("our own passes")
	}
	if !passes(revision("8", controller)) {
		t.Error("ours, which another process has changed, does not pass")
	}
	if !passes(revision("7")) {
		t.Error("one without a controller does not pass")
	}
	ledger.TookAway("me", ours)
	if passes(revision("9", controller)) {
		t.Error("one that we have deleted passes")
	}
	finder := ownerFinder{watched: Watched{GVK: testGVK, NameLabel: appsv1.LabelName}}
	if got := finder.ofController(t.Context(), ours); len(got) != 1 || got[0].Name != "web" {
		t.Errorf("it leads to %v", got)
	}
	for _, other := range []*kappsv1.ControllerRevision{
		revision("7"), revision("7", controlledBy("apps/v1", "StatefulSet", "web")), revision("7", controlledBy("example.com/v1", "PodManager", "web")),
	} {
		if got := finder.ofController(t.Context(), other); got != nil {
			t.Errorf("one of %v leads to %v", other.OwnerReferences, got)
		}
	}
}

// TestOwnersOfANode: every fleet with a pod on it, once.
func TestOwnersOfANode(t *testing.T) {
	on := func(node string, p *corev1.Pod) client.Object {
		p.Spec.NodeName = node
		return p
	}
	ref := func(name string) metav1.OwnerReference {
		return controlledBy("apps.mycompany.com/v1", "PodManager", name)
	}
	finder := ownerFinder{
		reader: newCache(t, fleetOwner("web"), fleetOwner("shop"),
			on("n", podOf("web-0", nil, ref("web"))), on("n", podOf("web-1", nil, ref("web"))),
			on("n", podOf("shop-0", nil, ref("shop"))), on("other", podOf("shop-1", nil, ref("shop"))),
			on("n", podOf("stranger", nil))),
		kind: testKind{}, watched: Watched{GVK: testGVK, NameLabel: appsv1.LabelName},
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	got := finder.ofNode(t.Context(), node)
	want := []reconcile.Request{request("ns", "shop"), request("ns", "web")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhoIsWokenByANode: the owners of its pods at once, and a moment later those
// that depend on which nodes take new pods, wherever their pods are. At the start,
// when every node is new, none is.
func TestWhoIsWokenByANode(t *testing.T) {
	on := podOf("web-0", nil, controlledBy("apps.mycompany.com/v1", "PodManager", "web"))
	on.Spec.NodeName = "n"
	m := newMemories()
	finder := ownerFinder{
		reader: newCache(t, fleetOwner("web"), on), kind: testKind{},
		watched: Watched{GVK: testGVK, NameLabel: appsv1.LabelName}, memories: m,
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	wake := finder.wakeForNodes()
	expect := func(what string, send func(q *wakes), want wakes) {
		t.Helper()
		got := wakes{}
		send(&got)
		if diff := cmp.Diff(want.woken, got.woken); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	created := func(q *wakes) { wake.Create(t.Context(), event.CreateEvent{Object: n}, q) }
	updated := func(q *wakes) { wake.Update(t.Context(), event.UpdateEvent{ObjectOld: n, ObjectNew: n}, q) }
	deleted := func(q *wakes) { wake.Delete(t.Context(), event.DeleteEvent{Object: n}, q) }

	expect("a new node at the start", created, wakes{})
	expect("a changed node", updated, wakes{woken: []string{"web after 0s"}})
	spread := fleetOwner("spread")
	m.measure(m.of(spread), size{countsNodes: true})
	m.measure(m.of(fleetOwner("other")), size{})
	expect("a new node", created, wakes{woken: []string{"spread after 5s"}})
	expect("a changed node", updated, wakes{woken: []string{"web after 0s", "spread after 5s"}})
	expect("the end of a node", deleted, wakes{woken: []string{"web after 0s", "spread after 5s"}})
	m.measure(m.of(spread), size{})
	expect("a new node, when none depends on it any more", created, wakes{})
}

// wakes is a queue that notes which owner is added, and when.
type wakes struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	woken []string
}

func (w *wakes) Add(req reconcile.Request) { w.AddAfter(req, 0) }

func (w *wakes) AddAfter(req reconcile.Request, wait time.Duration) {
	w.woken = append(w.woken, fmt.Sprintf("%s after %s", req.Name, wait))
}
