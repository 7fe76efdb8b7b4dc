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

package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// cache is a fake of the manager's cache, with our indexes.
func cache(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	for _, i := range indexes([]string{appsv1.LabelName}) {
		builder.WithIndex(i.object, i.field, i.values)
	}
	return builder.Build()
}

func fleetOf(replicas int, template *corev1.PodTemplateSpec) desired.Fleet {
	want := plan.Desired{
		Namespace: "ns", Name: "web", UID: me, NamePrefix: "web", Identity: appsv1.IdentityOrdinal, Replicas: replicas,
	}
	return desired.Fleet{
		Owner: owner("1"), Desired: want, Template: template,
		Ref: podrender.Owner{
			GVK: schema.GroupVersionKind{Kind: "PodManager"}, Namespace: "ns", Name: "web", UID: me,
			Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(me)},
		},
		Selector:  labels.SelectorFromSet(labels.Set{appsv1.LabelName: "web"}),
		OrphanKey: desired.OrphanKey(appsv1.LabelName, "web"),
	}
}

func template(image string) *corev1.PodTemplateSpec { return podrender.Template("web", image, nil) }

// fleetPod is a pod with a controller, or without where uid is empty.
func fleetPod(name string, controller types.UID, label string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{appsv1.LabelName: label},
	}}
	if controller != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "PodManager", Name: "any", UID: controller, Controller: ptr.To(true)}}
	}
	return p
}

func observed(t *testing.T, f desired.Fleet, objects ...client.Object) plan.Observed {
	t.Helper()
	c := cache(t, objects...)
	seen, err := New(c, c, NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))).Observe(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return seen.Observed
}

// TestMembership: whose a pod is, by owner reference and by labels.
func TestMembership(t *testing.T) {
	elsewhere := fleetPod("web-5", me, "web")
	elsewhere.Namespace = "other"
	got := map[string]plan.Membership{}
	for _, p := range observed(t, fleetOf(3, template("app:1")),
		fleetPod("web-0", me, "web"),
		fleetPod("web-1", me, "relabelled"),
		fleetPod("web-2", "", "web"),
		fleetPod("theirs", "you", "web"),
		fleetPod("unlabelled", "", "none"),
		elsewhere,
	).Pods {
		got[p.Name] = p.Membership
	}
	want := map[string]plan.Membership{"web-0": plan.Member, "web-1": plan.Drifted, "web-2": plan.Orphan}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// made is a pod without a controller that an owner's pods' labels are on.
func made(pod *corev1.Pod, by types.UID, revision string) *corev1.Pod {
	pod.Labels[appsv1.LabelUID], pod.Labels[appsv1.LabelRevision] = string(by), revision
	return pod
}

// TestForeignPodsAreNoOrphans: a pod that carries the UID of another owner is
// that one's, unless an owner of this very name left it. What is not ours keeps
// its name.
func TestForeignPodsAreNoOrphans(t *testing.T) {
	for name, test := range map[string]struct {
		pod     *corev1.Pod
		foreign bool
	}{
		"no owner ever had it":                  {pod: fleetPod("web-0", "", "web")},
		"ours, and released before":             {pod: made(fleetPod("web-0", "", "web"), me, "web-abc")},
		"of an earlier owner of the same name":  {pod: made(fleetPod("web-0", "", "web"), "before", "web-abc")},
		"of another owner":                      {pod: made(fleetPod("web-0", "", "web"), "you", "api-abc"), foreign: true},
		"of an owner whose name begins as ours": {pod: made(fleetPod("web-0", "", "web"), "you", "web-a-abc"), foreign: true},
		"of whom, it does not say":              {pod: made(fleetPod("web-0", "", "web"), "you", ""), foreign: true},
		"of another one that lives, though it says that it is of our revision": {
			pod: made(fleetPod("web-0", "", "web"), "alive", "web-abc"), foreign: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "api", UID: "alive"}}
			got := observed(t, fleetOf(1, template("app:1")), test.pod, other)
			if foreign := len(got.Pods) == 0; foreign != test.foreign {
				t.Errorf("the pods are %v", got.Pods)
			}
			if held := len(got.HeldNames) == 1; held != test.foreign {
				t.Errorf("the names that are held are %v", got.HeldNames)
			}
		})
	}
}

// TestClaims: what the planner reads of a volume claim.
func TestClaims(t *testing.T) {
	f := fleetOf(1, template("app:1"))
	f.Desired.Claims.Templates = []string{"data"}
	ours, theirs := claim("a", "7"), claim("b", "8")
	theirs.Name, theirs.Labels[appsv1.LabelUID] = "data-web-3", "before"
	last, other := claim("c", "9"), claim("d", "9")
	last.Name, other.Name = "data-web-10", "data-web-x"
	theirs.Annotations = map[string]string{appsv1.AnnotationCondemnedBy: "before", appsv1.AnnotationSurge: "true"}
	want := []plan.Claim{ // by slot; the cache has them by name
		{Name: "data-web-x", UID: "d", ResourceVersion: "9", Slot: plan.NoSlot, Owner: me},
		{Name: "data-web-0", UID: "a", ResourceVersion: "7", Slot: 0, Owner: me},
		{Name: "data-web-3", UID: "b", ResourceVersion: "8", Slot: 3, Owner: "before", CondemnedBy: "before", Surge: true},
		{Name: "data-web-10", UID: "c", ResourceVersion: "9", Slot: 10, Owner: me},
	}
	if diff := cmp.Diff(want, observed(t, f, theirs, ours, last, other).Claims); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// stored is a revision as the API server keeps it.
func stored(t *testing.T, f desired.Fleet, name string, number int64, template *corev1.PodTemplateSpec) *kappsv1.ControllerRevision {
	t.Helper()
	raw, err := podrender.Encode(template)
	if err != nil {
		t.Fatal(err)
	}
	r := podrender.Revision(f.Ref, raw, name, number)
	r.UID = types.UID("uid-" + name)
	return r
}

// TestRevisions: a stored revision is compared by meaning, oldest first.
func TestRevisions(t *testing.T) {
	f := fleetOf(1, template("app:2"))
	foreign := stored(t, f, "theirs", 9, template("app:2"))
	foreign.OwnerReferences[0].UID = "you"
	// The same template, written by a version that knew fewer fields.
	old := stored(t, f, "two", 2, template("app:2"))
	old.Data = runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"app:2","name":"app"}]}}}}`)}
	got := observed(t, f, stored(t, f, "three", 3, template("app:3")), old, stored(t, f, "one", 1, template("app:1")), foreign)
	want := []plan.Revision{
		{Name: "one", UID: "uid-one", Number: 1}, {Name: "two", UID: "uid-two", Number: 2, Equal: true}, {Name: "three", UID: "uid-three", Number: 3},
	}
	if diff := cmp.Diff(want, got.Revisions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheNameOfANewRevisionIsFree: two templates of one hash get two names.
func TestTheNameOfANewRevisionIsFree(t *testing.T) {
	f := fleetOf(1, template("app:2"))
	plain := observed(t, f).NewRevision
	salted := observed(t, f, stored(t, f, plain, 1, template("app:1"))).NewRevision
	if salted == plain {
		t.Errorf("%s is the name of another template", salted)
	}
}

func TestARevisionThatCannotBeReadIsAnError(t *testing.T) {
	f := fleetOf(1, template("app:2"))
	broken := stored(t, f, "broken", 1, template("app:1"))
	broken.Data.Raw = []byte(`{"spec":{"template":{"spec":{"containers":"none"}}}}`)
	c := cache(t, broken)
	_, err := New(c, c, NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))).Observe(t.Context(), f)
	if err == nil {
		t.Error("a revision that cannot be read was taken for another template")
	}
}

// TestNothingIsSeenInAStaleCache: Observe itself holds the gate.
func TestNothingIsSeenInAStaleCache(t *testing.T) {
	c := cache(t)
	ledger := NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	ledger.Wrote(me, pod("a", "10"))
	_, err := New(c, c, ledger).Observe(t.Context(), fleetOf(1, template("app:1")))
	var stale *StaleError
	if !errors.As(err, &stale) || stale.What != "ns/web-0" {
		t.Errorf("Observe returns %v", err)
	}
}

// TestNodes: a pod is lost only on the API server's word.
func TestNodes(t *testing.T) {
	node := func(name string, change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
		if change != nil {
			change(n)
		}
		return n
	}
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
	}
	unreachable := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	}
	for name, test := range map[string]struct {
		bound        string
		cached, live []client.Object
		want         plan.NodeState
		zone         string
		down         bool
	}{
		"a pod without node":                    {},
		"a node that is there":                  {bound: "n", cached: []client.Object{node("n", nil)}, zone: "a"},
		"a new node that the cache lacks":       {bound: "n", live: []client.Object{node("n", nil)}, zone: "a"},
		"a node that does not exist":            {bound: "n", want: plan.NodeGone},
		"a node out of service":                 {bound: "n", cached: []client.Object{node("n", tainted)}, want: plan.NodeOutOfService, zone: "a"},
		"a node that does not answer any more":  {bound: "n", cached: []client.Object{node("n", unreachable)}, zone: "a", down: true},
		"a node that the cache has still by it": {bound: "n", cached: []client.Object{node("n", nil)}, zone: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodes(cache(t, test.cached...), cache(t, test.live...), desired.Fleet{})
			p := plan.Pod{Node: test.bound}
			if err := n.describe(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
			if p.NodeState != test.want || p.Zone != test.zone || p.NodeDown != test.down {
				t.Errorf("state %q, zone %q, down %t", p.NodeState, p.Zone, p.NodeDown)
			}
		})
	}
}

// TestANodeThatCannotBeReadIsNoProof: an error is not "not found".
func TestANodeThatCannotBeReadIsNoProof(t *testing.T) {
	n := newNodes(cache(t), refusing{}, desired.Fleet{})
	p := plan.Pod{Node: "n"}
	if err := n.describe(t.Context(), &p); err == nil || p.NodeState != plan.NodePresent {
		t.Errorf("state %q, error %v", p.NodeState, err)
	}
}

type refusing struct{ client.Reader }

func (refusing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", errors.New("no"))
}
