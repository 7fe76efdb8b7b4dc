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

package podwriter

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// laneWidth is how many requests share a connection. The API server takes
	// 100, and on the first lane the watches want some of them. Go's client
	// would make a new connection for every request beyond, and throw most of
	// them away.
	laneWidth = 90
	// laneCount bounds what is under way at once, for all callers together.
	laneCount = 4
	// laneIdle is when an unused lane may have lost its connection: Go's
	// client closes one after 90 seconds.
	laneIdle = time.Minute
)

// lanes are connections to the API server. One is filled before the next is
// opened, so that an operator that writes little has one.
type lanes struct {
	seats chan struct{}

	mu  sync.Mutex
	all []*lane
}

// lane is one connection, or will be.
type lane struct {
	pods rest.Interface
	// busy is guarded by the mutex of lanes.
	busy int
	// main: the lane uses the shared connection, which is always open.
	main bool

	// opening is held while the first request opens the connection.
	opening sync.Mutex
	mu      sync.Mutex
	used    time.Time
}

func newLanes(all ...*lane) *lanes {
	all[0].main = true
	return &lanes{seats: make(chan struct{}, len(all)*laneWidth), all: all}
}

// do runs a request on a lane that has room, and waits for one.
func (l *lanes) do(ctx context.Context, request func(pods rest.Interface) error) error {
	select {
	case l.seats <- struct{}{}:
		defer func() { <-l.seats }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	lane := l.enter()
	defer l.leave(lane)
	return lane.do(request)
}

// enter finds a lane with room. There is one for every request with a seat.
func (l *lanes) enter() *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := 0
	for l.all[i].busy == laneWidth {
		i++
	}
	l.all[i].busy++
	return l.all[i]
}

func (l *lanes) leave(lane *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane.busy--
}

// do has the first request open the connection before others follow.
func (l *lane) do(request func(pods rest.Interface) error) error {
	defer l.touch()
	if l.cold() {
		l.opening.Lock()
		if l.cold() {
			defer l.opening.Unlock()
			err := request(l.pods)
			l.touch()
			return err
		}
		l.opening.Unlock()
	}
	return request(l.pods)
}

func (l *lane) cold() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.main && time.Since(l.used) > laneIdle
}

func (l *lane) touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = time.Now()
}
