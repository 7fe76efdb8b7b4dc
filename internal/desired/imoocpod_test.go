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

package desired

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/report"
)

func make3() *batchv1alpha1.ImoocPod {
	return &batchv1alpha1.ImoocPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "three", UID: "u-3", Generation: 7},
		Spec:       batchv1alpha1.ImoocPodSpec{Replicas: ptr.To(int32(3))},
	}
}

// forgotten are the fields of the planner's status that an ImoocPod drops on
// purpose: counters that it does not show and that every pass reports anew, and
// the memory of rollouts and rebalances, of which it has none. A field that is in neither list
// fails the test: a new field has to be put in one of them.
var forgotten = []string{"AvailableReplicas", "UpdatedReplicas", "CurrentFailures", "Rollout", "Rollback", "Rebalance"}

func TestStatusKeepsThePlannersMemory(t *testing.T) {
	now := metav1.NewTime(time.Unix(1000, 0))
	full := appsv1.PodManagerStatus{
		ObservedGeneration: 7, Replicas: 3, CurrentReplicas: 3, ReadyReplicas: 2, TerminatingReplicas: 1,
		CurrentRevision: "a", UpdateRevision: "b", Selector: "app=three", Nodes: []string{"x"},
		Failures:   &appsv1.FailureRecord{Revision: "b", Count: 2, LastTime: now, RetryTime: now},
		Held:       []appsv1.HeldPod{{Pod: "x", From: "delete", Since: now}},
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Available"}},
		History:    []appsv1.Decision{{Time: now, Action: "Created", Count: 3}},
	}
	value := reflect.ValueOf(full)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		if dropped := slices.Contains(forgotten, name); dropped != value.Field(i).IsZero() {
			t.Errorf("status.%s: the test has to fill it in, or list it as forgotten", name)
		}
	}
	ip := make3()
	ImoocPodKind{}.SetStatus(ip, full)
	if diff := cmp.Diff(full, ImoocPodKind{}.Status(ip)); diff != "" {
		t.Errorf("what went in does not come out (-in +out):\n%s", diff)
	}
}

func TestAFleetAtItsGoalIsLeftAlone(t *testing.T) {
	ip := make3()
	fleet := ImoocPodKind{}.Fleet(ip)
	encoded, err := podrender.Encode(fleet.Template)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(5000, 0)
	observed := plan.Observed{
		Revisions: []plan.Revision{{Name: podrender.RevisionName(ip.Name, encoded, 0), Number: 1, Equal: true}},
	}
	for slot := range 3 {
		observed.Pods = append(observed.Pods, plan.Pod{
			Name: plan.SlotName(&fleet.Desired, slot), UID: "p", Membership: plan.Member, Slot: slot,
			Revision: observed.Revisions[0].Name, Phase: corev1.PodRunning, Ready: true, ReadySince: now.Add(-time.Minute),
		})
	}
	decision := plan.Plan(fleet.Desired, observed, now)
	if len(decision.Actions) > 0 || decision.NextLook != 0 {
		t.Errorf("at its goal it does %+v and looks again in %s", decision.Actions, decision.NextLook)
	}
	reported := report.Report(fleet.Desired, observed, decision, nil, now)
	ImoocPodKind{}.SetStatus(ip, reported.Status)
	observed.Status = ImoocPodKind{}.Status(ip)
	again := report.Report(fleet.Desired, observed, plan.Plan(fleet.Desired, observed, now.Add(time.Hour)), nil, now.Add(time.Hour))
	other := make3()
	ImoocPodKind{}.SetStatus(other, again.Status)
	if diff := cmp.Diff(ip.Status, other.Status); diff != "" {
		t.Errorf("an hour later the status says something else:\n%s", diff)
	}
}

func TestFleetSelectsByMoreThanTheAppLabel(t *testing.T) {
	fleet := ImoocPodKind{}.Fleet(make3())
	for name, c := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"a pod that it makes":                   {podrender.Pod(fleet.Ref, fleet.Template, "x", "r", 0).Labels, true},
		"a foreign pod with the same app label": {map[string]string{"app": "three"}, false},
		"a pod of another ImoocPod":             {map[string]string{"app": "four", batchv1alpha1.LabelName: "four"}, false},
		"a pod whose app label was edited":      {map[string]string{"app": "x", batchv1alpha1.LabelName: "three"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fleet.Selector.Matches(labels.Set(c.labels)); got != c.want {
				t.Errorf("selected: %t, want %t", got, c.want)
			}
		})
	}
}

func TestWhatAnImoocPodAsksFor(t *testing.T) {
	want := plan.Desired{
		Namespace: "ns", Name: "three", UID: "u-3", Generation: 7, NamePrefix: "three-pod", Identity: appsv1.IdentityRandom, Replicas: 3,
		Selector:   "app=three,batch.tutorial.kubebuilder.io/imoocpod=three",
		Update:     plan.Update{Strategy: appsv1.UpdateOnDelete, Fixed: true},
		FailedPods: plan.FailedPods{Limit: 1, Initial: 10 * time.Second, Max: 5 * time.Minute}, RevisionHistoryLimit: 2,
		Finalizer: plan.FinalizerUnused,
	}
	if diff := cmp.Diff(want, ImoocPodKind{}.Fleet(make3()).Desired); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplicasAndDeletionOfAnImoocPod(t *testing.T) {
	deleting := metav1.Now()
	for name, c := range map[string]struct {
		edit     func(*batchv1alpha1.ImoocPod)
		replicas int
		deletion plan.Deletion
	}{
		"as written":            {func(*batchv1alpha1.ImoocPod) {}, 3, plan.DeletionNone},
		"no replicas mean one":  {func(ip *batchv1alpha1.ImoocPod) { ip.Spec.Replicas = nil }, 1, plan.DeletionNone},
		"zero means none":       {func(ip *batchv1alpha1.ImoocPod) { ip.Spec.Replicas = ptr.To(int32(0)) }, 0, plan.DeletionNone},
		"deleted in foreground": {func(ip *batchv1alpha1.ImoocPod) { ip.DeletionTimestamp = &deleting }, 3, plan.DeletionDelete},
		"deleted with its orphans left": {func(ip *batchv1alpha1.ImoocPod) {
			ip.DeletionTimestamp, ip.Finalizers = &deleting, []string{metav1.FinalizerOrphanDependents}
		}, 3, plan.DeletionCascadeOrphan},
	} {
		t.Run(name, func(t *testing.T) {
			ip := make3()
			c.edit(ip)
			d := ImoocPodKind{}.Fleet(ip).Desired
			if d.Replicas != c.replicas || d.Deletion != c.deletion || d.Finalizer != plan.FinalizerUnused {
				t.Errorf("got %+v", d)
			}
			if name := plan.SlotName(&d, 0); !strings.HasPrefix(name, "three-pod-") {
				t.Errorf("the first pod is named %s", name)
			}
		})
	}
}
