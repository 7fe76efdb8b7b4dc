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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// sizedTemplate asks for some cpu and 1Gi of memory.
func sizedTemplate(cpu string) *corev1.PodTemplateSpec {
	t := template("app:1")
	t.Spec.Containers[0].Resources = sized(cpu, "1Gi")
	return t
}

func sized(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}
}

// resizedBy is a managedFields entry of a resize of the container app.
func resizedBy(manager, subresource string, resources ...string) metav1.ManagedFieldsEntry {
	var fields []string
	for _, name := range resources {
		fields = append(fields, fmt.Sprintf(`"f:%s":{}`, name))
	}
	raw := fmt.Sprintf(`{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:resources":{"f:requests":{%s}}}}}}`, strings.Join(fields, ","))
	return metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(raw),
	}
}

// The revisions one, two and three ask for as many cpus; the template is that of
// three.
func TestTheSizeOfAnotherRevision(t *testing.T) {
	ours, whole := resizedBy(podrender.ManagedBy, "resize", "cpu"), resizedBy(podrender.ManagedBy, "resize", "cpu", "memory")
	for name, test := range map[string]struct {
		revision string
		size     corev1.ResourceRequirements
		by       []metav1.ManagedFieldsEntry
		want     string
		// asks: the API server is asked who wrote it.
		asks bool
	}{
		"its own":                                            {revision: "three", size: sized("3", "1Gi"), by: []metav1.ManagedFieldsEntry{ours}},
		"its own, written in another way":                    {revision: "three", size: sized("3000m", "1024Mi"), by: []metav1.ManagedFieldsEntry{ours}},
		"its own on an old revision":                         {revision: "one", size: sized("1", "1Gi"), by: []metav1.ManagedFieldsEntry{ours}},
		"another one that we wrote":                          {revision: "three", size: sized("2", "1Gi"), by: []metav1.ManagedFieldsEntry{ours}, want: "two", asks: true},
		"that of the template on an old revision":            {revision: "one", size: sized("3", "1Gi"), by: []metav1.ManagedFieldsEntry{ours}, want: "three", asks: true},
		"one that we wrote with more than differs":           {revision: "three", size: sized("1", "1Gi"), by: []metav1.ManagedFieldsEntry{whole}, want: "one", asks: true},
		"one of no stored revision":                          {revision: "three", size: sized("7", "1Gi"), by: []metav1.ManagedFieldsEntry{ours}},
		"one that is that of another only in part":           {revision: "three", size: sized("2", "2Gi"), by: []metav1.ManagedFieldsEntry{whole}},
		"one that an autoscaler wrote":                       {revision: "three", size: sized("2", "1Gi"), by: []metav1.ManagedFieldsEntry{resizedBy("vpa-updater", "resize", "cpu")}, asks: true},
		"one that an autoscaler wrote after we did":          {revision: "three", size: sized("2", "1Gi"), by: []metav1.ManagedFieldsEntry{resizedBy(podrender.ManagedBy, "resize", "memory"), resizedBy("vpa-updater", "resize", "cpu")}, asks: true},
		"one that the pod was created with":                  {revision: "three", size: sized("2", "1Gi"), by: []metav1.ManagedFieldsEntry{resizedBy(podrender.ManagedBy, "", "cpu", "memory")}, asks: true},
		"one of whose writer nothing is known":               {revision: "three", size: sized("2", "1Gi"), asks: true},
		"a pod of a revision that is not stored":             {revision: "zero", size: sized("2", "1Gi"), by: []metav1.ManagedFieldsEntry{ours}},
		"a request that a LimitRange took away is no resize": {revision: "three", size: corev1.ResourceRequirements{}, by: []metav1.ManagedFieldsEntry{ours}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSizes(t, test.revision, test.size, test.by...)
			got := w.observe(t)
			if got.Pods[0].SizeOf != test.want || w.live.asked != test.asks {
				t.Errorf("it has the size of %q, want %q; asked: %t", got.Pods[0].SizeOf, test.want, w.live.asked)
			}
			w.live.asked = false
			if again := w.observe(t); again.Pods[0].SizeOf != test.want || w.live.asked {
				t.Errorf("then it has the size of %q; asked again: %t", again.Pods[0].SizeOf, w.live.asked)
			}
		})
	}
}

// A node that puts off or rules out a resize which another client asked for says
// nothing about the fleet: the pod serves, and that size is not ours to follow.
func TestWhoseResizeIsPending(t *testing.T) {
	ours, theirs := resizedBy(podrender.ManagedBy, "resize", "cpu"), resizedBy("vpa-updater", "resize", "cpu")
	for name, test := range map[string]struct {
		revision, cpu string
		by            []metav1.ManagedFieldsEntry
		// alone: no other revision is stored.
		alone bool
		want  bool
	}{
		"ours, to the size of the revision":                     {"three", "3", []metav1.ManagedFieldsEntry{ours}, false, true},
		"ours, and no other revision is stored":                 {"three", "3", []metav1.ManagedFieldsEntry{ours}, true, true},
		"ours, whose label is not moved yet":                    {"one", "3", []metav1.ManagedFieldsEntry{ours}, false, true},
		"an autoscaler's":                                       {"three", "7", []metav1.ManagedFieldsEntry{theirs}, false, false},
		"an autoscaler's, and no other revision is stored":      {"three", "7", []metav1.ManagedFieldsEntry{theirs}, true, false},
		"an autoscaler's of an old revision":                    {"one", "7", []metav1.ManagedFieldsEntry{theirs}, false, false},
		"an autoscaler's after one of ours":                     {"three", "7", []metav1.ManagedFieldsEntry{resizedBy(podrender.ManagedBy, "resize", "memory"), theirs}, false, false},
		"an autoscaler's to the size of another revision":       {"three", "2", []metav1.ManagedFieldsEntry{theirs}, false, false},
		"another's of what the template does not name":          {"three", "3", []metav1.ManagedFieldsEntry{resizedBy("kubectl", "resize", "ephemeral")}, false, false},
		"one of whose writer nothing is known":                  {"three", "3", nil, false, false},
		"one whose only trace of us is the creation":            {"three", "3", []metav1.ManagedFieldsEntry{resizedBy(podrender.ManagedBy, "", "cpu", "memory")}, false, false},
		"ours on a revision that is not stored, as far as seen": {"zero", "3", []metav1.ManagedFieldsEntry{ours}, false, true},
	} {
		for _, reason := range []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred} {
			t.Run(name+" "+reason, func(t *testing.T) {
				w := newSizes(t, test.revision, sized(test.cpu, "1Gi"), test.by...)
				w.pend(t, reason, test.alone)
				for range 2 {
					w.live.asked = false
					got := w.observe(t).Pods[0]
					if pending := got.Resize != plan.ResizeNone; pending != test.want || pending == got.ResizeSince.IsZero() {
						t.Errorf("the resize is %q since %s, want it pending: %t", got.Resize, got.ResizeSince, test.want)
					}
				}
				if w.live.asked {
					t.Error("the same version was looked up again")
				}
			})
		}
	}
}

// pend: the node says that it does not carry out the pod's newest size.
func (w *sizes) pend(t *testing.T, reason string, alone bool) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := w.cache.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-0"}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(time.Unix(900, 0)),
	})
	if err := w.cache.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if alone {
			if err := w.cache.Delete(t.Context(), &kappsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A pod with the size of another revision is changed from there, to every goal and
// to its own revision.
func TestChangesOfAPodWithAnotherSize(t *testing.T) {
	w := newSizes(t, "one", sized("2", "1Gi"), resizedBy(podrender.ManagedBy, "resize", "cpu"))
	want := []plan.Change{
		{From: "one", To: "three", Resize: []string{"app"}},
		{From: "one", SizeOf: "two", To: "one", Resize: []string{"app"}},
		{From: "one", SizeOf: "two", To: "three", Resize: []string{"app"}},
	}
	if diff := cmp.Diff(want, w.observe(t).Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An API server that does not answer is an error: without an answer the pod would
// be called rolled out.
func TestAWriterThatCannotBeLookedUp(t *testing.T) {
	w := newSizes(t, "three", sized("2", "1Gi"))
	w.live.fails = errors.New("no answer")
	if _, err := w.observer.Observe(t.Context(), fleetOf(1, sizedTemplate("3"))); err == nil || !strings.Contains(err.Error(), "who resized pod ns/web-0") {
		t.Errorf("the error is %v", err)
	}
}

// sizes is a fleet of one pod, whose managedFields only the API server has.
type sizes struct {
	cache    client.WithWatch
	live     *asked
	observer *Observer
}

type asked struct {
	client.Reader
	asked bool
	fails error
}

func (r *asked) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	r.asked = true
	if r.fails != nil {
		return r.fails
	}
	return r.Reader.Get(ctx, key, obj, opts...)
}

func newSizes(t *testing.T, revision string, size corev1.ResourceRequirements, by ...metav1.ManagedFieldsEntry) *sizes {
	t.Helper()
	f := fleetOf(1, sizedTemplate("3"))
	pod := fleetPod("web-0", me, "web")
	pod.Labels[appsv1.LabelRevision] = revision
	pod.Spec.Containers = []corev1.Container{{Name: appsv1.AppContainer, Image: "app:1", Resources: size}}
	objects := []client.Object{pod}
	for i, name := range []string{"one", "two", "three"} {
		objects = append(objects, stored(t, f, name, int64(i+1), sizedTemplate(fmt.Sprint(i+1))))
	}
	w := &sizes{cache: cache(t, objects...)}
	whole := pod.DeepCopy()
	whole.ManagedFields = by
	w.live = &asked{Reader: podReader{whole}}
	w.observer = New(w.cache, w.live, NewLedger(clocktesting.NewFakePassiveClock(time.Unix(0, 0))))
	return w
}

// podReader has one pod.
type podReader struct{ pod *corev1.Pod }

func (r podReader) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	r.pod.DeepCopyInto(obj.(*corev1.Pod))
	return nil
}

func (r podReader) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (w *sizes) observe(t *testing.T) plan.Observed {
	t.Helper()
	seen, err := w.observer.Observe(t.Context(), fleetOf(1, sizedTemplate("3")))
	if err != nil {
		t.Fatal(err)
	}
	return seen.Observed
}
