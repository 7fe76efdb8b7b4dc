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

package shard

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// task takes one Lease, works under it and gives it back. client-go's elector
// gives a Lease back as soon as its context is done, with the work perhaps
// still under way; so the work has a context of its own, which ends first.
type task struct {
	holder          *Holder
	lease, identity string
	work            func(context.Context) error

	// asked is done when the task is asked to end, and elected when the Lease
	// may be given back.
	asked   context.Context
	stop    context.CancelFunc
	elected context.Context
	release context.CancelFunc

	state atomic.Int32
	done  chan error
}

// The states of a task.
const (
	trying int32 = iota
	working
	over
)

func newTask(h *Holder, lease, identity string, work func(context.Context) error) *task {
	t := &task{holder: h, lease: lease, identity: identity, work: work, done: make(chan error, 1)}
	t.asked, t.stop = context.WithCancel(context.Background())
	t.elected, t.release = context.WithCancel(klog.NewContext(context.Background(), h.Log.V(1)))
	return t
}

// run returns when the work has ended and the Lease is given back or lost.
func (t *task) run() error {
	defer t.release()
	defer t.stop()
	context.AfterFunc(t.asked, func() {
		if t.state.CompareAndSwap(trying, over) {
			t.release()
		}
	})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: answered{Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: t.holder.Namespace, Name: t.lease},
			Client:     t.holder.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: t.identity},
		}, patience: t.holder.Timing.RenewDeadline},
		LeaseDuration:   t.holder.Timing.LeaseDuration,
		RenewDeadline:   t.holder.Timing.RenewDeadline,
		RetryPeriod:     t.holder.Timing.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            t.lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: t.lead,
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("make an elector for lease %s: %w", t.lease, err)
	}
	elector.Run(t.elected)
	if t.state.CompareAndSwap(trying, over) {
		return nil
	}
	if t.state.Load() == over {
		return nil
	}
	return <-t.done // the Lease may be lost with the work still ending
}

// lead works for as long as the Lease is held and the task is not stopped.
func (t *task) lead(held context.Context) {
	if !t.state.CompareAndSwap(trying, working) {
		return
	}
	ctx, cancel := context.WithCancel(held)
	defer cancel()
	defer context.AfterFunc(t.asked, cancel)()
	err := t.work(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	t.done <- err
	t.release()
}

// answered is a lock whose writes are not cut off when the elector is stopped:
// the API server may carry out a write whose answer is not awaited, and this
// process would hold the Lease without knowing. With the answer the elector
// knows that it has the Lease, and gives it back.
type answered struct {
	resourcelock.Interface
	patience time.Duration
}

func (a answered) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := a.uncut(ctx)
	defer cancel()
	return a.Interface.Create(ctx, record)
}

func (a answered) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := a.uncut(ctx)
	defer cancel()
	return a.Interface.Update(ctx, record)
}

// uncut keeps the deadline of the context, where it has one, and nothing else of
// its end.
func (a answered) uncut(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), end)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), a.patience)
}
