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

package eviction

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// now is in whole seconds, as the API server keeps times.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const uid = types.UID("web-uid")

type world struct {
	pm      *appsv1.PodManager
	objects []client.Object
	client  client.Client
	// meanwhile happens once, before the webhook writes, and is what it is answered.
	meanwhile func(client.Client) error
}

// aWorld has a PodManager with SurgeFirst, an open node and a cordoned one.
func aWorld(replicas int32, pods ...*corev1.Pod) *world {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: uid}}
	pm.Spec.Replicas, pm.Spec.Image = &replicas, "nginx"
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	w := &world{pm: pm, objects: []client.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "open"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cordoned"}, Spec: corev1.NodeSpec{Unschedulable: true}},
	}}
	for _, p := range pods {
		w.objects = append(w.objects, p)
	}
	return w
}

// pod is a pod that has been ready for an hour.
func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name + "-uid"), CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		Labels: map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: string(uid)},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: appsv1.GroupVersion.String(), Kind: "PodManager", Name: "web", UID: uid, Controller: ptr.To(true),
		}},
	}}
	p.Spec.NodeName = "open"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, change := range changes {
		change(p)
	}
	return p
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

func asked(ago time.Duration) func(*corev1.Pod) {
	return annotated(appsv1.AnnotationEvictionRequested, at(now.Add(-ago)))
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func made(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-ago)) }
}

func unready(p *corev1.Pod) { p.Status.Conditions = nil }

var (
	standIn  = annotated(appsv1.AnnotationSurge, "true")
	replaces = annotated(appsv1.AnnotationReplaces, appsv1.WhyMissing)
)

// evict asks once.
func (w *world) evict(t *testing.T, name string, options *metav1.DeleteOptions) admission.Response {
	t.Helper()
	return w.evictAt(t, now, name, options)
}

func (w *world) evictAt(t *testing.T, now time.Time, name string, options *metav1.DeleteOptions) admission.Response {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(w.objects, w.pm)...).
		WithIndex(&corev1.Pod{}, observe.IndexPods, func(obj client.Object) []string {
			return []string{string(metav1.GetControllerOf(obj).UID)}
		}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: w.patchStatus}).Build()
	raw, err := json.Marshal(policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, DeleteOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	h := &Handler{Live: w.client, Pods: w.client, Writer: w.client, Clock: clocktesting.NewFakePassiveClock(now)}
	return h.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: "ns", Name: name, Object: runtime.RawExtension{Raw: raw},
	}})
}

func (w *world) patchStatus(ctx context.Context, c client.Client, _ string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if happens := w.meanwhile; happens != nil {
		w.meanwhile = nil
		return happens(c)
	}
	return c.Status().Patch(ctx, obj, patch, opts...)
}

func code(r admission.Response) int32 {
	if r.Allowed {
		return http.StatusOK
	}
	return r.Result.Code
}

// TestWhichEvictionsWait: those of pods that the fleet still needs, and no others.
func TestWhichEvictionsWait(t *testing.T) {
	const wait, through, gone = http.StatusTooManyRequests, http.StatusOK, http.StatusNotFound
	byUID := func(uid types.UID) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	}
	for name, test := range map[string]struct {
		world   *world
		of      string
		options *metav1.DeleteOptions
		change  func(*appsv1.PodManager)
		want    int32
	}{
		"a pod that serves":            {world: aWorld(1, pod("web-0")), of: "web-0", want: wait},
		"a pod that does not":          {world: aWorld(1, pod("web-0", unready)), of: "web-0", want: through},
		"a pod whose labels were lost": {world: aWorld(1, pod("web-0", func(p *corev1.Pod) { p.Labels = nil })), of: "web-0", want: through},
		"the surplus of a scale-down":  {world: aWorld(1, pod("web-0"), pod("web-3")), of: "web-3", want: through},
		"the surplus of a scale-down, in order": {
			world: aWorld(1, pod("web-0"), pod("web-3")), of: "web-3", want: through,
			change: func(pm *appsv1.PodManager) { pm.Spec.PodManagementPolicy = appsv1.OrderedReadyPods },
		},
		"surplus that serves while another does not": {world: aWorld(1, pod("web-0", unready), pod("web-3")), of: "web-3", want: wait},
		"surplus on a reserved ordinal": {
			world: aWorld(1, pod("web-0"), pod("web-1")), of: "web-0", want: through,
			change: func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = []int32{0} },
		},
		"a pod of a fleet of none": {world: aWorld(0, pod("web-0")), of: "web-0", want: through},
		"a pod of a fleet of none, with a random name": {
			world: aWorld(0, pod("web-x7k2p")), of: "web-x7k2p", want: through,
			change: func(pm *appsv1.PodManager) { pm.Spec.Identity = appsv1.IdentityRandom },
		},
		"a pod that stands in": {world: aWorld(1, pod("web-0"), pod("web-1", standIn)), of: "web-1", want: wait},
		"a pod that stands in, after the deadline": {
			world: aWorld(1, pod("web-0"), pod("web-1", standIn, asked(11*time.Minute))), of: "web-1", want: through,
		},

		"a successor on an open node":               {world: aWorld(1, pod("web-0", replaces, made(time.Minute))), of: "web-0", want: gone},
		"a successor that only starts":              {world: aWorld(1, pod("web-0", replaces, made(time.Second), unready)), of: "web-0", want: gone},
		"a successor without a node":                {world: aWorld(1, pod("web-0", replaces, made(0), unready, on(""))), of: "web-0", want: gone},
		"a successor on a cordoned node":            {world: aWorld(1, pod("web-0", replaces, made(time.Minute), on("cordoned"))), of: "web-0", want: wait},
		"a successor that only starts on one":       {world: aWorld(1, pod("web-0", replaces, made(0), unready, on("cordoned"))), of: "web-0", want: through},
		"a successor on a node that is gone":        {world: aWorld(1, pod("web-0", replaces, made(0), on("lost"))), of: "web-0", want: through},
		"a successor, named by its UID":             {world: aWorld(1, pod("web-0", replaces, made(time.Minute))), of: "web-0", options: byUID("web-0-uid"), want: wait},
		"its predecessor, named by its UID":         {world: aWorld(1, pod("web-0", replaces, made(time.Minute))), of: "web-0", options: byUID("old"), want: through},
		"a successor, as a dry run":                 {world: aWorld(1, pod("web-0", replaces, made(time.Minute))), of: "web-0", options: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, want: through},
		"a successor that is no longer new":         {world: aWorld(1, pod("web-0", replaces, made(3*time.Minute))), of: "web-0", want: wait},
		"a new pod of a scale-up, on an open node":  {world: aWorld(1, pod("web-0", made(time.Minute))), of: "web-0", want: wait},
		"a pod that is evicted for the second time": {world: aWorld(1, pod("web-0", asked(time.Minute))), of: "web-0", want: wait},
	} {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(test.world.pm)
			}
			response := test.world.evict(t, test.of, test.options)
			if got := code(response); got != test.want {
				t.Errorf("answered with %d, want %d: %v %v", got, test.want, response.Result, response.Warnings)
			}
		})
	}
}

// TestAPodThatIsReplacedMeanwhile: the API server refuses to write onto another pod than
// the one that was read, and that one, on a node that stays, is not meant.
func TestAPodThatIsReplacedMeanwhile(t *testing.T) {
	old, next := pod("web-0"), pod("web-0", replaces, made(0))
	next.UID = "next-uid"
	w := aWorld(1, old)
	w.meanwhile = func(c client.Client) error {
		if err := c.Delete(t.Context(), old.DeepCopy()); err != nil {
			return err
		}
		if err := c.Create(t.Context(), next); err != nil {
			return err
		}
		return apierrors.NewConflict(corev1.Resource("pods"), "web-0", errors.New("the UID is another"))
	}
	if response := w.evict(t, "web-0", nil); code(response) != http.StatusNotFound {
		t.Errorf("answered with %d: %v %v", code(response), response.Result, response.Warnings)
	}
}

// TestWhatTheAnswerSays: what is, and nothing that is only hoped for.
func TestWhatTheAnswerSays(t *testing.T) {
	random := func(pm *appsv1.PodManager) { pm.Spec.Identity = appsv1.IdentityRandom }
	condition := func(kind, reason, message string) func(*appsv1.PodManager) {
		return func(pm *appsv1.PodManager) {
			pm.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}}
		}
	}
	for name, test := range map[string]struct {
		world  *world
		of     string
		change func(*appsv1.PodManager)
		want   string
	}{
		"nothing is made yet": {
			world: aWorld(1, pod("web-0")), of: "web-0",
			want: "pod web-0 is evicted when its replacement is available: the operator was asked for one, and has made none yet.",
		},
		"no node takes new pods": {
			world: aWorld(1, pod("web-0", asked(time.Minute))), of: "web-0",
			change: condition(appsv1.ConditionReconciling, appsv1.ReasonMovingPods, "none of the 3 nodes takes new pods"),
			want:   "has made none yet (none of the 3 nodes takes new pods).",
		},
		"a quota is full": {
			world: aWorld(1, pod("web-0", asked(time.Minute))), of: "web-0",
			change: condition(appsv1.ConditionStalled, appsv1.ReasonQuotaExceeded, "exceeded quota: small"),
			want:   "has made none yet (QuotaExceeded: exceeded quota: small).",
		},
		"something else is under way": {
			world: aWorld(1, pod("web-0", asked(time.Minute))), of: "web-0",
			change: condition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut, "1 of 3 pods are on revision web-2"),
			want:   "has made none yet. PodManager",
		},
		"the stand-in starts": {
			world: aWorld(1, pod("web-0", asked(time.Minute)), pod("web-1", standIn, unready)), of: "web-0",
			want: "available: pod web-1 is not ready yet.",
		},
		"the stand-in is ready": {
			world: aWorld(1, pod("web-0", asked(time.Minute)), pod("web-1", standIn)), of: "web-0",
			want: "available: ready to stand in: web-1;",
		},
		"the replacement with a random name starts": {
			world: aWorld(1, pod("web-old", asked(time.Minute)), pod("web-new", made(time.Second), unready)), of: "web-old", change: random,
			want: "available: pod web-new is not ready yet.",
		},
		"the replacement with a random name is ready": {
			world: aWorld(2, pod("web-old", asked(time.Minute)), pod("web-older"), pod("web-new", made(time.Second))), of: "web-old", change: random,
			want: "available: ready to stand in: web-new;",
		},
		"the others with random names leave too": {
			world: aWorld(2, pod("web-old", asked(time.Minute)), pod("web-new", made(time.Second), asked(0))), of: "web-old", change: random,
			want: "has made none yet",
		},
		"a stand-in": {
			world: aWorld(1, pod("web-0", asked(time.Minute)), pod("web-1", standIn)), of: "web-1",
			want: "pod web-1 stands in for others of the fleet, and goes without a replacement when they are available.",
		},
		"a budget may refuse": {
			world: aWorld(1, pod("web-0", asked(time.Minute))), of: "web-0",
			want: "from 2026-03-01T12:09:00Z on the webhook lets the eviction through, and only a PodDisruptionBudget can refuse it.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(test.world.pm)
			}
			response := test.world.evict(t, test.of, nil)
			if code(response) != http.StatusTooManyRequests || !strings.Contains(response.Result.Message, test.want) {
				t.Errorf("it does not say %q: %v", test.want, response.Result)
			}
		})
	}
}

// TestWhatTheWarningSays of an eviction that is let through: a replacement may be there,
// and a PodDisruptionBudget may still refuse.
func TestWhatTheWarningSays(t *testing.T) {
	dryRun := &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	for name, test := range map[string]struct {
		world   *world
		of      string
		options *metav1.DeleteOptions
		want    string
	}{
		"nothing was made":         {world: aWorld(1, pod("web-0", asked(11*time.Minute))), of: "web-0", want: "the operator was asked for one, and has made none yet"},
		"the stand-in starts":      {world: aWorld(1, pod("web-0", asked(11*time.Minute)), pod("web-1", standIn, unready)), of: "web-0", want: "pod web-1 is not ready yet"},
		"the stand-in is ready":    {world: aWorld(1, pod("web-0", asked(11*time.Minute)), pod("web-1", standIn)), of: "web-0", want: "ready to stand in: web-1;"},
		"it is one that stands in": {world: aWorld(1, pod("web-0"), pod("web-1", standIn, asked(11*time.Minute))), of: "web-1", want: "the pod stands in for others of the fleet"},
		"as a dry run": {
			world: aWorld(1, pod("web-0")), of: "web-0", options: dryRun,
			want: "PodManager web makes a replacement first, for which an eviction waits for at most 10m0s",
		},
		"as a dry run of one that stands in": {
			world: aWorld(1, pod("web-0"), pod("web-1", standIn)), of: "web-1", options: dryRun,
			want: "it stands in for others of the fleet, for which an eviction waits for at most 10m0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := test.world.evict(t, test.of, test.options).Warnings
			if len(warnings) != 1 || !strings.Contains(warnings[0], test.want) || strings.Contains(warnings[0], "no replacement is available") {
				t.Errorf("it does not say %q: %q", test.want, warnings)
			}
		})
	}
}

// TestTheGracePeriodOfAnEvictionIsKept until the operator evicts.
func TestTheGracePeriodOfAnEvictionIsKept(t *testing.T) {
	grace := func(seconds int64) *metav1.DeleteOptions { return &metav1.DeleteOptions{GracePeriodSeconds: &seconds} }
	for name, test := range map[string]struct {
		pod     *corev1.Pod
		options *metav1.DeleteOptions
		want    string
		since   time.Duration
	}{
		"none":            {pod: pod("web-0")},
		"one":             {pod: pod("web-0"), options: grace(5), want: "5"},
		"no time at all":  {pod: pod("web-0"), options: grace(0), want: "0"},
		"one after none":  {pod: pod("web-0", asked(time.Minute)), options: grace(5), want: "5", since: time.Minute},
		"another":         {pod: pod("web-0", asked(time.Minute), annotated(appsv1.AnnotationEvictionGrace, "9")), options: grace(5), want: "5", since: time.Minute},
		"a longer one":    {pod: pod("web-0", asked(time.Minute), annotated(appsv1.AnnotationEvictionGrace, "9")), options: grace(30), want: "9", since: time.Minute},
		"none after one":  {pod: pod("web-0", asked(time.Minute), annotated(appsv1.AnnotationEvictionGrace, "9")), want: "9", since: time.Minute},
		"nonsense":        {pod: pod("web-0", asked(time.Minute), annotated(appsv1.AnnotationEvictionGrace, "x")), options: grace(5), want: "5", since: time.Minute},
		"one of long ago": {pod: pod("web-0", asked(time.Hour), annotated(appsv1.AnnotationEvictionGrace, "9"))},
	} {
		t.Run(name, func(t *testing.T) {
			w := aWorld(1, test.pod)
			if response := w.evict(t, "web-0", test.options); code(response) != http.StatusTooManyRequests {
				t.Fatalf("answered with %v", response.Result)
			}
			var p corev1.Pod
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(test.pod), &p); err != nil {
				t.Fatal(err)
			}
			if got := p.Annotations[appsv1.AnnotationEvictionGrace]; got != test.want {
				t.Errorf("the grace period is %q, want %q", got, test.want)
			}
			if got := p.Annotations[appsv1.AnnotationEvictionRequested]; got != at(now.Add(-test.since)) {
				t.Errorf("it waits since %s", got)
			}
		})
	}
}
