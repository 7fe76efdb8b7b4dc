//go:build linux

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

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// fleet is a PodManager and its pods, in a test.
type fleet struct {
	testing.TB
	namespace, name string
}

// newFleet creates a PodManager of servers and waits until it is ready.
func newFleet(t testing.TB, replicas int32, change func(*appsv1.PodManager)) *fleet {
	t.Helper()
	f := createFleet(t, replicas, change)
	f.waitReady()
	return f
}

// createFleet creates a PodManager of servers. The test changes what it is about.
func createFleet(t testing.TB, replicas int32, change func(*appsv1.PodManager)) *fleet {
	t.Helper()
	f := &fleet{TB: t, namespace: suite.Namespace(t), name: "web"}
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.name}}
	pm.Spec.Replicas = &replicas
	pm.Spec.Image = imageV1
	pm.Spec.Update.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{server()}}}
	if change != nil {
		change(pm)
	}
	t.Cleanup(f.tell)
	if err := suite.Client.Create(t.Context(), pm); err != nil {
		t.Fatalf("create PodManager %s: %v", f.name, err)
	}
	return f
}

// server is the container that the fleets run.
func server(args ...string) corev1.Container {
	return corev1.Container{
		Name: appsv1.AppContainer,
		Args: args,
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
		}},
		ReadinessProbe: &corev1.Probe{
			PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 5,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(serverPort)}},
		},
	}
}

const serverPort = 8080

// container is the one of a PodManager's template.
func container(pm *appsv1.PodManager) *corev1.Container { return &pm.Spec.Template.Spec.Containers[0] }

func (f *fleet) eventually(what string, check func() error) {
	f.Helper()
	if err := poll(f.Context(), what, check); err != nil {
		f.Fatal(err)
	}
}

func (f *fleet) get() *appsv1.PodManager {
	f.Helper()
	var pm appsv1.PodManager
	if err := suite.Client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: f.name}, &pm); err != nil {
		f.Fatalf("get PodManager %s: %v", f.name, err)
	}
	return &pm
}

func (f *fleet) change(change func(*appsv1.PodManager)) {
	f.Helper()
	pm := f.get()
	before := pm.DeepCopy()
	change(pm)
	if err := suite.Client.Patch(f.Context(), pm, client.MergeFrom(before)); err != nil {
		f.Fatalf("change PodManager %s: %v", f.name, err)
	}
}

// settled tells what is missing until every pod is available and as the spec
// wants it, and the nodes have done it, which takes longer than the pods' being
// available where they are resized.
func settled(pm *appsv1.PodManager) error {
	want, s := *pm.Spec.Replicas, pm.Status
	ready := condition(pm, appsv1.ConditionReady)
	if s.ObservedGeneration != pm.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want ||
		ready == nil || ready.Status != metav1.ConditionTrue || condition(pm, appsv1.ConditionReconciling) != nil {
		return fmt.Errorf("generation %d of %d, updated %d, available %d, replicas %d of %d, conditions %v",
			s.ObservedGeneration, pm.Generation, s.UpdatedReplicas, s.AvailableReplicas, s.Replicas, want, s.Conditions)
	}
	return nil
}

func condition(pm *appsv1.PodManager, kind string) *metav1.Condition {
	i := slices.IndexFunc(pm.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &pm.Status.Conditions[i]
}

func (f *fleet) waitReady() {
	f.Helper()
	f.eventually("PodManager "+f.name+" is ready", func() error { return settled(f.get()) })
}

// waitStalled waits until the fleet stands still for the reason.
func (f *fleet) waitStalled(reason string) metav1.Condition {
	f.Helper()
	var stalled *metav1.Condition
	f.eventually("PodManager "+f.name+" is stalled by "+reason, func() error {
		pm := f.get()
		if stalled = condition(pm, appsv1.ConditionStalled); stalled == nil || stalled.Reason != reason {
			return fmt.Errorf("conditions %v", pm.Status.Conditions)
		}
		return nil
	})
	return *stalled
}

// pods are those that are not being deleted, sorted by name.
func (f *fleet) pods() []corev1.Pod {
	f.Helper()
	return slices.DeleteFunc(f.allPods(), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

func (f *fleet) allPods() []corev1.Pod {
	f.Helper()
	var list corev1.PodList
	err := suite.Client.List(f.Context(), &list, client.InNamespace(f.namespace), client.MatchingLabels{appsv1.LabelName: f.name})
	if err != nil {
		f.Fatalf("list the pods of %s: %v", f.name, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// life is what tells a pod that lived on from one that was replaced.
type life struct {
	UID      string
	Restarts int32
	Image    string
}

func (f *fleet) lives() map[string]life {
	f.Helper()
	lives := map[string]life{}
	for _, p := range f.pods() {
		lives[p.Name] = life{UID: string(p.UID), Restarts: restarts(p), Image: p.Spec.Containers[0].Image}
	}
	return lives
}

func restarts(p corev1.Pod) int32 {
	if len(p.Status.ContainerStatuses) == 0 {
		return 0
	}
	return p.Status.ContainerStatuses[0].RestartCount
}

// ask sends a request to a pod's server.
func ask(ctx context.Context, ip, method, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://%s:%d%s", ip, serverPort, path), nil)
	if err != nil {
		return "", err
	}
	request.Close = true // as a new client does; a kept connection would end with the container
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	return string(body), err
}

func (f *fleet) order(p corev1.Pod, path string) {
	f.Helper()
	if _, err := ask(f.Context(), p.Status.PodIP, http.MethodPost, path); err != nil {
		f.Fatalf("ask pod %s: %v", p.Name, err)
	}
}

// versions asks all pods which version they are.
func (f *fleet) versions() []string {
	f.Helper()
	var versions []string
	for _, p := range f.pods() {
		version, err := ask(f.Context(), p.Status.PodIP, http.MethodGet, "/version")
		if err != nil {
			f.Fatalf("ask pod %s: %v", p.Name, err)
		}
		versions = append(versions, version)
	}
	return versions
}

// tell says what things look like when the test has failed.
func (f *fleet) tell() {
	if !f.Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "pods", "-A", "-o", "wide"},
		{"get", "events", "-n", f.namespace},
		{"get", "pm", "-n", f.namespace, "-o", "yaml"},
		{"get", "pods", "-n", f.namespace, "-o", "yaml"},
	} {
		out, err := kubectl(context.Background(), args...)
		f.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
