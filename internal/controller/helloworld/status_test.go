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

package helloworld

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
)

var now = time.Unix(1_000_000, 0)

func three() *testv1alpha1.HelloWorld {
	return &testv1alpha1.HelloWorld{
		TypeMeta:   metav1.TypeMeta{APIVersion: testv1alpha1.GroupVersion.String(), Kind: "HelloWorld"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hello", UID: "u", Generation: 4},
		Spec:       testv1alpha1.HelloWorldSpec{Size: ptr.To(int32(3))},
	}
}

// done is the Deployment of three, at its goal.
func done(t *testing.T) *kappsv1.Deployment {
	t.Helper()
	d, err := desired.HelloWorldDeployment(desired.HelloWorld(three()))
	if err != nil {
		t.Fatal(err)
	}
	d.Generation = 2
	d.Status = kappsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}
	return d
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(*kappsv1.Deployment)
		blocked *state
		want    string
		kstatus status.Status
	}{
		"at its goal": {func(*kappsv1.Deployment) {}, nil, "Ready: Available", status.CurrentStatus},
		"not seen by its controller": {
			func(d *kappsv1.Deployment) { d.Generation = 3 }, nil,
			"Reconciling: Progressing, not Ready: Progressing", status.InProgressStatus,
		},
		"not all available": {
			func(d *kappsv1.Deployment) { d.Status.AvailableReplicas = 1 }, nil,
			"Reconciling: Progressing, not Ready: Progressing", status.InProgressStatus,
		},
		"old pods left": {
			func(d *kappsv1.Deployment) { d.Status.Replicas = 4 }, nil,
			"Reconciling: Progressing, not Ready: Progressing", status.InProgressStatus,
		},
		"being deleted": {
			func(d *kappsv1.Deployment) { d.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }, nil,
			"Reconciling: Progressing, not Ready: Progressing", status.InProgressStatus,
		},
		"past its deadline": {func(d *kappsv1.Deployment) {
			d.Status.Conditions = []kappsv1.DeploymentCondition{{Type: kappsv1.DeploymentProgressing, Status: corev1.ConditionFalse}}
		}, nil, "Stalled: ProgressDeadlineExceeded, not Ready: ProgressDeadlineExceeded", status.FailedStatus},
		"without room for its pods": {func(d *kappsv1.Deployment) {
			d.Status.Conditions = []kappsv1.DeploymentCondition{{Type: kappsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue}}
		}, nil, "Stalled: ReplicaFailure, not Ready: ReplicaFailure", status.FailedStatus},
		"paused in the middle": {
			func(d *kappsv1.Deployment) { d.Spec.Paused, d.Status.UpdatedReplicas = true, 1 }, nil,
			"Stalled: DeploymentPaused, not Ready: DeploymentPaused", status.FailedStatus,
		},
		"paused at its goal": {func(d *kappsv1.Deployment) { d.Spec.Paused = true }, nil, "Ready: Available", status.CurrentStatus},
		"another owner's": {
			func(*kappsv1.Deployment) {}, &state{testv1alpha1.ReasonNameTaken, "taken"},
			"Stalled: NameTaken, not Ready: NameTaken", status.FailedStatus,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hw, d := three(), done(t)
			c.edit(d)
			hw.Status = report(hw, d, nil, c.blocked, now)
			if got := words(hw.Status.Conditions); got != c.want {
				t.Errorf("conditions: %s, want %s", got, c.want)
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hw)
			if err != nil {
				t.Fatal(err)
			}
			result, err := status.Compute(&unstructured.Unstructured{Object: object})
			if err != nil || result.Status != c.kstatus {
				t.Errorf("kstatus says %v, %v; want %s", result, err, c.kstatus)
			}
			if diff := cmp.Diff(hw.Status, report(hw, d, nil, c.blocked, now.Add(time.Hour))); diff != "" {
				t.Errorf("an hour later the status says something else:\n%s", diff)
			}
		})
	}
}

func words(conditions []metav1.Condition) string {
	text := ""
	for _, c := range conditions {
		if text != "" {
			text += ", "
		}
		if c.Status != metav1.ConditionTrue {
			text += "not "
		}
		text += c.Type + ": " + c.Reason
	}
	return text
}

func TestDriftLooksAtOurFieldsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*kappsv1.Deployment)
		want []string
	}{
		"nothing":  {func(*kappsv1.Deployment) {}, nil},
		"replicas": {func(d *kappsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(9)) }, []string{"replicas 9 -> 3"}},
		"image": {
			func(d *kappsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "httpd" },
			[]string{"image httpd -> nginx:1.27"},
		},
		"label": {func(d *kappsv1.Deployment) { d.Labels = nil }, []string{"label hello_name  -> hello"}},
		"port": {
			func(d *kappsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 81 },
			[]string{"the port nginx 80 is missing"},
		},
		"security": {
			func(d *kappsv1.Deployment) { d.Spec.Template.Spec.Containers[0].SecurityContext = nil },
			[]string{"the securityContext of the container nginx"},
		},
		"container": {
			func(d *kappsv1.Deployment) { d.Spec.Template.Spec.Containers = nil },
			[]string{"the container nginx is missing"},
		},
		"fields of others": {func(d *kappsv1.Deployment) {
			d.Annotations = map[string]string{"a": "b"}
			d.Spec.MinReadySeconds = 7
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar"})
			d.Spec.Template.Spec.Containers[0].Ports = append(d.Spec.Template.Spec.Containers[0].Ports, corev1.ContainerPort{Name: "more", ContainerPort: 81})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			live := done(t)
			c.edit(live)
			slimmed, err := Slim(live)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, drift(slimmed.(*kappsv1.Deployment), done(t))); diff != "" {
				t.Errorf("drift (-want +got):\n%s", diff)
			}
		})
	}
}

// The Deployments of all tenants are in the cache.
func TestSlimKeepsNoLargeDeployment(t *testing.T) {
	const much = 1 << 20
	for name, grow := range map[string]func(*kappsv1.Deployment, string){
		"label":           func(d *kappsv1.Deployment, long string) { d.Labels["team"] = long },
		"label of pods":   func(d *kappsv1.Deployment, long string) { d.Spec.Template.Labels["team"] = long },
		"selector":        func(d *kappsv1.Deployment, long string) { d.Spec.Selector.MatchLabels["team"] = long },
		"image":           func(d *kappsv1.Deployment, long string) { d.Spec.Template.Spec.Containers[0].Image = long },
		"name of a port":  func(d *kappsv1.Deployment, long string) { d.Spec.Template.Spec.Containers[0].Ports[0].Name = long },
		"other container": func(d *kappsv1.Deployment, long string) { d.Spec.Template.Spec.Containers[0].Name = long },
	} {
		t.Run(name, func(t *testing.T) {
			d := done(t)
			grow(d, strings.Repeat("x", much))
			slimmed, err := Slim(d)
			if err != nil {
				t.Fatal(err)
			}
			if n := slimmed.(*kappsv1.Deployment).Size(); n > observe.Large {
				t.Errorf("%d bytes are kept", n)
			}
		})
	}
}

func TestNodeNamesAreThePodsOfTheDeployment(t *testing.T) {
	pod := func(name, owner string, edit func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"pod-template-hash": "abc"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, Controller: ptr.To(true)}},
		}}
		if edit != nil {
			edit(&p)
		}
		return p
	}
	pods := []corev1.Pod{
		pod("z", "hello-abc", nil),
		pod("a", "hello-abc", nil),
		pod("terminating", "hello-abc", func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }),
		pod("failed", "hello-abc", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
		pod("another Deployment's", "hello-world-abc", nil),
		pod("unowned", "hello-abc", func(p *corev1.Pod) { p.OwnerReferences = nil }),
	}
	if diff := cmp.Diff([]string{"a", "z"}, nodeNames(three(), pods)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	var many []corev1.Pod
	for i := range 300 {
		many = append(many, pod(fmt.Sprint(i), "hello-abc", nil))
	}
	if n := len(nodeNames(three(), many)); n != testv1alpha1.MaxNodes {
		t.Errorf("%d names", n)
	}
}

// The API server takes no longer message, and refuses the whole status for it.
func TestALongRefusalFitsIntoTheStatus(t *testing.T) {
	long := &state{testv1alpha1.ReasonRefused, strings.Repeat("no", 1<<15)}
	for _, c := range report(three(), nil, nil, long, now).Conditions {
		if n := len(c.Message); n > 32768 {
			t.Errorf("the message of %s has %d bytes", c.Type, n)
		}
	}
}
