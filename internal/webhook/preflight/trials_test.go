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
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// slowServer takes its time for each trial and counts how many it has at once.
type slowServer struct {
	client.Writer
	all, now, most atomic.Int64
	answer         chan struct{}
}

func (s *slowServer) Create(ctx context.Context, _ client.Object, _ ...client.CreateOption) error {
	s.all.Add(1)
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	select {
	case <-s.answer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func inspectorOf(t *testing.T, trial client.Writer) *Inspector {
	t.Helper()
	security, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	live := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}).Build()
	return &Inspector{live: live, trial: trial, trials: newTrials(), security: security, clock: clock.RealClock{}}
}

// flood asks about many PodManagers at once, as a client that reaches the webhook port
// can, and returns what was found.
func flood(t *testing.T, i *Inspector, many int, image func(n int) string) []Findings {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Budget)
	defer cancel()
	found := make([]Findings, many)
	var callers sync.WaitGroup
	for n := range many {
		callers.Go(func() {
			pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", n)}}
			pm.Spec.Image = image(n)
			f := desired.PodManagerKind{}.Fleet(pm)
			found[n], _ = i.checkPod(ctx, Change{Kind: desired.PodManagerKind{}, New: pm}, f, trialPod(f))
		})
	}
	callers.Wait()
	return found
}

// However many ask, the API server tries only so many pods at a time.
func TestOnlySoManyPodsAreTriedAtATime(t *testing.T) {
	server := &slowServer{answer: make(chan struct{})}
	found := flood(t, inspectorOf(t, server), 200, func(n int) string { return fmt.Sprintf("nginx:%d", n) })
	if most := server.most.Load(); most > maxTrials {
		t.Errorf("%d trials at a time, more than %d", most, maxTrials)
	}
	for _, f := range found {
		if len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "was not tried") {
			t.Fatalf("a pod that was not tried has the findings %+v", f)
		}
	}
}

// Those who ask the same at the same time share one trial.
func TestOnePodIsTriedForAllWhoAskAboutIt(t *testing.T) {
	server := &slowServer{answer: make(chan struct{})}
	time.AfterFunc(500*time.Millisecond, func() { close(server.answer) })
	found := flood(t, inspectorOf(t, server), 200, func(int) string { return "nginx:1.27" })
	if all := server.all.Load(); all > 2 {
		t.Errorf("%d trials of one pod", all)
	}
	for _, f := range found {
		if len(f.Warnings)+len(f.Problems) > 0 {
			t.Fatalf("the pod is good, and the findings are %+v", f)
		}
	}
}
