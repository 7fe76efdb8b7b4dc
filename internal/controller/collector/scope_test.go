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

package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/access"
)

// reviewer answers like an API server.
type reviewer struct {
	asked   int
	allowed map[string]bool // by namespace
	failed  error
}

func (r *reviewer) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	r.asked++
	review := obj.(*authorizationv1.SubjectAccessReview)
	review.Status.Allowed = r.failed == nil && r.allowed[review.Spec.ResourceAttributes.Namespace]
	return r.failed
}

// aReconciler has a clock and a reviewer, and no more.
func aReconciler(allowed ...string) (*Reconciler, *reviewer, *testclock.FakePassiveClock) {
	api := &reviewer{allowed: map[string]bool{}}
	for _, namespace := range allowed {
		api.allowed[namespace] = true
	}
	now := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
	return &Reconciler{clock: now, rights: newRights(api, now), room: newRoom(1200)}, api, now
}

func aCollector(namespaces ...string) *collectorv1.Collector {
	c := &collectorv1.Collector{Spec: collectorv1.CollectorSpec{Namespaces: namespaces}}
	c.Namespace, c.Name = "home", "c"
	return c
}

func TestOwnNamespaceIsReadWithoutAQuestion(t *testing.T) {
	r, api, _ := aReconciler()
	for _, col := range []*collectorv1.Collector{aCollector(), aCollector("home")} {
		s := r.scopeOf(t.Context(), col)
		if diff := cmp.Diff([]string{"home"}, s.reads); diff != "" || s.refused != nil || s.again != 0 || api.asked != 0 {
			t.Errorf("%+v after %d questions", s, api.asked)
		}
	}
}

func TestOtherNamespacesAreReadWithTheRight(t *testing.T) {
	r, _, _ := aReconciler("b")
	s := r.scopeOf(t.Context(), aCollector("b", "home", "a"))
	if diff := cmp.Diff([]string{"home", "b"}, s.reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	want := "service account home/default may not list pods in namespace a: " + access.Grant("home", "default", "a")
	if s.refused == nil || s.refused.reason != collectorv1.ReasonNamespaceRefused || s.refused.message != want {
		t.Errorf("refused: %+v, want %s", s.refused, want)
	}
	if s.again != believeNo {
		t.Errorf("it looks again after %s", s.again)
	}
}

// TestARightIsAskedForAgain: it is believed for a while, by all Collectors, and
// one that is withdrawn is noticed.
func TestARightIsAskedForAgain(t *testing.T) {
	r, api, now := aReconciler("b")
	for range 3 {
		if s := r.scopeOf(t.Context(), aCollector("b")); len(s.reads) != 1 || s.again != believeYes {
			t.Fatalf("%+v", s)
		}
	}
	if all := 2 * len(access.Resources()); api.asked != all {
		t.Errorf("%d questions, want %d", api.asked, all)
	}
	api.allowed["b"] = false
	now.SetTime(now.Now().Add(believeYes))
	if s := r.scopeOf(t.Context(), aCollector("b")); len(s.reads) != 0 || s.refused == nil {
		t.Errorf("the right was withdrawn: %+v", s)
	}
	api.allowed["b"] = true
	now.SetTime(now.Now().Add(believeNo))
	if s := r.scopeOf(t.Context(), aCollector("b")); len(s.reads) != 1 || s.refused != nil {
		t.Errorf("the right was granted: %+v", s)
	}
}

func TestWithoutAnAnswerNothingIsRead(t *testing.T) {
	r, api, now := aReconciler("b")
	api.failed = errors.New("no connection")
	s := r.scopeOf(t.Context(), aCollector("b"))
	if len(s.reads) != 0 || s.refused == nil || !strings.Contains(s.refused.message, "no connection") || s.again != believeNo {
		t.Errorf("%+v", s)
	}
	api.failed = nil
	now.SetTime(now.Now().Add(believeNo))
	if s := r.scopeOf(t.Context(), aCollector("b")); len(s.reads) != 1 {
		t.Fatalf("%+v", s)
	}
	// A moment without an answer does not stop what was allowed; a long one does.
	api.failed = errors.New("no connection")
	start := now.Now()
	for now.Now().Before(start.Add(withoutAnswer)) {
		if s := r.scopeOf(t.Context(), aCollector("b")); len(s.reads) != 1 {
			t.Fatalf("after %s: %+v", now.Now().Sub(start), s)
		}
		now.SetTime(now.Now().Add(believeNo))
	}
	if s := r.scopeOf(t.Context(), aCollector("b")); len(s.reads) != 0 || s.refused == nil {
		t.Errorf("after %s: %+v", withoutAnswer, s)
	}
}

// TestATenantAsksOnlySoMuch: many Collectors with many accounts cost no more
// questions than one, and say why they do not read.
func TestATenantAsksOnlySoMuch(t *testing.T) {
	r, api, _ := aReconciler()
	for i := range 100 {
		col := aCollector("a", "b", "c")
		col.Name, col.Spec.ServiceAccountName = fmt.Sprint("c", i), fmt.Sprint("account", i)
		s := r.scopeOf(t.Context(), col)
		if i > maxForeign && (s.refused == nil || s.refused.reason != collectorv1.ReasonNoRoom || s.again != roomAgain) {
			t.Fatalf("Collector %d: %+v", i, s)
		}
	}
	if api.asked > maxForeign {
		t.Errorf("%d questions", api.asked)
	}
}

func TestWithoutRoomForAllSomeIsNotRead(t *testing.T) {
	r, _, _ := aReconciler("a", "b")
	r.room = newRoom(2 * MinWatches())
	s := r.scopeOf(t.Context(), aCollector("a", "b", "home"))
	if diff := cmp.Diff([]string{"home", "a"}, s.reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if s.refused == nil || s.refused.reason != collectorv1.ReasonNoRoom || !strings.Contains(s.refused.message, "--collector-watches") {
		t.Errorf("%+v", s.refused)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	r, _, now := aReconciler()
	for i := range maxAnswers + 10 {
		r.rights.check(t.Context(), question{"home", "default", fmt.Sprint("ns", i)})
	}
	if n := len(r.rights.answers); n != maxAnswers {
		t.Errorf("%d answers are kept", n)
	}
	now.SetTime(now.Now().Add(time.Hour))
	r.rights.check(t.Context(), question{"home", "default", "new"})
	if n := len(r.rights.answers); n != 1 {
		t.Errorf("%d answers are kept that nothing asks for", n)
	}
}

// TestAllThatIsWatchedIsAskedFor: a kind that is watched without the question
// would be read without the right.
func TestAllThatIsWatchedIsAskedFor(t *testing.T) {
	asked := map[string]bool{}
	for _, resource := range access.Resources() {
		asked[resource.Group+"/"+resource.Resource] = true
	}
	for _, k := range watchedKinds() {
		if name := k.gvk.Group + "/" + strings.ToLower(k.gvk.Kind) + "s"; !asked[name] {
			t.Errorf("%s is watched and not asked for", name)
		}
	}
	if len(asked) != len(watchedKinds()) {
		t.Errorf("%d resources are asked for, %d are watched", len(asked), len(watchedKinds()))
	}
}
