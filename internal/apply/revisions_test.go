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
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
)

func revision(raw string, owners ...metav1.OwnerReference) *kappsv1.ControllerRevision {
	return &kappsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: "uid-web-1", OwnerReferences: owners},
		Data:       runtime.RawExtension{Raw: []byte(raw)}, Revision: 7,
	}
}

// TestARevisionThatExistsAlready: from a try whose answer was lost, from a
// predecessor of the owner, or of another owner.
func TestARevisionThatExistsAlready(t *testing.T) {
	const ours = `{"spec":{}}`
	for name, test := range map[string]struct {
		existing *kappsv1.ControllerRevision
		want     plan.Result
		number   int64
	}{
		"it is ours":                              {revision(ours, controlledBy(me)), plan.Done, 7},
		"a predecessor left it":                   {revision(ours), plan.Done, 2},
		"it is another owner's":                   {revision(ours, controlledBy("you")), plan.Refused, 7},
		"it has no owner and means another thing": {revision(`{"spec":{"template":{}}}`), plan.Refused, 7},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.existing)
			outcomes, _ := w.apply(t, plan.Action{Verb: plan.CreateRevision, Revision: "web-1", Number: 2})
			if outcomes[0].Result != test.want {
				t.Errorf("the outcome is %+v", outcomes[0])
			}
			got := &kappsv1.ControllerRevision{}
			if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-1"}, got); err != nil {
				t.Fatal(err)
			}
			if got.Revision != test.number || test.want == plan.Done && !metav1.IsControlledBy(got, owner()) {
				t.Errorf("number %d, owners %+v", got.Revision, got.OwnerReferences)
			}
		})
	}
}

func TestARevisionIsRenumbered(t *testing.T) {
	w := newWorld(t, revision("{}", controlledBy(me)))
	if _, err := w.apply(t, plan.Action{Verb: plan.RenumberRevision, Revision: "web-1", UID: "uid-web-1", Number: 9}); err != nil {
		t.Fatal(err)
	}
	got := &kappsv1.ControllerRevision{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "web-1"}, got); err != nil {
		t.Fatal(err)
	}
	if got.Revision != 9 {
		t.Errorf("number %d", got.Revision)
	}
}

// TestExactlyTheRevisionThatWasSeen: one that was made again under the name since
// is neither deleted nor renumbered.
func TestExactlyTheRevisionThatWasSeen(t *testing.T) {
	for _, verb := range []plan.Verb{plan.DeleteRevision, plan.RenumberRevision} {
		w := newWorld(t, revision("{}", controlledBy(me)))
		if _, err := w.apply(t, plan.Action{Verb: verb, Revision: "web-1", UID: "uid-web-1", Number: 9}); err != nil {
			t.Fatal(err)
		}
		switch {
		case verb == plan.RenumberRevision:
			if got := w.patches["web-1"]; got != `{"metadata":{"uid":"uid-web-1"},"revision":9}` {
				t.Errorf("the patch is %s", got)
			}
		case w.deletes["web-1"].Preconditions == nil || *w.deletes["web-1"].Preconditions.UID != "uid-web-1":
			t.Errorf("the delete has the options %+v", w.deletes["web-1"])
		}
	}
}

func TestARevisionThatIsGoneNeedsNoDeleting(t *testing.T) {
	w := newWorld(t)
	outcomes, err := w.apply(t, plan.Action{Verb: plan.DeleteRevision, Revision: "web-1", UID: "uid-web-1"})
	if err != nil || outcomes[0].Result != plan.Done {
		t.Errorf("%v, %v", results(outcomes), err)
	}
}
