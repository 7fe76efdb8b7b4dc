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
	"fmt"
	"maps"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/podrender"
)

func largeManager(bytes int) *appsv1.PodManager {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "1", Labels: map[string]string{appsv1.LabelShard: "s3"}}}
	pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx", Args: []string{strings.Repeat("x", bytes)}}}}}
	return pm
}

func cachedAs[T client.Object](t *testing.T, transform func(any) (any, error), obj T) T {
	t.Helper()
	for range 2 { // client-go may do it twice
		out, err := transform(obj)
		if err != nil {
			t.Fatal(err)
		}
		obj = out.(T)
	}
	return obj
}

func TestTheCacheLeavesLargePartsOut(t *testing.T) {
	annotated := func(pm *appsv1.PodManager, key, value string) *appsv1.PodManager {
		metav1.SetMetaDataAnnotation(&pm.ObjectMeta, key, value)
		return pm
	}
	labelled := largeManager(10)
	for i := range 1000 {
		labelled.Labels[strings.Repeat("l", 1+i%50)+strings.Repeat("m", 1+i/50)] = "some value"
	}
	finalized, owned := largeManager(10), largeManager(10)
	finalized.Finalizers = append(names(2000), appsv1.Finalizer)
	for _, name := range names(2000) {
		owned.OwnerReferences = append(owned.OwnerReferences, metav1.OwnerReference{Name: name})
	}
	for name, c := range map[string]struct {
		pm      *appsv1.PodManager
		partial bool
	}{
		"a usual template is kept":                       {largeManager(1000), false},
		"a large template is not":                        {largeManager(Large), true},
		"nor many labels":                                {labelled, true},
		"nor many finalizers":                            {finalized, true},
		"nor many owners":                                {owned, true},
		"nor a long annotation":                          {annotated(largeManager(10), "team", strings.Repeat("x", Large)), true},
		"what kubectl applied last is never kept":        {annotated(largeManager(10), corev1.LastAppliedConfigAnnotation, strings.Repeat("x", Large)), false},
		"a user does not keep a large one by annotation": {annotated(largeManager(Large), leftOut, "1"), true},
		"nor makes a usual one be left out":              {annotated(largeManager(10), leftOut, "1"), false},
		"a long annotation of ours is kept as a hash":    {annotated(largeManager(10), appsv1.AnnotationPin, strings.Repeat("x", Large)), true},
	} {
		t.Run(name, func(t *testing.T) {
			pm := cachedAs(t, SlimOwner, c.pm)
			if Partial(pm) != c.partial || (pm.Spec.Template == nil) != c.partial {
				t.Errorf("partial: %v, without its template: %v, want %v", Partial(pm), pm.Spec.Template == nil, c.partial)
			}
			if size := bytesOfMeta(pm); size > 1024 {
				t.Errorf("%d bytes of labels, annotations, finalizers and owners are kept", size)
			}
			if c.pm == finalized && (len(pm.Finalizers) != 2 || pm.Finalizers[0] != appsv1.Finalizer) {
				t.Errorf("the finalizers %v are kept, want the operator's and a hash of all", pm.Finalizers)
			}
			if pm.Labels[appsv1.LabelShard] != "s3" || pm.UID != "1" {
				t.Errorf("what says whose it is was not kept: %v", pm.ObjectMeta)
			}
		})
	}
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%d.example.com/name", i))
	}
	return all
}

// Objects of the kinds without a template are kept as well, and a tenant may make as many.
func TestTheCacheKeepsNoLargeMetadata(t *testing.T) {
	for name, obj := range map[string]client.Object{
		"HelloWorld": &testv1alpha1.HelloWorld{}, "ImoocPod": &batchv1alpha1.ImoocPod{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{}
			for _, name := range names(1000) {
				all[name] = name
			}
			obj.SetAnnotations(maps.Clone(all))
			all[appsv1.LabelName] = "web"
			obj.SetLabels(all)
			obj.SetFinalizers(append(names(1000), metav1.FinalizerOrphanDependents))
			transform := SlimMeta
			if name == "PersistentVolumeClaim" {
				transform = SlimClaim
			}
			kept := cachedAs(t, transform, obj)
			if n := bytesOfMeta(kept); n > 1024 || kept.GetLabels()[appsv1.LabelName] != "web" || len(kept.GetFinalizers()) != 1 {
				t.Errorf("%d bytes are kept: labels %v and finalizers %v", n, kept.GetLabels(), kept.GetFinalizers())
			}
		})
	}
}

// reads answers with a revision, and counts.
type reads struct {
	client.Reader
	revision *kappsv1.ControllerRevision
	n        int
}

func (r *reads) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	r.n++
	r.revision.DeepCopyInto(obj.(*kappsv1.ControllerRevision))
	return nil
}

// A revision that is left out is compared as one that is kept, and read at most once for it.
func TestALargeRevisionIsComparedByMeaning(t *testing.T) {
	fleet := desired.PodManager(largeManager(Large))
	encoded, err := podrender.Encode(fleet.Template)
	if err != nil {
		t.Fatal(err)
	}
	with := func(raw string) *kappsv1.ControllerRevision {
		return &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "r"}, Data: runtime.RawExtension{Raw: []byte(raw)}}
	}
	for name, c := range map[string]struct {
		stored string
		equal  bool
		reads  int
	}{
		"the same bytes are not read":           {string(encoded), true, 0},
		"the same meaning is read once":         {" " + string(encoded), true, 1},
		"another one is read once":              {strings.Replace(string(encoded), "nginx", "httpd", 1), false, 1},
		"a default that is written down is not": {strings.Replace(string(encoded), `"spec":{"containers"`, `"spec":{"restartPolicy":"Always","containers"`, 1), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			whole := with(c.stored)
			live := &reads{revision: whole.DeepCopy()}
			observer := New(nil, live, nil)
			cached := cachedAs(t, SlimRevision, whole)
			if len(cached.Data.Raw) > 0 {
				t.Fatalf("%d bytes are kept", len(cached.Data.Raw))
			}
			for range 3 {
				equal, err := observer.means(t.Context(), cached, fleet, encoded)
				if err != nil || equal != c.equal {
					t.Errorf("equal: %v, %v, want %v", equal, err, c.equal)
				}
			}
			if live.n != c.reads {
				t.Errorf("read %d times, want %d", live.n, c.reads)
			}
		})
	}
}

// A namesake that was made meanwhile is not taken for the revision.
func TestALargeRevisionThatIsAnotherNow(t *testing.T) {
	other := &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "new"}}
	old := &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "old"}, Data: runtime.RawExtension{Raw: []byte(strings.Repeat(" ", Large+1))}}
	observer := New(nil, &reads{revision: other}, nil)
	if _, err := observer.whole(t.Context(), cachedAs(t, SlimRevision, old)); err == nil || !strings.Contains(err.Error(), "another one") {
		t.Errorf("%v, want an error", err)
	}
}

func TestAClaimKeepsOurAnnotations(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		appsv1.AnnotationCondemnedBy: "1", "team": strings.Repeat("x", Large),
	}}}
	before := describeClaim(claim)
	if after := describeClaim(cachedAs(t, SlimClaim, claim)); after != before || len(claim.Annotations) != 1 {
		t.Errorf("%+v with %d annotations, want %+v", after, len(claim.Annotations), before)
	}
}
