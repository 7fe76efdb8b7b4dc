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

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/mycompany/pod-operator/test/bench/figures"
)

// runner goes through the steps.
type runner struct {
	*stage
	results  figures.Results
	deadline time.Time
	errs     []error
}

// Run measures. What was measured is returned with an error, too.
func Run(ctx context.Context, o Options, log io.Writer) (figures.Results, error) {
	began := time.Now()
	s, err := newStage(ctx, o, log)
	if err != nil {
		return figures.Results{}, err
	}
	defer func() {
		if err := s.close(); err != nil {
			s.say("stop the cluster: %v", err)
		}
	}()
	version, err := s.clients.Discovery().ServerVersion()
	if err != nil {
		return figures.Results{}, fmt.Errorf("ask for the version: %w", err)
	}
	r := &runner{stage: s, deadline: began.Add(o.Budget), results: figures.Results{
		Kubernetes: version.GitVersion, CPUs: runtime.NumCPU(), FullSize: o.Sizes.full(),
		Steps: describeSteps(o.Steps, o.Sizes, began, commit(ctx)),
	}}
	s.say("Kubernetes %s is up after %.1f s", version.GitVersion, time.Since(began).Seconds())
	if o.WarmUp {
		if err := r.warmUp(ctx); err != nil {
			return r.results, fmt.Errorf("warm the cluster up: %w", err)
		}
	}
	for repetition := 1; repetition <= o.Repeat; repetition++ {
		r.repetition(ctx, repetition)
	}
	if slices.Contains(o.Steps, "f") {
		r.quiet(ctx)
	}
	return r.results, errors.Join(r.errs...)
}

// warmUp has a bare loop make as many pods as the contenders will: the first
// thousand pods of a new cluster take longer, whichever contender makes them.
func (r *runner) warmUp(ctx context.Context) error {
	r.say("warming the cluster up with %s pods that do not count", figures.Thousands(r.options.Sizes.Pods))
	t, err := r.newTrial(ctx, chosen([]string{"raw-8"})[0], 0, nil)
	if err != nil {
		return err
	}
	defer t.end(context.WithoutCancel(ctx))
	return t.scaleQuietly(ctx, r.options.Sizes.Pods)
}

// repetition runs all groups once, each with another contender first.
func (r *runner) repetition(ctx context.Context, repetition int) {
	for _, g := range groups() {
		var steps []string
		for _, step := range g.steps {
			if slices.Contains(r.options.Steps, step) && (!g.growth || repetition <= r.options.Sizes.GrowthRepeat) {
				steps = append(steps, step)
			}
		}
		if len(steps) == 0 {
			continue
		}
		var who []contender
		for _, c := range chosen(r.options.Contenders) {
			if slices.ContainsFunc(steps, c.does) {
				who = append(who, c)
			}
		}
		r.say("repetition %d of %d, steps %v", repetition, r.options.Repeat, steps)
		for _, c := range rotate(who, repetition-1) {
			if err := r.trial(ctx, g, c, repetition, steps); err != nil {
				r.fail(fmt.Errorf("steps %v of %s: %w", steps, c.name, err))
			}
		}
	}
}

// rotate begins a list at another place.
func rotate[T any](list []T, by int) []T {
	if len(list) == 0 {
		return nil
	}
	by %= len(list)
	return slices.Concat(list[by:], list[:by])
}

func (r *runner) fail(err error) {
	r.say("%v", err)
	r.errs = append(r.errs, err)
}

// spent reports whether it is too late to begin anything.
func (r *runner) spent(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if time.Now().After(r.deadline) {
		return fmt.Errorf("left out, because the budget of %s is spent", r.options.Budget)
	}
	return nil
}

func (r *runner) trial(ctx context.Context, g group, c contender, repetition int, steps []string) error {
	if err := r.spent(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.StepTimeout)
	defer cancel()
	t, err := r.newTrial(ctx, c, repetition, r.results.Add)
	if err != nil {
		return err
	}
	defer t.end(context.WithoutCancel(ctx))
	return g.run(ctx, t, steps)
}

// quiet is one quiet period for all contenders together.
func (r *runner) quiet(ctx context.Context) {
	if err := r.spent(ctx); err != nil {
		r.fail(fmt.Errorf("step f: %w", err))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.StepTimeout+r.options.Sizes.Quiet)
	defer cancel()
	r.say("a quiet %s for everybody", r.options.Sizes.Quiet)
	var trials []*trial
	defer func() {
		for _, t := range trials {
			t.end(context.WithoutCancel(ctx))
		}
	}()
	for _, c := range chosen(r.options.Contenders) {
		if !c.does("f") {
			continue
		}
		t, err := r.newTrial(ctx, c, 1, r.results.Add)
		if err != nil {
			r.fail(fmt.Errorf("step f of %s: %w", c.name, err))
			return
		}
		trials = append(trials, t)
	}
	if err := restTogether(ctx, r.stage, trials); err != nil {
		r.fail(fmt.Errorf("step f: %w", err))
	}
}
