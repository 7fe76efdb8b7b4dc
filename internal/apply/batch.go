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
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// maxInFlight is how many writes of one owner are in flight at once. Each of them may
// be refused, and no more than 60 of an owner's are in any minute: so many at once,
// another one every refusalEvery, and a few of each verb that was not refused before.
// It also bounds our memory, of which a write in flight takes some 60 KB. A thousand
// deletes take no longer with 32 than with 340 in flight.
const (
	maxInFlight  = 32
	refusalEvery = 4 * time.Second
)

// maxRefusals is how many refusals in a row end the writes of a verb. It is more
// than one, because a policy may refuse one pod and not the next.
const maxRefusals = 4

// together runs actions of one verb side by side, in their order, and returns how
// many it began. A worker ends with its first refusal or failure, so that there are
// no more of these than workers. An owner that asks for something else meanwhile
// ends it, but not before the first.
func (r *run) together(ctx context.Context, outcomes []*plan.Outcome, workers int) int {
	errs := make([]error, len(outcomes))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(outcomes), workers) {
		wg.Go(func() {
			for next.Load() == 0 || !r.outdated() {
				i := int(next.Add(1)) - 1
				if i >= len(outcomes) {
					return
				}
				uid, err := r.one(ctx, outcomes[i].Action)
				errs[i] = err
				*outcomes[i] = outcome(outcomes[i].Action, err)
				outcomes[i].UID = uid
				if unwelcome(outcomes[i]) {
					return
				}
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if outcomes[i].Result == plan.Failed {
			r.fail(err)
		}
	}
	return min(int(next.Load()), len(outcomes))
}

// slowly runs batches of 1, 2, 4 and so on, and then all of the rest, and reports
// whether it stopped before the end. A batch that fails, or that meets a cause which
// all pods share, ends it; so do a few refusals in a row, tried one at a time.
func (r *run) slowly(ctx context.Context, outcomes []*plan.Outcome, size int) (stopped bool) {
	inARow := 0
	for begun := false; len(outcomes) > 0; begun = true {
		workers := r.target.Memory.allowance(outcomes[0].Action.Verb, r.clock.Now())
		if begun && r.outdated() || workers <= 0 {
			return true
		}
		batch := outcomes
		if size < workers {
			batch = outcomes[:min(size, len(outcomes))]
		}
		batch = batch[:r.together(ctx, batch, workers)]
		outcomes = outcomes[len(batch):]
		size *= 2
		for _, o := range batch {
			switch {
			case o.Result == plan.Done:
				inARow = 0
			case o.Result == plan.Outdated && o.Action.Verb.Facts().AsRead:
				inARow++ // one by one they change all the time; all of them, where the cache is behind
			case !unwelcome(o):
				// It says nothing about the others.
			case o.Result == plan.Refused:
				r.target.Memory.spend(o.Action.Verb, r.clock.Now())
				inARow++
				size, stopped = 1, stopped || shared(o.Cause)
			default:
				stopped = true
			}
		}
		if stopped || inARow >= maxRefusals {
			return true
		}
	}
	return false
}

// unwelcome: the next write of this verb may end in the same way.
func unwelcome(o *plan.Outcome) bool {
	return o.Result == plan.Failed || o.Result == plan.Refused && o.Cause != appsv1.ReasonNameTaken
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
func (r *run) outdated() bool { return r.behind || r.target.Outdated != nil && r.target.Outdated() }

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

// tooLateError: another operator has made the pod.
type tooLateError struct{ pod string }

func (e *tooLateError) Error() string { return "pod " + e.pod + " was there before" }

// goneError: the pod that was to be let go is gone.
type goneError struct{ pod string }

func (e *goneError) Error() string { return "pod " + e.pod + " is gone" }

// outcome distinguishes a refusal, which the same request would meet again until
// something outside changes, from a failure of the moment.
func outcome(action plan.Action, err error) plan.Outcome {
	o := plan.Outcome{Action: action, Result: plan.Done}
	if err == nil {
		return o
	}
	o.Result, o.Message = plan.Failed, err.Error()
	if cause := resizeCause(action, err); cause != "" {
		o.Result, o.Cause = plan.Refused, cause
		if beyondNode(err) {
			o.Node = action.Node
		}
		return o
	}
	var taken *nameTakenError
	var terminates *terminatesError
	var late *tooLateError
	var gone *goneError
	var feigned *feignedConflictError
	switch {
	case errors.As(err, &taken):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonNameTaken
	case errors.As(err, &terminates), errors.As(err, &late), errors.As(err, &gone):
		o.Result = plan.Outdated
	case action.Verb == plan.EvictPod && (apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) || severalBudgets(err)):
		o.Result, o.Cause, o.Message = plan.Refused, appsv1.BlockedByDisruptionBudget, budgetsWord(err)
	case errors.As(err, &feigned):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonChangesRefused
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
		if action.Verb.Facts().Creates {
			o.Cause = appsv1.ReasonPodsRefused
		}
	}
	return o
}

// budgetsWord is what the API server says of the PodDisruptionBudget that refuses an
// eviction: its name, and what it needs.
func budgetsWord(err error) string {
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok {
		return strings.TrimSuffix(cause.Message, ".")
	}
	return err.Error()
}

// severalBudgets: no eviction of the pod is allowed while more than one budget
// selects it, which the API server calls an internal error.
func severalBudgets(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}

// resizeCause is why a resize is refused, where it is for its size; else empty.
func resizeCause(action plan.Action, err error) string {
	var kept *keptSizeError
	switch {
	case action.Verb != plan.ResizePod:
		return ""
	case errors.As(err, &kept) || beyondNode(err) || refusesResize(err):
		return appsv1.WhyResizeInfeasible
	case beyondLimits(err):
		return appsv1.ReasonQuotaExceeded
	}
	return ""
}

// beyondNode: the size is more than all of the pod's node, or the node can resize no
// pod. It says nothing about the pods of other nodes.
func beyondNode(err error) bool {
	return apierrors.HasStatusCause(err, "NodeCapacity") || apierrors.HasStatusCause(err, "UnsupportedPlatform") || apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), "enough allocatable resources") || strings.Contains(err.Error(), "only supported on linux nodes"))
}

// beyondLimits: a LimitRange does not allow the size. As with a quota, a new pod of
// that size would meet the same.
func beyondLimits(err error) bool {
	text := err.Error()
	return apierrors.IsForbidden(err) && strings.Contains(text, " usage per ") &&
		(strings.Contains(text, "maximum ") || strings.Contains(text, "minimum ")) ||
		apierrors.IsForbidden(err) && strings.Contains(text, "max limit to request ratio per ")
}

// refusesResize: the API server rules the new size out, or has no such subresource.
// Where it has no such pod, it names the pod. A quota, a role, a policy and a webhook
// rule nothing out: the pod stays, and they are asked again.
func refusesResize(err error) bool {
	denied := strings.Contains(err.Error(), " denied request: ") // a ValidatingAdmissionPolicy answers "invalid"
	if apierrors.IsInvalid(err) && !denied || apierrors.IsBadRequest(err) {
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
