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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// An hour of samples for the graph, of at most maxSampled fleets: about 11 KiB
// each.
const (
	sampleEvery = 10 * time.Second
	keptSamples = int(time.Hour / sampleEvery)
	maxSampled  = 1000
)

// Sample is a fleet's numbers at a time.
type Sample struct {
	Time    time.Time `json:"time"`
	Desired int32     `json:"desired"`
	Ready   int32     `json:"ready"`
	Updated int32     `json:"updated"`
}

type sampler struct {
	mu     sync.Mutex
	fleets map[types.UID][]Sample
}

func newSampler() *sampler { return &sampler{fleets: map[types.UID][]Sample{}} }

// take notes the numbers of all fleets, and forgets those that are gone.
func (s *sampler) take(managers []appsv1.PodManager, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, room := map[types.UID][]Sample{}, maxSampled-len(s.fleets)
	for i := range managers {
		pm := &managers[i]
		old, known := s.fleets[pm.UID]
		if !known && room <= 0 {
			continue
		}
		if !known {
			room--
		}
		if len(old) >= keptSamples {
			old = old[len(old)-keptSamples+1:]
		}
		f := fleetOf(pm, &pm.Status)
		kept[pm.UID] = append(old, Sample{Time: now, Desired: f.Desired, Ready: f.Ready, Updated: f.Updated})
	}
	s.fleets = kept
}

func (s *sampler) of(uid types.UID) []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Sample{}, s.fleets[uid]...)
}

// Sample takes samples until the context ends.
func (s *Server) Sample(ctx context.Context) {
	ticker := s.Clock.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		managers, err := s.podManagers(ctx)
		if err == nil {
			s.samples.take(managers, s.Clock.Now())
		} else if ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot take samples for the graph")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}
