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

package tenants

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var (
	fuzzTime = flag.Duration("fuzz-tenants", 0, "for how long the attacker draws; 0 draws a sample, which is counted and not timed")
	fuzzSeed = flag.Uint64("fuzz-seed", 1, "what is drawn; 0 draws the seed, too")
	fuzzOn   = flag.Bool("fuzz-on", false, "go on after a fault, to find the others")
)

// How much is drawn.
const (
	// sampleRounds is the sample of make test-rest.
	sampleRounds = 3
	// drawsPerRound is how many times a round draws for the tenant, and for each
	// stranger.
	drawsPerRound = 40
	strangers     = 2
	// roundsPerEpoch: then the operator starts anew, beside all that was thrown, and
	// the attacker's namespace is emptied.
	roundsPerEpoch = 12
)

// How long another tenant may wait. Alone is measured before the attack. Beside it,
// the API server, the scheduler and the nodes are busy with what the attacker does to
// them and not to the operator, so a ReplicaSet of the same size is created at the
// same moment, and counts where it took longer than alone.
const (
	patienceFactor = 3
	// sampleFloor and longFloor may be waited in any case: machines are noisy.
	sampleFloor = 10 * time.Second
	longFloor   = 2 * time.Second
)

// TestTenantsFuzz has an attacker draw objects, requests and rights, for a while or as
// a sample, and judges after every round: another tenant is served in time, the
// operator lives and stays within its memory, no foreign object has changed, and the
// operator's account did nothing in namespaces that have no part in this.
func TestTenantsFuzz(t *testing.T) {
	seed := *fuzzSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-fuzz-seed=%d", seed)
	if err := suite.Suspend(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the process has ended: cleanups run backwards
		if err := suite.Resume(context.Background(), suite.Operator); err != nil {
			t.Error(err)
		}
	})
	op := startOperator(t)
	victim := suite.Namespace(t)
	alone := aloneTakes(t, victim)
	j := newJudge(t, op, victim)
	a := newAttacker(t, seed, op, j)
	begin, worst, rounds := time.Now(), time.Duration(0), 0
	for *fuzzTime > 0 && time.Since(begin) < *fuzzTime || *fuzzTime == 0 && rounds < sampleRounds {
		took, beside := a.round(t, victim)
		rounds++
		worst = max(worst, took)
		if limit := inTime(alone, beside); took > limit {
			t.Errorf("round %d: another tenant's pods took %s, want at most %s (%s alone, a ReplicaSet's at the same time %s)", rounds, took, limit, alone, beside)
		}
		if rounds%roundsPerEpoch == 0 || rounds == sampleRounds {
			a.epoch(t)
		}
		j.judge(t)
		t.Logf("%s: %s; a victim took %s at most and %s alone; memory at most %d MiB", time.Since(begin).Round(time.Second), a, worst.Round(time.Millisecond),
			alone.Round(time.Millisecond), op.peak(t)>>20)
		if t.Failed() && !*fuzzOn {
			t.Fatalf("-fuzz-seed=%d, round %d; the last draws:\n%s", seed, rounds, a.lastDraws())
		}
	}
	a.expectDrawn(t)
}

// inTime is how long another tenant may wait.
func inTime(alone, beside time.Duration) time.Duration {
	floor := longFloor
	if *fuzzTime == 0 {
		floor = sampleFloor
	}
	return max(patienceFactor*max(alone, beside), floor)
}

// aloneTakes is the median of some times without an attack.
func aloneTakes(t *testing.T, namespace string) time.Duration {
	t.Helper()
	var times []time.Duration
	for range 3 {
		took, _ := servedIn(t, namespace)
		times = append(times, took)
	}
	slices.Sort(times)
	return times[1]
}

// servedIn is how long a PodManager and a ReplicaSet of three pods take to be ready,
// both created now.
func servedIn(t *testing.T, namespace string) (ours, theirs time.Duration) {
	t.Helper()
	pm := testkit.MakePodManager(namespace, fmt.Sprintf("victim-%d", time.Now().UnixNano())).Replicas(3).Obj()
	rs := &kappsv1.ReplicaSet{}
	rs.Namespace, rs.Name = namespace, pm.Name+"-beside"
	d := plainDeployment(namespace, nil)
	rs.Spec = kappsv1.ReplicaSetSpec{Replicas: ptr.To[int32](3), Selector: d.Spec.Selector, Template: d.Spec.Template}
	begin := time.Now()
	suite.Create(t, pm)
	suite.Create(t, rs)
	testkit.Eventually(t, "another tenant's pods are ready", func() error {
		if ours == 0 {
			if testkit.Get(t, suite, namespace, pm.Name, pm); pm.Status.ReadyReplicas == 3 {
				ours = time.Since(begin)
			}
		}
		if theirs == 0 {
			if testkit.Get(t, suite, namespace, rs.Name, rs); rs.Status.ReadyReplicas == 3 {
				theirs = time.Since(begin)
			}
		}
		if ours == 0 || theirs == 0 {
			return fmt.Errorf("%d of 3 are, and %d of a ReplicaSet's", pm.Status.ReadyReplicas, rs.Status.ReadyReplicas)
		}
		return nil
	})
	for _, object := range []client.Object{&appsv1.PodManager{ObjectMeta: pm.ObjectMeta}, &kappsv1.ReplicaSet{ObjectMeta: rs.ObjectMeta}} {
		if err := suite.Client.Delete(t.Context(), object, client.PropagationPolicy("Background")); err != nil {
			t.Fatal(err)
		}
	}
	return ours, theirs
}

// attacker is a tenant of one namespace, and strangers who reach the operator's ports.
type attacker struct {
	seed      uint64
	rounds    uint64
	op        *theProcess
	tenant    *drawingTenant
	strangers []*drawingStranger
}

func newAttacker(t *testing.T, seed uint64, op *theProcess, j *judge) *attacker {
	t.Helper()
	a := &attacker{seed: seed, op: op, tenant: newDrawingTenant(t, j)}
	for range strangers {
		a.strangers = append(a.strangers, newDrawingStranger(op, j))
	}
	return a
}

// round draws, and measures another tenant's time meanwhile.
func (a *attacker) round(t *testing.T, victim string) (ours, theirs time.Duration) {
	t.Helper()
	a.rounds++
	a.tenant.newRights(t, rand.New(rand.NewPCG(a.seed, a.rounds<<8)))
	var wait sync.WaitGroup
	wait.Go(func() { a.tenant.attack(t.Context(), rand.New(rand.NewPCG(a.seed, a.rounds<<8+1)), drawsPerRound) })
	for i, s := range a.strangers {
		wait.Go(func() {
			s.attack(t.Context(), rand.New(rand.NewPCG(a.seed, a.rounds<<8+2+uint64(i))), drawsPerRound, a.tenant.token)
		})
	}
	ours, theirs = servedIn(t, victim)
	wait.Wait()
	return ours, theirs
}

// epoch: an operator that starts finds all that was thrown and gets ready; then it
// lets everything go.
func (a *attacker) epoch(t *testing.T) {
	t.Helper()
	a.op.restart(t)
	a.tenant.leave(t)
}

func (a *attacker) String() string {
	requests, answers := 0, map[int]int{}
	for _, s := range a.strangers {
		requests += s.requests
		for code, n := range s.answers {
			answers[code] += n
		}
	}
	return fmt.Sprintf("%d writes of objects by tenants, %d of them stored; %d requests to the ports, answered %v (0: cut off)",
		a.tenant.thrown, a.tenant.stored, requests, answers)
}

// lastDraws are the last of all, for the one who looks for the reason.
func (a *attacker) lastDraws() (text string) {
	for _, line := range a.tenant.log.lines {
		text += "tenant: " + line + "\n"
	}
	for _, s := range a.strangers {
		for _, line := range s.log.lines {
			text += "stranger: " + line + "\n"
		}
	}
	return text
}

// expectDrawn: an attacker who is refused everything, or nothing, proves little.
func (a *attacker) expectDrawn(t *testing.T) {
	t.Helper()
	if a.tenant.stored == 0 || a.tenant.stored == a.tenant.thrown {
		t.Errorf("%d of %d objects were stored: the test proves little", a.tenant.stored, a.tenant.thrown)
	}
	for _, s := range a.strangers {
		if len(s.answers) < 3 {
			t.Errorf("all requests were answered alike, %v: the test proves little", s.answers)
		}
	}
}

// drawLog keeps the last draws.
type drawLog struct{ lines []string }

func (l *drawLog) add(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	l.lines = append(l.lines, line[:min(len(line), 300)])
	l.lines = l.lines[max(0, len(l.lines)-10):]
}
