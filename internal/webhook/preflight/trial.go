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

package preflight

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/desired"
)

// violatesSecurity is in what the API server says of a pod below a Pod Security
// level.
const violatesSecurity = "PodSecurity"

// dropSecurity drops the warnings that CheckSecurity gives better. Those that it
// does not give come from levels that are set for the whole cluster.
func (f *Findings) dropSecurity() {
	f.Warnings = slices.DeleteFunc(f.Warnings, func(w string) bool { return strings.Contains(w, violatesSecurity) })
}

// tryPod creates the pod, and its claims, as a dry run, and reports whether the
// pod was taken.
func (i *Inspector) tryPod(ctx context.Context, c Change, f desired.Fleet, pod *corev1.Pod) (found Findings, taken bool) {
	found, taken = i.try(ctx, pod.DeepCopy(), "pod", c.Path)
	made, before := claims(f), map[string]*corev1.PersistentVolumeClaim{}
	if c.Old != nil {
		before = claims(c.Kind.Fleet(c.Old))
	}
	for _, template := range slices.Sorted(maps.Keys(made)) {
		if equality.Semantic.DeepEqual(made[template], before[template]) {
			continue
		}
		path := func(field string) string { return c.ClaimPath(template, field) }
		more, _ := i.try(ctx, made[template], "volume claim", path)
		found = join(found, more)
	}
	return found, taken
}

// try creates an object as a dry run and reports whether it was taken. Its name
// is a real one, so an object may have it: the API server says so only after all
// other checks have passed.
func (i *Inspector) try(ctx context.Context, obj client.Object, what string, path func(string) string) (found Findings, taken bool) {
	if !i.trials.begin(ctx) {
		return warn("the %s was not tried: the API server has been trying %d others for %s", what, maxTrials, Budget), false
	}
	defer i.trials.end()
	given := &warnings{}
	err := i.trial.Create(context.WithValue(ctx, warningsKey{}, given), obj, client.DryRunAll)
	found = Findings{Warnings: given.list()}
	if err == nil || apierrors.IsAlreadyExists(err) {
		return found, true
	}
	return join(found, refusal(err, what, path)), false
}

// refusal makes sense of the answer to an object that was not taken.
func refusal(err error, what string, path func(string) string) Findings {
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return warn("the %s was not tried: the API server did not answer within %s", what, Budget)
	case !errors.As(err, &status):
		return warn("the %s was not tried: %v", what, err)
	case apierrors.IsForbidden(err) && awaitsDefaultAccount(status.Status()):
		return Findings{}
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		if problems := problemsOf(status.Status(), path); len(problems) > 0 {
			return Findings{Problems: problems}
		}
		return warn("the API server would refuse the %s now: %s", what, reason(status.Status()))
	case apierrors.IsForbidden(err):
		return warn("the API server would refuse the %s now: %s", what, reason(status.Status()))
	}
	return warn("the %s was not tried: %s", what, status.Status().Message)
}

// awaitsDefaultAccount: the namespace is so new that its ServiceAccount is
// still being made. That is no reason to warn.
func awaitsDefaultAccount(status metav1.Status) bool {
	return strings.Contains(status.Message, `serviceaccount "default" not found`)
}

// trialName is the beginning of a message: the name of the object that was
// tried.
var trialName = regexp.MustCompile(`^\S+ "[^"]*" is (forbidden|invalid): `)

// reason is the API server's message without the trial's name.
func reason(status metav1.Status) string { return trialName.ReplaceAllString(status.Message, "") }

// problemsOf translates what the API server says of a pod into the fields that
// the user wrote. Validation names a field for everything that it finds. A
// policy, or another webhook, judges by rules that may change before the pods
// are made: its refusal is no problem of the object.
func problemsOf(status metav1.Status, path func(string) string) []Problem {
	if path == nil || status.Details == nil || strings.HasPrefix(status.Message, deniedByWebhook) {
		return nil
	}
	var problems []Problem
	for _, cause := range status.Details.Causes {
		if cause.Field != "" {
			problems = append(problems, Problem{Field: path(cause.Field), Type: string(cause.Type), Message: cause.Message})
		}
	}
	return problems
}

// deniedByWebhook is how the API server begins the answer of a webhook that
// said no, whatever code and fields the webhook chose for it.
const deniedByWebhook = "admission webhook "

type warningsKey struct{}

// warnings are those that the API server sent for one request.
type warnings struct {
	mu   sync.Mutex
	said []string
}

func (w *warnings) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.said)
}

// collector is the trial client's warning handler: it hands a warning to the
// request that it was sent for. A user who is told that a field is deprecated
// can do something about it; our log cannot.
type collector struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (collector) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	const miscellaneous = 299
	if w, ok := ctx.Value(warningsKey{}).(*warnings); ok && code == miscellaneous {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, text)
	}
}
