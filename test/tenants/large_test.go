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

package tenants

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// What many large templates may add to the operator's memory.
const (
	largeOnes    = 20
	largeBytes   = 1000 << 10
	mayKeepBytes = 20 << 20 // of 20 MB of templates, as much of revisions, and what decodes them
)

// A tenant's templates are not kept in the operator's memory, however large they are, and fleets of them
// work: 270 of 1.2 MB with no pods ended the operator at every start, and their finalizers
// could not go.
func TestLargeTemplatesDoNotFillTheMemory(t *testing.T) {
	testkit.Long(t, "it stores 60 MB")
	namespace := suite.Namespace(t)
	var before uint64
	withOperator(t, suite.Operator, func() {
		before = heap()
		for i := range largeOnes {
			suite.Create(t, large(namespace, fmt.Sprintf("large-%d", i), largeBytes, 0))
		}
		suite.Create(t, large(namespace, "less", 100<<10, 2))
	}, func() {
		for i := range largeOnes {
			name := fmt.Sprintf("large-%d", i)
			testkit.Eventually(t, name+" was looked at", func() error {
				if pm := suite.Fleet(t, namespace, name).Get(); pm.Status.ObservedGeneration < pm.Generation {
					return fmt.Errorf("generation %d of %d", pm.Status.ObservedGeneration, pm.Generation)
				}
				return nil
			})
		}
		if kept := int64(heap()) - int64(before); kept > mayKeepBytes {
			t.Errorf("%d templates of %d bytes took %d bytes of memory, want at most %d", largeOnes, largeBytes, kept, mayKeepBytes)
		} else {
			t.Logf("%d templates of %d KiB take %d KiB of memory", largeOnes, largeBytes>>10, kept>>10)
		}
		worksWithALargeTemplate(t, namespace, "less")
		if err := suite.Client.DeleteAllOf(t.Context(), &appsv1.PodManager{}, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		expectNone(t, namespace)
	})
}

// worksWithALargeTemplate rolls a fleet out and back, and scales it: all that reads a template or a revision.
func worksWithALargeTemplate(t *testing.T, namespace, name string) {
	t.Helper()
	fleet := suite.Fleet(t, namespace, name)
	fleet.ExpectReady(2)
	first := fleet.Get().Status.UpdateRevision
	image := func(image string) func(*appsv1.PodManager) {
		return func(pm *appsv1.PodManager) { pm.Spec.Template.Spec.Containers[0].Image = image }
	}
	fleet.Edit(image("nginx:1.28"))
	testkit.Eventually(t, "the change is rolled out in place", func() error {
		if st := fleet.Get().Status; st.UpdateRevision == first || st.CurrentRevision != st.UpdateRevision {
			return fmt.Errorf("revisions %s and %s", st.CurrentRevision, st.UpdateRevision)
		}
		return nil
	})
	fleet.Edit(image("nginx:1.27"))
	testkit.Eventually(t, "the first revision is back", func() error {
		if st := fleet.Get().Status; st.CurrentRevision != first || st.UpdateRevision != first {
			return fmt.Errorf("revisions %s and %s, want %s", st.CurrentRevision, st.UpdateRevision, first)
		}
		return nil
	})
	fleet.Scale(3)
	fleet.ExpectReady(3)
	if revisions := fleet.Revisions(); len(revisions) != 2 {
		t.Errorf("%d revisions are stored, want 2", len(revisions))
	}
}

// A template is refused that is larger than any sensible one. What was stored before there was a limit can be
// scaled, labelled and deleted, and does not grow.
func TestATemplateHasALimit(t *testing.T) {
	namespace := suite.Namespace(t)
	const sentence = "spec.template: Too long: with the volumeClaimTemplates it has"
	expectRefused(t, "a template of 300 KiB", suite.Client.Create(t.Context(), large(namespace, "web", 300<<10, 0)), sentence)
	expectAllowed(t, "a template of 200 KiB", suite.Client.Create(t.Context(), large(namespace, "web", 200<<10, 0)))
	withoutOperator(t, func() { suite.Create(t, large(namespace, "old", 400<<10, 0)) })
	old := suite.Fleet(t, namespace, "old")
	set := func(change func(*appsv1.PodManager)) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			pm := old.Get()
			change(pm)
			return suite.Client.Update(t.Context(), pm)
		})
	}
	expectAllowed(t, "it is scaled", set(func(pm *appsv1.PodManager) { *pm.Spec.Replicas = 1 }))
	expectAllowed(t, "it is labelled", set(func(pm *appsv1.PodManager) { pm.Labels = map[string]string{"team": "a"} }))
	expectAllowed(t, "it shrinks", set(func(pm *appsv1.PodManager) { pm.Spec.Template.Spec.Containers[0].Args = []string{text(350 << 10)} }))
	expectRefused(t, "it grows", set(func(pm *appsv1.PodManager) { pm.Spec.Template.Spec.Containers[0].Args = []string{text(400 << 10)} }), sentence)
	old.ExpectReady(1)
	old.Delete()
}

// large is a PodManager with a long argument in its template.
func large(namespace, name string, bytes int, replicas int32) *appsv1.PodManager {
	pm := testkit.MakePodManager(namespace, name).Replicas(replicas).Obj()
	pm.Spec.Image = ""
	pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "app", Image: "nginx:1.27", Args: []string{text(bytes)}},
	}}}
	return pm
}

// text compresses well: v1alpha1 has a limit of its own for what does not.
func text(bytes int) string { return strings.Repeat("argument", bytes/8) }

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
