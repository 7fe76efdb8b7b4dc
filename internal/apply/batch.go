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

// How many writes of one owner are under way at once. The API server shares
// itself out fairly; what is bounded here is our memory, of which a write under
// way takes some 60 KB. A fleet that has to go leaves its place to others the
// sooner the more is asked at once; podwriter has room for a few more.
const (
	maxInFlight        = 90
	maxDeletesInFlight = 340
)

func inFlight(actions []plan.Action) int {
	if len(actions) > 0 && actions[0].Verb == plan.DeletePod {
		return maxDeletesInFlight
	}
	return maxInFlight
}

// together runs actions of one verb side by side and waits for all of them. An
// owner that asks for something else meanwhile ends it, but not before the
// first: one that never stops asking is served, too.
func (r *run) together(ctx context.Context, actions []plan.Action) []plan.Outcome {
	outcomes := make([]plan.Outcome, len(actions))
	errs := make([]error, len(actions))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(actions), inFlight(actions)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(actions); i = int(next.Add(1)) - 1 {
				if i > 0 && r.outdated() {
					outcomes[i] = plan.Outcome{Action: actions[i], Result: plan.Skipped}
					continue
				}
				uid, err := r.one(ctx, actions[i])
				errs[i] = err
				outcomes[i] = outcome(actions[i], err)
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
	return outcomes
}

// slowly runs batches of 1, 2, 4 and so on, and none after one with a failure.
// Where the same went well just before, it goes on from there, with no more than
// are under way at once: that is what a quota that is full by now costs.
func (r *run) slowly(ctx context.Context, actions []plan.Action) []plan.Outcome {
	outcomes := make([]plan.Outcome, 0, len(actions))
	for size := max(r.firstBatch, min(r.target.FirstBatch, maxInFlight)); len(actions) > 0; size *= 2 {
		size = min(size, len(actions))
		batch := r.together(ctx, actions[:size])
		actions = actions[size:]
		outcomes = append(outcomes, batch...)
		for i := range batch {
			if batch[i].Result != plan.Done {
				return append(outcomes, skip(actions)...)
			}
		}
	}
	return outcomes
}

// outdated: the owner has asked for something else since it was observed.
func (r *run) outdated() bool { return r.target.Outdated != nil && r.target.Outdated() }

func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// nameTakenError: a pod of somebody else has the slot's name.
type nameTakenError struct{ pod string }

func (e *nameTakenError) Error() string {
	return "a pod named " + e.pod + " exists and is not this owner's: delete it, or label it so that it can be adopted"
}

// outcome tells a refusal, which the same request would meet again until
// something outside changes, from a failure of the moment.
func outcome(action plan.Action, err error) plan.Outcome {
	o := plan.Outcome{Action: action, Result: plan.Done}
	if err == nil {
		return o
	}
	o.Result, o.Message = plan.Failed, err.Error()
	var taken *nameTakenError
	switch {
	case errors.As(err, &taken):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonNameTaken
	case action.Verb == plan.EvictPod && apierrors.IsTooManyRequests(err):
		o.Result, o.Cause = plan.Refused, appsv1.BlockedByDisruptionBudget
	case action.Verb == plan.ResizePod && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)):
		o.Result, o.Cause = plan.Refused, appsv1.WhyResizeInfeasible
	case apierrors.IsConflict(err) && aims(action.Verb):
		o.Result = plan.Outdated
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonNamespaceTerminating
	case action.Verb != plan.CreatePod && action.Verb != plan.CreateClaim:
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "status unknown for quota"):
		// A quota that was just made and that nobody has counted yet: a
		// moment later it says yes or no.
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonQuotaExceeded
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), noWebhook(err):
		o.Result, o.Cause = plan.Refused, appsv1.ReasonPodsRefused
	}
	return o
}

// noWebhook: an admission webhook that has to be asked does not answer. That is
// no passing trouble of the API server, and its name is what the user needs.
func noWebhook(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// aims are the verbs that are right only for the pod that was read. A conflict
// says that it is another by now: a kubelet writes a pod's status at any moment,
// which is no trouble to tell anybody of.
func aims(verb plan.Verb) bool {
	switch verb {
	case plan.OpenGate, plan.ShutGate, plan.ResizePod, plan.UpdatePod, plan.TellHolder,
		plan.AdoptPod, plan.ReleasePod, plan.OrphanPod, plan.DeletePod, plan.EvictPod:
		return true
	}
	return false
}
