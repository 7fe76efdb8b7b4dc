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

package flightrecorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func testPod() *corev1.Pod {
	now := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-0", Namespace: "shop", UID: "uid-web-0", ResourceVersion: "100", Generation: 1,
			Labels:      map[string]string{"app": "web", "apps.mycompany.com/revision": "r1"},
			Annotations: map[string]string{"note": "x"},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-1",
			Containers: []corev1.Container{
				{
					Name: "app", Image: "nginx:1.27",
					Env:   []corev1.EnvVar{{Name: "DB_PASSWORD", Value: "hunter2"}, {Name: "MODE", Value: "prod"}},
					Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
					}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
						HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)},
					}},
				},
				{Name: "sidecar", Image: "envoy:1"},
			},
			Tolerations: []corev1.Toleration{{Key: "a"}, {Key: "b"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", StartTime: &now,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: now},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Ready: true, Image: "nginx:1.27"}},
		},
	}
}

func asUnstructured(t testing.TB, obj runtime.Object) *unstructured.Unstructured {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: m}
}

func TestDiffNamesTheFieldsThatChanged(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"nothing but what changes with every write": {
			change: func(p *corev1.Pod) {
				p.ResourceVersion, p.Generation = "101", 2
				p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			},
		},
		"a scalar deep inside a keyed list": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Image = "nginx:1.28" },
			want:   []string{"spec.containers[app].image"},
		},
		"an env value, by the variable's name": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Env[0].Value = "correct-horse" },
			want:   []string{"spec.containers[app].env[DB_PASSWORD].value"},
		},
		"a keyed item that is new and one that is gone": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "prod"}, {Name: "NEW", Value: "v"}}
			},
			want: []string{"spec.containers[app].env[DB_PASSWORD]", "spec.containers[app].env[NEW]"},
		},
		"items that only changed places": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0], p.Spec.Containers[1] = p.Spec.Containers[1], p.Spec.Containers[0]
			},
		},
		"a condition, by its type": {
			change: func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionTrue },
			want:   []string{"status.conditions[Ready].status"},
		},
		"a list without a key, by index": {
			change: func(p *corev1.Pod) { p.Spec.Tolerations[1].Key = "c" },
			want:   []string{"spec.tolerations[1].key"},
		},
		"a list without a key that grew, as a whole": {
			change: func(p *corev1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "c"}) },
			want:   []string{"spec.tolerations"},
		},
		"map entries new, gone and changed": {
			change: func(p *corev1.Pod) {
				p.Labels = map[string]string{"app": "api", "tier": "1"}
			},
			want: []string{"metadata.labels.app", "metadata.labels.tier", "metadata.labels[apps.mycompany.com/revision]"},
		},
		"a map that appears and one that goes, by their keys": {
			change: func(p *corev1.Pod) {
				p.Annotations = nil
				p.Spec.NodeSelector = map[string]string{"disk": "ssd", "zone": "a"}
			},
			want: []string{"metadata.annotations.note", "spec.nodeSelector.disk", "spec.nodeSelector.zone"},
		},
		"a quantity written in another way": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1000m"), corev1.ResourceMemory: resource.MustParse("1024Mi"),
				}
			},
		},
		"a quantity": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"),
				}
			},
			want: []string{"spec.containers[app].resources.requests.cpu"},
		},
		"a pointer set and a whole branch gone": {
			change: func(p *corev1.Pod) {
				p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
				p.Spec.Containers[0].ReadinessProbe = nil
			},
			want: []string{"metadata.deletionTimestamp", "spec.containers[app].readinessProbe"},
		},
		"an int-or-string": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].ReadinessProbe.HTTPGet.Port = intstr.FromString("http")
			},
			want: []string{"spec.containers[app].readinessProbe.httpGet.port"},
		},
		"nil and empty are the same": {
			change: func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{}; p.Finalizers = []string{} },
		},
		"the same moment in another zone": {
			change: func(p *corev1.Pod) {
				at := metav1.NewTime(p.Status.StartTime.In(time.FixedZone("x", 3600)))
				p.Status.StartTime = &at
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := testPod(), testPod()
			c.change(after)
			before.Generation = 7
			d := newDiffer(newInterner(), 64)
			got, more := d.diff(before, after)
			if diff := cmp.Diff(c.want, got); diff != "" || more != 0 {
				t.Errorf("typed, -want +got, %d more:\n%s", more, diff)
			}
			if name == "a quantity written in another way" || name == "the same moment in another zone" {
				return // without a schema, text is text
			}
			got, more = d.diff(asUnstructured(t, before), asUnstructured(t, after))
			if diff := cmp.Diff(c.want, got); diff != "" || more != 0 {
				t.Errorf("unstructured, -want +got, %d more:\n%s", more, diff)
			}
		})
	}
}

func TestDiffTrustsTheGenerationOnlyWhereItExplainsTheChange(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"status changed and the generation did not: spec is not looked at": {
			change: func(p *corev1.Pod) { p.Status.Phase, p.Spec.NodeName = corev1.PodFailed, "x" },
			want:   []string{"status.phase"},
		},
		"the generation changed": {
			change: func(p *corev1.Pod) {
				p.Status.Phase, p.Spec.NodeName, p.Generation = corev1.PodFailed, "x", 2
			},
			want: []string{"spec.nodeName", "status.phase"},
		},
		"nothing but spec changed, whatever the generation says": {
			change: func(p *corev1.Pod) { p.Spec.NodeName = "x" },
			want:   []string{"spec.nodeName"},
		},
		"generations are not counted": {
			change: func(p *corev1.Pod) {
				p.Status.Phase, p.Spec.NodeName, p.Generation = corev1.PodFailed, "x", 0
			},
			want: []string{"spec.nodeName", "status.phase"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := testPod(), testPod()
			c.change(after)
			if after.Generation == 0 {
				before.Generation = 0
			}
			d := newDiffer(newInterner(), 64)
			for _, pair := range [][2]client.Object{{before, after}, {asUnstructured(t, before), asUnstructured(t, after)}} {
				got, _ := d.diff(pair[0], pair[1])
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%T, -want +got:\n%s", pair[0], diff)
				}
			}
		})
	}
}

func TestDiffIsBounded(t *testing.T) {
	before := &corev1.ConfigMap{Data: map[string]string{"x": ""}}
	after := &corev1.ConfigMap{Data: map[string]string{"x": ""}}
	for i := range 100 {
		after.Data[fmt.Sprintf("key-%03d", i)] = "v"
	}
	after.Data[strings.Repeat("long", 1000)] = "v"
	got, more := newDiffer(newInterner(), 10).diff(before, after)
	if len(got) != 10 || more != 91 {
		t.Errorf("got %d fields and %d more, want 10 and 91", len(got), more)
	}
	for _, f := range got {
		if len(f) > maxPathLength {
			t.Errorf("path of %d bytes", len(f))
		}
	}
}

// A list's key is an identifier. What is not fit to be one is not shown.
func TestDiffShowsNoItemNameThatIsNotAName(t *testing.T) {
	before, after := testPod(), testPod()
	before.Spec.Containers[0].Env[0].Name = "hunter2 is my password"
	after.Spec.Containers[0].Env[0].Name = "hunter2 is my password"
	after.Spec.Containers[0].Env[0].Value = "changed"
	got, _ := newDiffer(newInterner(), 64).diff(before, after)
	if diff := cmp.Diff([]string{"spec.containers[app].env[0].value"}, got); diff != "" {
		t.Error(diff)
	}
}

// No value may get into a path, whatever changes: every string value of these objects is a canary.
func TestDiffNeverShowsValues(t *testing.T) {
	const canary = "CANARY"
	secret := func(v string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{"a": canary + v}},
			Data:       map[string][]byte{"password": []byte(canary + v)},
			StringData: map[string]string{"token": canary + v},
			Type:       corev1.SecretType(canary + v),
		}
	}
	pod := func(v string) *corev1.Pod {
		p := testPod()
		p.Spec.NodeName = canary + v
		p.Spec.Containers[0].Image = canary + v
		p.Spec.Containers[0].Args = []string{canary + v}
		p.Spec.Containers[0].Env[0].Value = canary + v
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: canary + v}}
		p.Spec.HostAliases = []corev1.HostAlias{{IP: canary + v}}
		p.Status.Message = canary + v
		p.Finalizers = []string{canary + v}
		p.Generation = int64(len(v)) // another one, so that spec is compared
		return p
	}
	for name, pair := range map[string][2]client.Object{
		"secret":              {secret("1"), secret("2")},
		"secret unstructured": {asUnstructured(t, secret("1")), asUnstructured(t, secret("2"))},
		"pod":                 {pod("1"), pod("22")},
		"pod unstructured":    {asUnstructured(t, pod("1")), asUnstructured(t, pod("22"))},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := newDiffer(newInterner(), 64).diff(pair[0], pair[1])
			if len(got) < 4 {
				t.Fatalf("only %v found", got)
			}
			if s := strings.Join(got, "\n"); strings.Contains(s, canary) {
				t.Errorf("a value is in the paths:\n%s", s)
			}
		})
	}
}

func TestDiffOfDifferentTypesSaysNothing(t *testing.T) {
	d := newDiffer(newInterner(), 64)
	for _, pair := range [][2]client.Object{
		{testPod(), &corev1.Secret{}},
		{testPod(), asUnstructured(t, testPod())},
	} {
		if got, _ := d.diff(pair[0], pair[1]); got != nil {
			t.Errorf("diff of %T and %T: %v", pair[0], pair[1], got)
		}
	}
}

func BenchmarkDiffOfAPod(b *testing.B) {
	before, after := testPod(), testPod()
	after.Status.Conditions[1].Status = corev1.ConditionTrue
	after.Status.ContainerStatuses[0].Ready = false
	d := newDiffer(newInterner(), 64)
	b.ReportAllocs()
	for b.Loop() {
		if got, _ := d.diff(before, after); len(got) != 2 {
			b.Fatal(got)
		}
	}
}
