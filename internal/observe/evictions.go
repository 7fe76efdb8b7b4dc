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
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// evictions knows which pods the API of lifecycle.k8s.io asks to leave. It serves
// one look.
type evictions map[types.UID]EvictionAsked

// EvictionAsked is an eviction that is asked for; the zero value means none.
type EvictionAsked struct {
	Since time.Time
	By    string
}

// WithEvictions makes the Observer read EvictionRequests and Evictions, which the
// API server has to serve.
func (o *Observer) WithEvictions(served bool) *Observer {
	o.evictions = served
	return o
}

// listEvictions reads what is asked for in the fleet's namespace.
//
// An Eviction says when it is this operator's turn to respond, and is then all that
// counts. It is made from EvictionRequests by a controller that Kubernetes 1.37 does
// not have: without an Eviction the EvictionRequest itself counts.
func (o *Observer) listEvictions(ctx context.Context, f desired.Fleet) (evictions, error) {
	if !o.evictions || !f.Desired.Disruption.SurgeFirst {
		return nil, nil
	}
	var requests lifecyclev1alpha1.EvictionRequestList
	var list lifecyclev1alpha1.EvictionList
	for _, l := range []client.ObjectList{&requests, &list} {
		err := o.cache.List(ctx, l, client.InNamespace(f.Ref.Namespace), client.UnsafeDisableDeepCopy)
		// A person's client finds out here what the API server serves and what the
		// person may read.
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list what asks for evictions in %s: %w", f.Ref.Namespace, err)
		}
	}
	found := evictions{}
	for i := range requests.Items {
		found.add(&requests.Items[i])
	}
	for i := range list.Items {
		if pod := list.Items[i].Spec.Target.Pod; pod != nil {
			found[pod.UID] = OurTurn(&list.Items[i])
		}
	}
	return found, nil
}

// add counts an EvictionRequest. Of several for a pod the first decides since when
// it waits.
func (e evictions) add(request *lifecyclev1alpha1.EvictionRequest) {
	asked := Requested(request)
	if asked.Since.IsZero() {
		return
	}
	uid := request.Spec.Target.Pod.UID
	if known, ok := e[uid]; ok {
		if known.Since.Before(asked.Since) {
			asked.Since = known.Since
		}
		by := append(strings.Split(known.By, ", "), asked.By)
		slices.Sort(by)
		asked.By = strings.Join(slices.Compact(by), ", ")
	}
	e[uid] = asked
}

// Requested is what an EvictionRequest asks for.
func Requested(request *lifecyclev1alpha1.EvictionRequest) EvictionAsked {
	if request.Spec.Target.Pod == nil || request.Spec.Intent != lifecyclev1alpha1.EvictionRequestIntentEviction || request.DeletionTimestamp != nil {
		return EvictionAsked{}
	}
	return EvictionAsked{Since: request.CreationTimestamp.Time, By: request.Spec.Requester}
}

// OurTurn is what an Eviction asks of this operator: something while it is the
// active responder.
func OurTurn(eviction *lifecyclev1alpha1.Eviction) EvictionAsked {
	status := &eviction.Status
	if !slices.ContainsFunc(status.TargetResponders, func(r lifecyclev1alpha1.TargetResponder) bool {
		return r.Name == podrender.EvictionResponder && r.State == lifecyclev1alpha1.ResponderStateActive
	}) {
		return EvictionAsked{}
	}
	asked := EvictionAsked{Since: eviction.CreationTimestamp.Time}
	if own := ResponderStatus(eviction); own != nil && own.StartTime != nil {
		if own.CompletionTime != nil {
			return EvictionAsked{}
		}
		asked.Since = own.StartTime.Time
	}
	var by []string
	for i := range status.Requesters {
		if r := &status.Requesters[i]; r.Intent == lifecyclev1alpha1.RequesterIntentEviction {
			by = append(by, r.Name)
		}
	}
	if len(by) == 0 && len(status.Requesters) > 0 { // all have withdrawn
		return EvictionAsked{}
	}
	slices.Sort(by)
	asked.By = strings.Join(by, ", ")
	return asked
}

// ResponderStatus is what this operator has reported, or nil.
func ResponderStatus(eviction *lifecyclev1alpha1.Eviction) *lifecyclev1alpha1.ResponderStatus {
	for i := range eviction.Status.Responders {
		if r := &eviction.Status.Responders[i]; r.Name == podrender.EvictionResponder {
			return r
		}
	}
	return nil
}

// describe fills in since when an eviction of the pod waits. Where the pod's
// annotation says so too, the later time counts.
func (e evictions) describe(p *plan.Pod) {
	if asked := e[p.UID]; asked.Since.After(p.EvictionRequested) {
		p.EvictionRequested, p.EvictionBy, p.EvictionGrace = asked.Since, asked.By, nil
	}
}
