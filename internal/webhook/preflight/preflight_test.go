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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
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
			present: plan.Decision{Blocked: []plan.Blocked{{By: appsv1.BlockedByMissingPin, Message: "pinned"}}},
			future: plan.Decision{Blocked: []plan.Blocked{
				{By: appsv1.BlockedByMissingPin, Message: "pinned"},
				{By: appsv1.BlockedByPartition, Message: "partition 2 keeps them on their revision", Count: 2},
				{By: appsv1.BlockedByBudget, Message: "later", Count: 3},
			}},
			want: []string{"2 pods will not change yet: partition 2 keeps them on their revision"},
		},
		"a pin that holds against the new template": {
			present: plan.Decision{Pinned: &plan.Pinned{Revision: "old", Template: "new", Stays: true}, Blocked: []plan.Blocked{{By: appsv1.BlockedByPin, Message: "pinned over new", Count: 2}}},
			future:  plan.Decision{Pinned: &plan.Pinned{Revision: "old", Template: "newer", Stays: true}, Blocked: []plan.Blocked{{By: appsv1.BlockedByPin, Message: "pinned over newer", Count: 2}}},
			want:    []string{"2 pods will not change yet: pinned over newer"},
		},
		"a pin that the new template ends": {
			present: plan.Decision{Pinned: &plan.Pinned{Revision: "old", Template: "new"}, Blocked: []plan.Blocked{{By: appsv1.BlockedByPin, Message: "pinned", Count: 2}}},
			future:  plan.Decision{Actions: []plan.Action{update("a")}},
			want:    []string{"1 pod will be changed in place: image of app", "the pin to revision old ends: the pods follow the template again"},
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
			path:   template,
		},
		"a webhook of others, whatever fields it names": {
			status: status(`admission webhook "v.example.com" denied the request: no`, metav1.StatusCause{Field: "spec.containers[0].image", Message: "no"}),
			path:   template,
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

// What judges a pod by rules that may be others tomorrow warns; what no API
// server would take refuses.
func TestARefusedTrialIsAWarningUnlessThePodIsWrong(t *testing.T) {
	refused := func(reason metav1.StatusReason, code int32, message string, causes ...metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Reason: reason, Code: code, Message: message, Details: &metav1.StatusDetails{Causes: causes},
		}}
	}
	named := metav1.StatusCause{Field: "spec.containers[0].image", Message: "no"}
	tests := map[string]struct {
		err     error
		refuses bool
		warns   string
	}{
		"a field that is wrong": {
			err: refused(metav1.StatusReasonInvalid, 422, `Pod "a-0" is invalid: spec.containers[0].image: no`, named), refuses: true,
		},
		"a policy": {
			err:   refused(metav1.StatusReasonInvalid, 422, `pods "a-0" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`, metav1.StatusCause{Message: "no"}),
			warns: "the API server would refuse the pod now: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
		},
		"a webhook that calls it a bad request": {
			err:   refused(metav1.StatusReasonBadRequest, 400, `admission webhook "v.example.com" denied the request: no`),
			warns: `the API server would refuse the pod now: admission webhook "v.example.com" denied the request: no`,
		},
		"a webhook that names a field": {
			err:   refused(metav1.StatusReasonInvalid, 422, `admission webhook "v.example.com" denied the request: no`, named),
			warns: `the API server would refuse the pod now: admission webhook "v.example.com" denied the request: no`,
		},
		"a quota": {
			err:   refused(metav1.StatusReasonForbidden, 403, `pods "a-0" is forbidden: exceeded quota: q`),
			warns: "the API server would refuse the pod now: exceeded quota: q",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := refusal(tt.err, "pod", func(field string) string { return "spec.template." + field })
			if got := len(found.Problems) > 0; got != tt.refuses {
				t.Errorf("it refuses: %t (%v)", got, found.Problems)
			}
			if got := strings.Join(found.Warnings, "; "); got != tt.warns {
				t.Errorf("the warning is %q, want %q", got, tt.warns)
			}
		})
	}
}

// The trial has the name of the first pod that the fleet would make.
func TestTheTrialHasANameOfTheFleet(t *testing.T) {
	pm := &appsv1.PodManager{}
	pm.Name, pm.UID, pm.Spec.Image = "web", "uid-of-web", "nginx:1.27"
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	for want, edit := range map[string]func(){
		"web-0": func() {},
		"web-2": func() { pm.Spec.ReserveOrdinals = []int32{1, 0} },
	} {
		pm.Spec.ReserveOrdinals = nil
		edit()
		f := desired.PodManagerKind{}.Fleet(pm)
		if pod := trialPod(f); pod.Name != want || pod.GenerateName != "" || pod.Labels[appsv1.LabelSlot] != strings.TrimPrefix(want, "web-") {
			t.Errorf("the trial is %q (%q) in slot %s, want %s", pod.Name, pod.GenerateName, pod.Labels[appsv1.LabelSlot], want)
		}
		if claim := claims(f)["data"]; claim == nil || claim.Name != "data-"+want {
			t.Errorf("its claim is %v", claim)
		}
	}
	pm.Spec.ReserveOrdinals, pm.Spec.Identity = nil, appsv1.IdentityRandom
	f := desired.PodManagerKind{}.Fleet(pm)
	if pod := trialPod(f); pod.Name != plan.SlotName(&f.Desired, 0) {
		t.Errorf("with random names the trial is %q", pod.Name)
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

// The planner only marks the claims of the pods that a scale-down deletes: they are
// deleted when the pods are gone.
func TestAScaleDownThatDeletesClaimsIsWarnedAbout(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web-uid", Generation: 1, Finalizers: []string{appsv1.Finalizer}}}
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.ClaimDelete
	seen := plan.Observed{Revisions: []plan.Revision{{Name: "web-1", Number: 1, Equal: true}}}
	for slot, found := range []bool{false, false, true} {
		name := fmt.Sprintf("web-%d", slot)
		seen.Pods = append(seen.Pods, plan.Pod{
			Name: name, UID: types.UID(name), Membership: plan.Member, Slot: slot, Revision: "web-1", Created: now.Add(-time.Hour),
			Phase: corev1.PodRunning, Ready: true, ReadySince: now.Add(-time.Hour), Node: "n1",
		})
		seen.Claims = append(seen.Claims, plan.Claim{Name: "data-" + name, UID: types.UID("data-" + name), Slot: slot, Owner: "web-uid", Found: found})
	}
	decide := func(replicas int32) plan.Decision {
		pm.Spec.Replicas = &replicas
		d := desired.PodManager(pm).Desired
		d.Update.MaxUnavailable = 3
		return plan.Plan(d, seen, now)
	}
	want := []string{"2 pods will be deleted: web-2, web-1", "1 volume claim will be deleted with its data: data-web-1"}
	if diff := cmp.Diff(want, consequences(decide(3), decide(1))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	pm.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.ClaimRetain
	if diff := cmp.Diff(want[:1], consequences(decide(3), decide(1))); diff != "" {
		t.Errorf("with Retain (-want +got):\n%s", diff)
	}
}
