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

package shards

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/mycompany/pod-operator/internal/shard"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// bench counts who works on which shard.
type bench struct {
	active   []atomic.Int32
	overlaps atomic.Int32
}

// work takes a while to end, as workers do.
func (b *bench) work(ctx context.Context, n int) error {
	if b.active[n].Add(1) > 1 {
		b.overlaps.Add(1)
	}
	defer b.active[n].Add(-1)
	<-ctx.Done()
	timer := time.NewTimer(30 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	return nil
}

func (b *bench) busy() int {
	n := 0
	for i := range b.active {
		n += int(b.active[i].Load())
	}
	return n
}

// Holders come and go in turns. All shards are worked on in the end of each
// turn, and at no time is one worked on twice.
func TestNoShardIsWorkedOnTwice(t *testing.T) {
	const count = 12
	clients, err := kubernetes.NewForConfig(suite.Cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	ns := suite.Namespace(t)
	b := &bench{active: make([]atomic.Int32, count)}
	var running []func()
	join := func(name string) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		h := shard.New(shard.Config{
			Client: clients, Namespace: ns, Name: "test", Identity: name, Shards: count, Guard: "leader",
			// No holder dies here, so none may have to wait for a Lease to run out, and a busy machine loses none.
			Timing: shard.Timing{LeaseDuration: 2 * testkit.Patience, RenewDeadline: testkit.Patience, RetryPeriod: time.Second},
			Clock:  clock.RealClock{}, Log: logr.Discard(), Work: b.work,
		})
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		leave := func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		running = append(running, leave)
	}
	t.Cleanup(func() {
		for _, leave := range running {
			leave()
		}
		if n := b.busy(); n != 0 {
			t.Errorf("%d shards are worked on although all have left", n)
		}
	})
	for turn, change := range []func(){
		func() { join("a") },
		func() { join("b"); join("c") },
		func() { running[0](); running = running[1:] },
		func() { join("d"); join("e") },
		func() { running[0](); running[1](); running = running[2:] },
	} {
		change()
		testkit.Eventually(t, fmt.Sprintf("all shards are worked on in turn %d", turn), func() error {
			load := map[string]int{}
			for _, h := range heldIn(t, ns, "test", count) {
				load[h]++
			}
			if n := b.busy(); n != count || len(load) != len(running) {
				return fmt.Errorf("%d are, held as %v", n, load)
			}
			return nil
		})
	}
	if n := b.overlaps.Load(); n != 0 {
		t.Errorf("%d times two worked on one shard", n)
	}
}
