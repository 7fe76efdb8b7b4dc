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

package helloworld

import (
	"context"
	"errors"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
)

// setUp makes a Reconciler on a fake client, for what a real API server does
// only when two things happen at once.
func setUp(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) (*Reconciler, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), testv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&testv1alpha1.HelloWorld{}).
		WithIndex(&corev1.Pod{}, indexPods, func(o client.Object) []string { return []string{o.GetLabels()[testv1alpha1.LabelName]} }).
		WithInterceptorFuncs(funcs).Build()
	return New(c, &events.FakeRecorder{}, clock.RealClock{}), c
}

func look(t *testing.T, r *Reconciler) (ctrl.Result, error) {
	t.Helper()
	return r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(three())})
}

func TestADeploymentMadeAtTheSameTimeIsNotTakenOver(t *testing.T) {
	foreign := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hello"}}
	behind := true
	funcs := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
		if _, ok := obj.(*kappsv1.Deployment); ok && behind {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, key.Name)
		}
		return c.Get(ctx, key, obj, o...)
	}}
	r, c := setUp(t, funcs, three(), foreign)
	result, err := look(t, r)
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("while the cache is behind: %+v, %v", result, err)
	}
	behind = false
	if _, err := look(t, r); err != nil {
		t.Fatal(err)
	}
	after := &kappsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(foreign), after); err != nil {
		t.Fatal(err)
	}
	if len(after.OwnerReferences) > 0 || after.Spec.Replicas != nil {
		t.Errorf("it was taken over: %+v", after)
	}
	hw := three()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(hw), hw); err != nil {
		t.Fatal(err)
	}
	if got := words(hw.Status.Conditions); got != "Stalled: NameTaken, not Ready: NameTaken" {
		t.Errorf("conditions: %s", got)
	}
}

func TestWhatIsAppliedNamesTheDeploymentThatWasSeen(t *testing.T) {
	live := done(t)
	live.UID, live.Spec.Replicas = "seen", ptr.To(int32(7))
	var applied map[string]any
	funcs := interceptor.Funcs{Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
		var err error
		if applied, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
			t.Fatal(err)
		}
		return apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "hello", errors.New("uid mismatch"))
	}}
	r, _ := setUp(t, funcs, three(), live)
	if _, err := look(t, r); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}
	if meta, _ := applied["metadata"].(map[string]any); meta["uid"] != "seen" {
		t.Errorf("applied without the UID: %v", applied)
	}
}

func TestNothingIsDecidedOnACacheThatIsBehind(t *testing.T) {
	writes := 0
	funcs := interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			writes++
			return c.Create(ctx, obj, o...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, obj, p, o...)
		},
	}
	r, _ := setUp(t, funcs, three())
	hw := three()
	hw.ResourceVersion = "999999" // a write that the cache does not show
	r.wrote(hw)
	result, err := look(t, r)
	if err != nil || result.RequeueAfter == 0 || writes > 0 {
		t.Errorf("%+v, %v, %d writes", result, err, writes)
	}
}

// A webhook that says no without a code is answered with 400, and one that does not
// answer with 500.
func TestAWebhooksRefusalIsReported(t *testing.T) {
	for name, refusal := range map[string]error{
		"denied without a code": apierrors.NewBadRequest(`admission webhook "guard.example.com" denied the request: no`),
		"does not answer":       apierrors.NewInternalError(errors.New(`failed calling webhook "guard.example.com": connection refused`)),
	} {
		t.Run(name, func(t *testing.T) {
			funcs := interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refusal }}
			r, c := setUp(t, funcs, three())
			result, err := look(t, r)
			if err != nil || result.RequeueAfter != refusedRetry {
				t.Errorf("%+v, %v", result, err)
			}
			hw := three()
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(hw), hw); err != nil {
				t.Fatal(err)
			}
			if got := words(hw.Status.Conditions); got != "Stalled: DeploymentRefused, not Ready: DeploymentRefused" {
				t.Errorf("conditions: %s", got)
			}
		})
	}
}

// The Deployment of a HelloWorld that was deleted with --cascade=orphan still has its
// pods, with the label that the next HelloWorld of that name looks for.
func TestThePodsOfAForeignDeploymentAreNotListed(t *testing.T) {
	foreign := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hello"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "hello-abc-1",
		Labels:          map[string]string{testv1alpha1.LabelName: "hello", kappsv1.DefaultDeploymentUniqueLabelKey: "abc"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "hello-abc", UID: "rs", Controller: ptr.To(true)}},
	}}
	r, c := setUp(t, interceptor.Funcs{}, three(), foreign, pod)
	if _, err := look(t, r); err != nil {
		t.Fatal(err)
	}
	hw := three()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(hw), hw); err != nil {
		t.Fatal(err)
	}
	if got := words(hw.Status.Conditions); got != "Stalled: NameTaken, not Ready: NameTaken" || hw.Status.Replicas != 0 || len(hw.Status.Nodes) > 0 {
		t.Errorf("%s with %d replicas, nodes %v", got, hw.Status.Replicas, hw.Status.Nodes)
	}
}
