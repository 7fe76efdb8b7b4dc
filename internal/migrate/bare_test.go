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

package migrate

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// What the scheduler and admission gave one pod is not asked for by the others.
func TestTheTemplateOfABarePod(t *testing.T) {
	pod := aPod(func(p *corev1.Pod) {
		p.Labels = map[string]string{
			"app": "web", "topology.kubernetes.io/zone": "a", "pod-template-hash": "x", "podmanager": "other", "stage": "prod",
		}
		p.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "team": "shop", appsv1.AnnotationInPlace: "[]"}
		p.Spec.NodeName, p.Spec.Priority = "node-1", ptr.To[int32](0)
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}, {ConditionType: appsv1.GateInService}, {ConditionType: "example.com/warm"}}
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: corev1.TaintNodeNotReady})
		p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-x"}, {Name: "data"}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "kube-api-access-x"}, {Name: "data"}}
	})
	got := bareTemplate(pod, labels.SelectorFromSet(labels.Set{"app": "web"}))
	want := aTemplate()
	want.ObjectMeta = metav1.ObjectMeta{Labels: map[string]string{"app": "web", "stage": "prod"}, Annotations: map[string]string{"team": "shop"}}
	want.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/warm"}} // nothing opens the others of a new pod
	want.Spec.Volumes = []corev1.Volume{{Name: "data"}}
	want.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data"}}
	if !sameTemplate(got, want) {
		t.Errorf("got  %+v\nwant %+v", content(got), content(want))
	}
}

// Pods of a StatefulSet whose name is that of the PodManager were taken for pods without a
// controller. An interrupted run finds pods that the PodManager has already.
func TestBarePodsBelongToNoOther(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	for kind, version := range map[string]string{"StatefulSet": "apps/v1", "PodManager": appsv1.GroupVersion.String()} {
		pod := aPod(func(p *corev1.Pod) {
			p.Namespace = "shop"
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "web", UID: "x", Controller: ptr.To(true)}}
		})
		_, err := ReadBare(t.Context(), fakeClient(t, pod), key, labels.SelectorFromSet(labels.Set{"app": "web"}))
		if refused := err != nil && strings.Contains(err.Error(), "belongs to "+kind); refused != (kind == "StatefulSet") {
			t.Errorf("of a %s: %v", kind, err)
		}
	}
}

// A pod that has ended is not started again as it is, and the gates of OpenKruise are left out.
func TestWhatABarePodLacksIsSaid(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	pod := aPod(func(p *corev1.Pod) {
		p.Namespace, p.Status.Phase = "shop", corev1.PodFailed
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "InPlaceUpdateReady"}}
	})
	w, err := ReadBare(t.Context(), fakeClient(t, pod), key, labels.SelectorFromSet(labels.Set{"app": "web"}))
	if err != nil {
		t.Fatal(err)
	}
	if want := "pod web-1 has ended (Failed), and the PodManager would make another"; !strings.HasPrefix(w.Obstacle(), want) {
		t.Errorf("the obstacle is %q, want %q", w.Obstacle(), want)
	}
	if !slices.ContainsFunc(w.Losses, func(lost string) bool { return strings.Contains(lost, "InPlaceUpdateReady") }) {
		t.Errorf("lost %q", w.Losses)
	}
}

// The hostname of a pod, by which others may know it, and its debugging containers were dropped
// without a word.
func TestWhatABarePodHasForItselfIsListed(t *testing.T) {
	pod := aPod(func(p *corev1.Pod) {
		p.Namespace, p.Spec.Hostname = "shop", "db-0"
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{}}
	})
	w, err := ReadBare(t.Context(), fakeClient(t, pod), client.ObjectKey{Namespace: "shop", Name: "web"}, labels.SelectorFromSet(labels.Set{"app": "web"}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"spec.hostname db-0 of pod web-1: a new pod has its own name for one", "spec.ephemeralContainers of pod web-1: a new pod has none"}
	if !slices.Equal(w.Losses, want) {
		t.Errorf("lost %q, want %q", w.Losses, want)
	}
}

// The record is of the pods that were taken over. A run for others counted these as gone, or, after
// an interruption, forgot the first ones, which the PodManager then deleted as too many.
func TestARecordIsOfThePodsThatWereAskedFor(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	pod := aPod(func(p *corev1.Pod) { p.Namespace = "shop" })
	for name, test := range map[string]struct {
		selector string
		stage    Stage
		want     string
	}{
		"of the same labels, interrupted":   {"app=web", Prepared, ""},
		"of others, interrupted":            {"app=mail", Prepared, "PodManager web took over the pods with the labels app=mail"},
		"of others":                         {"app=mail", Taken, "PodManager web took over the pods with the labels app=mail"},
		"of the same labels, and a new pod": {"app=web", Taken, "PodManager web took over pods with these labels before, and web-1 came since"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &permitted{Client: fakeClient(t, pod.DeepCopy(), &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})}
			w, err := ReadBare(t.Context(), c, key, labels.SelectorFromSet(labels.Set{"app": "web"}))
			if err != nil {
				t.Fatal(err)
			}
			s, err := newStore(t.Context(), c, key, &Record{Stage: test.stage, Target: Target{Resource: BarePods.id(), Name: "web", Selector: test.selector}}, "me")
			if err != nil {
				t.Fatal(err)
			}
			_, err = (&Mover{Client: c, Say: t.Logf}).begin(t.Context(), BarePods, key, s, w)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// operator imitates what the operator does with a PodManager that is given back. What is only
// tried does not reach the controllers.
type operator struct {
	client.Client // with the controllers
	server        client.Client
}

func (c *operator) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if slices.Contains(options, client.CreateOption(client.DryRunAll)) {
		return c.server.Create(ctx, obj, options...)
	}
	return c.Client.Create(ctx, obj, options...)
}

func (c *operator) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.server.Patch(ctx, obj, patch, options...); err != nil {
		return err
	}
	pm, ok := obj.(*appsv1.PodManager)
	if !ok || pm.Annotations[appsv1.AnnotationTakeOver] == "" || len(pm.Status.Conditions) > 0 {
		return nil
	}
	pm.Status.Conditions = []metav1.Condition{{Type: "Ready", Reason: appsv1.ReasonTakingOver, ObservedGeneration: pm.Generation}}
	return c.server.Update(ctx, pm)
}

func (c *operator) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if _, ok := obj.(*appsv1.PodManager); ok {
		var pods corev1.PodList
		if err := c.List(ctx, &pods); err != nil {
			return err
		}
		for i := range pods.Items {
			pods.Items[i].OwnerReferences = nil
			if err := c.server.Update(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
	}
	return c.server.Delete(ctx, obj, options...)
}

// aManagerOfBarePods is a cluster with a PodManager that was made of pods without a controller.
func aManagerOfBarePods(t *testing.T, change func(*corev1.Pod), others ...client.Object) client.Client {
	t.Helper()
	template := plainest()
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "pm"}}
	pm.Spec.Template, pm.Spec.Replicas = &template, ptr.To[int32](1)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-a", Labels: podLabels(pm, "r")}, Spec: *template.Spec.DeepCopy()}
	pod.Labels["app"] = "web"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pm, appsv1.GroupVersion.WithKind("PodManager"))}
	if change != nil {
		change(pod)
	}
	server := fakeClient(t, append(others, pm, pod)...)
	record := &Record{Stage: Taken, Replicas: 1, Target: Target{Resource: BarePods.id(), Name: "web", Selector: "app=web"}}
	if _, err := newStore(t.Context(), server, client.ObjectKeyFromObject(pm), record, ""); err != nil {
		t.Fatal(err)
	}
	return &permitted{Client: &operator{&kubeControllerManager{&replicaSetController{server}}, server}}
}

// The PodManager was deleted, and no Deployment was made: the pods had no owner.
func TestAManagerOfBarePodsBecomesADeployment(t *testing.T) {
	c := aManagerOfBarePods(t, nil)
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	m := &Mover{Client: c, Holder: "me", Say: t.Logf, Patience: 5 * time.Second}
	if err := m.Export(t.Context(), key, Deployments); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), key, &kappsv1.Deployment{}); err != nil {
		t.Error("the Deployment:", err)
	}
	pod := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-a"}, pod); err != nil || metav1.GetControllerOf(pod) == nil {
		t.Errorf("the pod: %v, owners %v", err, pod.OwnerReferences)
	}
}

// A ReplicaSet that came since adopted the pods, and deleted those that were too many. And nothing
// opened the readiness gate of one that was just made.
func TestBarePodsAreLeftOnlyToThemselves(t *testing.T) {
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}}
	}
	rs := aReplicaSet()
	rs.Name = "other"
	for name, test := range map[string]struct {
		c    client.Client
		want string
	}{
		"to themselves":         {aManagerOfBarePods(t, nil), ""},
		"a ReplicaSet":          {aManagerOfBarePods(t, nil, rs), "replicaset/other selects by app=web and would take the pods of pods/web"},
		"one not in service":    {aManagerOfBarePods(t, gated), "pod web-a is not in service yet"},
		"one with other labels": {aManagerOfBarePods(t, func(p *corev1.Pod) { delete(p.Labels, "app") }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			key := client.ObjectKey{Namespace: "shop", Name: "web"}
			m := &Mover{Client: test.c, Holder: "me", Say: t.Logf, Patience: 5 * time.Second}
			for i, err := range []error{m.TryGiveBack(t.Context(), key, BarePods), m.GiveBack(t.Context(), key, BarePods)} {
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
					t.Errorf("%d: got %v, want %q", i, err, test.want)
				}
			}
			pm := &appsv1.PodManager{}
			if err := test.c.Get(t.Context(), key, pm); gone(err) != (test.want == "") || len(pm.Annotations) > 0 {
				t.Errorf("the PodManager: %v, annotations %v", err, pm.Annotations)
			}
		})
	}
}

// Two that select the same pods at the same moment labelled them one after the other. The first
// PodManager made new pods in place of those that it lost.
func TestAPodIsTakenOverByOne(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"labelled": func(p *corev1.Pod) { p.Labels[appsv1.LabelName] = "other" },
		"adopted": func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: "x", Controller: ptr.To(true)}}
		},
	} {
		for moment, read := range map[string]bool{"before it is listed": false, "once it is listed": true} {
			pod := aPod(func(p *corev1.Pod) { p.Namespace = "shop" })
			c := fakeClient(t, pod)
			w := &Workload{Kind: BarePods, Namespace: "shop", Name: "web", Selector: labels.Everything()}
			r := &run{Mover: &Mover{Client: c}, Workload: w, store: &store{record: &Record{}}}
			pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "pm"}}
			listed := &corev1.Pod{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), listed); err != nil {
				t.Fatal(err)
			}
			now := listed.DeepCopy()
			change(now)
			if err := c.Update(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			label := func() error { return r.label(t.Context(), pm) }
			if read {
				label = func() error { return r.labelAll(t.Context(), pm, []client.Object{listed}) }
			}
			if err := label(); err == nil {
				t.Errorf("%s %s: it was labelled as its own", name, moment)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), now); err != nil || now.Labels[appsv1.LabelName] == "web" {
				t.Errorf("%s %s: %v, labels %v", name, moment, err, now.Labels)
			}
		}
	}
}
