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
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// journaled has every pod write down its life in a file of its own, in a folder of
// node A that it returns.
func journaled(t testing.TB, pm *appsv1.PodManager, args ...string) string {
	t.Helper()
	folder := filepath.Join(nodes[nodeA].Dir(), "journals", pm.Namespace)
	// The server may run as any user.
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	spec := &pm.Spec.Template.Spec
	on(spec, nodeA)
	spec.Volumes = []corev1.Volume{{Name: "journals", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: folder, Type: ptr.To(corev1.HostPathDirectory)},
	}}}
	c := container(pm)
	c.Args = append([]string{"--journal=/journals/$(POD_NAME)"}, args...)
	c.Env = []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "journals", MountPath: "/journals"}}
	return folder
}

func wantJournal(t testing.TB, path string, want ...string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("read a pod's journal: %v", err)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(data)), "\n")); diff != "" {
		t.Errorf("journal %s (-want +got):\n%s", filepath.Base(path), diff)
	}
}

// A container that is ended, in place or with its pod, gets a signal and the
// time to finish.
func TestTerminationIsGraceful(t *testing.T) {
	t.Parallel()
	var folder string
	f := newFleet(t, 2, func(pm *appsv1.PodManager) {
		folder = journaled(t, pm, "--drain=2s")
		pm.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](60)
	})
	f.change(func(pm *appsv1.PodManager) { pm.Spec.Image = imageV2 })
	f.waitReady()
	wantJournal(t, filepath.Join(folder, "web-0"), "started v1", "SIGTERM", "ended in peace", "started v2")

	f.change(func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](1) })
	f.eventually("the second pod is gone", func() error { return want("pods", len(f.allPods()), 1) })
	wantJournal(t, filepath.Join(folder, "web-1"), "started v1", "SIGTERM", "ended in peace", "started v2", "SIGTERM", "ended in peace")
}

// Deleting the PodManager waits for the pods, and these for their servers.
func TestDeletionWaitsForThePods(t *testing.T) {
	t.Parallel()
	var folder string
	f := newFleet(t, 2, func(pm *appsv1.PodManager) { folder = journaled(t, pm, "--drain=2s") })
	suite.Kubectl(t, "delete", "pm", f.name, "-n", f.namespace, "--timeout=2m")
	if pods := f.allPods(); len(pods) != 0 {
		t.Errorf("%d pods are left", len(pods))
	}
	for _, name := range []string{"web-0", "web-1"} {
		wantJournal(t, filepath.Join(folder, name), "started v1", "SIGTERM", "ended in peace")
	}
}

// Volumes are folders of the node that the test makes; a provisioner would add
// nothing to what is checked here.
func TestVolumeClaimsComeBackToTheirOrdinal(t *testing.T) {
	t.Parallel()
	const class = "folders"
	var created []string
	f := newFleet(t, 2, func(pm *appsv1.PodManager) {
		for i := range *pm.Spec.Replicas {
			created = append(created, makeVolume(t, fmt.Sprintf("%s-%d", pm.Namespace, i), class))
		}
		c := container(pm)
		c.Args = []string{"--journal=/data/journal"}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To(class),
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
			},
		}}
	})
	before := f.lives()
	// An environment cannot be changed in place.
	f.change(func(pm *appsv1.PodManager) { container(pm).Env = []corev1.EnvVar{{Name: "A", Value: "B"}} })
	f.waitReady()
	for name, l := range f.lives() {
		if l.UID == before[name].UID {
			t.Errorf("pod %s was not recreated, so this shows nothing", name)
		}
	}
	for _, folder := range created {
		wantJournal(t, filepath.Join(folder, "journal"), "started v1", "SIGTERM", "ended in peace", "started v1")
	}
}

// makeVolume makes a PersistentVolume out of a folder of node A.
func makeVolume(t testing.TB, name, class string) string {
	t.Helper()
	folder := filepath.Join(nodes[nodeA].Dir(), "volumes", name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{nodeA}}},
			}}}},
		},
	}
	if err := suite.Client.Create(t.Context(), volume); err != nil {
		t.Fatalf("create PersistentVolume %s: %v", name, err)
	}
	return folder
}
