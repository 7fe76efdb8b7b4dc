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
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// A rollout that ends only when the user does something is not one to wait for.
func TestARolloutThatWaitsForTheUser(t *testing.T) {
	rolling := func(partition int32) kappsv1.StatefulSetUpdateStrategy {
		return kappsv1.StatefulSetUpdateStrategy{
			Type: kappsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &kappsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
		}
	}
	onDelete := kappsv1.StatefulSetUpdateStrategy{Type: kappsv1.OnDeleteStatefulSetStrategyType}
	tests := map[string]struct {
		strategy kappsv1.StatefulSetUpdateStrategy
		updated  int32
		want     string
	}{
		"a rolling update":           {rolling(0), 1, "a rollout is under way: 1 of 3 pods are updated: wait until it has ended"},
		"a partition":                {rolling(2), 1, "spec.updateStrategy.rollingUpdate.partition is 2, and 1 of 3 pods are updated: set it to 0, or the template back"},
		"OnDelete":                   {onDelete, 1, "spec.updateStrategy.type is OnDelete, and 1 of 3 pods are updated: delete the others, or set the template back"},
		"OnDelete, all were deleted": {onDelete, 3, ""}, // its controller never says that this ends a rollout
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sts := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "sts"}}
			sts.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			sts.Spec.Template, sts.Spec.Replicas, sts.Spec.UpdateStrategy = plainest(), ptr.To[int32](3), test.strategy
			sts.Status = kappsv1.StatefulSetStatus{CurrentRevision: "web-1", UpdateRevision: "web-2", Replicas: 3, UpdatedReplicas: test.updated}
			w, err := Read(t.Context(), fakeClient(t, sts), StatefulSets, client.ObjectKeyFromObject(sts))
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Obstacle(); test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("the obstacle is %q, want %q", got, test.want)
			}
		})
	}
}

// A Deployment that is paused, also after it made new pods, and one that failed end no rollout either.
func TestARolloutOfADeploymentThatWaitsForTheUser(t *testing.T) {
	for name, test := range map[string]struct {
		paused    bool
		condition kappsv1.DeploymentCondition
		want      string
	}{
		"a rollout": {want: "a rollout is under way: 2 pods are still on revision 1: wait until it has ended"},
		"paused":    {paused: true, want: "it is paused, and 2 pods are still on revision 1: kubectl rollout resume deployment/web first"},
		"failed": {
			condition: kappsv1.DeploymentCondition{Type: kappsv1.DeploymentProgressing, Reason: "ProgressDeadlineExceeded"},
			want:      "its rollout has failed, and 2 pods are still on revision 1: kubectl rollout undo deployment/web, or mend its template",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d"}}
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			d.Spec.Template, d.Spec.Replicas, d.Spec.Paused = plainest(), ptr.To[int32](3), test.paused
			d.Status.Conditions = []kappsv1.DeploymentCondition{test.condition}
			objects := []client.Object{d}
			for i, pods := range []int32{2, 1} {
				rs := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"app": "web"}}}
				rs.Annotations = map[string]string{deploymentRevision: strconv.Itoa(i + 1)}
				rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, Deployments.GroupVersionKind)}
				rs.Spec.Selector, rs.Spec.Template, rs.Spec.Replicas, rs.Status.Replicas = d.Spec.Selector, plainest(), &pods, pods
				objects = append(objects, rs)
			}
			w, err := Read(t.Context(), fakeClient(t, objects...), Deployments, client.ObjectKeyFromObject(d))
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Obstacle(); !strings.Contains(got, test.want) || name != "a rollout" && strings.Contains(got, "wait until") {
				t.Errorf("the obstacle is %q, want %q", got, test.want)
			}
		})
	}
}

// The same holds of OpenKruise's.
func TestARolloutOfOpenKruiseThatWaitsForTheUser(t *testing.T) {
	for strategy, want := range map[string]string{
		`{}`:                                     "a rollout is under way",
		`{"paused":true}`:                        "it is paused, and 1 of 3",
		`{"partition":"50%"}`:                    "spec.updateStrategy.partition is 50%, and 1 of 3",
		`{"partition":0}`:                        "a rollout is under way",
		`{"type":"OnDelete"}`:                    "spec.updateStrategy.type is OnDelete, and 1 of 3",
		`{"rollingUpdate":{"partition":2}}`:      "spec.updateStrategy.rollingUpdate.partition is 2, and 1 of 3",
		`{"rollingUpdate":{"paused":true}}`:      "it is paused, and 1 of 3",
		`{"rollingUpdate":{"maxUnavailable":1}}`: "a rollout is under way",
	} {
		t.Run(strategy, func(t *testing.T) {
			top := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"web"},"spec":{"replicas":3,
				"selector":{"matchLabels":{"app":"web"}},"updateStrategy":`+strategy+`},"status":{"replicas":3,"updatedReplicas":1}}`), &top.Object); err != nil {
				t.Fatal(err)
			}
			w := &Workload{Kind: CloneSets, Namespace: "shop", Name: "web", Parts: []Part{{top}}}
			if _, err := (&reader{t.Context(), fakeClient(t)}).kruise(w); err != nil {
				t.Fatal(err)
			}
			if got := w.Obstacle(); !strings.Contains(got, want) || strings.Contains(got, "wait until") != strings.Contains(want, "under way") {
				t.Errorf("the obstacle is %q, want %q", got, want)
			}
		})
	}
}

// The same holds of a PodManager that is given back.
func TestAReturnThatWaitsForTheUser(t *testing.T) {
	tests := map[string]struct {
		stage Stage
		spec  appsv1.PodManagerSpec
		want  string
	}{
		"a rollout":   {Taken, appsv1.PodManagerSpec{}, "wait until that has ended"},
		"OnDelete":    {Taken, appsv1.PodManagerSpec{Update: appsv1.Update{Strategy: appsv1.UpdateOnDelete}}, "spec.update.strategy is OnDelete: delete the others"},
		"a partition": {Taken, appsv1.PodManagerSpec{Update: appsv1.Update{Partition: ptr.To(intstr.FromString("50%"))}}, "spec.update.partition is 50%: set it to 0"},
		"paused":      {Taken, appsv1.PodManagerSpec{Paused: true}, "it is paused: resume it"},
		"frozen":      {Releasing, appsv1.PodManagerSpec{}, "run kubectl podmanager migrate again"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			template := plainest()
			sts := &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: kappsv1.StatefulSetSpec{Template: template}}
			pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: test.spec}
			pm.Spec.Template = &template
			pm.Status.Replicas, pm.Status.UpdatedReplicas = 3, 1
			w, err := (&Record{Target: Target{
				Resource: StatefulSets.id(), Name: "web", Parts: []unstructured.Unstructured{*partOf(sts, StatefulSets).Unstructured},
			}}).workload("shop")
			if err != nil {
				t.Fatal(err)
			}
			w.Selector = labels.Everything()
			err = (&run{Mover: &Mover{Client: fakeClient(t)}, Workload: w, store: &store{record: &Record{Stage: test.stage}}}).returnable(t.Context(), pm, nil)
			if err == nil || !strings.Contains(err.Error(), "1 of 3 are updated") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
			if name != "a rollout" && strings.Contains(err.Error(), "wait until") {
				t.Errorf("it says to wait: %v", err)
			}
		})
	}
}

// A pod that was just made waits for the operator to open its readiness gate. Once it is given
// back nothing opens that, and it would never be ready.
func TestAPodThatIsNotInServiceYetIsNotGivenBack(t *testing.T) {
	open := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: appsv1.GateInService, Status: corev1.ConditionTrue}}}
	for name, test := range map[string]struct {
		status  corev1.PodStatus
		refused bool
	}{
		"just made":  {corev1.PodStatus{}, true},
		"in service": {open, false},
		"ended":      {corev1.PodStatus{Phase: corev1.PodFailed}, false},
	} {
		template := plainest()
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-a", Labels: template.Labels}, Spec: *template.Spec.DeepCopy(), Status: test.status}
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}}
		w := &Workload{Kind: Deployments, Namespace: "shop", Name: "web"}
		w.Spec.Template = &template
		err := (&run{Mover: &Mover{Client: fakeClient(t)}, Workload: w}).samePods(t.Context(), []corev1.Pod{pod})
		if refused := err != nil && strings.Contains(err.Error(), "pod web-a is not in service yet"); refused != test.refused {
			t.Errorf("%s: %v, want refused %v", name, err, test.refused)
		}
	}
}
