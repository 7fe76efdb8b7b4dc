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

package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// richTemplate uses fields that v1alpha1 has no idea of.
func richTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": "front"}, Annotations: map[string]string{"note": "kept"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To(int64(7)),
			Volumes:                       []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{
				{
					Name: "app", Image: "nginx:1.27",
					Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")}},
					VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}},
				},
				{Name: "side", Image: "busybox:1.37", Command: []string{"sleep", "3600"}},
			},
		},
	}
}

// TestEitherVersionReplacesNoPod reads and writes a PodManager with running
// pods through both versions, in every way a client can. No pod is replaced,
// and no revision is made.
func TestEitherVersionReplacesNoPod(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	pm := testkit.MakePodManager(ns, "web").Replicas(2).Image("").Template(richTemplate()).MinReady(1).History(4).Obj()
	suite.Create(t, pm)
	before := suite.Fleet(t, ns, "web").ExpectRolledOut(2)
	fleet := fleetOf(t, ns, "web")
	key := client.ObjectKey{Namespace: ns, Name: "web"}

	old := testkit.Get(t, suite, ns, "web", &v1alpha1.PodManager{})
	want := v1alpha1.PodManagerSpec{Size: ptr.To(int32(2)), Image: "nginx:1.27"}
	if diff := cmp.Diff(want, old.Spec); diff != "" {
		t.Errorf("as v1alpha1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web-0", "web-1"}, old.Status.Nodes); diff != "" {
		t.Errorf("status.nodes (-want +got):\n%s", diff)
	}

	writes := []struct {
		name string
		do   func() error
	}{
		{"an update of the v1alpha1 object as it was read", func() error {
			return suite.Client.Update(t.Context(), testkit.Get(t, suite, ns, "web", &v1alpha1.PodManager{}))
		}},
		{"an update from a client that drops annotations it does not know", func() error {
			o := testkit.Get(t, suite, ns, "web", &v1alpha1.PodManager{})
			o.Annotations = nil
			return suite.Client.Update(t.Context(), o)
		}},
		{"a label through v1alpha1", func() error {
			o := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
			return suite.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"through":"v1alpha1"}}}`)))
		}},
		{"a label through v1", func() error {
			o := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
			return suite.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"through":"v1"}}}`)))
		}},
		{"an update of the v1 object as it was read", func() error {
			return suite.Client.Update(t.Context(), testkit.Get(t, suite, ns, "web", &appsv1.PodManager{}))
		}},
		{"status through v1alpha1", func() error {
			return suite.Client.Status().Update(t.Context(), testkit.Get(t, suite, ns, "web", &v1alpha1.PodManager{}))
		}},
		{"a manifest of v1alpha1, replaced", func() error {
			_, err := suite.TryKubectl(t, "-n", ns, "replace", "-f", manifest(t, "v1alpha1", "web", "{size: 2, image: nginx:1.27}"))
			return err
		}},
		{"a manifest of v1alpha1, applied server-side", func() error {
			_, err := suite.TryKubectl(t, "-n", ns, "apply", "--server-side", "--force-conflicts", "-f",
				manifest(t, "v1alpha1", "web", "{size: 2, image: nginx:1.27}"))
			return err
		}},
		{"a manifest of v1alpha1, applied", func() error {
			_, err := suite.TryKubectl(t, "-n", ns, "apply", "-f", manifest(t, "v1alpha1", "web", "{size: 2, image: nginx:1.27}"))
			return err
		}},
	}
	for _, write := range writes {
		if err := write.do(); err != nil {
			t.Errorf("%s: %v", write.name, err)
		}
		after := testkit.Get(t, suite, ns, "web", &appsv1.PodManager{})
		if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
			t.Errorf("%s: the spec changed (-before +after):\n%s", write.name, diff)
		}
		if diff := cmp.Diff(before.Status, after.Status); diff != "" {
			t.Errorf("%s: the status changed (-before +after):\n%s", write.name, diff)
		}
		if after.Generation != before.Generation {
			t.Errorf("%s: generation %d, was %d", write.name, after.Generation, before.Generation)
		}
		if _, leaked := after.Annotations[v1alpha1.AnnotationKept]; leaked {
			t.Errorf("%s: the annotation leaked into v1", write.name)
		}
	}

	// A change that the operator has to follow proves that it has seen all
	// this: one more pod, through v1alpha1, and the old ones stay.
	o := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	if err := suite.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":3}}`))); err != nil {
		t.Fatalf("scale %s through v1alpha1: %v", key, err)
	}
	suite.Fleet(t, ns, "web").ExpectRolledOut(3)
	grown := fleetOf(t, ns, "web")
	delete(grown.Pods, "web-2")
	if diff := cmp.Diff(fleet, grown); diff != "" {
		t.Errorf("the fleet was touched (-before +after):\n%s", diff)
	}
}

// TestAnImageEditThroughV1alpha1 goes where the image is, and leaves the rest
// of the template alone.
func TestAnImageEditThroughV1alpha1(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(1).Image("").Template(richTemplate()).Obj())
	before := suite.Fleet(t, ns, "web").ExpectRolledOut(1)
	o := &v1alpha1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	if err := suite.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"image":"nginx:1.28"}}`))); err != nil {
		t.Fatal(err)
	}
	want := before.Spec.DeepCopy()
	want.Template.Spec.Containers[0].Image = "nginx:1.28"
	if diff := cmp.Diff(*want, testkit.Get(t, suite, ns, "web", &appsv1.PodManager{}).Spec); diff != "" {
		t.Errorf("after the edit (-want +got):\n%s", diff)
	}
}

// TestAnOldManifest is the older API as a whole: it has no idea of v1.
func TestAnOldManifest(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	path := manifest(t, "v1alpha1", "old", "{size: 2, image: nginx:1.27}")
	suite.Kubectl(t, "-n", ns, "apply", "-f", path)
	pm := suite.Fleet(t, ns, "old").ExpectRolledOut(2)
	if pm.Spec.Image != "nginx:1.27" || *pm.Spec.Replicas != 2 || pm.Spec.Identity != appsv1.IdentityOrdinal {
		t.Errorf("as v1: %+v", pm.Spec)
	}
	out := suite.Kubectl(t, "-n", ns, "get", "podmanagers.v1alpha1.apps.mycompany.com", "old", "-o", "wide")
	for _, part := range []string{"SIZE", "IMAGE", "NODES", "nginx:1.27", `["old-0","old-1"]`} {
		if !strings.Contains(out, part) {
			t.Errorf("kubectl get shows no %s:\n%s", part, out)
		}
	}
	suite.Kubectl(t, "-n", ns, "delete", "-f", path, "--timeout=60s")
}

// TestLargeTemplates: annotations may have 256 KiB. A template compresses well,
// unless it is noise.
func TestLargeTemplates(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	var prose []corev1.EnvVar
	for i := range 500 {
		prose = append(prose, corev1.EnvVar{Name: fmt.Sprintf("TEXT_%d", i), Value: strings.Repeat("the quick brown fox ", 22)})
	}
	suite.Create(t, testkit.MakePodManager(ns, "prose").Replicas(0).Image("").Template(withEnv(prose)).Obj())
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		old := testkit.Get(t, suite, ns, "prose", &v1alpha1.PodManager{})
		old.Spec.Image = "nginx:2"
		return suite.Client.Update(t.Context(), old)
	})
	if err != nil {
		t.Errorf("write 240 kB of text through v1alpha1: %v", err)
	}
	want := withEnv(prose)
	want.Spec.Containers[0].Image = "nginx:2"
	if diff := cmp.Diff(want.Spec, testkit.Get(t, suite, ns, "prose", &appsv1.PodManager{}).Spec.Template.Spec); diff != "" {
		t.Errorf("the template changed (-before +after):\n%s", diff)
	}

	err = suite.Client.Create(t.Context(), noisy(t, ns))
	const refused = `PodManager.apps.mycompany.com "noise" is invalid: spec: Too long: compressed, and together with the annotations, it may not be more than 262144 bytes`
	if err == nil || !strings.HasSuffix(err.Error(), refused) {
		t.Errorf("250 kB of noise, and 100 kB of annotations: %v, want %s", err, refused)
	}
}

func withEnv(env []corev1.EnvVar) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx", Env: env}}}}
}

// noisy is too large for v1alpha1, with 250 kB of noise and 100 kB of annotations.
func noisy(t testing.TB, ns string) *appsv1.PodManager {
	t.Helper()
	pm := testkit.MakePodManager(ns, "noise").Replicas(0).Image("").Template(withEnv(noise(t))).Obj()
	pm.Annotations = map[string]string{"example.com/text": strings.Repeat("x", 100<<10)}
	return pm
}

// noise is 250 kB that does not compress.
func noise(t testing.TB) []corev1.EnvVar {
	t.Helper()
	var env []corev1.EnvVar
	for i := range 250 {
		random := make([]byte, 750)
		if _, err := rand.Read(random); err != nil {
			t.Fatal(err)
		}
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("NOISE_%d", i), Value: base64.StdEncoding.EncodeToString(random)})
	}
	return env
}

// TestACopyKeepsEverything copies an object that was read as v1alpha1.
func TestACopyKeepsEverything(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(ns, "web").Replicas(0).Image("").Template(richTemplate()).Random().Obj())
	original := testkit.Get(t, suite, ns, "web", &v1alpha1.PodManager{})
	twin := &v1alpha1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "twin", Annotations: original.Annotations}, Spec: original.Spec,
	}
	suite.Create(t, twin)
	want := testkit.Get(t, suite, ns, "web", &appsv1.PodManager{}).Spec
	if diff := cmp.Diff(want, testkit.Get(t, suite, ns, "twin", &appsv1.PodManager{}).Spec); diff != "" {
		t.Errorf("the copy differs (-original +copy):\n%s", diff)
	}
}

// manifest writes a PodManager to a file.
func manifest(t testing.TB, version, name, spec string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	text := "apiVersion: apps.mycompany.com/" + version + "\nkind: PodManager\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
