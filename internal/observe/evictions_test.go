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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// asks is an EvictionRequest for the pod.
func asks(name, by string, at time.Time, intent lifecyclev1alpha1.EvictionRequestIntent) client.Object {
	r := &lifecyclev1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(at)}}
	r.Spec = lifecyclev1alpha1.EvictionRequestSpec{
		Target:    lifecyclev1alpha1.EvictionRequestTarget{Pod: &lifecyclev1alpha1.EvictionRequestPodReference{Name: "web-0", UID: "pod"}},
		Requester: by, Intent: intent,
	}
	return r
}

// turns is an Eviction of the pod, with the operator in a state.
func turns(state lifecyclev1alpha1.ResponderStateType, started time.Time, change func(*lifecyclev1alpha1.EvictionStatus)) client.Object {
	e := &lifecyclev1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}}
	e.Spec.Target.Pod = &lifecyclev1alpha1.EvictionPodReference{Name: "web-0", UID: "pod"}
	e.Status.TargetResponders = []lifecyclev1alpha1.TargetResponder{{Name: podrender.EvictionResponder, State: state}}
	e.Status.Responders = []lifecyclev1alpha1.ResponderStatus{{Name: podrender.EvictionResponder, StartTime: &metav1.Time{Time: started}}}
	e.Status.Requesters = []lifecyclev1alpha1.Requester{{Name: "a/x", Intent: lifecyclev1alpha1.RequesterIntentEviction}}
	if change != nil {
		change(&e.Status)
	}
	return e
}

// TestEvictionsThatAreAskedFor: an Eviction is all that counts where there is one.
func TestEvictionsThatAreAskedFor(t *testing.T) {
	const evict, withdrawn = lifecyclev1alpha1.EvictionRequestIntentEviction, lifecyclev1alpha1.EvictionRequestIntentWithdrawn
	early, late := at(1).Time, at(2).Time
	for name, test := range map[string]struct {
		objects   []client.Object
		annotated time.Time
		want      plan.Pod
	}{
		"nothing":             {},
		"a request":           {objects: []client.Object{asks("a", "a/x", early, evict)}, want: plan.Pod{EvictionRequested: early, EvictionBy: "a/x"}},
		"a request withdrawn": {objects: []client.Object{asks("a", "a/x", early, withdrawn)}},
		"two requests": {
			objects: []client.Object{asks("a", "b/y", late, evict), asks("b", "a/x", early, evict)},
			want:    plan.Pod{EvictionRequested: early, EvictionBy: "a/x, b/y"},
		},
		"one of two withdrawn": {
			objects: []client.Object{asks("a", "b/y", late, evict), asks("b", "a/x", early, withdrawn)},
			want:    plan.Pod{EvictionRequested: late, EvictionBy: "b/y"},
		},
		"the annotation is later": {
			objects: []client.Object{asks("a", "a/x", early, evict)}, annotated: late, want: plan.Pod{EvictionRequested: late},
		},
		"our turn": {
			objects: []client.Object{asks("a", "b/y", early, evict), turns(lifecyclev1alpha1.ResponderStateActive, late, nil)},
			want:    plan.Pod{EvictionRequested: late, EvictionBy: "a/x"},
		},
		"another's turn": {objects: []client.Object{asks("a", "b/y", early, evict), turns(lifecyclev1alpha1.ResponderStateInactive, late, nil)}},
		"all have withdrawn": {objects: []client.Object{turns(lifecyclev1alpha1.ResponderStateActive, late, func(s *lifecyclev1alpha1.EvictionStatus) {
			s.Requesters[0].Intent = lifecyclev1alpha1.RequesterIntentWithdrawn
		})}},
		"reported as done": {objects: []client.Object{turns(lifecyclev1alpha1.ResponderStateActive, early, func(s *lifecyclev1alpha1.EvictionStatus) {
			s.Responders[0].CompletionTime = &metav1.Time{Time: late}
		})}},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleetOf(1, template("app:1"))
			f.Ref.Namespace, f.Desired.Disruption = "ns", plan.Disruption{SurgeFirst: true, MaxSurge: 1}
			found, err := New(cache(t, test.objects...), nil, nil).WithEvictions(true).listEvictions(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Pod{UID: types.UID("pod"), EvictionRequested: test.annotated}
			found.describe(&p)
			test.want.UID = p.UID
			if diff := cmp.Diff(test.want, p); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if found, err := New(nil, nil, nil).listEvictions(t.Context(), fleetOf(1, template("app:1"))); err != nil || found != nil {
		t.Errorf("without the API it is read: %v, %v", found, err)
	}
}
