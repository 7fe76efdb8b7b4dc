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

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
)

const (
	// manyPods is from how many pods on a forecast reads them from the cache only.
	manyPods = 500
	// forecastWork bounds a forecast: its passes times its pods.
	forecastWork = 100_000
	fewPasses    = 20
)

// queue lets only so many in at a time: a forecast of a large fleet takes a processor
// for a second, and the operator needs the others.
type queue chan struct{}

func (q queue) enter(ctx context.Context) (leave func(), err error) {
	select {
	case q <- struct{}{}:
		return func() { <-q }, nil
	case <-ctx.Done():
		return nil, errors.New("others are being answered: try again")
	}
}

// pageObserver reads what the page shows: pods as the planner sees them.
type pageObserver struct {
	*Server
	viewer *viewer
}

// Observe implements change.Observer.
func (o pageObserver) Observe(ctx context.Context, fleet desired.Fleet, _ string) (observe.Seen, error) {
	return o.observer.Observe(ctx, fleet)
}

// Pods implements change.Observer. The visitor's own view of them has when they were
// written, which the cache leaves out; without it a forecast knows less about time.
func (o pageObserver) Pods(ctx context.Context, fleet desired.Fleet) ([]corev1.Pod, error) {
	if o.viewer != nil && fleet.Desired.Replicas < manyPods {
		if pods, err := (change.Live{Reader: o.viewer}).Pods(ctx, fleet); err == nil {
			return pods, nil
		}
	}
	return o.podsOf(ctx, fleet)
}

// podsOf are the pods of a fleet as the cache has them.
func (s *Server) podsOf(ctx context.Context, fleet desired.Fleet) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := s.Cache.List(ctx, &pods, client.InNamespace(fleet.Ref.Namespace), client.MatchingLabelsSelector{Selector: fleet.Selector}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s/%s: %w", fleet.Ref.Namespace, fleet.Ref.Name, err)
	}
	return pods.Items, nil
}

func (s *Server) lookFor(v *viewer) change.Look {
	look := change.Look{Observer: pageObserver{Server: s, viewer: v}, Now: s.Clock.Now(), Passes: func(pods int) int { return max(fewPasses, forecastWork/(pods+1)) }}
	if v != nil {
		look.Reader = v
	}
	return look
}

// showOutlook shows what is still to come: the waves of a rollout, and when it ends.
func (s *Server) showOutlook(w http.ResponseWriter, r *http.Request) {
	kind, ok := s.kindAt(w, r)
	if !ok {
		return
	}
	obj := s.find(w, r, "get", kind)
	if obj == nil {
		return
	}
	fleet, keeps := s.fleetFor(obj)
	if !keeps {
		refuse(w, http.StatusNotFound, fmt.Sprintf("A %s keeps no pods itself.", kind.Kind))
		return
	}
	done, err := s.forecasts.enter(r.Context())
	if err != nil {
		refuse(w, http.StatusTooManyRequests, err.Error())
		return
	}
	defer done()
	v, _ := s.Viewers.of(r.Context()) // without one the cache has to do
	preview, err := s.lookFor(v).Outlook(r.Context(), fleet)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answer(w, http.StatusOK, preview)
}
