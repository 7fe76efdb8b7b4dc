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

package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit/specs"
)

// UnreadyImage runs and is never ready.
const UnreadyImage = "unready/app:1"

// Texts of events that count for themselves.
var (
	cascades    = []string{"background", "foreground", "orphan"}
	retemplates = []string{"label", "annotation", "env", "size", "spread"}
	holds       = []string{appsv1.LabelHoldDelete, appsv1.LabelHoldUpdate}
)

// table is every event, with how often it is drawn.
var table = slices.Concat(ofOwner, ofPods, ofNodes, ofOthers)

// onAPI are the events that can happen on a real API server.
var onAPI = slices.DeleteFunc(slices.Clone(table), func(k kind) bool { return k.where == simulated })

// undoings are the events that undo others, on the same node or pod.
var undoings = map[string]string{
	"reserve": "unreserve", "pin": "unpin", "take over": "end the take-over", "hold": "end the holds", "hold with a finalizer": "end the holds",
	"unready": "ready", "cordon": "uncordon", "drain": "uncordon", "notice": "withdraw the notice", "taint": "untaint", "node down": "node up",
	"node out of service": "node up", "node gone": "node back", "full": "room", "budget": "end the budget", "refuse": "allow",
}

// ofOwner are what users and other programs do to the PodManager.
var ofOwner = []kind{
	{"scale", 8, anywhere, func(rng *rand.Rand, e *Event) { e.N = pick[int32](rng, 0, 1, 1, 2, 3, 4, 5) }, rescale},
	{"hpa", 2, anywhere, func(rng *rand.Rand, e *Event) { e.N = pick[int32](rng, 1, -1) }, autoscale},
	{"image", 6, anywhere, func(rng *rand.Rand, e *Event) {
		e.Text = pick(rng, Old, New, New, "nginx:1.29", Broken, UnreadyImage, FailingImage)
	}, editOwner(func(_ World, e *Event, pm *appsv1.PodManager) bool {
		changed := pm.Spec.Image != e.Text
		pm.Spec.Image = e.Text
		return changed
	})},
	{"template", 5, anywhere, func(rng *rand.Rand, e *Event) { e.Text, e.N = pick(rng, retemplates...), 1+rng.Int32N(3) }, editOwner(retemplate)},
	{"edit", 16, anywhere, func(rng *rand.Rand, e *Event) {
		e.Field, e.Spec = pick(rng, specs.Fields()...), &appsv1.PodManagerSpec{}
		specs.Redraw(e.Spec, e.Field, func(_ string, n int) int { return rng.IntN(n) })
		e.Spec = e.Spec.DeepCopy()
	}, editOwner(func(_ World, e *Event, pm *appsv1.PodManager) bool { return specs.Copy(&pm.Spec, e.Spec, e.Field) })},
	{"reserve", 2, anywhere, func(rng *rand.Rand, e *Event) { e.N = 1 + rng.Int32N(4) }, editOwner(func(_ World, e *Event, pm *appsv1.PodManager) bool {
		pm.Spec.ReserveOrdinals = nil
		for ordinal := range e.N {
			pm.Spec.ReserveOrdinals = append(pm.Spec.ReserveOrdinals, ordinal)
		}
		return true
	})},
	{"unreserve", 2, anywhere, nil, editOwner(func(_ World, _ *Event, pm *appsv1.PodManager) bool {
		some := len(pm.Spec.ReserveOrdinals) > 0
		pm.Spec.ReserveOrdinals = nil
		return some
	})},
	{"delete", 3, anywhere, func(rng *rand.Rand, e *Event) { e.Text = pick(rng, cascades...) }, removeOwner},
	{"recreate", 2, anywhere, func(rng *rand.Rand, e *Event) {
		spec := specs.Draw(func(_ string, n int) int { return rng.IntN(n) })
		e.Spec = &spec
	}, func(ctx context.Context, w World, e *Event) error {
		return w.Create(ctx, &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Name}, Spec: *e.Spec.DeepCopy()})
	}},
	{"pin", 3, anywhere, func(rng *rand.Rand, e *Event) { e.Text = pick(rng, "1", "2", "1 while 2") }, annotate(appsv1.AnnotationPin)},
	{"unpin", 1, anywhere, nil, annotate(appsv1.AnnotationPin)},
	{"restart", 3, anywhere, nil, editOwner(func(w World, _ *Event, pm *appsv1.PodManager) bool {
		metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationRestart, w.Now.UTC().Format(time.RFC3339))
		return true
	})},
	{"take over", 1, anywhere, func(_ *rand.Rand, e *Event) { e.Text = "deployments.apps/old" }, annotate(appsv1.AnnotationTakeOver)},
	{"end the take-over", 1, anywhere, nil, annotate(appsv1.AnnotationTakeOver)},
	{"rebalance", 2, anywhere, nil, editOwner(func(w World, _ *Event, pm *appsv1.PodManager) bool {
		metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationRebalance, w.Now.UTC().Format(time.RFC3339))
		return true
	})},
}

// ofPods are what happens to one pod.
var ofPods = []kind{
	{"delete pod", 2, anywhere, anyPod, withPod(func(ctx context.Context, w World, _ *Event, pod *corev1.Pod) error { return w.Delete(ctx, pod) })},
	{"fail", 2, anywhere, anyPod, withPod(func(ctx context.Context, w World, _ *Event, pod *corev1.Pod) error {
		return fail(ctx, w, client.ObjectKeyFromObject(pod))
	})},
	{"ask for deletion", 2, anywhere, anyPod, editPod(func(_ *Event, pod *corev1.Pod) bool {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.LabelDelete, "true")
		return true
	})},
	{"hold", 3, anywhere, func(rng *rand.Rand, e *Event) { e.Pod, e.Text = rng.IntN(6), pick(rng, holds...) }, editPod(func(e *Event, pod *corev1.Pod) bool {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, e.Text, "backup")
		return true
	})},
	{"hold with a finalizer", 1, anywhere, func(rng *rand.Rand, e *Event) { e.Pod, e.Text = rng.IntN(6), pick(rng, holds...) }, editPod(func(e *Event, pod *corev1.Pod) bool {
		had := slices.Contains(pod.Finalizers, e.Text)
		pod.Finalizers = append(pod.Finalizers, e.Text)
		return !had
	})},
	{"end the holds", 1, anywhere, nil, func(ctx context.Context, w World, _ *Event) error { return endHolds(ctx, w) }},
	{"unready", 3, simulated, anyPod, withPod(func(_ context.Context, w World, _ *Event, pod *corev1.Pod) error {
		w.Cluster.Probe(pod.UID, false)
		return nil
	})},
	{"ready", 2, simulated, anyPod, withPod(func(_ context.Context, w World, _ *Event, pod *corev1.Pod) error {
		w.Cluster.Probe(pod.UID, true)
		return nil
	})},
	{"release", 1, anywhere, anyPod, editPod(func(_ *Event, pod *corev1.Pod) bool {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.LabelName, "other")
		return true
	})},
	{"resize pod", 2, anywhere, func(rng *rand.Rand, e *Event) { e.Pod, e.N = rng.IntN(6), 1+rng.Int32N(4) }, withPod(
		func(ctx context.Context, w World, e *Event, pod *corev1.Pod) error {
			if len(pod.Spec.Containers[0].Resources.Requests) == 0 {
				return ErrNothing // it would change the QoS class, which the API server refuses
			}
			return resizePod(pod.Name, strconv.Itoa(int(e.N))).Do(ctx, w)
		})},
	{"evict", 3, anywhere, anyPod, withPod(evictPod)},
	{"deletion cost", 1, anywhere, anyPod, editPod(func(_ *Event, pod *corev1.Pod) bool {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.PodDeletionCost, "-10")
		return true
	})},
}

// ofNodes are what happens to one node.
var ofNodes = []kind{
	{"cordon", 3, simulated, anyNode, editNode(cordon(true))},
	{"uncordon", 2, simulated, anyNode, editNode(cordon(false))},
	{"drain", 5, simulated, anyNode, func(ctx context.Context, w World, e *Event) error {
		if err := editNode(cordon(true))(ctx, w, e); err != nil && !errors.Is(err, ErrNothing) {
			return err
		}
		return w.Cluster.Drain(Nodes[e.Node])
	}},
	{"notice", 3, simulated, anyNode, editNode(func(_ World, _ *Event, node *corev1.Node) bool {
		had := node.Annotations[appsv1.AnnotationNodeLeaving] != ""
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, appsv1.AnnotationNodeLeaving, "spot")
		return !had
	})},
	{"withdraw the notice", 1, simulated, anyNode, editNode(func(_ World, _ *Event, node *corev1.Node) bool {
		had := node.Annotations[appsv1.AnnotationNodeLeaving] != ""
		delete(node.Annotations, appsv1.AnnotationNodeLeaving)
		return had
	})},
	{"taint", 2, simulated, anyNode, editNode(taint("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule))},
	{"untaint", 1, simulated, anyNode, editNode(untaint("ToBeDeletedByClusterAutoscaler"))},
	{"node down", 2, simulated, anyNode, editNode(taint(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute))},
	{"node up", 1, simulated, anyNode, editNode(untaint(corev1.TaintNodeUnreachable, corev1.TaintNodeOutOfService))},
	{"node out of service", 1, simulated, anyNode, editNode(func(w World, e *Event, node *corev1.Node) bool {
		down := taint(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)(w, e, node)
		return taint(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)(w, e, node) || down
	})},
	{"node gone", 2, simulated, anyNode, func(ctx context.Context, w World, e *Event) error {
		return w.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Nodes[e.Node]}})
	}},
	{"node back", 1, simulated, anyNode, func(ctx context.Context, w World, e *Event) error { return w.Create(ctx, Node(e.Node)) }},
	{"defer resizes", 2, simulated, anyNode, func(_ context.Context, w World, e *Event) error {
		w.Cluster.Resizes(Nodes[e.Node], corev1.PodReasonDeferred)
		return nil
	}},
	{"infeasible resizes", 2, simulated, anyNode, func(_ context.Context, w World, e *Event) error {
		w.Cluster.Resizes(Nodes[e.Node], corev1.PodReasonInfeasible)
		return nil
	}},
	{"full", 3, simulated, nil, cluster(func(c Cluster) { c.Full(true) })},
	{"room", 1, simulated, nil, cluster(func(c Cluster) { c.Full(false) })},
	{"slow start", 3, simulated, func(rng *rand.Rand, e *Event) { e.N = pick[int32](rng, 5, 20, 45) }, func(_ context.Context, w World, e *Event) error {
		w.Cluster.Starts(time.Duration(e.N) * time.Second)
		return nil
	}},
}

// Refusals that events begin: verb, kind and in which words.
var refusals = []string{
	"create Pod quota", "create Pod policy", "delete Pod policy", "delete Pod webhook", "patch Pod policy", "patch Pod conflict", "resize Pod quota",
	"resize Pod range", "resize Pod allocatable", "evict Pod policy", "create PersistentVolumeClaim quota", "create ControllerRevision webhook",
	"delete ControllerRevision policy", "delete PersistentVolumeClaim policy",
}

// ofOthers are what other controllers, administrators and the API server do.
var ofOthers = []kind{
	{"budget", 2, anywhere, func(rng *rand.Rand, e *Event) { e.N = pick[int32](rng, 1, 2, 3) }, budget},
	{"end the budget", 1, anywhere, nil, func(ctx context.Context, w World, _ *Event) error {
		return w.Delete(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Name}})
	}},
	{"refuse", 4, simulated, func(rng *rand.Rand, e *Event) { e.Text = pick(rng, refusals...) }, func(_ context.Context, w World, e *Event) error {
		words := strings.Fields(e.Text)
		w.Cluster.Refuse(words[0], words[1], words[2])
		return nil
	}},
	{"allow", 1, simulated, nil, cluster(Cluster.Allow)},
	{"restart the operator", 3, simulated, func(rng *rand.Rand, e *Event) {
		e.N, e.Text = rng.Int32N(12), pick(rng, "", "Pod", "PodManager", "PodManager")
	}, func(_ context.Context, w World, e *Event) error {
		w.Cluster.Restart(int(e.N), e.Text)
		return nil
	}},
	{"take a name", 1, anywhere, func(rng *rand.Rand, e *Event) { e.N = rng.Int32N(5) }, func(ctx context.Context, w World, e *Event) error {
		return stray(fmt.Sprintf("%s-%d", Name, e.N), false).Do(ctx, w)
	}},
	{"pod of another owner", 1, anywhere, func(rng *rand.Rand, e *Event) { e.N = rng.Int32N(5) }, impostor},
	{"delete claim", 1, anywhere, func(rng *rand.Rand, e *Event) { e.N = rng.Int32N(4) }, func(ctx context.Context, w World, e *Event) error {
		return deleteClaim(int(e.N)).Do(ctx, w)
	}},
	{"mend", 1, anywhere, nil, mend},
}

func cluster(do func(c Cluster)) func(context.Context, World, *Event) error {
	return func(_ context.Context, w World, _ *Event) error {
		do(w.Cluster)
		return nil
	}
}

func rescale(ctx context.Context, w World, e *Event) error {
	return editOwner(func(_ World, e *Event, pm *appsv1.PodManager) bool {
		changed := ptr.Deref(pm.Spec.Replicas, 3) != e.N
		pm.Spec.Replicas = &e.N
		return changed
	})(ctx, w, e)
}

// autoscale is one step of an autoscaler, up or down by one.
func autoscale(ctx context.Context, w World, e *Event) error {
	return editOwner(func(_ World, e *Event, pm *appsv1.PodManager) bool {
		pm.Spec.Replicas = ptr.To(max(1, ptr.Deref(pm.Spec.Replicas, 3)+e.N))
		return true
	})(ctx, w, e)
}

// retemplate changes something of the template.
func retemplate(_ World, e *Event, pm *appsv1.PodManager) bool {
	if pm.Spec.Template == nil {
		pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: appsv1.AppContainer}}}}
	}
	t, value := pm.Spec.Template, strconv.Itoa(int(e.N))
	app := &t.Spec.Containers[0]
	switch e.Text {
	case "label":
		metav1.SetMetaDataLabel(&t.ObjectMeta, "version", value)
	case "annotation":
		metav1.SetMetaDataAnnotation(&t.ObjectMeta, "note", value)
	case "env":
		app.Env = []corev1.EnvVar{{Name: "VERSION", Value: value}}
	case "size":
		app.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(value)}
	case "spread":
		metav1.SetMetaDataLabel(&t.ObjectMeta, "spread", "yes")
		t.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: pick(rand.New(rand.NewPCG(uint64(e.N), 0)), corev1.LabelHostname, corev1.LabelTopologyZone),
			WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"spread": "yes"}},
		}}
	}
	return true
}

func annotate(key string) func(context.Context, World, *Event) error {
	return editOwner(func(_ World, e *Event, pm *appsv1.PodManager) bool {
		was := pm.Annotations[key]
		delete(pm.Annotations, key)
		if e.Text != "" {
			metav1.SetMetaDataAnnotation(&pm.ObjectMeta, key, e.Text)
		}
		return was != e.Text
	})
}

func removeOwner(ctx context.Context, w World, e *Event) error {
	policy := map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan,
	}[e.Text]
	return remove(client.PropagationPolicy(policy)).Do(ctx, w)
}

func cordon(closed bool) func(World, *Event, *corev1.Node) bool {
	return func(_ World, _ *Event, node *corev1.Node) bool {
		changed := node.Spec.Unschedulable != closed
		node.Spec.Unschedulable = closed
		return changed
	}
}

func taint(key string, effect corev1.TaintEffect) func(World, *Event, *corev1.Node) bool {
	return func(w World, _ *Event, node *corev1.Node) bool {
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key }) {
			return false
		}
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: effect, TimeAdded: ptr.To(metav1.NewTime(w.Now.Truncate(time.Second)))})
		return true
	}
}

func untaint(keys ...string) func(World, *Event, *corev1.Node) bool {
	return func(_ World, _ *Event, node *corev1.Node) bool {
		before := len(node.Spec.Taints)
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return slices.Contains(keys, t.Key) })
		return len(node.Spec.Taints) < before
	}
}

// Node is one of the nodes, new.
func Node(n int) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Nodes[n], Labels: map[string]string{
		corev1.LabelHostname: Nodes[n], corev1.LabelTopologyZone: []string{"a", "b"}[n%2],
	}}}
}

func budget(ctx context.Context, w World, e *Event) error {
	return w.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(e.N)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.LabelName: Name}},
		},
	})
}

// impostor makes a pod without an owner that has our name and label, and the UID of
// another PodManager that lives.
func impostor(ctx context.Context, w World, e *Event) error {
	other := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "api"}}
	other.Spec.Replicas, other.Spec.Image = ptr.To[int32](0), Old
	if err := w.Create(ctx, other); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := w.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
		return err
	}
	return w.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: fmt.Sprintf("%s-%d", Name, e.N),
			Labels: map[string]string{appsv1.LabelName: Name, appsv1.LabelUID: string(other.UID), appsv1.LabelRevision: Name + "-5d757fbx9b"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: appsv1.AppContainer, Image: Old}}},
	})
}

func endHolds(ctx context.Context, w World) error {
	var list corev1.PodList
	if err := w.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
		return err
	}
	found := ErrNothing
	for i := range list.Items {
		pod := &list.Items[i]
		labels, finalizers := len(pod.Labels), len(pod.Finalizers)
		maps.DeleteFunc(pod.Labels, func(key, _ string) bool { return slices.Contains(holds, key) })
		pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return slices.Contains(holds, f) })
		if len(pod.Labels) == labels && len(pod.Finalizers) == finalizers {
			continue
		}
		found = nil
		if err := w.Update(ctx, pod); err != nil {
			return err
		}
	}
	return found
}

// evictPod has a client evict a pod. A real API server of the tests has none of our
// webhooks, so there is nothing to try again for.
func evictPod(ctx context.Context, w World, _ *Event, pod *corev1.Pod) error {
	if w.Cluster != nil {
		return w.Cluster.Evict(pod.Name)
	}
	return w.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
}

// mend puts everything outside the fleet in order again.
func mend(ctx context.Context, w World, _ *Event) error {
	if err := mendCluster(ctx, w); err != nil {
		return err
	}
	if err := endHolds(ctx, w); err != nil && !errors.Is(err, ErrNothing) {
		return err
	}
	err := w.Delete(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Name}})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	err = annotate(appsv1.AnnotationTakeOver)(ctx, w, &Event{})
	if client.IgnoreNotFound(err) != nil && !errors.Is(err, ErrNothing) {
		return err
	}
	return nil
}

// mendCluster undoes what only simulated events do.
func mendCluster(ctx context.Context, w World) error {
	if w.Cluster == nil {
		return nil
	}
	w.Cluster.Mend()
	for n := range Nodes {
		err := w.Create(ctx, Node(n))
		if apierrors.IsAlreadyExists(err) {
			err = editNode(func(_ World, _ *Event, node *corev1.Node) bool {
				node.Spec, node.Annotations = corev1.NodeSpec{}, nil
				return true
			})(ctx, w, &Event{Node: n})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
