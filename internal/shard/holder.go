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
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Timing is how long a Lease lasts and how often it is renewed, as in leader
// election.
type Timing struct {
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// DefaultTiming renews less often than a single leader does, because there is
// a Lease for every shard.
func DefaultTiming() Timing {
	return Timing{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 5 * time.Second}
}

// guardPrefix begins the identity under which a group of shard holders keeps
// the Lease of leader election.
const guardPrefix = "shards_"

// Config is what a Holder needs.
type Config struct {
	Client    kubernetes.Interface
	Namespace string
	// Name begins the names of all Leases.
	Name string
	// Identity is unique among all processes, and fit to end a Lease's name.
	Identity string
	Shards   int
	Timing   Timing
	// Guard is the Lease of leader election. The group keeps it, so that an
	// operator without shards never works beside it.
	Guard string
	// Work works on a shard until its context is done. It returns only when
	// nothing it began goes on.
	Work  func(ctx context.Context, shard int) error
	Clock clock.WithTicker
	Log   logr.Logger
	// Held is called for every shard that is taken or given back; nil is fine.
	Held func(shard int, held bool)
}

// Holder holds this process's share of the shards.
type Holder struct {
	Config
	leases cache.Store
	kick   chan struct{}

	// observed is when each Lease was last seen to change, by this clock:
	// others' clocks are not to be trusted. Only the loop uses it.
	observed map[string]observation

	mu    sync.Mutex
	tasks map[string]*task
	wg    sync.WaitGroup
}

type observation struct {
	version string
	at      time.Time
}

// New makes a Holder.
func New(c Config) *Holder {
	return &Holder{Config: c, kick: make(chan struct{}, 1), observed: map[string]observation{}, tasks: map[string]*task{}}
}

// Run takes part until the context is done, and returns when all work has
// ended and all Leases are given back.
func (h *Holder) Run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(h.Client, 0, informers.WithNamespace(h.Namespace))
	informer := factory.Coordination().V1().Leases().Informer()
	changed := func(any) { h.wake() }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, after any) { changed(after) },
	}); err != nil {
		return fmt.Errorf("watch leases: %w", err)
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer factory.Shutdown()
	defer stopWatching()
	factory.StartWithContext(watching)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	h.leases = informer.GetStore()

	member := h.start(h.memberLease(h.Identity), h.Identity, func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
	ticker := h.Clock.NewTicker(h.Timing.RetryPeriod)
	defer ticker.Stop()
	for {
		h.balance(ctx)
		select {
		case <-ctx.Done():
			h.stopAllBut()
			h.wg.Wait()
			return h.leave(ctx)
		case <-h.kick:
		case <-ticker.C():
			if h.task(h.memberLease(h.Identity)) == nil { // it was lost
				member = h.start(h.memberLease(h.Identity), h.Identity, member.work)
			}
		}
	}
}

// leave removes this process's own Lease.
func (h *Holder) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.Timing.RenewDeadline)
	defer cancel()
	err := h.Client.CoordinationV1().Leases(h.Namespace).Delete(ctx, h.memberLease(h.Identity), metav1.DeleteOptions{})
	if apierrors.IsForbidden(err) { // an upgrade without shards took the right away: the Lease ends by itself
		h.Log.Info("Could not give back the lease of this replica", "lease", h.memberLease(h.Identity), "error", err.Error())
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the lease %s: %w", h.memberLease(h.Identity), err)
	}
	return nil
}

func (h *Holder) wake() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

func (h *Holder) memberLease(identity string) string {
	return fmt.Sprintf("%s-shards-%d-%s", h.Name, h.Shards, identity)
}

func (h *Holder) shardLease(shard int) string {
	return fmt.Sprintf("%s-shard-%d-of-%d", h.Name, shard, h.Shards)
}

// look is what the Leases say.
type look struct {
	leases map[string]*coordinationv1.Lease
	// live are held, and were renewed of late.
	live map[string]bool
	// members are the live members of this group, sorted.
	members []string
	// earlier are live members with another number of shards that were there
	// first.
	earlier []string
}

// see reads the Leases and notes which have changed.
func (h *Holder) see() look {
	l := look{leases: map[string]*coordinationv1.Lease{}, live: map[string]bool{}}
	now := h.Clock.Now()
	for _, raw := range h.leases.List() {
		lease := raw.(*coordinationv1.Lease)
		seen := h.observed[lease.Name]
		if seen.version != lease.ResourceVersion {
			seen = observation{version: lease.ResourceVersion, at: now}
			h.observed[lease.Name] = seen
		}
		l.leases[lease.Name] = lease
		l.live[lease.Name] = holder(lease) != "" && now.Before(seen.at.Add(duration(lease, h.Timing.LeaseDuration)))
	}
	for name := range h.observed {
		if l.leases[name] == nil {
			delete(h.observed, name)
		}
	}
	own, group := l.leases[h.memberLease(h.Identity)], h.memberLease("")
	for name := range l.live {
		switch {
		case !l.live[name] || !strings.HasPrefix(name, h.Name+"-shards-"):
		case strings.HasPrefix(name, group):
			l.members = append(l.members, strings.TrimPrefix(name, group))
		case own == nil || older(l.leases[name], own):
			l.earlier = append(l.earlier, name)
		}
	}
	slices.Sort(l.members)
	slices.Sort(l.earlier)
	return l
}

func holder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func duration(lease *coordinationv1.Lease, otherwise time.Duration) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return otherwise
	}
	return time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
}

func older(a, b *coordinationv1.Lease) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// balance starts and stops work so that this process comes to hold what it is
// meant to hold.
func (h *Holder) balance(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	l := h.see()
	if !slices.Contains(l.members, h.Identity) || len(l.earlier) > 0 {
		if len(l.earlier) > 0 {
			h.Log.V(1).Info("Waiting for operators with another number of shards to go", "leases", l.earlier)
		}
		h.stopAllBut(h.memberLease(h.Identity))
		return
	}
	if l.members[0] == h.Identity {
		h.tidy(ctx, l)
		h.want(ctx, l, h.Guard, guardPrefix+h.Identity, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
	} else {
		h.drop(ctx, l, h.Guard, guardPrefix+h.Identity)
	}
	if guard := l.leases[h.Guard]; !strings.HasPrefix(holder(guard), guardPrefix) {
		if l.live[h.Guard] {
			h.Log.V(1).Info("Waiting for an operator without shards to go", "lease", h.Guard, "holder", holder(guard))
		}
		h.stopAllBut(h.memberLease(h.Identity), h.Guard)
		return
	}
	for s, member := range Assign(l.members, h.Shards) {
		lease := h.shardLease(s)
		if member == h.Identity {
			h.want(ctx, l, lease, h.Identity, func(ctx context.Context) error { return h.workOn(ctx, s) })
		} else {
			h.drop(ctx, l, lease, h.Identity)
		}
	}
}

func (h *Holder) workOn(ctx context.Context, shard int) error {
	h.Log.Info("Took a shard", "shard", shard)
	defer h.Log.Info("Gave a shard back", "shard", shard)
	if h.Held != nil {
		h.Held(shard, true)
		defer h.Held(shard, false)
	}
	return h.Work(ctx, shard)
}

// want begins to take a Lease that is free. One whose holder is dead is made
// free first: it has been watched for all its time, and an elector that begins
// now would wait that long again.
func (h *Holder) want(ctx context.Context, l look, lease, identity string, work func(context.Context) error) {
	if h.task(lease) != nil || l.live[lease] && holder(l.leases[lease]) != identity {
		return
	}
	if held := l.leases[lease]; holder(held) != "" && holder(held) != identity {
		h.Log.Info("Taking over from an operator that is gone", "lease", lease, "holder", holder(held))
		if err := h.free(ctx, held); err != nil {
			h.Log.V(1).Info("Could not free a lease whose holder is gone", "lease", lease, "error", err.Error())
			return
		}
	}
	h.start(lease, identity, work)
}

// drop stops the task of a Lease that others are meant to have. An elector that
// is stopped while it asks for the Lease may get it and not know: a Lease that
// is ours without a task is given back, or the others would wait for its end.
func (h *Holder) drop(ctx context.Context, l look, lease, identity string) {
	if t := h.task(lease); t != nil {
		t.stop()
		return
	}
	if held := l.leases[lease]; holder(held) == identity {
		if err := h.free(ctx, held); err != nil {
			h.Log.V(1).Info("Could not give back a lease that was got unawares", "lease", lease, "error", err.Error())
		}
	}
}

// free gives back a Lease for a holder that cannot. It fails where the Lease is
// another one by now.
func (h *Holder) free(ctx context.Context, lease *coordinationv1.Lease) error {
	lease = lease.DeepCopy()
	lease.Spec.HolderIdentity = nil
	_, err := h.Client.CoordinationV1().Leases(h.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// tidy removes the Leases of members that are gone.
func (h *Holder) tidy(ctx context.Context, l look) {
	for name, lease := range l.leases {
		if l.live[name] || !strings.HasPrefix(name, h.Name+"-shards-") {
			continue
		}
		if h.Clock.Since(h.observed[name].at) < 2*h.Timing.LeaseDuration {
			continue
		}
		err := h.Client.CoordinationV1().Leases(h.Namespace).Delete(ctx, name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion},
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			h.Log.Error(err, "Cannot delete the lease of an operator that is gone", "lease", name)
		}
	}
}

func (h *Holder) task(lease string) *task {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tasks[lease]
}

// stopAllBut stops every task but those under the given Leases.
func (h *Holder) stopAllBut(leases ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for lease, t := range h.tasks {
		if !slices.Contains(leases, lease) {
			t.stop()
		}
	}
}

// start begins a task: take the Lease, work, give it back.
func (h *Holder) start(lease, identity string, work func(context.Context) error) *task {
	t := newTask(h, lease, identity, work)
	h.mu.Lock()
	h.tasks[lease] = t
	h.mu.Unlock()
	h.wg.Go(func() {
		if err := t.run(); err != nil && !errors.Is(err, context.Canceled) {
			h.Log.Error(err, "Work under a lease ended", "lease", lease)
			// Others may have more luck, and so may this one later.
			_ = wait.PollUntilContextTimeout(t.asked, h.Timing.RetryPeriod, h.Timing.RetryPeriod, false,
				func(context.Context) (bool, error) { return true, nil })
		}
		h.mu.Lock()
		delete(h.tasks, lease)
		h.mu.Unlock()
		h.wake()
	})
	return t
}
