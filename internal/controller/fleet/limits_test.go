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

package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TestALookThatTakesTooLongIsCutOff: the worker is free again, the object says
// why, and it is counted. When the look is quick again, nothing is left of it.
func TestALookThatTakesTooLongIsCutOff(t *testing.T) {
	slow := true
	r, w := newReconcilerWith(t, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods && slow {
				<-ctx.Done()
				return ctx.Err()
			}
			return c.List(ctx, list, opts...)
		},
	}, fleetOwner("web"))
	r.limits.look = 10 * time.Millisecond

	result, err := r.Reconcile(t.Context(), request("ns", "web"))
	if err != nil || result.RequeueAfter != cutOffWait {
		t.Fatalf("%+v, %v: want it to wait for %s", result, err, cutOffWait)
	}
	stalled := meta.FindStatusCondition(w.status(t).Conditions, appsv1.ConditionStalled)
	if stalled == nil || stalled.Reason != appsv1.ReasonTakesTooLong {
		t.Errorf("Stalled is %+v", stalled)
	}
	if n := testutil.ToFloat64(w.Metrics.cuts.WithLabelValues("test")); n != 1 {
		t.Errorf("%v were counted as cut off", n)
	}

	slow, r.limits.look = false, lookLimit
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil {
		t.Fatal(err)
	}
	if stalled := meta.FindStatusCondition(w.status(t).Conditions, appsv1.ConditionStalled); stalled != nil {
		t.Errorf("Stalled is still %+v", stalled)
	}
	if n := len(w.pods(t)); n != 2 {
		t.Errorf("%d pods", n)
	}
}

// TestAnOperatorThatStopsCutsNothingOff: it is an error like any other.
func TestAnOperatorThatStopsCutsNothingOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := newReconcilerWith(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			cancel()
			return context.DeadlineExceeded
		},
	}, fleetOwner("web"))
	if _, err := r.Reconcile(ctx, request("ns", "web")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if n := testutil.ToFloat64(w.Metrics.cuts.WithLabelValues("test")); n != 0 {
		t.Errorf("%v were counted as cut off", n)
	}
}

// TestALongPassGoesOnLater: after its time no further batch of writes is begun, and
// the next pass follows at once.
func TestALongPassGoesOnLater(t *testing.T) {
	r, w := newReconciler(t, fleetOwner("web"))
	r.limits.write = -1
	result, err := r.Reconcile(t.Context(), request("ns", "web"))
	if err != nil || result.RequeueAfter != staleRetry {
		t.Fatalf("%+v, %v", result, err)
	}
	if n := len(w.pods(t)); n > 1 {
		t.Errorf("%d pods were made in no time", n)
	}
	r.limits.write = writeLimit
	if _, err := r.Reconcile(t.Context(), request("ns", "web")); err != nil {
		t.Fatal(err)
	}
	if n := len(w.pods(t)); n != 2 {
		t.Errorf("%d pods", n)
	}
}
