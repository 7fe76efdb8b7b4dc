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

package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestACreate: a create is noted, so that no pass plans before the cache shows
// it, and returns the UID of the new pod.
func TestACreate(t *testing.T) {
	w := newWorld(t)
	outcomes, err := w.apply(t, plan.Action{Verb: plan.CreatePod, Pod: "web-0", Revision: "web-abc"})
	if err != nil || outcomes[0].Result != plan.Done || outcomes[0].UID != "uid-web-0" {
		t.Errorf("%+v, %v", outcomes, err)
	}
	if diff := cmp.Diff([]string{"wrote web-0"}, w.ledger.list); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}

// TestACreateThatExistsAlready: the name follows from the slot, so the pod is
// either ours from a try whose answer was lost, or an operator before us made it and
// has told, or it is not ours.
func TestACreateThatExistsAlready(t *testing.T) {
	going := pod("web-0", controlledBy(me))
	going.DeletionTimestamp, going.Finalizers = ptr.To(metav1.Now()), []string{"example.com/hold"}
	for name, test := range map[string]struct {
		existing *corev1.Pod
		// lost: the answer to a try of ours was.
		lost   bool
		want   plan.Result
		ledger []string
	}{
		"it is ours":                   {pod("web-0", controlledBy(me)), true, plan.Done, []string{"wrote web-0"}},
		"it was made before we looked": {pod("web-0", controlledBy(me)), false, plan.Outdated, []string{"wrote web-0"}},
		"it is ours and terminates":    {going, true, plan.Outdated, nil},
		"it is another owner's":        {pod("web-0", controlledBy("you")), false, plan.Refused, []string{"taken web-0"}},
		"it has no owner":              {pod("web-0"), false, plan.Refused, []string{"taken web-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.existing)
			if w.memory = (&Memory{owner: me}); test.lost {
				w.memory.note([]plan.Outcome{{Action: plan.Action{Verb: plan.CreatePod, Pod: "web-0"}, Result: plan.Failed}}, w.clock.Now())
			}
			outcomes, _ := w.apply(t, plan.Action{Verb: plan.CreatePod, Pod: "web-0"})
			if outcomes[0].Result != test.want {
				t.Errorf("the outcome is %+v, want %s", outcomes[0], test.want)
			}
			if test.want == plan.Done && outcomes[0].UID != test.existing.UID {
				t.Errorf("the outcome names pod %s", outcomes[0].UID)
			}
			if diff := cmp.Diff(test.ledger, w.ledger.list); diff != "" {
				t.Errorf("the ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeletesCarryPreconditions: exactly the pod that was seen, and without a
// grace period only where it was decided.
func TestDeletesCarryPreconditions(t *testing.T) {
	for name, test := range map[string]struct {
		action plan.Action
		want   client.DeleteOptions
	}{
		"a pod": {
			plan.Action{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "5"},
			client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("uid-web-0")), ResourceVersion: ptr.To("5")}},
		},
		"a pod on a node that is gone": {
			plan.Action{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "5", Force: true},
			client.DeleteOptions{
				Preconditions:      &metav1.Preconditions{UID: ptr.To(types.UID("uid-web-0")), ResourceVersion: ptr.To("5")},
				GracePeriodSeconds: ptr.To(int64(0)),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			if _, err := w.apply(t, test.action); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, w.deletes["web-0"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"took away web-0"}, w.ledger.list); diff != "" {
				t.Errorf("the ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// TestADeleteThatComesTooLate: a pod that is gone needs no deleting; one that
// has a successor is not ours to judge from here.
func TestADeleteThatComesTooLate(t *testing.T) {
	for name, test := range map[string]struct {
		answer error
		want   plan.Result
		ledger []string
	}{
		"it is gone":         {apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "web-0"), plan.Done, []string{"took away web-0"}},
		"it has a successor": {apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-0", nil), plan.Outdated, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = func(string) error { return test.answer }
			outcomes, _ := w.apply(t, plan.Action{Verb: plan.DeletePod, Pod: "web-0", UID: "uid-web-0"})
			if outcomes[0].Result != test.want {
				t.Errorf("the outcome is %+v", outcomes[0])
			}
			if diff := cmp.Diff(test.ledger, w.ledger.list); diff != "" {
				t.Errorf("the ledger (-want +got):\n%s", diff)
			}
		})
	}
}

func decode(t *testing.T, raw string) metadataPatch {
	t.Helper()
	var body metadataPatch
	if err := json.Unmarshal([]byte(raw), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// TestAdoption: the pod keeps its other owners and gets our labels, under the
// very version that was read.
func TestAdoption(t *testing.T) {
	friend := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: "friend"}
	w := newWorld(t, owner(), pod("web-0", friend))
	action := plan.Action{Verb: plan.AdoptPod, Pod: "web-0", UID: "uid-web-0", Slot: 0, ResourceVersion: "999"}
	if _, err := w.apply(t, action); err != nil {
		t.Fatal(err)
	}
	body := decode(t, w.patches["web-0"])
	if body.Metadata.UID != "uid-web-0" || body.Metadata.ResourceVersion != "999" {
		t.Errorf("the patch carries uid %q and version %q", body.Metadata.UID, body.Metadata.ResourceVersion)
	}
	got := &corev1.Pod{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-0"}, got); err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(got, owner()) || len(got.OwnerReferences) != 2 {
		t.Errorf("owners: %+v", got.OwnerReferences)
	}
	want := map[string]string{appsv1.LabelName: "web", appsv1.LabelUID: "me", appsv1.LabelSlot: "0", "app": "web"}
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"wrote web-0"}, w.ledger.list); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}

// TestTheSlotOfAnAdoptedPod is on its label, where it has one: a pod whose name says
// no slot gets none, and keeps none of an earlier owner.
func TestTheSlotOfAnAdoptedPod(t *testing.T) {
	for name, test := range map[string]struct {
		slot int
		want string
	}{
		"the first": {0, "0"}, "another": {7, "7"}, "none": {plan.NoSlot, ""},
	} {
		t.Run(name, func(t *testing.T) {
			adopted := pod("web-x")
			adopted.Labels[appsv1.LabelSlot] = "3"
			w := newWorld(t, owner(), adopted)
			action := plan.Action{Verb: plan.AdoptPod, Pod: "web-x", UID: "uid-web-x", Slot: test.slot, ResourceVersion: "999"}
			if _, err := w.apply(t, action); err != nil {
				t.Fatal(err)
			}
			got := &corev1.Pod{}
			if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-x"}, got); err != nil {
				t.Fatal(err)
			}
			if slot, labelled := got.Labels[appsv1.LabelSlot]; slot != test.want || labelled != (test.want != "") {
				t.Errorf("the labels are %v, want slot %q", got.Labels, test.want)
			}
		})
	}
}

// TestLettingGo: a released pod loses its owner, an orphaned one the reserved
// labels as well; both keep what is theirs.
func TestLettingGo(t *testing.T) {
	friend := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: "friend"}
	for verb, want := range map[plan.Verb]map[string]string{
		plan.ReleasePod: {appsv1.LabelName: "web", appsv1.LabelSlot: "0", "app": "web"},
		plan.OrphanPod:  {"app": "web"},
	} {
		t.Run(string(verb), func(t *testing.T) {
			w := newWorld(t, pod("web-0", friend, controlledBy(me)))
			if _, err := w.apply(t, plan.Action{Verb: verb, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "999"}); err != nil {
				t.Fatal(err)
			}
			if body := decode(t, w.patches["web-0"]); body.Metadata.UID != "uid-web-0" || body.Metadata.ResourceVersion != "999" {
				t.Errorf("the patch carries %+v", body.Metadata)
			}
			got := &corev1.Pod{}
			if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-0"}, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]metav1.OwnerReference{friend}, got.OwnerReferences); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"took away web-0"}, w.ledger.list); diff != "" {
				t.Errorf("the ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLettingGoOfAPodThatIsGone: the next look does not see it, and no history counts it.
func TestLettingGoOfAPodThatIsGone(t *testing.T) {
	w := newWorld(t)
	outcomes, err := w.apply(t, plan.Action{Verb: plan.OrphanPod, Pod: "web-0", UID: "uid-web-0"})
	if err != nil || outcomes[0].Result != plan.Outdated {
		t.Errorf("%v, %v", results(outcomes), err)
	}
	if diff := cmp.Diff([]string{"took away web-0"}, w.ledger.list); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}
