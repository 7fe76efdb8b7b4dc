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
	"slices"
	"strconv"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/proxy"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

// plot is a story in a namespace of its own, which ends when the fleet is as
// it should be.
type plot struct {
	*ground
	*operators
	t         *testing.T
	namespace string
	rules     oracle.Rules
	nodes     []oracle.Revision
}

// stories are what users, nodes and other people's webhooks do.
func stories() map[string]func(*plot) {
	return map[string]func(*plot){
		"a quota is exceeded and lifted":                quotaLifted,
		"the namespace is deleted in mid-rollout":       namespaceDeleted,
		"a foreign webhook rejects pods":                podsRejected,
		"a foreign webhook changes pods":                podsMutated,
		"our own webhook is down":                       ownWebhookDown,
		"a node is lost":                                nodeLost,
		"a pod cannot go for a foreign finalizer":       podHeld,
		"the finalizer is stripped":                     finalizerStripped,
		"pods have other owners, or two, or a dead one": otherOwners,
	}
}

// TestStories plays them all at the same time, while requests get lost.
func TestStories(t *testing.T) {
	g := field
	o := newOperators(t, g)
	o.start()
	o.supervise()
	o.Play(proxy.Faults{Lost: 0.05, Unanswered: 0.05, Broken: 0.05})
	start := time.Now()
	violations := 0
	found := make(chan int, len(stories()))
	t.Run("stories", func(t *testing.T) {
		for name, tell := range stories() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() {
					if t.Failed() {
						found <- 1
					}
				})
				p := &plot{ground: g, operators: o, t: t, namespace: g.Namespace(t)}
				tell(p)
				o.judge(t, p.namespace, p.rules, nil, p.nodes...)
			})
		}
	})
	close(found)
	for n := range found {
		violations += n
	}
	line := summary.Line{
		Tier: "3 real program, among users and webhooks", Cases: len(stories()), Violations: violations, Longest: time.Since(start),
		Seed: g.seed, Note: "recovery is all of them together",
	}
	if err := summary.Write("3-stories", line); err != nil {
		t.Error(err)
	}
	t.Logf("%+v; %v", line, o.Seen())
}

func (p *plot) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *plot) create(obj client.Object) {
	p.t.Helper()
	p.must(p.Client.Create(p.t.Context(), obj))
}

func (p *plot) fleet(replicas int32) *appsv1.PodManager {
	p.t.Helper()
	pm := testkit.MakePodManager(p.namespace, "web").Replicas(replicas).Obj()
	p.create(pm)
	return pm
}

func (p *plot) ready() { p.t.Helper(); p.settle(p.t, p.namespace) }

func (p *plot) change(what string, do func(*appsv1.PodManager)) {
	p.t.Helper()
	p.edit(p.t, p.namespace, what, do)
}

// condition waits until the fleet says so.
func (p *plot) condition(kind, reason string) {
	p.t.Helper()
	testkit.Eventually(p.t, kind+" for "+reason, func() error {
		pm := &appsv1.PodManager{}
		if err := p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web"}, pm); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(pm.Status.Conditions, kind); c == nil || c.Reason != reason {
			return fmt.Errorf("it says %v", pm.Status.Conditions)
		}
		return nil
	})
}

// gone waits until an object is not there any more.
func (p *plot) gone(obj client.Object) {
	p.t.Helper()
	testkit.Eventually(p.t, obj.GetName()+" is gone", func() error {
		err := p.Client.Get(p.t.Context(), client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("it is there, finalizers %v", obj.GetFinalizers()), err)
	})
}

// goneForGood: the garbage collector has taken the owner's revisions, too.
func (p *plot) goneForGood(pm *appsv1.PodManager) {
	p.t.Helper()
	p.gone(pm)
	testkit.Eventually(p.t, "its revisions are gone", func() error {
		var list kappsv1.ControllerRevisionList
		if err := p.Client.List(p.t.Context(), &list, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], pm) {
				return fmt.Errorf("%s is there", list.Items[i].Name)
			}
		}
		return nil
	})
}

func (p *plot) patch(obj client.Object, body string) {
	p.t.Helper()
	p.must(p.Client.Patch(p.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(body))))
}

// pod waits for a pod: a condition about one slot says nothing about the request
// that makes the pod of another, which may have got lost.
func (p *plot) pod(name string) *corev1.Pod {
	p.t.Helper()
	pod := &corev1.Pod{}
	testkit.Eventually(p.t, "there is a pod "+name, func() error {
		return p.Client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, pod)
	})
	return pod
}

func quotaLifted(p *plot) {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}
	p.create(quota)
	testkit.Eventually(p.t, "the quota is in force", func() error {
		if err := p.Client.Get(p.t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	p.fleet(5)
	p.condition(appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded)
	p.patch(quota, `{"spec":{"hard":{"pods":"20"}}}`)
	p.ready()
}

func namespaceDeleted(p *plot) {
	pm := p.fleet(4)
	p.ready()
	p.change("roll out", func(pm *appsv1.PodManager) {
		pm.Spec.Image, pm.Spec.Update.Strategy, pm.Spec.Replicas = "nginx:1.28", appsv1.UpdateRecreate, ptr.To[int32](7)
	})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	p.must(p.Client.Delete(p.t.Context(), ns))
	p.gone(pm)
	p.gone(ns)
	// The namespace controller deletes what is in it in an order of its own.
	p.rules.FinalizerStripped = true
}

func podsRejected(p *plot) {
	hook := p.webhook(func(*corev1.Pod) (string, []map[string]any) { return "not on my watch", nil })
	p.fleet(3)
	p.condition(appsv1.ConditionStalled, appsv1.ReasonPodsRefused)
	p.must(p.Client.Delete(p.t.Context(), hook))
	p.ready()
}

// podsMutated: what a webhook adds to pods is not taken for a difference to the
// template, in particular not for one to roll out.
func podsMutated(p *plot) {
	p.rules.Mutated = true
	p.webhook(func(pod *corev1.Pod) (string, []map[string]any) {
		return "", []map[string]any{
			{"op": "add", "path": "/metadata/annotations", "value": map[string]string{"mesh.example.com/injected": "true"}},
			{"op": "add", "path": "/metadata/labels/mesh", "value": "on"},
			{"op": "add", "path": "/spec/containers/-", "value": map[string]string{"name": "mesh", "image": "mesh:1"}},
			{"op": "replace", "path": "/spec/containers/0/image", "value": "mirror.example.com/" + pod.Spec.Containers[0].Image},
		}
	})
	p.fleet(3)
	p.ready()
	before := p.uids()
	p.change("roll out in place", func(pm *appsv1.PodManager) { pm.Spec.Image = "nginx:1.28" })
	p.ready()
	if got := p.uids(); !slices.Equal(before, got) {
		p.t.Errorf("pods were replaced: %v, now %v", before, got)
	}
	p.change("scale", func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](5) })
	p.ready()
	if n := len(p.pod("web-4").Spec.Containers); n != 2 {
		p.t.Errorf("pod web-4 has %d containers: the webhook had no say", n)
	}
}

func (p *plot) uids() []types.UID {
	p.t.Helper()
	var list corev1.PodList
	p.must(p.Client.List(p.t.Context(), &list, client.InNamespace(p.namespace)))
	var uids []types.UID
	for i := range list.Items {
		uids = append(uids, list.Items[i].UID)
	}
	slices.Sort(uids)
	return uids
}

// ownWebhookDown: users cannot change PodManagers then, where the webhook fails
// closed; but pods that are lost are replaced, and nothing is stuck.
func ownWebhookDown(p *plot) {
	pm := p.fleet(2)
	p.ready()
	address, err := testkit.FreeAddress()
	p.must(err)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "down-" + p.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:              "validate.v1.podmanager.apps.mycompany.com",
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + address + "/")},
			FailurePolicy:     ptr.To(admissionregistrationv1.Fail),
			NamespaceSelector: p.onlyHere(), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](1),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps.mycompany.com"}, APIVersions: []string{"*"}, Resources: []string{"podmanagers"}},
			}},
		}},
	}
	p.create(hook)
	p.t.Cleanup(func() { _ = p.Client.Delete(context.Background(), hook) })
	testkit.Eventually(p.t, "users are refused", func() error {
		pm := testkit.MakePodManager(p.namespace, "other").Obj()
		err := p.Client.Create(p.t.Context(), pm, client.DryRunAll)
		if err == nil {
			return errors.New("a PodManager can be created")
		}
		return nil
	})
	lost := p.pod("web-1")
	p.must(p.Client.Delete(p.t.Context(), lost))
	testkit.Eventually(p.t, "the pod is replaced", func() error {
		pod := &corev1.Pod{}
		if err := p.Client.Get(p.t.Context(), client.ObjectKeyFromObject(lost), pod); err != nil {
			return err
		}
		if pod.UID == lost.UID {
			return errors.New("it is the old one")
		}
		return nil
	})
	p.ready()
	// The finalizer is on the object and not in its status, so taking it off
	// is an update of a PodManager. It waits until the webhook is back.
	p.must(p.Client.Delete(p.t.Context(), pm))
	testkit.Eventually(p.t, "the pods are gone", func() error {
		if n := len(p.uids()); n > 0 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	p.must(p.Client.Delete(p.t.Context(), hook))
	p.goneForGood(pm)
}

// seesNodeGo notes for the judge which nodes there are, and that one is about to go.
func (p *plot) seesNodeGo(name string) {
	p.t.Helper()
	var list corev1.NodeList
	p.must(p.Client.List(p.t.Context(), &list))
	version, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	p.must(err)
	for i := range list.Items {
		p.nodes = append(p.nodes, oracle.Revision{Version: 1, Object: &list.Items[i]})
		if list.Items[i].Name == name {
			p.nodes = append(p.nodes, oracle.Revision{Version: version, Object: &list.Items[i], Gone: true})
		}
	}
}

func nodeLost(p *plot) {
	labels := map[string]string{"pool": p.namespace}
	// The pods of other stories stay off nodes that go.
	taint := corev1.Taint{Key: "pool", Value: p.namespace, Effect: corev1.TaintEffectNoSchedule}
	p.must(p.Cluster.CreateNodes(p.t.Context(), localkube.NodeOptions{
		Count: 2, Prefix: p.namespace + "-", Labels: labels, Taints: []corev1.Taint{taint},
	}))
	p.t.Cleanup(func() {
		_ = p.Client.DeleteAllOf(context.Background(), &corev1.Node{}, client.MatchingLabels(labels))
	})
	pm := testkit.MakePodManager(p.namespace, "web").Replicas(4).PodSpec(func(s *corev1.PodSpec) {
		s.NodeSelector = labels
		s.Tolerations = []corev1.Toleration{{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}}
	}).
		Annotate("localkube.mycompany.com/termination-delay", "1h").Obj()
	p.create(pm)
	p.ready()
	node := p.pod("web-0").Spec.NodeName
	p.seesNodeGo(node)
	p.must(p.Client.Delete(p.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}))
	testkit.Eventually(p.t, "four pods run, none on the lost node", func() error {
		var list corev1.PodList
		if err := p.Client.List(p.t.Context(), &list, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if list.Items[i].Spec.NodeName == node {
				return fmt.Errorf("pod %s is", list.Items[i].Name)
			}
			if phase := list.Items[i].Status.Phase; phase != corev1.PodRunning {
				return fmt.Errorf("pod %s is %s", list.Items[i].Name, phase)
			}
		}
		if n := len(list.Items); n != 4 {
			return fmt.Errorf("there are %d pods", n)
		}
		return nil
	})
	p.ready()
}

// podHeld: a successor under the same name waits, and says so; the owner's own
// end waits too.
func podHeld(p *plot) {
	pm := p.fleet(3)
	p.ready()
	pod := p.pod("web-1")
	p.patch(pod, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	p.must(p.Client.Delete(p.t.Context(), pod))
	p.condition(appsv1.ConditionReconciling, appsv1.ReasonWaitingForTermination)
	p.change("scale while it hangs", func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](5) })
	testkit.Eventually(p.t, "the others are there", func() error {
		if n := len(p.uids()); n != 5 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	p.patch(pod, `{"metadata":{"finalizers":null}}`)
	p.ready()
	pod = p.pod("web-4")
	p.patch(pod, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	p.must(p.Client.Delete(p.t.Context(), pm))
	testkit.Eventually(p.t, "all but the held pod are gone", func() error {
		if n := len(p.uids()); n != 1 {
			return fmt.Errorf("%d pods", n)
		}
		return p.Client.Get(p.t.Context(), client.ObjectKeyFromObject(pm), pm)
	})
	p.patch(pod, `{"metadata":{"finalizers":null}}`)
	p.goneForGood(pm)
}

// finalizerStripped: the owner goes at once, and the garbage collector takes
// what it leaves. A successor of the same name starts clean.
func finalizerStripped(p *plot) {
	p.rules.FinalizerStripped = true
	pm := p.fleet(3)
	p.ready()
	pod := p.pod("web-2")
	p.patch(pod, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	p.must(p.Client.Delete(p.t.Context(), pm))
	p.patch(pm, `{"metadata":{"finalizers":null}}`)
	p.gone(pm)
	p.fleet(3)
	p.patch(pod, `{"metadata":{"finalizers":null}}`)
	p.ready()
}

// otherOwners: whatever the labels say, a pod with another controller is never
// written (S3); a second owner that controls nothing makes no difference.
func otherOwners(p *plot) {
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "other"}}
	p.create(other)
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: other.Name, UID: other.UID}
	foreign := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: "web-1", OwnerReferences: []metav1.OwnerReference{ref},
			Labels: map[string]string{appsv1.LabelName: "web"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}}},
	}
	foreign.OwnerReferences[0].Controller = ptr.To(true)
	p.create(foreign)
	p.fleet(3)
	p.condition(appsv1.ConditionStalled, appsv1.ReasonNameTaken)
	shared := p.pod("web-0")
	refs := append(slices.Clone(shared.OwnerReferences), ref)
	shared.OwnerReferences = refs
	testkit.Eventually(p.t, "a second owner is added", func() error {
		pod := &corev1.Pod{}
		if err := p.Client.Get(p.t.Context(), client.ObjectKeyFromObject(shared), pod); err != nil {
			return err
		}
		pod.OwnerReferences = refs
		return p.Client.Update(p.t.Context(), pod)
	})
	if got := p.pod("web-1"); got.UID != foreign.UID || got.DeletionTimestamp != nil || len(got.OwnerReferences) != 1 {
		p.t.Errorf("the foreign pod was touched: %v", got.ObjectMeta)
	}
	p.must(p.Client.Delete(p.t.Context(), foreign))
	p.ready()
	if got := p.pod("web-0"); got.UID != shared.UID || len(got.OwnerReferences) != 2 {
		p.t.Errorf("the pod with two owners was touched: %v", got.OwnerReferences)
	}
	p.change("delete goes on", func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](0) })
	p.ready()
}
