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

package collector

import (
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestGoals(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "w", Generation: 2}
	three := ptr.To(int32(3))
	ready := metav1.Condition{Type: appsv1.ConditionReady, Status: metav1.ConditionTrue}
	reconciling := metav1.Condition{Type: appsv1.ConditionReconciling, Status: metav1.ConditionTrue}
	onDelete := kappsv1.StatefulSetUpdateStrategy{Type: kappsv1.OnDeleteStatefulSetStrategyType}

	for name, c := range map[string]struct {
		obj  client.Object
		want bool
	}{
		"a Deployment that is done": {&kappsv1.Deployment{
			ObjectMeta: meta, Spec: kappsv1.DeploymentSpec{Replicas: three},
			Status: kappsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3},
		}, true},
		"a Deployment whose controller has not seen the change": {&kappsv1.Deployment{
			ObjectMeta: meta, Spec: kappsv1.DeploymentSpec{Replicas: three},
			Status: kappsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3},
		}, false},
		"a Deployment with old pods": {&kappsv1.Deployment{
			ObjectMeta: meta, Spec: kappsv1.DeploymentSpec{Replicas: three},
			Status: kappsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, AvailableReplicas: 3},
		}, false},
		"a paused Deployment with old pods": {&kappsv1.Deployment{
			ObjectMeta: meta, Spec: kappsv1.DeploymentSpec{Replicas: three, Paused: true},
			Status: kappsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, AvailableReplicas: 3},
		}, true},
		"a Deployment of none": {&kappsv1.Deployment{
			ObjectMeta: meta, Spec: kappsv1.DeploymentSpec{Replicas: ptr.To(int32(0))},
			Status: kappsv1.DeploymentStatus{ObservedGeneration: 2},
		}, true},
		"a ReplicaSet that is done": {&kappsv1.ReplicaSet{
			ObjectMeta: meta, Spec: kappsv1.ReplicaSetSpec{Replicas: three},
			Status: kappsv1.ReplicaSetStatus{ObservedGeneration: 2, Replicas: 3, AvailableReplicas: 3},
		}, true},
		"a StatefulSet with old pods": {&kappsv1.StatefulSet{
			ObjectMeta: meta, Spec: kappsv1.StatefulSetSpec{Replicas: three},
			Status: kappsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, AvailableReplicas: 3, UpdatedReplicas: 1},
		}, false},
		"a StatefulSet whose old pods may stay": {&kappsv1.StatefulSet{
			ObjectMeta: meta, Spec: kappsv1.StatefulSetSpec{Replicas: three, UpdateStrategy: onDelete},
			Status: kappsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, AvailableReplicas: 3, UpdatedReplicas: 1},
		}, true},
		"a DaemonSet that is done": {&kappsv1.DaemonSet{
			ObjectMeta: meta,
			Status: kappsv1.DaemonSetStatus{
				ObservedGeneration: 2, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3,
			},
		}, true},
		"a DaemonSet with a pod where none belongs": {&kappsv1.DaemonSet{
			ObjectMeta: meta,
			Status: kappsv1.DaemonSetStatus{
				ObservedGeneration: 2, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3,
				NumberAvailable: 3, NumberMisscheduled: 1,
			},
		}, false},
		"a PodManager that is done": {&appsv1.PodManager{
			ObjectMeta: meta, Spec: appsv1.PodManagerSpec{Replicas: three, Image: "nginx"},
			Status: appsv1.PodManagerStatus{ObservedGeneration: 2, Conditions: []metav1.Condition{ready}},
		}, true},
		"a PodManager that is available and still at work": {&appsv1.PodManager{
			ObjectMeta: meta, Spec: appsv1.PodManagerSpec{Replicas: three, Image: "nginx"},
			Status: appsv1.PodManagerStatus{ObservedGeneration: 2, Conditions: []metav1.Condition{ready, reconciling}},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			facts, matching := workloadFacts(labels.Everything(), thingOf(c.obj))
			if !matching || facts.atGoal != c.want || facts.kind == "" || facts.spec == nil {
				t.Errorf("at its goal: %t, want %t (%+v)", facts.atGoal, c.want, facts)
			}
		})
	}
}

func TestAReplicaSetsDeploymentIsItsParent(t *testing.T) {
	set := &kappsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{UID: "rs", OwnerReferences: []metav1.OwnerReference{
		{Kind: "Deployment", UID: "d", Controller: ptr.To(true)},
	}}}
	if facts, _ := workloadFacts(labels.Everything(), thingOf(set)); facts.parent != "d" || facts.spec != nil {
		t.Errorf("%+v", facts)
	}
}

func TestThePodsOfAWorkloadThatMatchesByItselfAreNotAwaited(t *testing.T) {
	selector := labels.SelectorFromSet(labels.Set{"team": "blue"})
	d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "blue"}}}
	if facts, matching := workloadFacts(selector, thingOf(d)); !matching || facts.want >= 0 {
		t.Errorf("matches: %t, waits for %d pods that it never sees", matching, facts.want)
	}
}
