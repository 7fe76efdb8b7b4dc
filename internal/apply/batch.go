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
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// How many writes of one owner are in flight at once. The API server is fair to
// its clients; this bounds our memory, of which a write in flight takes some
// 60 KB. A fleet that is deleted makes room the sooner the more deletes are in
// flight; podwriter has room for a few more.
const (
	maxInFlight        = 90
	maxDeletesInFlight = 340
)

func inFlight(verb plan.Verb) int {
	if verb == plan.DeletePod {
		return maxDeletesInFlight
	}
	return maxInFlight
}

// maxRefusals is how many refusals in a row end what starts slowly. It is more
// than one, because a policy may refuse one pod and not the next.
const maxRefusals = 4

// together runs actions of one verb side by side and waits for all of them. An
// owner that asks for something else meanwhile ends it, but not before the
// first.
func (r *run) together(ctx context.Context, outcomes []*plan.Outcome) {
	if len(outcomes) == 0 {
		return
	}
	errs := make([]error, len(outcomes))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(outcomes), inFlight(outcomes[0].Action.Verb)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(outcomes); i = int(next.Add(1)) - 1 {
				if i > 0 && r.outdated() {
					continue
				}
				uid, err := r.one(ctx, outcomes[i].Action)
				errs[i] = err
				*outcomes[i] = outcome(outcomes[i].Action, err)
				outcomes[i].UID = uid
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if outcomes[i].Result == plan.Failed {
			r.fail(err)
		}
	}
}

// slowly runs batches of 1, 2, 4 and so on, and reports whether it stopped
// before the end. A batch that fails, or that meets a cause which all pods share,
// ends it; so do a few refusals in a row, tried one at a time.
func (r *run) slowly(ctx context.Context, outcomes []*plan.Outcome, size int) (stopped bool) {
	refusals := 0
	for begun := false; len(outcomes) > 0; begun = true {
		if begun && r.outdated() {
			return true
		}
		size = min(size, len(outcomes))
		batch := outcomes[:size]
		outcomes = outcomes[size:]
		r.together(ctx, batch)
		size *= 2
		for _, o := range batch {
			switch {
			case o.Result == plan.Done:
				refusals = 0
			case o.Cause == appsv1.ReasonNameTaken, o.Result == plan.Outdated:
				// It says nothing about the others.
			case o.Result == plan.Refused && !shared(o.Cause):
				refusals++
				size = 1
			default:
				stopped = true
			}
		}
		if stopped || refusals >= maxRefusals {
			return true
		}
	}
	return false
}

// shared are causes that every pod of the fleet would meet.
func shared(cause string) bool {
	switch cause {
	case appsv1.ReasonQuotaExceeded, appsv1.ReasonNamespaceTerminating, appsv1.BlockedByDisruptionBudget:
		return true
	}
	return false
}

// outdated: the owner has asked for something else since it was observed.
func (r *run) outdated() bool { return r.target.Outdated != nil && r.target.Outdated() }

func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// nameTakenError: a pod, or a revision, that is not this owner's has the name.
type nameTakenError struct{ kind, name, advice string }

func (e *nameTakenError) Error() string {
	return "a " + e.kind + " named " + e.name + " exists and is not this owner's: " + e.advice
}

func podNameTaken(name string) error {
	return &nameTakenError{"pod", name, "delete it, or label it so that it can be adopted"}
}

// terminatesError: the slot's name is not free yet.
type terminatesError struct{ pod string }

func (e *terminatesError) Error() string { return "pod " + e.pod + " still terminates" }

// outcome distinguishes a refusal, which the same request would meet again until
// something outside changes, from a failure of the moment.
func outcome(action plan.Action, err error) plan.Outcome {
	o := plan.Outcome{Action: action, Result: plan.Done}
	if err == nil {
		return o
	}
	o.Result, o.Message = plan.Failed, err.Error()
	var taken *nameTakenError
	var terminates *terminatesError
	var kept *keptSizeError
	switch {
	case errors.As(err, &taken):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonNameTaken
	case errors.As(err, &terminates):
		o.Result = plan.Outdated
	case errors.As(err, &kept) || action.Verb == plan.ResizePod && refusesResize(err):
		o.Result, o.Cause = plan.Refused, appsv1.WhyResizeInfeasible
	case action.Verb == plan.EvictPod && apierrors.IsTooManyRequests(err):
		o.Result, o.Cause = plan.Refused, appsv1.BlockedByDisruptionBudget
	case apierrors.IsConflict(err) && action.Verb.Facts().AsRead:
		o.Result = plan.Outdated
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonNamespaceTerminating
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "status unknown for quota"):
		// A new quota without usage yet: a moment later it says yes or no.
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonQuotaExceeded
	case forGood(err):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonChangesRefused
		if action.Verb.Facts().SlowStart {
			o.Cause = appsv1.ReasonPodsRefused
		}
	}
	return o
}

// refusesResize: the API server rules the new size out, or has no such subresource.
// Where it has no such pod, it names the pod.
func refusesResize(err error) bool {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// forGood: a role, a policy, a webhook or the API server's own rules say no,
// and will say so again.
func forGood(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsMethodNotSupported(err) || noWebhook(err)
}

// noWebhook: an admission webhook that has to be asked does not answer. That is
// no passing trouble of the API server, and its name is what the user needs.
func noWebhook(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
