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

// Package binary breaks the real program: bin/manager's code as a process of its
// own, killed, stopped and continued, while the API server and etcd are taken
// away under it. It is slow, so go test runs only a piece of it; make faults
// runs all (-all).
package binary

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/summary"
	"github.com/mycompany/pod-operator/test/faults/witness"
)

var (
	all      = flag.Bool("all", false, "run everything")
	seedFlag = flag.Uint64("seed", 0, "the seed; 0 takes one from the clock")
)

// ground is a cluster with a witness, and the program to break.
type ground struct {
	*testkit.Suite
	watched *witness.Witness
	program string
	login   string
	seed    uint64
	rng     *rand.Rand
}

func newGround(t *testing.T) *ground {
	t.Helper()
	ctrl.SetLogger(logr.Discard()) // the program has a log of its own
	suite, err := testkit.NewSuite(t.Context(), localkube.Options{
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := suite.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	g := &ground{Suite: suite, seed: *seedFlag, program: filepath.Join(t.TempDir(), "manager"), login: filepath.Join(t.TempDir(), "kubeconfig")}
	if g.seed == 0 {
		g.seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	g.rng = rand.New(rand.NewPCG(g.seed, 4))
	t.Logf("seed %d", g.seed)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", g.program, "./cmd/manager")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	config, err := suite.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := suite.Cluster.WriteKubeconfig(g.login, config); err != nil {
		t.Fatal(err)
	}
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if g.watched, err = witness.New(t.Context(), suite.Cluster.RESTConfig(), scheme); err != nil {
		t.Fatal(err)
	}
	return g
}

// launch starts the program.
func (g *ground) launch(t *testing.T, name string, args ...string) *localkube.Process {
	t.Helper()
	args = append([]string{"--kubeconfig=" + g.login, "--health-probe-bind-address=0", "--controllers=podmanager", "--webhook-bind-address=0"}, args...)
	p, err := g.Cluster.RunProcess(localkube.ProcessSpec{
		Name: name, Path: g.program, Args: args, LogPath: filepath.Join(filepath.Dir(g.program), name+".log"),
	})
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	return p
}

// change is something that a user asks for while things break.
type change struct {
	name string
	do   func(*appsv1.PodManager)
}

func changes() []change {
	return []change{
		{"scale up", func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](8) }},
		{"roll out in place", func(pm *appsv1.PodManager) { pm.Spec.Image = "nginx:1.28" }},
		{"recreate", func(pm *appsv1.PodManager) {
			pm.Spec.Image, pm.Spec.Update.Strategy = "nginx:1.29", appsv1.UpdateRecreate
		}},
		{"scale down", func(pm *appsv1.PodManager) { pm.Spec.Replicas = ptr.To[int32](2) }},
	}
}

func (g *ground) edit(t *testing.T, namespace string, c change) {
	t.Helper()
	testkit.Eventually(t, c.name, func() error {
		pm := &appsv1.PodManager{}
		if err := g.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
			return err
		}
		c.do(pm)
		return g.Client.Update(t.Context(), pm)
	})
}

// settle waits until the fleet is as it should be.
func (g *ground) settle(t *testing.T, namespace string) {
	t.Helper()
	testkit.Eventually(t, "the fleet is ready", func() error {
		pm := &appsv1.PodManager{}
		if err := g.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
			return err
		}
		s := &pm.Status
		if s.ObservedGeneration != pm.Generation || s.AvailableReplicas != *pm.Spec.Replicas || s.CurrentReplicas != *pm.Spec.Replicas ||
			s.CurrentRevision != s.UpdateRevision || meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling) {
			pods, err := g.watched.Objects(t.Context(), namespace)
			return errors.Join(fmt.Errorf("generation %d, status %+v, there are %+v", pm.Generation, s, oracle.Normalise(pods, false)), err)
		}
		return nil
	})
}

// judge asks the oracles about a namespace.
func (g *ground) judge(t *testing.T, namespace string) int {
	t.Helper()
	end, err := g.watched.Objects(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	var history []oracle.Revision
	testkit.Eventually(t, "the witness has seen everything", func() error {
		seen, there := g.watched.History(namespace)
		history = seen
		if diff := cmp.Diff(witness.Versions(end), there); diff != "" {
			end, err = g.watched.Objects(t.Context(), namespace)
			return errors.Join(errors.New(diff), err)
		}
		return nil
	})
	found := append(oracle.Check(history, oracle.Rules{}), oracle.Leftovers(end)...)
	for _, v := range found {
		t.Error(v)
	}
	return len(found)
}

// trouble is what happens while the fleet follows a change. It returns when the
// operator is left alone again.
type trouble struct {
	name string
	long bool
	make func(t *testing.T, g *ground, o *operators)
}

// operators are the programs that run.
type operators struct {
	t     *testing.T
	g     *ground
	args  []string
	born  int
	alive []*localkube.Process
}

func (o *operators) start() {
	o.born++
	o.alive = append(o.alive, o.g.launch(o.t, fmt.Sprintf("manager-%d", o.born), o.args...))
}

func (o *operators) killFirst() {
	o.alive[0].Kill()
	o.alive = o.alive[1:]
}

// pause lets a random time pass, by a timer and not by sleeping.
func (g *ground) pause(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(g.rng.Int64N(int64(most))))
	defer cancel()
	<-ctx.Done()
}

func troubles() []trouble {
	return []trouble{
		{name: "killed at random", make: func(t *testing.T, g *ground, o *operators) {
			for range 3 {
				g.pause(t.Context(), 700*time.Millisecond)
				o.killFirst()
				o.start()
			}
		}},
		{name: "the API server restarts", long: true, make: func(t *testing.T, g *ground, _ *operators) {
			g.pause(t.Context(), 500*time.Millisecond)
			if err := g.Cluster.Restart(t.Context(), localkube.APIServer); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "etcd restarts", long: true, make: func(t *testing.T, g *ground, _ *operators) {
			g.pause(t.Context(), 500*time.Millisecond)
			if err := g.Cluster.Restart(t.Context(), localkube.Etcd); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "the API server hangs", long: true, make: func(t *testing.T, g *ground, _ *operators) {
			g.pause(t.Context(), 500*time.Millisecond)
			if err := g.Cluster.Pause(localkube.APIServer); err != nil {
				t.Fatal(err)
			}
			g.pause(t.Context(), 3*time.Second)
			if err := g.Cluster.Resume(localkube.APIServer); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// TestBrokenProgram plays every change under every trouble.
func TestBrokenProgram(t *testing.T) {
	g := newGround(t)
	o := &operators{t: t, g: g}
	o.start()
	cases, violations, longest := 0, 0, time.Duration(0)
	for _, tr := range troubles() {
		if tr.long && !*all {
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			namespace := g.Namespace(t)
			pm := testkit.MakePodManager(namespace, "web").Replicas(3).Obj()
			if err := g.Client.Create(t.Context(), pm); err != nil {
				t.Fatal(err)
			}
			g.settle(t, namespace)
			for _, c := range changes() {
				g.edit(t, namespace, c)
				tr.make(t, g, o)
				start := time.Now()
				g.settle(t, namespace)
				longest = max(longest, time.Since(start))
				cases++
			}
			violations += g.judge(t, namespace)
		})
	}
	line := summary.Line{Tier: "3 real binary", Cases: cases, Violations: violations, Longest: longest, Seed: g.seed}
	if err := summary.Write("3-binary", line); err != nil {
		t.Error(err)
	}
	t.Logf("%+v", line)
}

// TestSplitBrain: the leader is stopped in the middle of its work for longer
// than its lease, another takes over, and then the first wakes up.
func TestSplitBrain(t *testing.T) {
	if !*all {
		t.Skip("takes as long as a lease; -all runs it")
	}
	g := newGround(t)
	o := &operators{t: t, g: g, args: []string{"--leader-elect", "--leader-election-namespace=" + testkit.OperatorNamespace}}
	o.start()
	first := o.alive[0]
	holder := g.leader(t, "")
	namespace := g.Namespace(t)
	if err := g.Client.Create(t.Context(), testkit.MakePodManager(namespace, "web").Replicas(3).Obj()); err != nil {
		t.Fatal(err)
	}
	g.settle(t, namespace)
	o.start()
	for _, c := range changes()[:1] {
		g.edit(t, namespace, c)
		g.pause(t.Context(), 200*time.Millisecond)
		if err := first.Pause(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		g.leader(t, holder)
		took := time.Since(start)
		g.edit(t, namespace, changes()[2])
		if err := first.Resume(); err != nil {
			t.Fatal(err)
		}
		g.settle(t, namespace)
		violations := g.judge(t, namespace)
		line := summary.Line{Tier: "3 real binary, split brain", Cases: 1, Violations: violations, Longest: took, Seed: g.seed, Note: "recovery is the takeover"}
		if err := summary.Write("3-split-brain", line); err != nil {
			t.Error(err)
		}
	}
}

// leader waits for a leader other than the given one.
func (g *ground) leader(t *testing.T, not string) string {
	t.Helper()
	name := ""
	testkit.Eventually(t, "there is a leader", func() error {
		var leases coordinationv1.LeaseList
		if err := g.Client.List(t.Context(), &leases, client.InNamespace(testkit.OperatorNamespace)); err != nil {
			return err
		}
		for i := range leases.Items {
			if name = ptr.Deref(leases.Items[i].Spec.HolderIdentity, ""); name != "" && name != not {
				return nil
			}
		}
		return fmt.Errorf("%d leases, the last is held by %q", len(leases.Items), name)
	})
	return name
}
