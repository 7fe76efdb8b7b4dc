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

package playground

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
)

// upOptions are the flags of "up".
type upOptions struct {
	detach       bool
	port         int
	nodes        int
	audit        bool
	noOperator   bool
	operatorArgs []string
}

// supervisor is a running "up".
type supervisor struct {
	layout layout
	opts   upOptions
	out    io.Writer
	began  time.Time

	page string // the address of the operator's page, with a token

	mu    sync.Mutex // of what follows and of out
	state state
}

// up runs the playground until the context ends or a component dies.
func up(ctx context.Context, l layout, opts upOptions, out io.Writer) error {
	if err := l.checkParts(!opts.noOperator); err != nil {
		return err
	}
	if running, err := lookForEarlier(l, out); err != nil || running {
		return err
	}
	s := &supervisor{layout: l, opts: opts, out: out, began: time.Now()}
	if err := s.announce(); err != nil {
		return err
	}
	defer func() {
		if err := removeState(l, os.Getpid()); err != nil {
			s.say("%v", err)
		}
	}()
	err := s.run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("%w; nothing is left running", errStopped)
	}
	return err
}

// lookForEarlier reports a playground that is up, and clears away what is left
// of one that was killed.
func lookForEarlier(l layout, out io.Writer) (running bool, err error) {
	earlier, err := readState(l)
	if err != nil || earlier == nil {
		return false, err
	}
	if earlier.Supervisor.alive() {
		fmt.Fprintf(out, "The playground is up already (process %d). See \"bin/playground status\"; \"bin/playground down\" stops it.\n",
			earlier.Supervisor.PID)
		return true, nil
	}
	fmt.Fprintf(out, "An earlier run (process %d) was killed. Its data is kept, and this run continues with it.\n", earlier.Supervisor.PID)
	if err := earlier.killRest(); err != nil {
		return false, err
	}
	return false, os.Remove(l.state())
}

// announce writes the state file before anything is started, so that "down"
// works from the first moment.
func (s *supervisor) announce() error {
	if err := os.MkdirAll(s.layout.dir(), 0o700); err != nil {
		return err
	}
	self, err := describe("playground", os.Getpid(), 0, s.began)
	if err != nil {
		return err
	}
	s.state.Supervisor = self
	return s.state.write(s.layout)
}

// defaultWebhooks is where the API server calls an operator that has not said yet
// where it is: each puts its own port in place of this one.
const defaultWebhooks = "https://127.0.0.1:9443"

func (s *supervisor) run(ctx context.Context) error {
	manifests, err := install.Render(s.layout.manifests())
	if err != nil {
		return err
	}
	install.CallByURL(manifests, defaultWebhooks)
	cluster, err := s.startCluster(ctx, manifests)
	if err != nil {
		return err
	}
	defer func() {
		s.say("stopping")
		if err := cluster.Stop(); err != nil {
			s.say("%v", err)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	keeping.Go(func() {
		if err := provideVolumes(ctx, cluster.RESTConfig(), s.say); err != nil && ctx.Err() == nil {
			s.say("claims get no volumes: %v", err)
		}
	})
	if s.opts.noOperator {
		return s.idle(ctx, cluster)
	}
	page, err := localkube.FreePort()
	if err != nil {
		return err
	}
	op := &operator{layout: s.layout, cluster: cluster, args: s.opts.operatorArgs, started: s.record, say: s.say, explain: page}
	if err := s.startOperator(ctx, op, manifests, &keeping); err != nil {
		return s.explain(err, cluster)
	}
	if err := s.showSample(ctx, cluster); err != nil {
		return s.explain(err, cluster)
	}
	if s.page, err = pageURL(ctx, cluster.RESTConfig(), fmt.Sprintf("https://127.0.0.1:%d", page)); err != nil {
		return s.explain(err, cluster)
	}
	if err := tellPlugin(s.layout.kubeconfig(), page); err != nil {
		return err
	}
	return s.idle(ctx, cluster)
}

func (s *supervisor) startCluster(ctx context.Context, manifests []*unstructured.Unstructured) (*localkube.Cluster, error) {
	_, statErr := os.Stat(s.layout.cluster())
	opts := localkube.Options{
		BinDir: s.layout.planeDir(),
		Dir:    s.layout.cluster(),
		Port:   s.opts.port,
		Nodes:  localkube.NodeOptions{Count: s.opts.nodes},
		Log:    lockedWriter{s},
		OnAPIReady: func(ctx context.Context, admin *rest.Config) error {
			return install.Apply(ctx, admin, manifests)
		},
	}
	if s.opts.audit {
		opts.Audit.Level = localkube.AuditMetadata
	}
	cluster, err := localkube.Start(ctx, opts)
	if err != nil {
		return nil, startError(err, statErr == nil)
	}
	if err := cluster.WriteKubeconfig(s.layout.kubeconfig(), cluster.RESTConfig()); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	for _, component := range cluster.Components() {
		p, err := cluster.Process(component)
		if err != nil {
			return nil, errors.Join(err, cluster.Stop())
		}
		entry, err := describe(string(component), p.PID(), cluster.Port(component), p.Started())
		if err == nil {
			err = s.record(entry)
		}
		if err != nil {
			return nil, errors.Join(err, cluster.Stop())
		}
	}
	return cluster, nil
}

// startError adds what to do about it.
func startError(err error, hadData bool) error {
	switch {
	case errors.Is(err, localkube.ErrNoBinaries):
		return err
	case errors.Is(err, localkube.ErrPortBusy):
		return fmt.Errorf("%w: leave --port out to get a free one, or stop the process that has it", err)
	case errors.Is(err, localkube.ErrDirInUse):
		return fmt.Errorf(`%w: another playground is just starting or stopping; try again in a moment`, err)
	case hadData:
		return fmt.Errorf("%w\nThis run continued with the data of an earlier one. If that is the reason, "+
			`"bin/playground reset" removes it, and the next "up" starts afresh`, err)
	}
	return err
}

func (s *supervisor) startOperator(ctx context.Context, op *operator, manifests []*unstructured.Unstructured, keeping *sync.WaitGroup) error {
	if err := op.login(ctx, manifests); err != nil {
		return err
	}
	p, err := op.start(ctx)
	if err != nil {
		return err
	}
	s.say("the operator is ready after %.1fs", time.Since(p.Started()).Seconds())
	keeping.Go(func() { op.keep(ctx, p) })
	return nil
}

func (s *supervisor) showSample(ctx context.Context, cluster *localkube.Cluster) error {
	example, err := newSample(cluster.RESTConfig(), s.layout.sample())
	if err != nil {
		return err
	}
	if err := example.create(ctx); err != nil {
		return err
	}
	b := newBoard(s.out)
	err = example.wait(ctx, func(v view) {
		s.mu.Lock()
		defer s.mu.Unlock()
		b.show(v)
	})
	if err != nil && ctx.Err() == nil {
		s.say("%v", err) // people want to look at it, so the playground stays
	}
	return nil
}

// idle says what to try and waits for the end.
func (s *supervisor) idle(ctx context.Context, cluster *localkube.Cluster) error {
	// In this order: with --detach, our parent reads our output until we are ready.
	s.say("%s", s.hints())
	s.mu.Lock()
	s.state.Ready = time.Now()
	err := s.state.write(s.layout)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-cluster.Died():
			var died *localkube.DiedError
			if !errors.As(err, &died) || died.Name != operatorName {
				return err
			}
			s.say("%v", err) // and operator.keep starts it again
		}
	}
}

func (s *supervisor) hints() string {
	took := time.Since(s.began).Round(100 * time.Millisecond)
	if s.opts.noOperator {
		return fmt.Sprintf(`
Up after %s, without the operator. In another terminal:

  make run                                         # the operator, from source
  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl apply -f config/samples/                 # something for it to do
  bin/playground page                              # the link of its page

"bin/playground down" stops it all.`, took, s.layout.kubeconfig(), s.layout.binDir())
	}
	where, end := "In another terminal, try", "Ctrl-C stops it all."
	if s.opts.detach {
		where, end = "Try", `"bin/playground down" stops it all.`
	}
	return fmt.Sprintf(`
Up after %s. %s:

  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl get podmanager,pods
  kubectl scale pm/my-pod-manager --replicas=5
  kubectl delete pod my-pod-manager-1
  kubectl describe pm my-pod-manager

Or watch it in a browser, which will not know the certificate (the token in the link works for a day):

  %s

No containers run, so kubectl logs has nothing of the operator: its log is %s

%s`, took, where, s.layout.kubeconfig(), s.layout.binDir(), s.page, s.layout.operatorLog(), end)
}

// explain prefers the report of a component that died to the error that its
// client got.
func (s *supervisor) explain(err error, cluster *localkube.Cluster) error {
	select {
	case died := <-cluster.Died():
		return died
	default:
		return err
	}
}

// record writes a process into the state file.
func (s *supervisor) record(p process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.set(p)
	return s.state.write(s.layout)
}

func (s *supervisor) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// lockedWriter lets localkube's goroutines write between our own lines.
type lockedWriter struct{ s *supervisor }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.out.Write(p)
}
