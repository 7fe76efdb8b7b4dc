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
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/report"
)

// How long one object may hold a worker. The workers are few, and other tenants'
// objects wait for them.
const (
	// lookLimit is for the look at the cache; a pass that takes longer is cut off.
	lookLimit = 10 * time.Second
	// writeLimit is for how long a pass begins new writes; the rest follows in the
	// next one. What is under way is waited for: a write that was cut off might
	// never be done.
	writeLimit = 10 * time.Second
	// cutOffWait is how long an object waits that was cut off.
	cutOffWait = time.Minute
)

// limits are how long a pass may take.
type limits struct{ look, write time.Duration }

// pass is one reconcile of an owner.
type pass struct {
	owner  client.Object
	fleet  desired.Fleet
	memory *memory
	now    time.Time
	// began is real time, and writes how long the pass may begin new writes: what the
	// operator takes for now may jump.
	began  time.Time
	writes time.Duration
}

func (p *pass) tooLong() bool { return time.Since(p.began) > p.writes }

// cutOff notes that the look at an owner took too long, and lets others go first.
func (r *Reconciler) cutOff(ctx context.Context, owner client.Object, now time.Time) (ctrl.Result, error) {
	r.metrics.cutOff(r.kind.Name())
	message := fmt.Sprintf("the operator looked at it for %s and then let others go first: ask for fewer pods or smaller numbers", r.limits.look)
	log.FromContext(ctx).Info("Cut off", "why", message)
	status := r.status.reported(owner)
	status.Conditions = append([]metav1.Condition(nil), status.Conditions...)
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: appsv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: appsv1.ReasonTakesTooLong,
		Message: message, ObservedGeneration: owner.GetGeneration(), LastTransitionTime: metav1.NewTime(now),
	})
	_, err := r.status.write(ctx, owner, report.Reported{Status: status}, now)
	return ctrl.Result{RequeueAfter: cutOffWait}, err
}

// timedOut: the look ended because its time was over, and not because the
// operator stops.
func timedOut(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}
