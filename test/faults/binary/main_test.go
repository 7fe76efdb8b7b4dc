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
// own, behind a proxy that loses, refuses and delays, killed, stopped and
// continued, while the API server and etcd are taken away under it and users do
// what they should not. It is slow, so go test runs only a piece of it; make
// faults runs all (-all).
package binary

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/proxy"
	"github.com/mycompany/pod-operator/test/faults/witness"
)

var (
	all      = flag.Bool("all", false, "run everything")
	seedFlag = flag.Uint64("seed", 1, "the seed; 0 takes one from the clock")
)

// ground is a cluster with a witness, and the program to break. All tests
// share it, one after the other.
type ground struct {
	*testkit.Suite
	watched *witness.Witness
	dir     string
	program string
	seed    uint64
	rng     *rand.Rand
}

var field *ground

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "binary:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctrl.SetLogger(logr.Discard()) // the program has a log of its own
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g := &ground{seed: *seedFlag}
	if g.seed == 0 {
		g.seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	g.rng = rand.New(rand.NewPCG(g.seed, 4))
	if g.dir, err = os.MkdirTemp("", "binary-"); err != nil {
		return 1, err
	}
	defer func() {
		if code == 0 {
			err = errors.Join(err, os.RemoveAll(g.dir))
		} else {
			fmt.Fprintln(os.Stderr, "the programs' logs:", g.dir)
		}
	}()
	g.program = filepath.Join(g.dir, "manager")
	build := exec.CommandContext(ctx, "go", "build", "-o", g.program, "./cmd/manager")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	g.Suite, err = testkit.NewSuite(ctx, localkube.Options{
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		// The tests start ReplicaSet's controller themselves, to break it too.
		ControllerManagerArgs: []string{"--controllers=*,-replicaset-controller"},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, g.Cluster.Stop()) }()
	scheme, err := manager.Scheme()
	if err != nil {
		return 1, err
	}
	if g.watched, err = witness.New(ctx, g.Cluster.RESTConfig(), scheme); err != nil {
		return 1, err
	}
	field = g
	return m.Run(), nil
}

// operators are the programs that run, all behind one proxy.
type operators struct {
	*proxy.Proxy
	t    *testing.T
	g    *ground
	path string
	args []string
	// namespace is where the fleet is.
	namespace string

	mu    sync.Mutex
	born  int
	alive []*localkube.Process
}

// newOperators opens the proxy and starts nothing yet.
func newOperators(t *testing.T, g *ground, args ...string) *operators {
	t.Helper()
	p, err := proxy.Start(g.Cluster, g.seed)
	if err != nil {
		t.Fatal(err)
	}
	config, err := g.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := &operators{Proxy: p, t: t, g: g, path: g.program}
	login := filepath.Join(t.TempDir(), "kubeconfig")
	if err := g.Cluster.WriteKubeconfig(login, p.Login(config)); err != nil {
		t.Fatal(err)
	}
	o.args = append([]string{
		"--kubeconfig=" + login, "--health-probe-bind-address=0", "--controllers=podmanager", "--webhook-bind-address=0",
	}, args...)
	t.Cleanup(func() {
		for _, p := range o.alive {
			p.Kill()
		}
		if err := o.Stop(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func (o *operators) start() *localkube.Process {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	p, err := o.launch()
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

// supervise starts a program again that ended by itself, as a kubelet does: one
// whose first requests get lost gives up. It goes on until the test ends.
func (o *operators) supervise() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(context.Context) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.alive) == 0 || o.alive[0].Running() {
				return
			}
			o.alive = o.alive[1:]
			if _, err := o.launch(); err != nil {
				o.t.Error(err)
			}
		}, 200*time.Millisecond)
	}()
	o.t.Cleanup(func() {
		cancel()
		<-done
	})
}

func (o *operators) launch() (*localkube.Process, error) {
	o.born++
	name := fmt.Sprintf("%s-%d", filepath.Base(o.t.Name()), o.born)
	p, err := o.g.Cluster.RunProcess(localkube.ProcessSpec{
		Name: name, Path: o.path, Args: o.args, LogPath: filepath.Join(o.g.dir, name+".log"),
	})
	if err == nil {
		o.alive = append(o.alive, p)
	}
	return p, err
}

func (o *operators) killFirst() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.alive[0].Kill()
	o.alive = o.alive[1:]
}

// edit changes the PodManager web as a user does.
func (g *ground) edit(t *testing.T, namespace, what string, do func(*appsv1.PodManager)) {
	t.Helper()
	testkit.Eventually(t, what, func() error {
		pm := &appsv1.PodManager{}
		if err := g.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
			return err
		}
		do(pm)
		return g.Client.Update(t.Context(), pm)
	})
}

// settle waits until the fleet is as it should be, and tells how long it took.
func (g *ground) settle(t *testing.T, namespace string) time.Duration {
	t.Helper()
	start := time.Now()
	patiently(t, "the fleet is ready", func() error {
		pm := &appsv1.PodManager{}
		if err := g.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
			return err
		}
		s := &pm.Status
		if s.ObservedGeneration != pm.Generation || s.AvailableReplicas != *pm.Spec.Replicas || s.CurrentReplicas != *pm.Spec.Replicas ||
			s.CurrentRevision != s.UpdateRevision || meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling) {
			g.tendScheduler(t)
			pods, err := g.watched.Objects(t.Context(), namespace)
			return errors.Join(fmt.Errorf("generation %d, status %+v, there are %+v", pm.Generation, s, oracle.Normalise(pods, false)), err)
		}
		return nil
	})
	return time.Since(start)
}

// tendScheduler does what a kubelet does for kube-scheduler: it ends itself when
// a pod was replaced under the same name while it could not watch ("Scheduler
// cache is corrupted"), and counts on being started again.
func (g *ground) tendScheduler(t *testing.T) {
	t.Helper()
	if p, err := g.Cluster.Process(localkube.Scheduler); err != nil || p.Running() {
		return
	}
	t.Log("kube-scheduler ended itself; it is started again")
	if err := g.Cluster.Restart(t.Context(), localkube.Scheduler); err != nil {
		t.Fatal(err)
	}
}

// patience is longer than what a client waits that could not watch for a while:
// client-go tries again after up to a minute, here and in the scheduler and in
// kwok, and starts over only when nothing went wrong for two.
const patience = 3 * time.Minute

func patiently(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waited %s until %s: %v", patience, what, last)
	}
}

// quiet is how long nothing may change at the end, and soon how long the final
// status may take to come.
const (
	quiet = 1500 * time.Millisecond
	soon  = 6 * time.Second
)

// judge asks the oracles about a namespace that is at rest, and returns how many
// rules were broken. S4 is judged where the fair run's tally is given. What became of
// the nodes is not part of a namespace.
func (o *operators) judge(t *testing.T, namespace string, rules oracle.Rules, fair map[string]int, nodes ...oracle.Revision) (violations int, tally map[string]int) {
	t.Helper()
	found := o.stayQuiet(t, namespace)
	history, end := o.g.story(t, namespace)
	history = append(nodes, history...)
	slices.SortStableFunc(history, func(a, b oracle.Revision) int { return int(a.Version - b.Version) })
	o.Sign(history)
	found = slices.Concat(found, oracle.Check(history, rules), oracle.Leftovers(end), oracle.Told(history, rules), oracle.Needless(history, rules),
		oracle.AtRest(history, rules, time.Now()), oracle.ToldAtRest(history, rules, time.Now()))
	tally = oracle.Tally(history)
	if diff := cmp.Diff(fair, tally); fair != nil && diff != "" {
		found = append(found, oracle.Violation{Rule: "S4", Message: "other creates and deletes than without faults (-without +with):\n" + diff})
	}
	for _, v := range found {
		t.Error(v)
	}
	return len(found), tally
}

// story is all that happened in a namespace, and what is there now.
func (g *ground) story(t *testing.T, namespace string) (history []oracle.Revision, end []client.Object) {
	t.Helper()
	testkit.Eventually(t, "the witness has seen everything", func() error {
		var err error
		if end, err = g.watched.Objects(t.Context(), namespace); err != nil {
			return err
		}
		var there map[string]string
		history, there = g.watched.History(namespace)
		if diff := cmp.Diff(witness.Versions(end), there); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	return history, end
}

// stayQuiet is L2: at rest nothing is written. The pods may reach the end before
// the status says so.
func (o *operators) stayQuiet(t *testing.T, namespace string) []oracle.Violation {
	t.Helper()
	versions := func() map[string]string {
		objects, err := o.g.watched.Objects(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		return witness.Versions(objects)
	}
	last, since, diff := versions(), time.Now(), ""
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, soon, true, func(context.Context) (bool, error) {
		now := versions()
		if changed := cmp.Diff(last, now); changed != "" {
			last, since, diff = now, time.Now(), changed
		}
		return time.Since(since) >= quiet, nil
	})
	if err != nil {
		return []oracle.Violation{{Rule: "L2", Message: "something is written at rest:\n" + diff}}
	}
	return nil
}

// pause lets a random time pass, by a timer and not by sleeping.
func (g *ground) pause(ctx context.Context, most time.Duration) {
	g.wait(ctx, time.Duration(g.rng.Int64N(int64(most))))
}

// wait lets time pass in which something is meant to go wrong.
func (g *ground) wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
