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

package conformance

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fault is what goes wrong between a controller and the API server.
type Fault string

// The faults.
const (
	NoFault Fault = ""
	// LostAnswers are requests that were done and not answered.
	LostAnswers Fault = "lost answers"
	// LostRequests never reach the API server.
	LostRequests Fault = "lost requests"
	// Conflicts are answered 409.
	Conflicts Fault = "conflicts"
	// BrokenWatches end every fraction of a second.
	BrokenWatches Fault = "broken watches"
)

// Disturber stands between the controller under judgement and the API server.
type Disturber interface {
	// Play makes some requests go wrong, until the next call.
	Play(Fault)
	// Freeze keeps the events of a resource back, until Thaw.
	Freeze(resource string)
	// Backdate is Freeze, and lists that need not be new are as of an old version.
	Backdate(resource, version string)
	Thaw()
	// Crash kills the controller now.
	Crash()
	// CrashAfter kills the controller when the n-th request of a method for pods was done
	// and before it was answered. The channel closes then.
	CrashAfter(n int, method string) <-chan struct{}
	// Restart starts the controller again after a crash.
	Restart(ctx context.Context) error
}

func underFaults() []Behaviour {
	under := func(name string, fault Fault, title string) Behaviour {
		return Behaviour{
			Name: name, Profile: Faults, Title: title,
			steps: []step{
				create(2), settles(), play(fault), scale(10), struggles(), play(NoFault), settles(),
				play(fault), scale(3), struggles(), play(NoFault), settles(), exact(),
			},
		}
	}
	return []Behaviour{
		under("fault-lost-answers", LostAnswers, "no pod is created or deleted twice when answers are lost"),
		under("fault-lost-requests", LostRequests, "requests that never arrive are sent again"),
		under("fault-conflicts", Conflicts, "conflicts are tried again"),
		under("fault-broken-watches", BrokenWatches, "watches that break lose nothing"),
		{
			Name: "fault-frozen-watch", Profile: Faults, Title: "a watch that is behind leads to no pod too many",
			steps: []step{
				create(2), settles(), statusAgrees(), freeze("pods"), scale(6), rests(settleTime), thaw(), settles(), statusAgrees(),
				freeze("pods"), scale(3), rests(settleTime), thaw(), settles(), exact(),
			},
		},
		{
			Name: "fault-old-list", Profile: Faults, Title: "after a restart against a stale API server, creates and deletes nothing",
			steps: []step{
				create(2), settles(), statusAgrees(), mark("before"), scale(6), settles(), statusAgrees(),
				restartOn("before"), settles(), statusAgrees(), exact(),
				mark("more"), scale(3), settles(), statusAgrees(), restartOn("more"), settles(), statusAgrees(), exact(),
			},
		},
		{
			Name: "fault-crash", Profile: Faults, Title: "killed in the middle of a scale, it ends exact after its restart",
			steps: []step{
				create(2), settles(), crash(3, http.MethodPost, 10), settles(), crash(2, http.MethodDelete, 3), settles(), exact(),
			},
		},
	}
}

func play(fault Fault) step {
	return func(_ context.Context, w *world) error {
		w.later(func(context.Context) error { w.faults.Play(NoFault); return nil })
		w.faults.Play(fault)
		return nil
	}
}

// struggleTime is how long faults last at most.
const struggleTime = 10 * time.Second

// struggles gives the controller time under faults. It may be slow then, and retries with
// a growing delay; what counts is that it does nothing wrong.
func struggles() step {
	return func(ctx context.Context, w *world) error {
		ctx, cancel := context.WithTimeout(ctx, struggleTime)
		defer cancel()
		_ = settles()(ctx, w)
		return nil
	}
}

func freeze(resource string) step {
	return func(_ context.Context, w *world) error {
		w.later(func(context.Context) error { w.faults.Thaw(); return nil })
		w.faults.Freeze(resource)
		return nil
	}
}

func thaw() step {
	return func(_ context.Context, w *world) error {
		w.faults.Thaw()
		return nil
	}
}

// mark remembers the version of the pods now.
func mark(as string) step {
	return func(ctx context.Context, w *world) error {
		var list corev1.PodList
		if err := w.client.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		w.marks[as] = list.ResourceVersion
		return nil
	}
}

// staleTime is how long an API server is behind.
const staleTime = 3 * time.Second

// restartOn restarts the controller while lists of pods that need not be new are as they
// were at a mark.
func restartOn(as string) step {
	return func(ctx context.Context, w *world) error {
		w.later(func(context.Context) error { w.faults.Thaw(); return nil })
		w.faults.Crash()
		w.faults.Backdate("pods", w.marks[as])
		if err := w.faults.Restart(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(staleTime)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		w.faults.Thaw()
		return rests(settleTime)(ctx, w)
	}
}

// crash kills the controller in the middle of a scale, after its n-th write, and starts
// it again.
func crash(n int, method string, to int) step {
	return func(ctx context.Context, w *world) error {
		crashed := w.faults.CrashAfter(n, method)
		if err := scale(to)(ctx, w); err != nil {
			return err
		}
		err := w.eventually(ctx, func(context.Context) error {
			select {
			case <-crashed:
				return nil
			default:
				return errors.New("the controller did not write so much")
			}
		})
		return errors.Join(err, w.faults.Restart(ctx))
	}
}
