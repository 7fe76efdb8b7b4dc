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

package preflight

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

func action(verb plan.Verb, pod, reason, message string) plan.Action {
	return plan.Action{Verb: verb, Pod: pod, Why: plan.Why{Reason: reason, Message: message}}
}

func TestConsequences(t *testing.T) {
	update := func(pod string) plan.Action {
		return action(plan.UpdatePod, pod, appsv1.WhyRolloutInPlace, "in place: image of app")
	}
	recreate := func(verb plan.Verb, pod, why string) plan.Action {
		return action(verb, pod, appsv1.WhyRolloutRecreate, "recreated: "+why)
	}
	var crowd []plan.Action
	for i := range 12 {
		crowd = append(crowd, action(plan.DeletePod, fmt.Sprintf("web-%d", 20-i), appsv1.WhyScaleDown, "too many"))
	}
	tests := map[string]struct {
		present, future plan.Decision
		want            []string
	}{
		"nothing": {},
		"an image": {
			future: plan.Decision{Actions: []plan.Action{update("a"), update("b"), update("c")}},
			want:   []string{"3 pods will be changed in place: image of app"},
		},
		"a resize is one change of a pod, not two": {
			future: plan.Decision{Actions: []plan.Action{
				action(plan.ResizePod, "a", appsv1.WhyRolloutInPlace, "in place: size of app"),
				action(plan.UpdatePod, "a", appsv1.WhyRolloutInPlace, "in place: size of app"),
			}},
			want: []string{"1 pod will be changed in place: size of app"},
		},
		"pods from two revisions, by eviction and not": {
			future: plan.Decision{Actions: []plan.Action{
				recreate(plan.EvictPod, "a", "volumes changed"), recreate(plan.DeletePod, "b", "hostNetwork changed"), update("c"),
			}},
			want: []string{
				"1 pod will be recreated: volumes changed", "1 pod will be recreated: hostNetwork changed", "1 pod will be changed in place: image of app",
			},
		},
		"what would happen anyway is not this change's doing": {
			present: plan.Decision{Actions: []plan.Action{action(plan.DeletePod, "failed", appsv1.WhyPodFailed, "it failed"), update("a")}},
			future: plan.Decision{Actions: []plan.Action{
				action(plan.DeletePod, "failed", appsv1.WhyPodFailed, "it failed"),
				action(plan.UpdatePod, "a", appsv1.WhyRolloutInPlace, "in place: image of side"),
			}},
			want: []string{"1 pod will be changed in place: image of side"},
		},
		"many names are cut short": {
			future: plan.Decision{Actions: crowd},
			want:   []string{"12 pods will be deleted: web-20, web-19, web-18, web-17, web-16, web-15, web-14, web-13, web-12, web-11 and 2 more"},
		},
		"more than one pass touches": {
			future: plan.Decision{
				Actions: []plan.Action{update("a"), update("b")},
				Blocked: []plan.Blocked{{Verb: plan.UpdatePod, By: appsv1.BlockedByBatch, Message: "the rest follows"}},
			},
			want: []string{"at least 2 pods will be changed in place: image of app"},
		},
		"volume claims are data": {
			future: plan.Decision{Actions: []plan.Action{
				{Verb: plan.DeleteClaim, Claim: "data-web-1", Why: plan.Why{Reason: appsv1.WhyClaimRetention}},
				{Verb: plan.DeleteClaim, Claim: "data-web-2", Why: plan.Why{Reason: appsv1.WhyClaimRetention}},
			}},
			want: []string{"2 volume claims will be deleted with their data: data-web-1, data-web-2"},
		},
		"creations and revisions take nothing away": {
			future: plan.Decision{Actions: []plan.Action{
				{Verb: plan.CreateRevision, Revision: "r"}, {Verb: plan.CreatePod, Pod: "a"}, {Verb: plan.AddFinalizer},
			}},
		},
		"what is held back, and was not before": {
			present: plan.Decision{Blocked: []plan.Blocked{{By: appsv1.BlockedByPin, Message: "pinned"}}},
			future: plan.Decision{Blocked: []plan.Blocked{
				{By: appsv1.BlockedByPin, Message: "pinned"},
				{By: appsv1.BlockedByPartition, Message: "partition 2 keeps them on their revision", Count: 2},
				{By: appsv1.BlockedByBudget, Message: "later", Count: 3},
			}},
			want: []string{"2 pods will not follow yet: partition 2 keeps them on their revision"},
		},
		"many names that are taken": {
			future: plan.Decision{Blocked: []plan.Blocked{
				{By: appsv1.BlockedByName, Message: "a"},
				{By: appsv1.BlockedByName, Message: "b"},
				{By: appsv1.BlockedByName, Message: "c"},
				{By: appsv1.BlockedByName, Message: "d"},
				{By: appsv1.BlockedByName, Message: "e"},
			}},
			want: []string{"a", "b", "c", "2 more names are taken"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, consequences(tt.present, tt.future)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsOf(t *testing.T) {
	template := func(field string) string { return "spec.template." + field }
	status := func(message string, causes ...metav1.StatusCause) metav1.Status {
		return metav1.Status{Message: message, Details: &metav1.StatusDetails{Causes: causes}}
	}
	tests := map[string]struct {
		status metav1.Status
		path   func(string) string
		want   []Problem
	}{
		"every cause finds its field": {
			status: status(`Pod "a-x" is invalid: [...]`,
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.containers[0].image", Message: "Required value"},
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.labels", Message: `Invalid value: "a b"`}),
			path: template,
			want: []Problem{
				{Field: "spec.template.spec.containers[0].image", Type: "FieldValueRequired", Message: "Required value"},
				{Field: "spec.template.metadata.labels", Type: "FieldValueInvalid", Message: `Invalid value: "a b"`},
			},
		},
		"a policy that names no field": {
			status: status(`pods "a-x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`, metav1.StatusCause{Message: "no"}),
			path:   func(string) string { return "spec.template" },
			want:   []Problem{{Field: "spec.template", Type: "FieldValueForbidden", Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"}},
		},
		"a pod that the user has no say in": {status: status("no", metav1.StatusCause{Field: "spec", Message: "no"})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problemsOf(tt.status, tt.path)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	kind := schema.GroupKind{Group: "g", Kind: "K"}
	err := Refuse(kind, "n", []Problem{{Field: "a", Type: "FieldValueRequired", Message: "Required value"}, {Field: "b", Message: "no"}})
	if want := `K.g "n" is invalid: [a: Required value, b: no]`; err.Error() != want || !apierrors.IsInvalid(err) {
		t.Errorf("the error is %q, want %q", err, want)
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || len(status.ErrStatus.Details.Causes) != 2 || status.ErrStatus.Details.Causes[0].Field != "a" {
		t.Errorf("kubectl finds no causes in %+v", err)
	}
}

func TestImages(t *testing.T) {
	pod := func(images ...string) *corev1.Pod {
		p := &corev1.Pod{}
		for i, image := range images {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: image})
		}
		return p
	}
	good := pod("nginx", "nginx:1.27", "localhost:5000/a/b:c", "a.b/c@sha256:"+fmt.Sprintf("%064d", 0), "")
	if found := checkImages(good); len(found.Warnings) != 0 {
		t.Errorf("good images: %v", found.Warnings)
	}
	want := []string{
		`container c0 will not start: its image "nginx :1" cannot be read: invalid reference format`,
		`container c1 will not start: its image "Nginx" cannot be read: invalid reference format: repository name (library/Nginx) must be lowercase`,
	}
	if diff := cmp.Diff(want, checkImages(pod("nginx :1", "Nginx")).Warnings); diff != "" {
		t.Errorf("bad images (-want +got):\n%s", diff)
	}
}

func TestOwnerNames(t *testing.T) {
	ref := func(kind, name string) *metav1.OwnerReference { return &metav1.OwnerReference{Kind: kind, Name: name} }
	for want, got := range map[string]string{
		"Deployment web":     ownerName(ref("ReplicaSet", "web-5d4f"), map[string]string{"pod-template-hash": "5d4f"}),
		"ReplicaSet web":     ownerName(ref("ReplicaSet", "web"), nil),
		"ReplicaSet web-":    ownerName(ref("ReplicaSet", "web-"), nil),
		"StatefulSet web-1":  ownerName(ref("StatefulSet", "web-1"), map[string]string{"pod-template-hash": "1"}),
		"B, A and C":         nameOwners(map[string]int{"A": 1, "B": 2, "C": 1}),
		"A, B, C and 2 more": nameOwners(map[string]int{"A": 1, "B": 1, "C": 1, "D": 1, "E": 1}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
