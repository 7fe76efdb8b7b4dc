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

// Package testkit is what tests share: Main, which starts a Suite (a real cluster
// with the operator on it) for the tests of a package; Fleet, a PodManager with
// the words in which tests say what they do to it and what they expect of it;
// and the same for other objects. Only tests import it.
package testkit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// The operator's ServiceAccount, as config/ names it.
const (
	OperatorNamespace      = "pod-operator-system"
	OperatorServiceAccount = "pod-operator-controller-manager"
	// OperatorUser is how the audit log names the operator.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":" + OperatorServiceAccount
)

// Patience is how long a test waits for something that has to happen. It is
// long because machines are slow, not because the operator is.
const Patience = 2 * time.Minute

// maxPatience ends the wait for what keeps changing.
const maxPatience = 3 * Patience

var errNoProgress = errors.New("nothing changed any more")

// Long leaves a test out of make test. make test-rest finds its name by this call.
func Long(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why + ": make test-rest runs it")
	}
}

// Suite is a cluster with what config/ ships installed on it.
type Suite struct {
	Cluster *localkube.Cluster
	// Client is the admin's, past any cache.
	Client client.Client
	// Operator is how the shared operator runs, and Scratch a folder that goes
	// when all tests have passed. Main sets both.
	Operator manager.Options
	Scratch  string

	namespaces atomic.Int64
	// stop ends the shared operator.
	stop func() error

	build    sync.Once
	buildErr error
}

// Root is the folder of the project.
func Root() string { return project.Root() }

// NewSuite starts a cluster and installs the CRDs and the roles.
func NewSuite(ctx context.Context, options localkube.Options) (*Suite, error) {
	objects, err := manifests()
	if err != nil {
		return nil, err
	}
	return newSuite(ctx, options, withoutWebhooks(objects))
}

func newSuite(ctx context.Context, options localkube.Options, objects []*unstructured.Unstructured) (*Suite, error) {
	options.OnAPIReady = func(ctx context.Context, admin *rest.Config) error {
		return install.Apply(ctx, admin, objects)
	}
	cluster, err := localkube.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	s := &Suite{Cluster: cluster}
	if s.Client, err = NewClient(cluster.RESTConfig()); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return s, nil
}

// NewClient makes a client that knows our kinds.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// OperatorConfig logs in as the operator's own ServiceAccount, with exactly
// the rights that config/ grants.
func (s *Suite) OperatorConfig(ctx context.Context) (*rest.Config, error) {
	return s.Cluster.RESTConfigForServiceAccount(ctx, OperatorNamespace, OperatorServiceAccount, 7200)
}

// StartOperator runs the operator in this process until stop is called; stop
// returns what Start returned.
func (s *Suite) StartOperator(ctx context.Context, options manager.Options) (stop func() error, err error) {
	config, err := s.OperatorConfig(ctx)
	if err != nil {
		return nil, err
	}
	return RunOperator(ctx, config, options)
}

// RunOperator runs an operator with the given login.
func RunOperator(ctx context.Context, config *rest.Config, options manager.Options) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	mgr, err := manager.New(ctx, config, options)
	if err != nil {
		cancel()
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		defer cancel() // ends the wait for the caches
		done <- mgr.Start(ctx)
	}()
	synced, giveUp := context.WithTimeout(ctx, Patience)
	defer giveUp()
	if !mgr.GetCache().WaitForCacheSync(synced) {
		cancel()
		return nil, fmt.Errorf("the operator's caches did not sync within %s: %w", Patience, <-done)
	}
	return func() error { cancel(); return <-done }, nil
}

// OperatorOptions are fit for tests: no servers, unless a test asks for them.
func OperatorOptions() manager.Options {
	return manager.Options{
		MetricsAddress: "0", ProbeAddress: "0", SecureMetrics: true,
		ConcurrentReconciles: 8, CollectorWatches: 1200, QPS: -1, Burst: 100, Record: true,
	}
}

// FreeAddress finds an address that no process listens on. The port lies below the
// range from which the kernel takes source ports, so no outgoing connection
// gets it before the listener does.
func FreeAddress() (string, error) {
	const lowest, highest, tries = 10000, 20000, 100
	for range tries {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest))
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("no free port between %d and %d", lowest, highest)
}

// Namespace makes a namespace of its own for a test and deletes it afterwards.
func (s *Suite) Namespace(t testing.TB) string {
	t.Helper()
	return s.NamespaceNamed(t, fmt.Sprintf("test-%d", s.namespaces.Add(1)))
}

// NamespaceNamed makes a namespace whose name people see, in a picture. A name can be
// used once.
func (s *Suite) NamespaceNamed(t testing.TB, name string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	t.Cleanup(func() { _ = s.Client.Delete(context.Background(), ns) })
	// Pods need the default ServiceAccount, which the controller manager makes.
	Eventually(t, "the default ServiceAccount exists", func() error {
		return s.Client.Get(t.Context(), client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
	})
	return name
}

// Kubectl runs the real kubectl as admin and returns what it printed.
func (s *Suite) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.TryKubectl(t, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryKubectl runs kubectl and returns what it printed, on both streams, and
// how it ended.
func (s *Suite) TryKubectl(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(Root(), "bin", "kubectl"), args...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+s.Cluster.KubeconfigPath(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Eventually waits until check returns nil. What check says on the way is its
// progress: as long as that changes, a slow machine gets more time.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	EventuallyEvery(t, 20*time.Millisecond, what, check)
}

// EventuallyEvery is Eventually for a check that costs something.
func EventuallyEvery(t testing.TB, interval time.Duration, what string, check func() error) {
	t.Helper()
	began := time.Now()
	changed := began
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), interval, maxPatience, true, func(context.Context) (bool, error) {
		said := check()
		if said == nil {
			return true, nil
		}
		if last == nil || said.Error() != last.Error() {
			last, changed = said, time.Now()
		}
		if time.Since(changed) > Patience {
			return false, errNoProgress
		}
		return false, nil
	})
	if err != nil {
		t.Fatalf("waited %s until %s: %v", time.Since(began).Round(time.Second), what, last)
	}
}

// Stays checks for a while that something is and remains so.
func Stays(t testing.TB, d time.Duration, check func() error) {
	t.Helper()
	end := time.Now().Add(d)
	Eventually(t, "the time is over", func() error {
		if err := check(); err != nil {
			t.Fatal(err)
		}
		if left := time.Until(end); left > 0 {
			return fmt.Errorf("%s to go", left)
		}
		return nil
	})
}
