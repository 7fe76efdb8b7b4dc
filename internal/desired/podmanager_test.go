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

package desired

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// TestWhatAnEmptySpecAsksFor: the command line reads files that the API server has
// not completed, and they ask for what the schema's defaults say.
func TestWhatAnEmptySpecAsksFor(t *testing.T) {
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	want := plan.Desired{
		Namespace: "default", Name: "web", UID: "1", NamePrefix: "web", Identity: appsv1.IdentityOrdinal, Selector: "podmanager=web", Replicas: 3,
		FailedPods:           plan.FailedPods{Limit: 1, Initial: 10 * time.Second, Max: 5 * time.Minute},
		RevisionHistoryLimit: 10,
		Update: plan.Update{
			Strategy: appsv1.UpdateInPlace, MaxSurge: 1, OnFailure: appsv1.FailurePause,
			ProgressDeadline: 10 * time.Minute, ResizeDeadline: time.Minute,
		},
		Terminating: plan.Terminating{Timeout: 30 * time.Second},
		Reserved:    []int{},
		Finalizer:   plan.FinalizerMissing,
	}
	if diff := cmp.Diff(want, PodManager(pm).Desired); diff != "" {
		t.Errorf("an empty spec asks for something else (-want +got):\n%s", diff)
	}
}

func TestHowAPodManagerIsDeleted(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		pm   appsv1.PodManager
		want plan.Deletion
	}{
		"it is not": {want: plan.DeletionNone},
		"it is not, and would leave its pods": {
			pm:   appsv1.PodManager{Spec: appsv1.PodManagerSpec{Deletion: appsv1.Deletion{Policy: appsv1.DeletionOrphan}}},
			want: plan.DeletionNone,
		},
		"with its pods": {pm: appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, want: plan.DeletionDelete},
		"by its policy, without them": {
			pm: appsv1.PodManager{
				ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now},
				Spec:       appsv1.PodManagerSpec{Deletion: appsv1.Deletion{Policy: appsv1.DeletionOrphan}},
			},
			want: plan.DeletionOrphan,
		},
		"by kubectl's --cascade=orphan, without them": {
			pm:   appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{metav1.FinalizerOrphanDependents}}},
			want: plan.DeletionCascadeOrphan,
		},
		"deleted in the foreground, which wins over the policy Orphan": {
			pm: appsv1.PodManager{
				ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{appsv1.Finalizer, metav1.FinalizerDeleteDependents}},
				Spec:       appsv1.PodManagerSpec{Deletion: appsv1.Deletion{Policy: appsv1.DeletionOrphan}},
			},
			want: plan.DeletionDelete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := PodManager(&tc.pm).Desired.Deletion; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAServiceGivesPodsTheirNames: the subdomain is part of the revision, so that a
// change of it is rolled out; the hostname is each pod's own. Without a Service a
// template means what it meant before.
func TestAServiceGivesPodsTheirNames(t *testing.T) {
	pod := func(service, hostname, subdomain string) corev1.PodSpec {
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.PodManagerSpec{ServiceName: service}}
		pm.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Hostname: hostname, Subdomain: subdomain}}
		f := PodManager(pm)
		pod := podrender.Pod(f.Ref, f.Template, "db-0", "db-1", 0)
		f.Finish(pod)
		if f.Template.Spec.Hostname != hostname || f.Template.Spec.Subdomain != pod.Spec.Subdomain {
			t.Errorf("the revision has hostname %q and subdomain %q", f.Template.Spec.Hostname, f.Template.Spec.Subdomain)
		}
		return corev1.PodSpec{Hostname: pod.Spec.Hostname, Subdomain: pod.Spec.Subdomain}
	}
	for name, tc := range map[string]struct{ got, want corev1.PodSpec }{
		"no Service":                       {pod("", "", ""), corev1.PodSpec{}},
		"no Service, and a subdomain":      {pod("", "", "own"), corev1.PodSpec{Subdomain: "own"}},
		"a Service":                        {pod("peers", "", ""), corev1.PodSpec{Hostname: "db-0", Subdomain: "peers"}},
		"a Service, and its own subdomain": {pod("peers", "", "peers"), corev1.PodSpec{Hostname: "db-0", Subdomain: "peers"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("hostname and subdomain (-want +got):\n%s", diff)
			}
		})
	}
}

// TestARevisionFromBeforeTheServiceHasNoHostname: pods that a pin or a rollback puts
// back on it are what they were.
func TestARevisionFromBeforeTheServiceHasNoHostname(t *testing.T) {
	before := PodManager(&appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "db"}})
	after := PodManager(&appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.PodManagerSpec{ServiceName: "peers"}})
	pod := podrender.Pod(after.Ref, before.Template, "db-0", "db-1", 0)
	after.Finish(pod)
	if pod.Spec.Hostname != "" || pod.Spec.Subdomain != "" {
		t.Errorf("hostname %q, subdomain %q", pod.Spec.Hostname, pod.Spec.Subdomain)
	}
}

// TestBudgetsInNumbers: surge and partition round up, unavailable rounds down, and
// none is larger than the fleet.
func TestBudgetsInNumbers(t *testing.T) {
	number, percent := intstr.FromInt32, intstr.FromString
	for name, tc := range map[string]struct {
		update appsv1.Update
		want   plan.Update
	}{
		"nothing is written": {want: plan.Update{MaxUnavailable: 2, MaxSurge: 3}},
		"none may be unavailable": {
			update: appsv1.Update{MaxUnavailable: ptr.To(number(0))},
			want:   plan.Update{NoneUnavailable: true, MaxSurge: 3},
		},
		"none of a hundred": {
			update: appsv1.Update{MaxUnavailable: ptr.To(percent("0%"))},
			want:   plan.Update{NoneUnavailable: true, MaxSurge: 3},
		},
		"a share that comes to less than a pod is not none": {
			update: appsv1.Update{MaxUnavailable: ptr.To(percent("1%"))},
			want:   plan.Update{MaxSurge: 3},
		},
		"one": {
			update: appsv1.Update{MaxUnavailable: ptr.To(number(1)), MaxSurge: ptr.To(number(0))},
			want:   plan.Update{MaxUnavailable: 1},
		},
		"more than there are": {
			update: appsv1.Update{MaxUnavailable: ptr.To(number(11)), MaxSurge: ptr.To(percent("200%")), Partition: ptr.To(number(12))},
			want:   plan.Update{MaxUnavailable: 10, MaxSurge: 10, Partition: 10},
		},
		"a partition rounds up": {
			update: appsv1.Update{Partition: ptr.To(percent("11%"))},
			want:   plan.Update{MaxUnavailable: 2, MaxSurge: 3, Partition: 2},
		},
		"what cannot be read counts as 0, and was not written as none": {
			update: appsv1.Update{MaxUnavailable: ptr.To(percent("some"))},
			want:   plan.Update{MaxSurge: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pm := &appsv1.PodManager{Spec: appsv1.PodManagerSpec{Replicas: ptr.To(int32(10)), Update: tc.update}}
			got := PodManager(pm).Desired.Update
			got.Strategy, got.OnFailure, got.ProgressDeadline, got.ResizeDeadline = "", "", 0, 0
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestARestartIsReadFromItsAnnotation(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for text, want := range map[string]time.Time{"": {}, "yesterday": {}, "2026-05-04T03:02:01Z": at} {
		pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{appsv1.AnnotationRestart: text}}}
		if got := PodManager(pm).Desired.Restart; !got.Equal(want) {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// The webhook, the planner and everything that explains them count with one deadline.
func TestTheOperatorsMaximumCutsTheDeadlineOfEvictions(t *testing.T) {
	for name, tc := range map[string]struct {
		asked *int32
		most  time.Duration
		want  time.Duration
		cut   bool
	}{
		"the default":                              {want: 10 * time.Minute},
		"less than the maximum":                    {asked: ptr.To[int32](30), most: time.Minute, want: 30 * time.Second},
		"the maximum":                              {asked: ptr.To[int32](60), most: time.Minute, want: time.Minute},
		"more than the maximum":                    {asked: ptr.To[int32](86400), most: 20 * time.Minute, want: 20 * time.Minute, cut: true},
		"a maximum that is below the default":      {most: time.Minute, want: time.Minute, cut: true},
		"a maximum of hours":                       {asked: ptr.To[int32](86400), most: 48 * time.Hour, want: 24 * time.Hour},
		"more than an hour, the maximum not known": {asked: ptr.To[int32](86400), want: time.Hour, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			pm := &appsv1.PodManager{Spec: appsv1.PodManagerSpec{Disruption: appsv1.Disruption{Policy: appsv1.DisruptionSurgeFirst, DeadlineSeconds: tc.asked}}}
			if got, cut := EvictionDeadline(pm, tc.most); got != tc.want || cut != tc.cut {
				t.Errorf("got %s, cut %t, want %s, cut %t", got, cut, tc.want, tc.cut)
			}
			if got := (PodManagerKind{MaxHold: tc.most}).Fleet(pm).Desired.Disruption.Deadline; got != tc.want {
				t.Errorf("the planner counts with %s, want %s", got, tc.want)
			}
			if got := PodManager(pm).Desired.Disruption.Deadline; tc.most == 0 && got != tc.want {
				t.Errorf("a program that does not know the maximum counts with %s, want %s", got, tc.want)
			}
		})
	}
}
