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
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// A Deployment that was deleted and made again in the middle of a migration, as a GitOps
// tool does, keeps its pods. Neither migrate nor --undo went on from there.
func TestAnUndoFindsTheWorkloadMadeAgain(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	deployment := func(uid string) *kappsv1.Deployment {
		d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		d.UID = types.UID(uid)
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		return d
	}
	for _, stage := range []Stage{Prepared, Releasing} {
		t.Run(string(stage), func(t *testing.T) {
			hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			hpa.Spec.ScaleTargetRef = managerRef
			hpa.Spec.ScaleTargetRef.Name = "web"
			c := fakeClient(t, deployment("again"), hpa)
			record := &Record{Stage: stage, Replicas: 1, Target: Target{
				Resource: Deployments.id(), Name: "web", Selector: "app=web",
				Parts: []unstructured.Unstructured{*partOf(deployment("before"), Deployments).Unstructured},
			}}
			if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
				t.Fatal(err)
			}
			m := &Mover{Client: c, Holder: "me", Say: t.Logf, Patience: time.Minute}
			if err := m.GiveBack(t.Context(), key, Deployments); err != nil {
				t.Error(err)
			}
			err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: RecordName("web")}, &corev1.ConfigMap{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("the record: %v, want that it is removed", err)
			}
			if err := c.Get(t.Context(), key, &kappsv1.Deployment{}); err != nil {
				t.Error(err)
			}
			if err := c.Get(t.Context(), key, hpa); err != nil || hpa.Spec.ScaleTargetRef.Kind != "Deployment" {
				t.Errorf("the autoscaler, which the migration had directed to the PodManager: %v, %v", err, hpa.Spec.ScaleTargetRef)
			}
		})
	}
}

// Others deleted the PodManager of an interrupted take-over. Neither migrate nor --undo went on
// from there: both looked for the PodManager.
func TestAnUndoWhereOthersDeletedThePodManager(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	for stage, made := range map[Stage]bool{Prepared: false, Releasing: true} { // Prepared: others deleted the workload, too
		t.Run(string(stage), func(t *testing.T) {
			c := &kubeControllerManager{&replicaSetController{fakeClient(t)}}
			if made {
				if err := c.Create(t.Context(), freePod("web-a", corev1.PodRunning)); err != nil {
					t.Fatal(err)
				}
			}
			record := returning(t, c).store.record
			record.Stage = stage
			if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
				t.Fatal(err)
			}
			var said []string
			say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
			if err := (&Mover{Client: c, Holder: "me", Say: say, Patience: time.Second}).GiveBack(t.Context(), key, Deployments); err != nil {
				t.Error(err)
			}
			if err := c.Get(t.Context(), key, &kappsv1.Deployment{}); (err == nil) != made {
				t.Errorf("the Deployment: %v, want it made: %v", err, made)
			}
			if _, err := LoadRecord(t.Context(), c, key); !errors.Is(err, ErrNoRecord) {
				t.Errorf("the record: %v, want none", err)
			}
			text := strings.Join(said, "; ")
			if strings.Contains(text, "its pods keep running") || strings.Contains(text, "manages its pods") != made {
				t.Errorf("it said %q", text)
			}
		})
	}
}

// undeletable is a client of a cluster in which a policy keeps PodManagers.
type undeletable struct{ client.Client }

func (c *undeletable) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if _, manager := obj.(*appsv1.PodManager); manager {
		return errors.New("denied by a policy")
	}
	return c.Client.Delete(ctx, obj, options...)
}

// An undo of an interrupted take-over that is refused leaves a PodManager that works. Its
// autoscaler still scaled the Deployment, which was gone, and nothing directed it any more.
func TestAnUndoThatIsRefusedEndsTheTakeOver(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	c := &permitted{Client: &undeletable{fakeClient(t, aFrozenManager(), hpa)}}
	record := returning(t, c).store.record
	record.Stage = Releasing
	if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
		t.Fatal(err)
	}
	err := (&Mover{Client: c, Holder: "me", Say: t.Logf, Patience: time.Second}).GiveBack(t.Context(), key, Deployments)
	if err == nil || !strings.Contains(err.Error(), "denied by a policy") {
		t.Fatalf("got %v, want that it is refused", err)
	}
	if after, err := LoadRecord(t.Context(), c, key); err != nil || !after.Ended() {
		t.Errorf("the record: %v, %+v", err, after)
	}
	if err := c.Get(t.Context(), key, hpa); err != nil || hpa.Spec.ScaleTargetRef.Kind != "PodManager" {
		t.Errorf("the autoscaler: %v, it scales %v", err, hpa.Spec.ScaleTargetRef)
	}
}

// aFrozenManager is a PodManager that the operator has seen to be frozen.
func aFrozenManager() *appsv1.PodManager {
	template := plainest()
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "pm"}}
	pm.Annotations = map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}
	pm.Spec.Template, pm.Spec.Replicas, pm.Spec.Identity = &template, ptr.To[int32](1), appsv1.IdentityRandom
	pm.Status.Conditions = []metav1.Condition{{Type: appsv1.ConditionReady, Reason: appsv1.ReasonTakingOver}}
	return pm
}

// A PodManager that was let go on a moment before has the condition of then, and the operator may
// be making pods. A second undo took that for an answer, and overlooked the pods.
func TestAnUndoDoesNotTrustTheConditionOfTheOneBefore(t *testing.T) {
	pm := aFrozenManager()
	pm.Annotations = nil
	c := fakeClient(t, pm)
	r := returning(t, c)
	freeze := func() string {
		waitsFor, err := r.freeze(t.Context(), pm)
		if err != nil {
			t.Fatal(err)
		}
		return waitsFor
	}
	if freeze() == "" {
		t.Error("the operator has not seen that it is frozen, and is not waited for")
	}
	if len(pm.Annotations) > 0 {
		t.Error("frozen again at once: the condition of before would look like an answer")
	}
	pm.Status.Conditions[0].Reason = appsv1.ReasonAvailable
	if err := c.Update(t.Context(), pm); err != nil {
		t.Fatal(err)
	}
	if freeze() == "" || len(pm.Annotations) == 0 {
		t.Errorf("want it frozen and waited for, with the annotations %v", pm.Annotations)
	}
	pm.Status.Conditions[0].Reason = appsv1.ReasonTakingOver
	if waitsFor := freeze(); waitsFor != "" {
		t.Errorf("%s, although the operator has seen it", waitsFor)
	}
}

// The PodManager was deleted long ago, and a Deployment made that selects by other labels. The
// record stood in the way of a migration, and --undo, which was to remove it, refused for ever.
func TestAnUndoRemovesARecordThatIsOutOfDate(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	again := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "again"}}
	again.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	for name, free := range map[string]bool{"no pod is left": false, "a pod has no owner": true} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{again.DeepCopy()}
			if free {
				objects = append(objects, freePod("web-a", corev1.PodRunning))
			}
			c := &counting{fakeClient(t, objects...)}
			record := returning(t, c).store.record
			record.Stage = Taken
			if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
				t.Fatal(err)
			}
			err := (&Mover{Client: c, Holder: "me", Say: t.Logf, Patience: time.Second}).GiveBack(t.Context(), key, Deployments)
			if free != (err != nil) {
				t.Errorf("error %v", err)
			}
			if _, err := LoadRecord(t.Context(), c, key); errors.Is(err, ErrNoRecord) == free {
				t.Errorf("the record: %v", err)
			}
		})
	}
}

// The record of a PodManager that was deleted long ago names a Deployment, and what is migrated is a
// StatefulSet. --undo, which the command named, would have made the Deployment again.
func TestARecordOfAnotherKindIsRemovedByHand(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	c := fakeClient(t)
	record := returning(t, c).store.record
	record.Stage = Taken
	s := &store{Client: c, record: record}
	_, err := (&Mover{Client: c}).begin(t.Context(), StatefulSets, key, s, &Workload{Kind: StatefulSets, Namespace: "shop", Name: "web"})
	if err == nil || !strings.Contains(err.Error(), "kubectl delete configmap web-migration -n shop") || strings.Contains(err.Error(), "--undo") {
		t.Errorf("got %v, want how the record is removed", err)
	}
}

// counting has seen the pods that a budget counts.
type counting struct{ client.Client }

func (c *counting) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if budget, ok := obj.(*policyv1.PodDisruptionBudget); ok {
		var pods corev1.PodList
		if err := c.List(ctx, &pods); err != nil {
			return err
		}
		budget.Status.ObservedGeneration, budget.Status.ExpectedPods = 1, int32(len(pods.Items)) // #nosec G115 -- there are few
	}
	return c.Client.Create(ctx, obj, options...)
}

// A ReplicaSet of the name that others left, such as one that was scaled to 0, would take the
// pods and delete them.
func TestAReplicaSetOfTheNameIsInTheWay(t *testing.T) {
	left := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-h"}}
	left.Spec.Replicas = new(int32)
	err := returning(t, fakeClient(t, left)).tryParts(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ReplicaSet web-h exists already: rename or delete it first") {
		t.Errorf("got %v, want that it exists", err)
	}
}

// Pods are left only to a workload that adopts them, and by a PodManager that waits.
func TestAnUndoLeavesPodsOnlyToAWorkloadThatAdoptsThem(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	for name, test := range map[string]struct {
		app, want string
		frozen    bool
	}{
		"of the same labels":             {"web", "", true},
		"of other labels":                {"other", "selects by app=other, and the pods were selected by app=web", true},
		"beside a PodManager that works": {"web", "and PodManager web has the pods", false},
	} {
		t.Run(name, func(t *testing.T) {
			again := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "again"}}
			again.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": test.app}}
			before := again.DeepCopy()
			before.UID = "before"
			pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			if test.frozen {
				pm.Annotations = map[string]string{appsv1.AnnotationTakeOver: "deployments.apps/web"}
			}
			w, err := (&Record{Stage: Releasing, Target: Target{
				Resource: Deployments.id(), Name: "web", Selector: "app=web",
				Parts: []unstructured.Unstructured{*partOf(before, Deployments).Unstructured},
			}}).workload("shop")
			if err != nil {
				t.Fatal(err)
			}
			c := fakeClient(t, again, pm)
			s := &store{record: &Record{Stage: Releasing}}
			untouched, err := (&run{Mover: &Mover{Client: c}, Workload: w, store: s}).untouched(t.Context())
			if test.want == "" && (!untouched || err != nil) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("untouched %v, error %v, want %q", untouched, err, test.want)
			}
			if err := c.Get(t.Context(), key, pm); err != nil {
				t.Error(err)
			}
		})
	}
}

// noBudgets refuses PodDisruptionBudgets, as a full quota does.
type noBudgets struct{ client.Client }

func (c *noBudgets) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	if _, budget := obj.(*policyv1.PodDisruptionBudget); budget {
		return errors.New("exceeded quota: full")
	}
	return c.Client.Create(ctx, obj, options...)
}

// What the way back needs besides the workload is tried before the pods are let go, too.
func TestABudgetThatIsRefusedIsFoundOutBefore(t *testing.T) {
	for _, kind := range []*Kind{Deployments, ReplicaSets, StatefulSets} {
		r := &run{
			Mover: &Mover{Client: &noBudgets{fakeClient(t)}}, Workload: &Workload{Kind: kind, Namespace: "shop", Name: "web"},
			store: &store{record: &Record{}},
		}
		r.Selector = labels.SelectorFromSet(labels.Set{"app": "web"})
		err := r.tryParts(t.Context())
		if refused := err != nil && strings.Contains(err.Error(), "exceeded quota"); refused != (kind != StatefulSets) {
			t.Errorf("%s: %v", kind.Word(), err)
		}
	}
}

// A PodDisruptionBudget of the user's that has the name of ours was used as ours, and deleted.
func TestABudgetOfTheUserIsLeftAlone(t *testing.T) {
	own := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-migration"}}
	c := fakeClient(t, own)
	r := &run{Mover: &Mover{Client: c}, Workload: &Workload{Kind: Deployments, Namespace: "shop", Name: "web"}}
	r.Selector = labels.SelectorFromSet(labels.Set{"app": "web"})
	for name, step := range map[string]func(context.Context) error{
		"before anything is let go": r.tryBarrier,
		"once it would be used":     func(ctx context.Context) error { _, err := r.barrier(ctx); return err },
		"once it would be removed":  r.removeBarrier,
	} {
		if err := step(t.Context()); err == nil || !strings.Contains(err.Error(), "PodDisruptionBudget web-migration exists already") {
			t.Errorf("%s: %v, want that it exists already", name, err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(own), own); err != nil {
		t.Errorf("the user's budget: %v", err)
	}
}

// The command's own budget is found again after an interruption, and removed.
func TestTheBudgetOfAMigrationIsRemoved(t *testing.T) {
	c := fakeClient(t)
	r := &run{Mover: &Mover{Client: c}, Workload: &Workload{Kind: Deployments, Namespace: "shop", Name: "web"}}
	r.Selector = labels.SelectorFromSet(labels.Set{"app": "web"})
	for range 2 {
		if _, err := r.barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.tryBarrier(t.Context()), r.removeBarrier(t.Context()), r.removeBarrier(t.Context())); err != nil {
		t.Error(err)
	}
	var left policyv1.PodDisruptionBudgetList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("left: %v, %v", left.Items, err)
	}
}

// The way back saw only the pods that the workload's selector finds: others were left
// without an owner, and new ones made in their place.
func TestTheWayBackOverlooksNoPod(t *testing.T) {
	for name, test := range map[string]struct {
		selector map[string]string
		change   func(*corev1.Pod)
		want     string
	}{
		"one that the PodManager made has no hash yet": {selector: map[string]string{"app": "web", "pod-template-hash": "h"}},
		"one whose label was taken off to look into it": {
			selector: map[string]string{"app": "web"}, change: func(pod *corev1.Pod) { delete(pod.Labels, "app") },
			want: "replicaset/web selects by app=web and would not find pod web-a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "rs"}}
			rs.Spec.Selector, rs.Spec.Template, rs.Spec.Replicas = &metav1.LabelSelector{MatchLabels: test.selector}, plainest(), ptr.To[int32](1)
			c := fakeClient(t, rs)
			w, err := Read(t.Context(), c, ReplicaSets, client.ObjectKeyFromObject(rs))
			if err != nil {
				t.Fatal(err)
			}
			pm := w.Manager()
			pm.UID = "pm"
			owner := podrender.Owner{GVK: appsv1.GroupVersion.WithKind("PodManager"), Namespace: "shop", Name: "web", UID: "pm", Labels: podLabels(pm, "r1")}
			pod := podrender.Pod(owner, podrender.Template("web", "", pm.Spec.Template), "web-a", "r1", 0)
			if test.change != nil {
				test.change(pod)
			}
			if err := c.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			r := &run{Mover: &Mover{Client: c}, Workload: w, store: &store{record: recordOf(w)}}
			pods, err := r.podsOf(t.Context(), pm)
			if test.want == "" && (err != nil || len(pods) != 1) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%d of 1 pods, error %v, want %q", len(pods), err, test.want)
			}
		})
	}
}

// Without the operator an undo changes nothing: it waits as long as it may, says so, and the
// PodManager is what it was.
func TestAnUndoWithoutTheOperator(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "web"}
	template := plainest()
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: []string{appsv1.Finalizer}}}
	pm.Spec.Template, pm.Spec.Replicas = &template, ptr.To[int32](1)
	c := fakeClient(t, pm)
	record := returning(t, c).store.record
	record.Stage = Taken
	if _, err := newStore(t.Context(), c, key, record, ""); err != nil {
		t.Fatal(err)
	}
	m := &Mover{Client: c, Holder: "me", Say: t.Logf, Patience: time.Second}
	err := m.GiveBack(t.Context(), key, Deployments)
	if err == nil || !strings.Contains(err.Error(), "waiting for the operator to look at PodManager web (does it run? kubectl podmanager doctor); nothing is lost") {
		t.Errorf("got %v, want that the operator is waited for", err)
	}
	after := &appsv1.PodManager{}
	if err := c.Get(t.Context(), key, after); err != nil || len(after.Annotations) > 0 || after.DeletionTimestamp != nil || after.Spec.Deletion != pm.Spec.Deletion {
		t.Errorf("the PodManager: %v, %+v, %+v", err, after.ObjectMeta, after.Spec.Deletion)
	}
	if got, err := LoadRecord(t.Context(), c, key); err != nil || !got.Ended() {
		t.Errorf("the record: %v, %+v", err, got)
	}
}
