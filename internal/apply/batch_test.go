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
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// TestSlowStart: a failure costs the requests of the batches so far, not one
// for every pod.
func TestSlowStart(t *testing.T) {
	for name, test := range map[string]struct {
		pods int
		// fail says which request is the first to fail, from 1; 0 is none.
		fail int
		want int
	}{
		"all is well":                         {pods: 20, want: 20},
		"nothing to do":                       {pods: 0, want: 0},
		"the first fails":                     {pods: 500, fail: 1, want: 1},
		"the second fails, and with it two":   {pods: 500, fail: 2, want: 3},
		"the fourth fails, and with it seven": {pods: 500, fail: 4, want: 7},
		"the last batch fails":                {pods: 10, fail: 8, want: 10},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var mu sync.Mutex
			n := 0
			w.answer = func(string) error {
				mu.Lock()
				defer mu.Unlock()
				if n++; test.fail > 0 && n >= test.fail {
					return errors.New("no")
				}
				return nil
			}
			outcomes, err := w.apply(t, many(plan.CreatePod, test.pods)...)
			if got := w.asked("create"); got != test.want {
				t.Errorf("%d requests for %d pods, want %d", got, test.pods, test.want)
			}
			if len(outcomes) != test.pods || (err != nil) != (test.fail > 0) {
				t.Errorf("%d outcomes for %d pods, error %v", len(outcomes), test.pods, err)
			}
			for i := range outcomes {
				if o := &outcomes[i]; (o.Result == plan.Skipped) != (i >= test.want) {
					t.Errorf("pod %d is %s", i, o.Result)
				}
			}
		})
	}
}

// TestAPassEndsWhenTheOwnerAsksForSomethingElse: what is under way is finished,
// nothing more is begun, and nothing that comes after is tried either.
func TestAPassEndsWhenTheOwnerAsksForSomethingElse(t *testing.T) {
	for name, test := range map[string]struct {
		verb plan.Verb
		// after is how many requests the owner lets pass before it asks.
		after       int
		least, most int
	}{
		"in the middle of deletes":       {plan.DeletePod, 400, 400, 400 + maxInFlight},
		"in the middle of creates":       {plan.CreatePod, 100, 100, 100 + maxInFlight},
		"before the first delete":        {plan.DeletePod, 0, 1, 2},
		"before the first create":        {plan.CreatePod, 0, 1, 2},
		"never":                          {plan.DeletePod, 1000, 600, 600},
		"when the last one is under way": {plan.CreatePod, 600, 600, 600},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.answer = func(string) error { return nil }
			w.outdated = func() bool { return w.asked("") >= test.after }
			actions := append(many(test.verb, 600), plan.Action{Verb: plan.DeleteRevision, Revision: "rev-1"})
			outcomes, err := w.apply(t, actions...)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.asked("create web-") + w.asked("delete web-"); got < test.least || got > test.most {
				t.Errorf("%d of 600 requests, want %d to %d", got, test.least, test.most)
			}
			if len(outcomes) != len(actions) {
				t.Fatalf("%d outcomes of %d actions", len(outcomes), len(actions))
			}
			done := 0
			for i := range outcomes[:600] {
				switch outcomes[i].Result {
				case plan.Done:
					done++
				case plan.Skipped:
				case plan.Failed, plan.Refused, plan.Outdated:
					t.Errorf("%s is %s: %s", outcomes[i].Action.Pod, outcomes[i].Result, outcomes[i].Message)
				}
			}
			if asked := w.asked("create web-") + w.asked("delete web-"); done != asked {
				t.Errorf("%d are done, %d were asked for", done, asked)
			}
			if last := outcomes[600].Result; (last == plan.Skipped) != (test.after <= 600) {
				t.Errorf("%d of 600 are done, and what comes after is %s", done, last)
			}
		})
	}
}

// TestBatchesDouble: inside a batch all run side by side, and the next begins
// when the last has its answers.
func TestBatchesDouble(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var sizes []int
	inFlight := 0
	arrived := sync.NewCond(&mu)
	w.answer = func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if inFlight == 0 {
			sizes = append(sizes, 0)
		}
		inFlight++
		sizes[len(sizes)-1]++
		arrived.Broadcast()
		for sizes[len(sizes)-1] < 1<<(len(sizes)-1) { // until the whole batch is here
			arrived.Wait()
		}
		inFlight--
		return nil
	}
	if _, err := w.apply(t, many(plan.CreatePod, 15)...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 4, 8}, sizes); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// TestWritesInFlightAreBounded: one owner does not take the whole API server.
func TestWritesInFlightAreBounded(t *testing.T) {
	const pods = 5 * maxInFlight
	w := newWorld(t)
	for _, a := range many(plan.DeletePod, pods) {
		if err := w.client.Create(t.Context(), pod(a.Pod, controlledBy(me))); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w.answer = func(string) error {
			if w.asked("delete") >= maxInFlight { // those that start slowly are answered at once
				<-release
			}
			return nil
		}
		done := make(chan error)
		go func() {
			_, err := w.apply(t, many(plan.DeletePod, pods)...)
			done <- err
		}()
		synctest.Wait() // until every write waits for an answer
		began := w.asked("delete")
		if began < maxInFlight || began >= 2*maxInFlight {
			t.Errorf("%d writes are in flight at once or answered, want %d in flight at most", began, maxInFlight)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := w.asked("delete"); got != pods {
			t.Errorf("%d of %d pods were deleted", got, pods)
		}
	})
}

// TestOutcomes: what the API server will say again is told from what it said
// just now.
func TestOutcomes(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	terminating := apierrors.NewForbidden(pods, "web-0", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	quota := apierrors.NewForbidden(pods, "web-0", errors.New("exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"))
	uncounted := apierrors.NewForbidden(pods, "web-0", errors.New("status unknown for quota: fresh, resources: pods"))
	denied := apierrors.NewForbidden(pods, "web-0", errors.New("a webhook says no"))
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-0", nil)
	beyond := apierrors.NewForbidden(pods, "web-0", errors.New("maximum cpu usage per Container is 1, but limit is 2"))
	small := apierrors.NewForbidden(pods, "web-0", errors.New("node didn't have enough allocatable resources: cpu, requested: 9000, allocatable: 8000"))
	policy := apierrors.NewForbidden(pods, "web-0", errors.New("ValidatingAdmissionPolicy 'sizes' with binding 'all' denied request: too large"))
	policy.ErrStatus.Code, policy.ErrStatus.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	missing := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, true)
	for name, test := range map[string]struct {
		verb  plan.Verb
		err   error
		want  plan.Result
		cause string
	}{
		"it worked":                              {plan.CreatePod, nil, plan.Done, ""},
		"a name is taken":                        {plan.CreatePod, podNameTaken("web-0"), plan.Refused, appsv1.ReasonNameTaken},
		"a quota is full":                        {plan.CreatePod, quota, plan.Refused, appsv1.ReasonQuotaExceeded},
		"a quota that is not counted yet":        {plan.CreatePod, uncounted, plan.Failed, ""},
		"the namespace goes":                     {plan.CreatePod, terminating, plan.Refused, appsv1.ReasonNamespaceTerminating},
		"the namespace goes before the revision": {plan.CreateRevision, terminating, plan.Refused, appsv1.ReasonNamespaceTerminating},
		"admission refuses":                      {plan.CreatePod, denied, plan.Refused, appsv1.ReasonPodsRefused},
		"the pod is invalid":                     {plan.CreatePod, invalid, plan.Refused, appsv1.ReasonPodsRefused},
		"the request is bad":                     {plan.CreatePod, apierrors.NewBadRequest("no"), plan.Refused, appsv1.ReasonPodsRefused},
		"wrapped all the same":                   {plan.CreatePod, fmt.Errorf("create pod: %w", quota), plan.Refused, appsv1.ReasonQuotaExceeded},
		"an admission webhook does not answer": {
			plan.CreatePod, apierrors.NewInternalError(errors.New(`failed calling webhook "guard.example.com": connection refused`)),
			plan.Refused, appsv1.ReasonPodsRefused,
		},
		"the API server is busy":                     {plan.CreatePod, apierrors.NewTooManyRequests("busy", 1), plan.Failed, ""},
		"the API server did not answer in time":      {plan.CreatePod, apierrors.NewTimeoutError("late", 1), plan.Failed, ""},
		"the API server is broken":                   {plan.CreatePod, apierrors.NewInternalError(errors.New("no")), plan.Failed, ""},
		"the network is broken":                      {plan.CreatePod, errors.New("connection reset"), plan.Failed, ""},
		"a delete that is denied":                    {plan.DeletePod, denied, plan.Refused, appsv1.ReasonChangesRefused},
		"an eviction that is denied":                 {plan.EvictPod, denied, plan.Refused, appsv1.ReasonChangesRefused},
		"a finalizer that is denied":                 {plan.AddFinalizer, denied, plan.Refused, appsv1.ReasonChangesRefused},
		"a name that is not free yet":                {plan.CreatePod, &terminatesError{"web-0"}, plan.Outdated, ""},
		"a delete of a pod that was changed":         {plan.DeletePod, apierrors.NewConflict(pods, "web-0", errors.New("changed")), plan.Outdated, ""},
		"a budget holds an eviction back":            {plan.EvictPod, budgetError(), plan.Refused, appsv1.BlockedByDisruptionBudget},
		"the API server is too busy to evict":        {plan.EvictPod, apierrors.NewTooManyRequests("busy", 1), plan.Failed, ""},
		"a resize that the API server rules out":     {plan.ResizePod, invalid, plan.Refused, appsv1.WhyResizeInfeasible},
		"a resize that a quota has no room for":      {plan.ResizePod, quota, plan.Refused, appsv1.ReasonQuotaExceeded},
		"a resize beyond a LimitRange":               {plan.ResizePod, beyond, plan.Refused, appsv1.ReasonQuotaExceeded},
		"a resize that a webhook denies":             {plan.ResizePod, denied, plan.Refused, appsv1.ReasonChangesRefused},
		"a resize that a policy denies":              {plan.ResizePod, policy, plan.Refused, appsv1.ReasonChangesRefused},
		"a resize beyond its node":                   {plan.ResizePod, small, plan.Refused, appsv1.WhyResizeInfeasible},
		"a create beyond a LimitRange":               {plan.CreatePod, beyond, plan.Refused, appsv1.ReasonPodsRefused},
		"a resize that the API server does not know": {plan.ResizePod, missing, plan.Refused, appsv1.WhyResizeInfeasible},
		"a resize of a pod that is gone":             {plan.ResizePod, apierrors.NewNotFound(pods, "web-0"), plan.Failed, ""},
		"a resize that a webhook takes back":         {plan.ResizePod, &keptSizeError{"web-0"}, plan.Refused, appsv1.WhyResizeInfeasible},
		"a claim that the quota has no room for":     {plan.CreateClaim, quota, plan.Refused, appsv1.ReasonQuotaExceeded},
		"a patch that is denied":                     {plan.AdoptPod, denied, plan.Refused, appsv1.ReasonChangesRefused},
		"an error of another kind than a refusal":    {plan.CreatePod, &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusTeapot}}, plan.Failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := outcome(plan.Action{Verb: test.verb}, test.err)
			if got.Result != test.want || got.Cause != test.cause {
				t.Errorf("%s, cause %q; want %s, cause %q", got.Result, got.Cause, test.want, test.cause)
			}
			if test.err != nil && !strings.Contains(got.Message, test.err.Error()) {
				t.Errorf("the message is %q", got.Message)
			}
		})
	}
}

// TestAResizeBeyondANode: the refusal names the node, because it concerns no other.
func TestAResizeBeyondANode(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	resize := plan.Action{Verb: plan.ResizePod, Pod: "web-0", Node: "small"}
	caused := apierrors.NewForbidden(pods, "web-0", errors.New("no"))
	caused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NodeCapacity"}}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"the node is too small":           {apierrors.NewForbidden(pods, "web-0", errors.New("node didn't have enough allocatable resources: cpu")), "small"},
		"the answer names the cause":      {caused, "small"},
		"the node does not run Linux":     {apierrors.NewForbidden(pods, "web-0", errors.New(`pod resize is only supported on linux nodes, node "w" is "windows"`)), "small"},
		"the pod cannot have such a size": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-0", nil), ""},
	} {
		if got := outcome(resize, test.err); got.Node != test.want || got.Cause != appsv1.WhyResizeInfeasible {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
