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
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

func at(second int64) metav1.Time { return metav1.NewTime(time.Unix(second, 0)) }

// richPod has a value wherever the planner reads one, and much that it does
// not read.
func richPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-3", UID: "uid", ResourceVersion: "7", Generation: 2, CreationTimestamp: at(1),
			DeletionTimestamp: ptr.To(at(40)), DeletionGracePeriodSeconds: ptr.To(int64(30)), Finalizers: []string{"example.com/hold"},
			Labels: map[string]string{
				appsv1.LabelSlot: "3", appsv1.LabelRevision: "web-abc", appsv1.LabelDelete: "true", appsv1.LabelName: "web",
				appsv1.LabelHoldDelete: "backup", appsv1.LabelHoldUpdate: "", appsv1.LabelWanted: "delete",
			},
			Annotations: map[string]string{
				corev1.PodDeletionCost: "-5", appsv1.AnnotationSurge: "true", "example.com/blob": "much",
				appsv1.AnnotationInPlace:  `[{"name":"app","containerID":"old","imageID":"sha-old","image":"app:1"}]`,
				appsv1.AnnotationReplaces: appsv1.WhyDisruptionSurge,
			},
			OwnerReferences: []metav1.OwnerReference{{Kind: "PodManager", Name: "web", UID: me, Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "client"}},
		},
		Spec: corev1.PodSpec{
			NodeName:       "n",
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}},
			Volumes:        []corev1.Volume{{Name: "data"}},
			InitContainers: []corev1.Container{
				{Name: "setup", Image: "setup:1"},
				{Name: "proxy", Image: "proxy:1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
			},
			Containers: []corev1.Container{{
				Name: "app", Image: "app:2", Env: []corev1.EnvVar{{Name: "SECRET", Value: "x"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "Evicted", Message: "the node was low on memory", ObservedGeneration: 2, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(2), Message: "long"},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(5)},
				{Type: appsv1.GateInService, Status: corev1.ConditionFalse, LastTransitionTime: at(6)},
				{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, LastTransitionTime: at(7)},
			},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "setup", RestartCount: 1},
				{Name: "proxy", RestartCount: 2, ContainerID: "p", ImageID: "sha-p", Image: "proxy:1"},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "app", RestartCount: 4, ContainerID: "new", ImageID: "sha-new", Image: "app:2",
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "long"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
			}},
		},
	}
}

func ordinals() *plan.Desired {
	return &plan.Desired{Name: "web", NamePrefix: "web", Identity: appsv1.IdentityOrdinal, UID: me}
}

// TestDescribePod: everything that the planner reads is taken from the pod.
func TestDescribePod(t *testing.T) {
	got := describePod(ordinals(), richPod(), plan.Member)
	want := plan.Pod{
		Name: "web-3", UID: "uid", ResourceVersion: "7", Membership: plan.Member, Slot: 3, Revision: "web-abc", Created: time.Unix(1, 0),
		Phase: corev1.PodFailed, Reason: "Evicted", Ready: true, ReadySince: time.Unix(5, 0), FailedAt: time.Unix(7, 0),
		Restarts: 7, Waiting: "CrashLoopBackOff", Terminating: true, DeletedAt: time.Unix(10, 0), Node: "n", DeletionCost: -5,
		DeleteRequested: true, HoldDelete: ptr.To("backup"), HoldUpdate: ptr.To(""), Wanted: "delete", KeptBy: "example.com/hold", Surge: true, Replaces: appsv1.WhyDisruptionSurge,
		Gate: plan.GateShut, Resize: plan.ResizeInfeasible, ResizeSince: time.Unix(7, 0),
		Containers: []plan.ContainerMark{
			{Name: "app", ContainerID: "new", ImageID: "sha-new", Image: "app:2"},
			{Name: "proxy", ContainerID: "p", ImageID: "sha-p", Image: "proxy:1"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Since when a pod has not been ready, of the pod itself and as the cache keeps it. No
// plan waits for it.
func TestSinceWhenAPodIsNotReady(t *testing.T) {
	pod := richPod()
	pod.Status.Conditions[1].Status = corev1.ConditionFalse
	slim, err := Slim(pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*corev1.Pod{pod, slim.(*corev1.Pod)} {
		if got := describePod(ordinals(), p, plan.Member); got.Ready || !got.UnreadySince.Equal(time.Unix(5, 0)) || got.Replaces == "" {
			t.Errorf("%+v", got)
		}
	}
	later := pod.DeepCopy()
	later.Status.Conditions[1].LastTransitionTime = at(6)
	if PodChanged(pod, later) {
		t.Error("its owner is woken")
	}
}

// Why a pod has no node, of the pod itself and as the cache keeps it.
func TestWhyAPodIsNotScheduled(t *testing.T) {
	for name, test := range map[string]struct {
		condition corev1.PodCondition
		want      string
		scheduler string
	}{
		"it is scheduled": {corev1.PodCondition{Status: corev1.ConditionTrue, Message: "long"}, "", ""},
		"no node has room": {
			corev1.PodCondition{
				Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message: "0/3 nodes are available: 3 Too many pods. preemption: 0/3 nodes are available: 3 No preemption victims found.",
			},
			"Unschedulable", "0/3 nodes are available: 3 Too many pods",
		},
		"the scheduler says no more": {
			corev1.PodCondition{Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulerError},
			"Unschedulable", "SchedulerError",
		},
		"it has scheduling gates": {
			corev1.PodCondition{Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked"},
			"SchedulingGated", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.condition.Type = corev1.PodScheduled
			pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{test.condition}}}
			if got := describePod(ordinals(), pod.DeepCopy(), plan.Member); got.Waiting != test.want || got.Scheduler != test.scheduler {
				t.Errorf("it waits: %q, %q, want %q, %q", got.Waiting, got.Scheduler, test.want, test.scheduler)
			}
			slim, err := Slim(pod)
			if err != nil {
				t.Fatal(err)
			}
			if got := describePod(ordinals(), slim.(*corev1.Pod), plan.Member); got.Waiting != test.want || got.Scheduler != test.scheduler {
				t.Errorf("in the cache it waits: %q, %q, want %q, %q", got.Waiting, got.Scheduler, test.want, test.scheduler)
			}
		})
	}
}

// TestSlimNodeKeepsWhatIsRead: the zone, and the taint that fences a node.
func TestSlimNodeKeepsWhatIsRead(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "a"}, Annotations: map[string]string{"much": "text"}},
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24", Taints: []corev1.Taint{{Key: corev1.TaintNodeOutOfService}}},
		Status:     corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"app"}}}},
	}
	got, err := SlimNode(node)
	if err != nil {
		t.Fatal(err)
	}
	slim := got.(*corev1.Node)
	if slim.Labels[corev1.LabelTopologyZone] != "a" || !OutOfService(slim) {
		t.Errorf("what is read is lost: %+v", slim)
	}
	if len(slim.Status.Images) > 0 || len(slim.Annotations) > 0 {
		t.Errorf("what is not read is kept: %+v", slim)
	}
}

// TestEndedAt: the best that a status tells about when a pod ended.
func TestEndedAt(t *testing.T) {
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   int64
	}{
		"nothing but its beginning": {corev1.PodStatus{}, 10},
		"a condition": {
			corev1.PodStatus{Conditions: []corev1.PodCondition{{LastTransitionTime: at(30)}, {LastTransitionTime: at(20)}}}, 30,
		},
		"the last container": {
			corev1.PodStatus{
				Conditions: []corev1.PodCondition{{LastTransitionTime: at(20)}},
				ContainerStatuses: []corev1.ContainerStatus{
					{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(50)}}},
					{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(40)}}},
				},
			}, 50,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(10)}, Status: test.status}
			if got := endedAt(pod).Unix(); got != test.want {
				t.Errorf("ended at %d, want %d", got, test.want)
			}
		})
	}
}

// TestABadDeletionCostIsNone, as for the ReplicaSet controller.
func TestABadDeletionCostIsNone(t *testing.T) {
	for text, want := range map[string]int{"100": 100, "-1": -1, "cheap": 0, "": 0, "1.5": 0} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.PodDeletionCost: text}}}
		if got := describePod(ordinals(), pod, plan.Member).DeletionCost; got != want {
			t.Errorf("cost %q is read as %d, want %d", text, got, want)
		}
	}
}

// TestSameImage: runtimes write a name out that people write short.
func TestSameImage(t *testing.T) {
	for name, test := range map[string]struct {
		a, b string
		want bool
	}{
		"the same":                  {"nginx:1.27", "nginx:1.27", true},
		"the default registry":      {"nginx:1.27", "docker.io/library/nginx:1.27", true},
		"a user's repository":       {"me/app:1", "docker.io/me/app:1", true},
		"the default tag":           {"nginx", "docker.io/library/nginx:latest", true},
		"a registry with a port":    {"host:5000/app", "host:5000/app:latest", true},
		"a digest":                  {"app@sha256:12", "docker.io/library/app@sha256:12", true},
		"another tag":               {"nginx:1.27", "nginx:1.28", false},
		"another registry":          {"nginx:1.27", "quay.io/library/nginx:1.27", false},
		"a local registry":          {"localhost/app:1", "docker.io/localhost/app:1", false},
		"a repository like another": {"app:1", "myapp:1", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sameImage(test.a, test.b); got != test.want {
				t.Errorf("sameImage(%q, %q) = %t", test.a, test.b, got)
			}
		})
	}
}

// TestAChangeInPlaceIsDone when the container shows the new image, and not
// when the old one merely restarted.
func TestAChangeInPlaceIsDone(t *testing.T) {
	before := plan.ContainerMark{Name: "app", ContainerID: "old", ImageID: "sha-1", Image: "app:1"}
	for name, test := range map[string]struct {
		image    string
		now      corev1.ContainerStatus
		observed int64
		want     bool
	}{
		"the old container still runs":       {"app:2", corev1.ContainerStatus{ContainerID: "old", ImageID: "sha-1", Image: "app:1"}, 2, false},
		"the new image runs":                 {"app:2", corev1.ContainerStatus{ContainerID: "new", ImageID: "sha-2", Image: "app:2"}, 2, true},
		"the old image restarted":            {"app:2", corev1.ContainerStatus{ContainerID: "new", ImageID: "sha-1", Image: "app:1"}, 1, false},
		"one image of two names":             {"app:2", corev1.ContainerStatus{ContainerID: "new", ImageID: "sha-1", Image: "app:1"}, 2, true},
		"another image ID under an ID":       {"app:2", corev1.ContainerStatus{ContainerID: "new", ImageID: "sha-2", Image: "sha256:99"}, 1, true},
		"taken back before anything moved":   {"app:1", corev1.ContainerStatus{ContainerID: "old", ImageID: "sha-1", Image: "app:1"}, 2, true},
		"taken back, not yet followed":       {"app:1", corev1.ContainerStatus{ContainerID: "old", ImageID: "sha-1", Image: "app:1"}, 1, false},
		"an old kubelet tells no generation": {"app:2", corev1.ContainerStatus{ContainerID: "new", ImageID: "sha-2", Image: "app:2"}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: corev1.PodStatus{ObservedGeneration: test.observed}}
			if got := settled(before, &test.now, test.image, pod); got != test.want {
				t.Errorf("settled = %t, want %t", got, test.want)
			}
		})
	}
}

// One image under two names: nothing that an older kubelet tells shows that the
// change is done, so time has to. It must not be never.
func TestTheSameImageUnderAnotherTagSettlesInTime(t *testing.T) {
	running := func(id string, start int64) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: "app", ContainerID: id, ImageID: "sha-1", Image: "app:1",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(start)}},
		}
	}
	waiting := running("new", 0)
	waiting.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	side := func(s corev1.ContainerStatus) corev1.ContainerStatus { s.Name = "side"; return s }
	for name, test := range map[string]struct {
		statuses []corev1.ContainerStatus
		observed int64
		changing bool
		settles  int64 // 0 for never
	}{
		"a kubelet that says which spec it follows": {[]corev1.ContainerStatus{running("new", 100)}, 2, false, 0},
		"one that has not followed yet":             {[]corev1.ContainerStatus{running("new", 100)}, 1, true, 0},
		"one that does not say":                     {[]corev1.ContainerStatus{running("new", 100)}, 0, true, 160},
		"the old container":                         {[]corev1.ContainerStatus{running("old", 100)}, 0, true, 0},
		"a container that does not run":             {[]corev1.ContainerStatus{waiting}, 0, true, 0},
		"the last of two":                           {[]corev1.ContainerStatus{running("new", 130), side(running("new", 100))}, 0, true, 190},
		"one of two is the old one":                 {[]corev1.ContainerStatus{side(running("old", 100)), running("new", 130)}, 0, true, 0},
		"the other of two is the old one":           {[]corev1.ContainerStatus{running("new", 130), side(running("old", 100))}, 0, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 2, Annotations: map[string]string{
					appsv1.AnnotationInPlace: `[{"name":"app","containerID":"old","imageID":"sha-1","image":"app:1"},` +
						`{"name":"side","containerID":"old","imageID":"sha-1","image":"app:1"}]`,
				}},
				Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:2"}, {Name: "side", Image: "app:2"}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, ObservedGeneration: test.observed, ContainerStatuses: test.statuses},
			}
			slim, err := Slim(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			for from, pod := range map[string]*corev1.Pod{"the API": pod, "the cache": slim.(*corev1.Pod)} {
				got := describePod(ordinals(), pod, plan.Member)
				if got.Changing != test.changing || got.SettlesAt.IsZero() != (test.settles == 0) || test.settles > 0 && got.SettlesAt.Unix() != test.settles {
					t.Errorf("from %s: changing: %t until %v; want %t until %d", from, got.Changing, got.SettlesAt, test.changing, test.settles)
				}
			}
		})
	}
}

// A crashing container is reported in whichever state it is found, also from
// the cache; one that a change in place has ended is not.
func TestWhyAContainerDoesNotServe(t *testing.T) {
	start := time.Unix(100, 0)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}}
	ended := func(code int32, reason, id string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, ContainerID: id}}
	}
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	for name, test := range map[string]struct {
		status      corev1.ContainerStatus
		unreadyFrom time.Time
		want        string
	}{
		"it waits to be started again":         {status: corev1.ContainerStatus{State: waiting("CrashLoopBackOff"), LastTerminationState: ended(1, "Error", "b")}, want: "CrashLoopBackOff"},
		"it starts":                            {status: corev1.ContainerStatus{State: waiting("ContainerCreating")}},
		"it has just crashed":                  {status: corev1.ContainerStatus{State: ended(1, "Error", "b")}, want: "Error"},
		"it has ended well":                    {status: corev1.ContainerStatus{State: ended(0, "Completed", "b")}},
		"it was started again after a crash":   {status: corev1.ContainerStatus{State: running, LastTerminationState: ended(137, "OOMKilled", "b")}, want: "OOMKilled"},
		"it crashed once, and serves":          {status: corev1.ContainerStatus{State: running, Ready: true, LastTerminationState: ended(1, "Error", "b")}},
		"it served after its crash":            {status: corev1.ContainerStatus{State: running, LastTerminationState: ended(1, "Error", "b")}, unreadyFrom: start.Add(time.Minute)},
		"a change in place has ended it":       {status: corev1.ContainerStatus{State: ended(143, "Error", "old")}},
		"the new image starts after the old":   {status: corev1.ContainerStatus{State: running, LastTerminationState: ended(143, "Error", "old")}},
		"the new image crashed after the old":  {status: corev1.ContainerStatus{State: running, LastTerminationState: ended(1, "Error", "new")}, want: "Error"},
		"it waits, and was ended by a change":  {status: corev1.ContainerStatus{State: waiting("ErrImagePull"), LastTerminationState: ended(143, "Error", "old")}, want: "ErrImagePull"},
		"it runs for the first time, unready":  {status: corev1.ContainerStatus{State: running}},
		"it ended well and was started again ": {status: corev1.ContainerStatus{State: running, LastTerminationState: ended(0, "Completed", "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			test.status.Name = "app"
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "web-0", Annotations: map[string]string{appsv1.AnnotationInPlace: `[{"name":"app","containerID":"old"}]`}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
				Status: corev1.PodStatus{
					ContainerStatuses: []corev1.ContainerStatus{test.status},
					Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(test.unreadyFrom)}},
				},
			}
			if got := describePod(ordinals(), pod, plan.Member).Waiting; got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
			slim, err := Slim(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if got := describePod(ordinals(), slim.(*corev1.Pod), plan.Member).Waiting; got != test.want {
				t.Errorf("from the cache it says %q, want %q", got, test.want)
			}
		})
	}
}

// TestReadySinceTheContainersThatRun: a container that was restarted without the
// pod becoming unready has to prove itself, too, as seen from the cache as well.
func TestReadySinceTheContainersThatRun(t *testing.T) {
	started := func(second int64) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(second)}}
	}
	for name, test := range map[string]struct {
		ready              corev1.ConditionStatus
		app, proxy, waited corev1.ContainerState
		want               int64
	}{
		"it became ready after its containers started": {ready: corev1.ConditionTrue, app: started(10), proxy: started(20), want: 50},
		"one was restarted since":                      {ready: corev1.ConditionTrue, app: started(70), proxy: started(20), want: 70},
		"its sidecar was restarted since":              {ready: corev1.ConditionTrue, app: started(10), proxy: started(80), want: 80},
		"both were, one after the other":               {ready: corev1.ConditionTrue, app: started(70), proxy: started(80), want: 80},
		"an init container that ran again does not serve": {
			ready: corev1.ConditionTrue, app: started(10), proxy: started(20), waited: started(90), want: 50,
		},
		"it is not ready":  {ready: corev1.ConditionFalse, app: started(70), proxy: started(20)},
		"no start is told": {ready: corev1.ConditionTrue, want: 50},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				Spec: corev1.PodSpec{
					InitContainers: []corev1.Container{
						{Name: "setup"}, {Name: "proxy", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
					},
					Containers: []corev1.Container{{Name: "app"}},
				},
				Status: corev1.PodStatus{
					Phase:                 corev1.PodRunning,
					Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: test.ready, LastTransitionTime: at(50)}},
					ContainerStatuses:     []corev1.ContainerStatus{{Name: "app", Ready: true, State: test.app}},
					InitContainerStatuses: []corev1.ContainerStatus{{Name: "setup", State: test.waited}, {Name: "proxy", State: test.proxy}},
				},
			}
			var want time.Time
			if test.want > 0 {
				want = time.Unix(test.want, 0)
			}
			if got := describePod(ordinals(), pod, plan.Member).ReadySince; !got.Equal(want) {
				t.Errorf("it is ready since %v, want %v", got, want)
			}
			slim, err := Slim(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if got := describePod(ordinals(), slim.(*corev1.Pod), plan.Member).ReadySince; !got.Equal(want) {
				t.Errorf("from the cache it is ready since %v, want %v", got, want)
			}
		})
	}
}

// TestAResizeIsDoneWhenTheNodeHasRoomForIt: a kubelet that tries a deferred resize
// again says for a moment that none is pending, before it has done anything.
func TestAResizeIsDoneWhenTheNodeHasRoomForIt(t *testing.T) {
	memory := func(size string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size)}
	}
	deferred := corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}
	for name, test := range map[string]struct {
		has        corev1.ResourceList
		conditions []corev1.PodCondition
		phase      corev1.PodPhase
		want       plan.ResizeState
	}{
		"it has it":                         {has: memory("1Gi"), phase: corev1.PodRunning},
		"it has it, written in another way": {has: memory("1024Mi"), phase: corev1.PodRunning},
		"it has the size before":            {has: memory("256Mi"), phase: corev1.PodRunning, want: plan.ResizeInProgress},
		"it puts it off":                    {has: memory("256Mi"), phase: corev1.PodRunning, conditions: []corev1.PodCondition{deferred}, want: plan.ResizeDeferred},
		"it does not tell":                  {phase: corev1.PodRunning},
		"the pod has ended":                 {has: memory("256Mi"), phase: corev1.PodFailed},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: memory("1Gi")}}}},
				Status: corev1.PodStatus{
					Phase: test.phase, Conditions: test.conditions,
					ContainerStatuses: []corev1.ContainerStatus{{Name: "app", AllocatedResources: test.has}},
				},
			}
			if got := describePod(ordinals(), pod, plan.Member).Resize; got != test.want {
				t.Errorf("the resize is %v, want %v", got, test.want)
			}
			slim, err := Slim(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if got := describePod(ordinals(), slim.(*corev1.Pod), plan.Member).Resize; got != test.want {
				t.Errorf("from the cache it is %v, want %v", got, test.want)
			}
		})
	}
}

// TestGates: a condition of the gate's type counts only on a pod that has the gate.
func TestGates(t *testing.T) {
	gate := []corev1.PodReadinessGate{{ConditionType: appsv1.GateInService}}
	other := []corev1.PodReadinessGate{{ConditionType: "example.com/ready"}}
	for name, test := range map[string]struct {
		gates  []corev1.PodReadinessGate
		status corev1.ConditionStatus
		want   plan.Gate
	}{
		"no gate":                               {want: plan.GateNone},
		"no gate, but a condition":              {status: corev1.ConditionTrue, want: plan.GateNone},
		"no gate, but a condition that says no": {status: corev1.ConditionFalse, want: plan.GateNone},
		"another gate":                          {gates: other, status: corev1.ConditionTrue, want: plan.GateNone},
		"a gate that was never opened":          {gates: gate, want: plan.GateUnset},
		"a gate that is open":                   {gates: gate, status: corev1.ConditionTrue, want: plan.GateOpen},
		"a gate that is shut":                   {gates: gate, status: corev1.ConditionFalse, want: plan.GateShut},
		"a gate of which nothing is known":      {gates: gate, status: corev1.ConditionUnknown, want: plan.GateShut},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{ReadinessGates: test.gates}}
			if test.status != "" {
				pod.Status.Conditions = []corev1.PodCondition{{Type: appsv1.GateInService, Status: test.status}}
			}
			if got := describePod(ordinals(), pod, plan.Member).Gate; got != test.want {
				t.Errorf("the gate is %q, want %q", got, test.want)
			}
		})
	}
}

// TestWhatANodeSaysOfAResize: what is pending says more than what is in progress, in
// whichever order they are listed. Until the node has seen the newest size, what it
// says is about the size before.
func TestWhatANodeSaysOfAResize(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string, second int64) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, LastTransitionTime: at(second)}
	}
	deferred := condition(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonDeferred, 10)
	infeasible := condition(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonInfeasible, 20)
	progress := condition(corev1.PodResizeInProgress, corev1.ConditionTrue, "", 30)
	ready := condition(corev1.PodReady, corev1.ConditionTrue, "", 40)
	for name, test := range map[string]struct {
		conditions []corev1.PodCondition
		behind     bool // the node has not seen the newest size
		want       plan.ResizeState
		since      int64
	}{
		"nothing":                      {conditions: []corev1.PodCondition{ready}},
		"it is in progress":            {conditions: []corev1.PodCondition{ready, progress}, want: plan.ResizeInProgress, since: 30},
		"it is put off":                {conditions: []corev1.PodCondition{deferred, ready}, want: plan.ResizeDeferred, since: 10},
		"it can never be":              {conditions: []corev1.PodCondition{infeasible}, want: plan.ResizeInfeasible, since: 20},
		"put off, and in progress":     {conditions: []corev1.PodCondition{deferred, progress}, want: plan.ResizeDeferred, since: 10},
		"in progress, and put off":     {conditions: []corev1.PodCondition{progress, deferred}, want: plan.ResizeDeferred, since: 10},
		"it was in progress":           {conditions: []corev1.PodCondition{condition(corev1.PodResizeInProgress, corev1.ConditionFalse, "", 30)}},
		"it was put off":               {conditions: []corev1.PodCondition{condition(corev1.PodResizePending, corev1.ConditionFalse, corev1.PodReasonDeferred, 10)}},
		"the size before was put off":  {conditions: []corev1.PodCondition{deferred}, behind: true, want: plan.ResizeInProgress, since: 10},
		"the size before could not be": {conditions: []corev1.PodCondition{infeasible}, behind: true, want: plan.ResizeInProgress, since: 20},
		"of the newest size nothing":   {behind: true, want: plan.ResizeInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 2},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, ObservedGeneration: 2, Conditions: test.conditions},
			}
			if test.behind {
				pod.Status.ObservedGeneration = 1
			}
			var since time.Time
			if test.since > 0 {
				since = time.Unix(test.since, 0)
			}
			slim, err := Slim(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			for from, pod := range map[string]*corev1.Pod{"the API": pod, "the cache": slim.(*corev1.Pod)} {
				if got := describePod(ordinals(), pod, plan.Member); got.Resize != test.want || !got.ResizeSince.Equal(since) {
					t.Errorf("from %s the resize is %q since %v, want %q since %v", from, got.Resize, got.ResizeSince, test.want, since)
				}
			}
		})
	}
}

// TestANewSizeThatNeedsNoRestart: the old container is the right one as soon as the
// node is done with the resize.
func TestANewSizeThatNeedsNoRestart(t *testing.T) {
	before := plan.ContainerMark{Name: "app", ContainerID: "old", ImageID: "sha-1", Image: "app:1"}
	now := corev1.ContainerStatus{Name: "app", ContainerID: "old", ImageID: "sha-1", Image: "app:1"}
	for name, test := range map[string]struct {
		conditions []corev1.PodCondition
		want       bool
	}{
		"nothing is resized":    {nil, true},
		"the pod is ready":      {[]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}, true},
		"the resize is pending": {[]corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue}}, false},
		"it is in progress":     {[]corev1.PodCondition{{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue}}, false},
		"it was pending":        {[]corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionFalse}}, true},
		"it was in progress":    {[]corev1.PodCondition{{Type: corev1.PodResizeInProgress, Status: corev1.ConditionFalse}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Generation: 2},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, ObservedGeneration: 2, Conditions: test.conditions},
			}
			if got := settled(before, &now, "app:1", pod); got != test.want {
				t.Errorf("settled = %t, want %t", got, test.want)
			}
		})
	}
}

// fields are indexes that were registered, by kind and field. It refuses one.
type fields struct {
	names  []string
	refuse string
}

func (f *fields) IndexField(_ context.Context, obj client.Object, field string, _ client.IndexerFunc) error {
	name := fmt.Sprintf("%T %s", obj, field)
	if name == f.refuse {
		return errors.New("no")
	}
	f.names = append(f.names, name)
	return nil
}

// TestAddIndexes registers every index that Observe reads, or fails.
func TestAddIndexes(t *testing.T) {
	all := []string{"*v1.Pod fleet", "*v1.Pod node", "*v1.PersistentVolumeClaim fleet", "*v1.ControllerRevision controller"}
	got := &fields{}
	if err := AddIndexes(t.Context(), got, appsv1.LabelName); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, got.names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range all {
		if err := AddIndexes(t.Context(), &fields{refuse: name}); err == nil {
			t.Errorf("%s was refused, and nothing said so", name)
		}
	}
}

// TestAnEditedNoteIsNoNote: the annotation is on the pod, where any client can
// write.
func TestAnEditedNoteIsNoNote(t *testing.T) {
	pod := richPod()
	pod.Annotations[appsv1.AnnotationInPlace] = "{"
	if got := describePod(ordinals(), pod, plan.Member); got.Changing {
		t.Error("the pod waits for a change that was not recorded")
	}
}

// A hold is a label, or a finalizer of the same name; what keeps a pod that was
// asked to go is named.
func TestWhoHoldsAPod(t *testing.T) {
	finalizers := metav1.ObjectMeta{Finalizers: []string{"example.com/other", appsv1.LabelHoldUpdate}}
	got := describePod(ordinals(), &corev1.Pod{ObjectMeta: finalizers}, plan.Member)
	if got.HoldDelete != nil || got.HoldUpdate == nil || *got.HoldUpdate != appsv1.LabelHoldUpdate || got.KeptBy != "" {
		t.Errorf("with a finalizer it is held from delete by %v, from update by %v, kept by %q", got.HoldDelete, got.HoldUpdate, got.KeptBy)
	}
	finalizers.DeletionTimestamp = ptr.To(metav1.Now())
	if got := describePod(ordinals(), &corev1.Pod{ObjectMeta: finalizers}, plan.Member); got.KeptBy != "example.com/other" {
		t.Errorf("a terminating pod is kept by %q", got.KeptBy)
	}
	finalizers.DeletionGracePeriodSeconds = ptr.To(int64(30))
	if describePod(ordinals(), &corev1.Pod{ObjectMeta: finalizers}, plan.Member).Ended {
		t.Error("a pod that has a grace period counts as ended")
	}
	finalizers.DeletionGracePeriodSeconds = ptr.To(int64(0))
	if !describePod(ordinals(), &corev1.Pod{ObjectMeta: finalizers}, plan.Member).Ended {
		t.Error("a pod that only a finalizer keeps does not count as ended")
	}
	finalizers.Finalizers = nil
	if got := describePod(ordinals(), &corev1.Pod{ObjectMeta: finalizers}, plan.Member); got.KeptBy != "" {
		t.Errorf("a terminating pod without finalizers is kept by %q", got.KeptBy)
	}
	both := metav1.ObjectMeta{Finalizers: []string{appsv1.LabelHoldDelete}, Labels: map[string]string{appsv1.LabelHoldDelete: "backup"}}
	if got := describePod(ordinals(), &corev1.Pod{ObjectMeta: both}, plan.Member); got.HoldDelete == nil || *got.HoldDelete != "backup" {
		t.Errorf("the label's value says more than the finalizer: %v", got.HoldDelete)
	}
}
