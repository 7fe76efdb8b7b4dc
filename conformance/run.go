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
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options say what is judged, and where.
type Options struct {
	// Config logs in to the cluster as one that may create namespaces and what is judged.
	Config *rest.Config
	// Adapter is the kind under judgement.
	Adapter *Adapter
	// Profiles to run; empty means all.
	Profiles []Profile
	// Only narrows them to some behaviours.
	Only []string
	// Disturber, or nil where the controller does not run behind one: then the profile
	// of faults is skipped.
	Disturber Disturber
	// Patience is how long to wait for each thing; 0 means a minute.
	Patience time.Duration
	// Parallel is how many behaviours run side by side; 0 means 6.
	Parallel int
	// Progress gets a line per behaviour as it ends; nil means silence.
	Progress io.Writer
}

// Outcome is how a behaviour ended.
type Outcome string

// The outcomes.
const (
	Passed        Outcome = "passed"
	Failed        Outcome = "failed"
	Skipped       Outcome = "skipped"
	NotApplicable Outcome = "notApplicable"
)

// Result is one behaviour's.
type Result struct {
	Behaviour *Behaviour
	Outcome   Outcome
	// Message says why, for all but those that passed.
	Message string
	Took    time.Duration
}

type runner struct {
	Options
	client client.WithWatch
	mu     sync.Mutex
}

// noDisturber is why faults are skipped.
const noDisturber = "the controller does not run behind the suite's proxy: let the suite start it"

// Run judges a kind.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	if s := o.Adapter.PatienceSeconds; s > 0 {
		o.Patience = max(o.Patience, time.Duration(s)*time.Second)
	}
	if o.Parallel == 0 {
		o.Parallel = 6
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if len(o.Profiles) == 0 {
		o.Profiles = Profiles()
	}
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return nil, err
	}
	report, err := newReport(config, o.Adapter)
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, client: c}
	report.add(r.all(ctx))
	return report, ctx.Err()
}

// all runs the behaviours: those with faults one after the other, because faults are
// played to the controller and not to a namespace.
func (r *runner) all(ctx context.Context) []Result {
	chosen := slices.DeleteFunc(Behaviours(), func(b Behaviour) bool {
		return !slices.Contains(r.Profiles, b.Profile) || len(r.Only) > 0 && !slices.Contains(r.Only, b.Name)
	})
	results := make([]Result, len(chosen))
	for _, faults := range []bool{false, true} {
		group := errgroup.Group{}
		group.SetLimit(r.Parallel)
		if faults {
			group.SetLimit(1)
		}
		for i := range chosen {
			if (chosen[i].Profile == Faults) == faults {
				group.Go(func() error {
					results[i] = r.one(ctx, &chosen[i])
					r.say(&results[i])
					return nil
				})
			}
		}
		_ = group.Wait() // they have no errors of their own
	}
	return results
}

// one runs one behaviour.
func (r *runner) one(ctx context.Context, b *Behaviour) Result {
	if reason := r.Adapter.reason(b); reason != "" {
		return Result{Behaviour: b, Outcome: NotApplicable, Message: reason}
	}
	if b.Profile == Faults && r.Disturber == nil {
		return Result{Behaviour: b, Outcome: Skipped, Message: noDisturber}
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &world{
		Adapter: r.Adapter, client: r.client, faults: r.Disturber, patience: r.Patience, name: objectName,
		kept: map[string]*corev1.Pod{}, marks: map[string]string{}, opened: map[types.UID]bool{},
	}
	err := w.play(ctx, b)
	took := time.Since(began)
	if closeErr := w.close(context.WithoutCancel(ctx)); err == nil && closeErr != nil {
		err = fmt.Errorf("clean up: %w", closeErr)
	}
	if err != nil {
		return Result{Behaviour: b, Outcome: Failed, Message: err.Error(), Took: took}
	}
	return Result{Behaviour: b, Outcome: Passed, Took: took}
}

func (w *world) play(ctx context.Context, b *Behaviour) error {
	if err := w.open(ctx); err != nil {
		return err
	}
	for _, step := range b.steps {
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return w.early
}

func (r *runner) say(result *Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%-14s %-9s %-26s %5.1fs", result.Outcome.word(), result.Behaviour.Profile, result.Behaviour.Name, result.Took.Seconds())
	if result.Message != "" {
		line += "  " + result.Message
	}
	fmt.Fprintln(r.Progress, line)
}

func (o Outcome) word() string {
	switch o {
	case Passed:
		return "ok"
	case Failed:
		return "FAILED"
	case NotApplicable:
		return "does not apply"
	}
	return string(o)
}

// kubernetesVersion asks the API server.
func kubernetesVersion(config *rest.Config) (string, error) {
	clients, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	info, err := clients.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("ask for the version of Kubernetes: %w", err)
	}
	return info.GitVersion, nil
}
