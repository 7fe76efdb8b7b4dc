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

package evictionscope

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/crdgate"
)

func TestSelector(t *testing.T) {
	var many []string
	for i := range MaxNamespaces {
		many = append(many, "n"+strconv.Itoa(i))
	}
	in := func(names ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names,
		}}}
	}
	for name, test := range map[string]struct {
		namespaces []string
		want       *metav1.LabelSelector
	}{
		"none selects nothing":              {want: in("")},
		"some are named":                    {namespaces: []string{"a", "b"}, want: in("a", "b")},
		"as many as can be named":           {namespaces: many, want: in(many...)},
		"one more, and all are asked about": {namespaces: append([]string{"a"}, many...), want: &metav1.LabelSelector{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Selector(test.namespaces)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A namespace joins at once and leaves late, however often it is needed in between.
func TestNamespacesJoinAtOnceAndLeaveLate(t *testing.T) {
	k := &Keeper{}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	writes := 0
	selector := Selector(nil)
	look := func(needed ...string) time.Duration {
		names, wait := k.lasting(needed, named(selector), now)
		if want := Selector(names); !cmp.Equal(want, selector) {
			selector, writes = want, writes+1
		}
		return wait
	}
	expect := func(what string, wantWrites int, wantNamed ...string) {
		t.Helper()
		if diff := cmp.Diff(Selector(wantNamed), selector); diff != "" || writes != wantWrites {
			t.Errorf("%s: %d writes, want %d; selector (-want +got):\n%s", what, writes, wantWrites, diff)
		}
	}
	look("a")
	expect("the first joins", 1, "a")
	for range 100 {
		now = now.Add(time.Second)
		look()
		now = now.Add(time.Second)
		look("a")
	}
	expect("switched on and off for minutes", 1, "a")
	look("b")
	expect("another joins at once", 2, "a", "b")
	now = now.Add(leavesAfter - time.Second)
	if wait := look("b"); wait != time.Second {
		t.Errorf("looks again in %s, want 1s", wait)
	}
	expect("not yet", 2, "a", "b")
	now = now.Add(time.Second)
	if wait := look("b"); wait != 0 {
		t.Errorf("looks again in %s, want no more", wait)
	}
	expect("it leaves", 3, "b")
	selector = &metav1.LabelSelector{} // as installed, or by another client
	look("b")
	expect("a selector that is not ours is corrected at once", 4, "b")
}

// However often another client changes the field, it is written once a second.
func TestTheConfigurationIsWrittenOnceASecond(t *testing.T) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "admission"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "evictions"}},
	}
	writes := 0
	c := fake.NewClientBuilder().WithObjects(configuration).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	k := New(nil, c, c, "admission", "evictions", crdgate.New(nil, fleets(), appsv1.GroupVersion.WithKind("PodManager")), clock)
	for range 20 {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(configuration), configuration); err != nil {
			t.Fatal(err)
		}
		configuration.Webhooks[0].NamespaceSelector = nil
		if err := c.Update(t.Context(), configuration); err != nil {
			t.Fatal(err)
		}
		before := writes
		result, err := k.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(configuration)})
		if err != nil {
			t.Fatal(err)
		}
		if wrote := writes > before; !wrote && result.RequeueAfter == 0 {
			t.Error("what is not written is not looked at again")
		}
		clock.SetTime(clock.Now().Add(100 * time.Millisecond))
	}
	if writes != 2 {
		t.Errorf("%d writes in two seconds, want 2", writes)
	}
}
