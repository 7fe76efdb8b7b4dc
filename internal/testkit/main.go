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

package testkit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
)

// Setup is what the tests of a package share: a cluster and, in the process of
// the tests, an operator that logs in as its own ServiceAccount.
type Setup struct {
	Cluster localkube.Options
	// Webhooks: their configurations are installed, and the operator serves them.
	Webhooks bool
	// WithoutOperator: the tests start operators themselves.
	WithoutOperator bool
	// Operator changes how the operator runs.
	Operator func(*manager.Options) error
	// Before runs before the tests, when the cluster and the operator are up.
	Before func(context.Context, *Suite) error
	// Verdict runs when all tests have passed and the operator has ended. The
	// cluster still runs.
	Verdict func(context.Context, *Suite) error
}

// Main is a TestMain: it starts what is set up, puts it into suite, runs the
// tests and ends the process. When a test fails, the Scratch folder with the
// operators' log stays.
func Main(m *testing.M, suite **Suite, setup Setup) {
	flag.Parse()
	code, err := setup.run(m, suite)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (setup Setup) run(m *testing.M, suite **Suite) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	scratch, err := os.MkdirTemp("", "suite-")
	if err != nil {
		return 1, err
	}
	log, err := os.Create(filepath.Join(scratch, "operator.log"))
	if err != nil {
		return 1, err
	}
	defer log.Close()
	ctrl.SetLogger(zap.New(zap.WriteTo(log), zap.UseDevMode(true)))
	defer func() {
		if code == 0 && err == nil {
			err = os.RemoveAll(scratch)
		} else {
			fmt.Fprintln(os.Stderr, "the operators' log:", log.Name())
		}
	}()

	s, err := setup.start(ctx, scratch)
	if err != nil {
		return 1, err
	}
	*suite = s
	defer func() { err = errors.Join(err, s.Cluster.Stop()) }()
	if !setup.WithoutOperator {
		if err := s.Resume(ctx, s.Operator); err != nil {
			return 1, err
		}
	}
	if setup.Before != nil {
		if err := setup.Before(ctx, s); err != nil {
			return 1, errors.Join(err, s.Suspend())
		}
	}
	code = m.Run()
	if err = s.Suspend(); err == nil && code == 0 && setup.Verdict != nil {
		err = setup.Verdict(ctx, s)
	}
	return code, err
}

// start starts the cluster, and says how the operator is to run.
func (setup Setup) start(ctx context.Context, scratch string) (s *Suite, err error) {
	options, begin := OperatorOptions(), NewSuite
	if setup.Webhooks {
		begin = NewWebhookSuite
		if options, err = WebhookOptions(); err != nil {
			return nil, err
		}
	}
	if setup.Operator != nil {
		if err := setup.Operator(&options); err != nil {
			return nil, err
		}
	}
	if s, err = begin(ctx, setup.Cluster); err != nil {
		return nil, err
	}
	s.Operator, s.Scratch = options, scratch
	return s, nil
}

// Suspend ends the shared operator, where one runs.
func (s *Suite) Suspend() error {
	if s.stop == nil {
		return nil
	}
	stop := s.stop
	s.stop = nil
	return stop()
}

// Resume starts the shared operator with these options. When it returns, the
// API server trusts the operator's webhooks, if it serves any.
func (s *Suite) Resume(ctx context.Context, options manager.Options) (err error) {
	if s.stop, err = s.StartOperator(ctx, options); err != nil {
		return err
	}
	if options.Webhooks.Address == "" {
		return nil
	}
	if err := WaitServing(ctx, options); err != nil {
		return fmt.Errorf("the operator's webhooks do not serve: %w", errors.Join(err, s.Suspend()))
	}
	return nil
}

// WholeSuite reports whether all tests run. Whether something never happened is
// no question when only some of them did.
func WholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// Program builds the operator into Scratch when the first test asks for it, and
// returns its path.
func (s *Suite) Program(t testing.TB) string {
	t.Helper()
	path := filepath.Join(s.Scratch, "manager")
	s.build.Do(func() {
		command := exec.Command("go", "build", "-tags=grpcnotrace", "-o", path, "./cmd/manager")
		command.Dir = Root()
		if out, err := command.CombinedOutput(); err != nil {
			s.buildErr = fmt.Errorf("build the operator: %w\n%s", err, out)
		}
	})
	if s.buildErr != nil {
		t.Fatal(s.buildErr)
	}
	return path
}
