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

package binary

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/proxy"
)

// contender is a controller that keeps pods, and its kind.
type contender struct {
	name  string
	rules oracle.Rules
	// leases is the namespace of its leader's lease.
	leases string
	open   func(t *testing.T, g *ground, elect bool) *operators
	owner  func(namespace string) client.Object
	scale  func(owner client.Object, n int32)
	// ready: the owner itself says that it has n pods, all ready.
	ready func(owner client.Object, n int32) error
}

func podManager() contender {
	return contender{
		name: "PodManager", leases: testkit.OperatorNamespace,
		open: func(t *testing.T, g *ground, elect bool) *operators {
			t.Helper()
			return newOperators(t, g, fmt.Sprintf("--leader-elect=%t", elect), "--leader-election-namespace="+testkit.OperatorNamespace)
		},
		owner: func(namespace string) client.Object { return testkit.MakePodManager(namespace, "web").Obj() },
		scale: func(owner client.Object, n int32) { owner.(*appsv1.PodManager).Spec.Replicas = &n },
		ready: func(owner client.Object, n int32) error {
			pm := owner.(*appsv1.PodManager)
			if s := pm.Status; s.ObservedGeneration != pm.Generation || s.Replicas != n || s.CurrentReplicas != n || s.AvailableReplicas != n ||
				s.TerminatingReplicas != 0 || meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling) {
				return fmt.Errorf("%d of %d pods are available, %d wanted", s.AvailableReplicas, s.Replicas, n)
			}
			return nil
		},
	}
}

func replicaSet() contender {
	return contender{
		name: "ReplicaSet", leases: metav1.NamespaceDefault, rules: oracle.Rules{Kind: "ReplicaSet"},
		open: newReplicaSetController,
		owner: func(namespace string) client.Object {
			labels := map[string]string{"app": "web"}
			rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
			rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
			rs.Spec.Template.Labels = labels
			rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
			return rs
		},
		scale: func(owner client.Object, n int32) { owner.(*kappsv1.ReplicaSet).Spec.Replicas = &n },
		ready: func(owner client.Object, n int32) error {
			rs := owner.(*kappsv1.ReplicaSet)
			if s := rs.Status; s.ObservedGeneration != rs.Generation || s.Replicas != n || s.AvailableReplicas != n ||
				ptr.Deref(s.TerminatingReplicas, 0) != 0 {
				return fmt.Errorf("%d of %d pods are available, %d wanted", s.AvailableReplicas, s.Replicas, n)
			}
			return nil
		},
	}
}

// adminLogin is a ServiceAccount's that may do everything: a proxy passes a
// token on, and not a certificate.
func adminLogin(t *testing.T, g *ground) *rest.Config {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: adminAccount}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: adminAccount},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: adminAccount}},
	}
	for _, obj := range []client.Object{account, binding} {
		if err := client.IgnoreAlreadyExists(g.Client.Create(t.Context(), obj)); err != nil {
			t.Fatal(err)
		}
	}
	config, err := g.Cluster.RESTConfigForServiceAccount(t.Context(), account.Namespace, adminAccount, 7200)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

const adminAccount = "faults-admin"

// newReplicaSetController is kube-controller-manager with one controller.
func newReplicaSetController(t *testing.T, g *ground, elect bool) *operators {
	t.Helper()
	o := newOperators(t, g)
	login := filepath.Join(t.TempDir(), "kubeconfig")
	if err := g.Cluster.WriteKubeconfig(login, o.Login(adminLogin(t, g))); err != nil {
		t.Fatal(err)
	}
	o.path = filepath.Join(testkit.Root(), "bin", "kube-controller-manager")
	o.args = []string{
		"--kubeconfig=" + login, "--controllers=replicaset-controller", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=2000",
		fmt.Sprintf("--leader-elect=%t", elect), "--leader-elect-resource-namespace=" + metav1.NamespaceDefault, "--leader-elect-resource-name=replicaset-under-test",
	}
	return o
}

// bout is one contender in one case, once.
type bout struct {
	contender
	*operators
	t         *testing.T
	namespace string
	elect     bool
	verdict   verdict
}

// verdict is how a bout went.
type verdict struct {
	rules   map[string]int
	created int // pods beyond those of a run without faults
	deleted int
}

// The bout: 2 pods, then 12, then 3.
const low, high, end = 2, 12, 3

// deadline is when L1 is broken.
const deadline = 2 * time.Minute

// reach waits for n ready pods. It does not end the test: the other contender
// may well not get there.
func (b *bout) reach(n int32) bool {
	b.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(b.t.Context(), 20*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		obj := b.owner(b.namespace)
		if last = b.g.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); last == nil {
			last = b.ready(obj, n)
		}
		return last == nil, nil
	})
	if err != nil {
		b.verdict.rules["L1"]++
		b.t.Logf("L1: %v", last)
	}
	return err == nil
}

func (b *bout) want(n int32) {
	b.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		obj := b.owner(b.namespace)
		if err := b.g.Client.Get(b.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		b.scale(obj, n)
		return b.g.Client.Update(b.t.Context(), obj)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// version is the version of the newest list of pods.
func (b *bout) version() string {
	b.t.Helper()
	var pods corev1.PodList
	if err := b.g.Client.List(b.t.Context(), &pods); err != nil {
		b.t.Fatal(err)
	}
	return pods.ResourceVersion
}

// leader waits for a leader other than the given one.
func (b *bout) leader(not string) string {
	b.t.Helper()
	name := ""
	testkit.Eventually(b.t, "there is a leader", func() error {
		var leases coordinationv1.LeaseList
		if err := b.g.Client.List(b.t.Context(), &leases, client.InNamespace(b.leases)); err != nil {
			return err
		}
		for i := range leases.Items {
			if name = ptr.Deref(leases.Items[i].Spec.HolderIdentity, ""); name != "" && name != not {
				return nil
			}
		}
		return fmt.Errorf("%d leases, the last is held by %q", len(leases.Items), name)
	})
	return name
}

// match is a case: what goes wrong while the fleet is scaled to n pods, by
// requests of the given method.
type match struct {
	name  string
	elect bool
	play  func(b *bout, n int32, method string)
}

func matches() []match {
	return []match{
		{name: "killed after a write that was not answered", play: (*bout).crash},
		{name: "time-outs with effect", play: (*bout).timeouts},
		{name: "restart on an API server that is behind", play: (*bout).stale},
		{name: "split brain", elect: true, play: (*bout).split},
	}
}

// crash: the process is killed when the k-th write is done.
func (b *bout) crash(n int32, method string) {
	fired := make(chan struct{})
	b.After(1+b.g.rng.IntN(end+low), method, "pods", func() {
		b.killFirst()
		close(fired)
	})
	b.want(n)
	b.await(fired)
	b.start()
	b.reach(n)
}

func (b *bout) await(fired chan struct{}) {
	b.t.Helper()
	testkit.Eventually(b.t, "the write is sent", func() error {
		select {
		case <-fired:
			return nil
		default:
			return errors.New("not yet")
		}
	})
}

func (b *bout) timeouts(n int32, _ string) {
	b.Play(proxy.Faults{Unanswered: 0.3})
	b.want(n)
	b.reach(n)
	b.Play(proxy.Faults{})
	b.reach(n)
}

// stale: it is restarted when all is well, and the first list of pods that it
// gets is from before. A list that asks for the newest state gets it.
func (b *bout) stale(n int32, _ string) {
	before := b.version()
	b.want(n)
	if !b.reach(n) {
		return
	}
	b.killFirst()
	dated := b.Seen()[proxy.Dated]
	b.Backdate("pods", before)
	b.start()
	testkit.Eventually(b.t, "it has read an old list", func() error {
		if b.Seen()[proxy.Dated] == dated {
			return errors.New("not yet")
		}
		return nil
	})
	b.g.wait(b.t.Context(), 3*time.Second)
	b.Thaw()
	b.g.wait(b.t.Context(), quiet)
	b.reach(n)
}

// split: the leader is stopped when the k-th write is done, another takes over
// and finishes, and then the first wakes up.
func (b *bout) split(n int32, method string) {
	holder := b.leader("")
	first, fired := b.alive[0], make(chan struct{})
	b.start()
	b.After(1+b.g.rng.IntN(end+low), method, "pods", func() {
		if err := first.Pause(); err != nil {
			b.t.Error(err)
		}
		close(fired)
	})
	b.want(n)
	b.await(fired)
	b.leader(holder)
	b.reach(n)
	if err := first.Resume(); err != nil {
		b.t.Fatal(err)
	}
	b.g.wait(b.t.Context(), 2*time.Second)
	b.reach(n)
	b.killFirst() // or it is gone already, because it lost its lease
}

// fight plays one bout.
func fight(t *testing.T, g *ground, c contender, m match) verdict {
	t.Helper()
	b := &bout{contender: c, operators: c.open(t, g, m.elect), t: t, namespace: g.Namespace(t), elect: m.elect}
	b.verdict.rules = map[string]int{}
	b.start()
	obj := b.owner(b.namespace)
	b.scale(obj, low)
	if err := g.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	if !b.reach(low) {
		t.Fatal("it never began")
	}
	m.play(b, high, http.MethodPost)
	m.play(b, end, http.MethodDelete)
	found := b.stayQuiet(t, b.namespace)
	history, _ := g.story(t, b.namespace)
	b.Sign(history)
	found = append(found, oracle.Check(history, c.rules)...)
	for _, v := range found {
		b.verdict.rules[v.Rule]++
		t.Log(v)
	}
	for key, n := range oracle.Tally(history) {
		if key[:6] == "create" {
			b.verdict.created += n
		} else {
			b.verdict.deleted += n
		}
	}
	b.verdict.created -= high
	b.verdict.deleted -= high - end
	if b.verdict.created != 0 || b.verdict.deleted != 0 {
		b.verdict.rules["S4"]++
	}
	return b.verdict
}
