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
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/bench/figures"
)

// stepNames in the order of the report.
func stepNames() []string { return []string{"a", "b", "c", "d", "e", "f", "g1", "g2"} }

// describeSteps says what is measured, with the sizes, when, and at which commit.
func describeSteps(names []string, s Sizes, now time.Time, built string) []figures.Step {
	n := figures.Thousands
	all := []figures.Step{
		{Name: "a", Title: fmt.Sprintf("0 to %s pods of one object", n(s.Pods)), Goal: "until all are ready, and the status says so"},
		{Name: "b", Title: fmt.Sprintf("%s pods to 0", n(s.Pods)), Goal: "until all are terminating"},
		{Name: "c", Title: fmt.Sprintf("%s of %s pods force-deleted", n(s.Killed), n(s.Pods)), Goal: "until they are replaced and ready, and the status says so"},
		{
			Name: "d", Title: fmt.Sprintf("another image for %s pods", n(s.Rollout)),
			Goal: "until all have it and are ready, and the status says so; at most 25 % unavailable and 25 % more",
		},
		{Name: "e", Title: fmt.Sprintf("%s new objects of %s pods", n(s.Objects), n(s.ObjectPods)), Goal: "until all are ready, and every status says so"},
		{
			Name: "f", Title: fmt.Sprintf("%s at rest", s.Quiet),
			Goal: fmt.Sprintf("all contenders at once, each with %s pods; the API server's CPU is that of all together", n(s.Rollout)),
		},
		{Name: "g1", Title: fmt.Sprintf("0 to %s pods of one object", n(s.GrowthPods)), Goal: "until all are ready, and the status says so"},
		{Name: "g2", Title: fmt.Sprintf("%s new objects of %s pods", n(s.GrowthObjects), n(s.GrowthEach)), Goal: "until all are ready, and every status says so"},
	}
	all = slices.DeleteFunc(all, func(step figures.Step) bool { return !slices.Contains(names, step.Name) })
	for i := range all {
		all[i].Time, all[i].Commit = now.UTC().Truncate(time.Second), built
	}
	return all
}

// commit is the one that is checked out, or nothing outside of a repository.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "-C", testkit.Root(), "rev-parse", "--short=7", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// group is a list of steps that one process goes through.
type group struct {
	steps []string
	// growth steps are repeated less often.
	growth bool
	run    func(ctx context.Context, t *trial, steps []string) error
}

// groups leave out the quiet minute, which all spend together.
func groups() []group {
	return []group{
		{steps: []string{"a", "c", "b"}, run: runScale},
		{steps: []string{"d"}, run: func(ctx context.Context, t *trial, _ []string) error { return t.rollOut(ctx) }},
		{steps: []string{"e"}, run: func(ctx context.Context, t *trial, _ []string) error {
			return t.createMany(ctx, "e", t.options.Sizes.Objects, t.options.Sizes.ObjectPods)
		}},
		{steps: []string{"g1"}, growth: true, run: func(ctx context.Context, t *trial, _ []string) error {
			return t.scaleUp(ctx, "g1", t.options.Sizes.GrowthPods)
		}},
		{steps: []string{"g2"}, growth: true, run: func(ctx context.Context, t *trial, _ []string) error {
			return t.createMany(ctx, "g2", t.options.Sizes.GrowthObjects, t.options.Sizes.GrowthEach)
		}},
	}
}

// runScale goes up, loses some, and goes down. What is not measured is done all
// the same where something after it needs it.
func runScale(ctx context.Context, t *trial, steps []string) error {
	pods := t.options.Sizes.Pods
	if slices.Contains(steps, "a") {
		if err := t.scaleUp(ctx, "a", pods); err != nil {
			return err
		}
	} else if err := t.scaleQuietly(ctx, pods); err != nil {
		return err
	}
	if slices.Contains(steps, "c") && t.contender.does("c") {
		if err := t.kill(ctx, t.options.Sizes.Killed); err != nil {
			return err
		}
	}
	if slices.Contains(steps, "b") {
		return t.scaleDown(ctx)
	}
	return nil
}

func (t *trial) scaleQuietly(ctx context.Context, pods int) error {
	if err := t.scale(ctx, pods); err != nil {
		return err
	}
	if _, err := t.observer.until(ctx, "all pods are ready", t.all(1, pods)); err != nil {
		return err
	}
	return t.settle(ctx)
}

func (t *trial) scaleUp(ctx context.Context, step string, pods int) error {
	return t.measure(ctx, step, func(ctx context.Context, watch *stopwatch) error {
		if err := t.scale(ctx, pods); err != nil {
			return err
		}
		at, err := t.observer.until(ctx, "all pods exist", func(v view) bool { return v.Live >= pods })
		if err != nil {
			return err
		}
		watch.lap("exist", at)
		if at, err = t.observer.until(ctx, "all pods are ready", func(v view) bool { return v.Ready >= pods }); err != nil {
			return err
		}
		watch.lap("ready", at)
		if at, err = t.observer.until(ctx, "the status says so", t.all(1, pods)); err != nil {
			return err
		}
		watch.stop(at)
		return nil
	})
}

func (t *trial) kill(ctx context.Context, count int) error {
	pods := t.options.Sizes.Pods
	killed := t.observer.some(count)
	everywhere := t.all(1, pods)
	return t.measure(ctx, "c", func(ctx context.Context, watch *stopwatch) error {
		err := inParallel(ctx, len(killed), func(ctx context.Context, i int) error {
			return t.clients.CoreV1().Pods(killed[i].namespace).Delete(ctx, killed[i].name, *metav1.NewDeleteOptions(0))
		})
		if err != nil {
			return fmt.Errorf("force-delete pods: %w", err)
		}
		watch.lap("deleted", time.Now())
		at, err := t.observer.until(ctx, "the pods are replaced", func(v view) bool { return everywhere(v) && t.observer.gone(killed) })
		watch.stop(at)
		return err
	})
}

func (t *trial) scaleDown(ctx context.Context) error {
	return t.measure(ctx, "b", func(ctx context.Context, watch *stopwatch) error {
		if err := t.scale(ctx, 0); err != nil {
			return err
		}
		at, err := t.observer.until(ctx, "all pods are terminating", func(v view) bool { return v.Live == 0 })
		if err != nil {
			return err
		}
		watch.stop(at)
		if at, err = t.observer.until(ctx, "all pods are gone, and the status says so", t.none); err != nil {
			return err
		}
		watch.lap("gone", at)
		return nil
	})
}

func (t *trial) rollOut(ctx context.Context) error {
	pods := t.options.Sizes.Rollout
	if err := t.scaleQuietly(ctx, pods); err != nil {
		return err
	}
	return t.measure(ctx, "d", func(ctx context.Context, watch *stopwatch) error {
		_, err := t.resource().Patch(ctx, rawFleet, types.JSONPatchType, imagePatch(newImage), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("change the image of %s: %w", rawFleet, err)
		}
		everywhere := t.all(1, pods)
		at, err := t.observer.until(ctx, "all pods have the new image and are ready", func(v view) bool {
			return v.ByImage[newImage] == pods && everywhere(v)
		})
		watch.stop(at)
		return err
	})
}

func (t *trial) createMany(ctx context.Context, step string, objects, each int) error {
	return t.measure(ctx, step, func(ctx context.Context, watch *stopwatch) error {
		err := inParallel(ctx, objects, func(ctx context.Context, i int) error {
			return t.create(ctx, fmt.Sprintf("%s-%d", rawFleet, i), each)
		})
		if err != nil {
			return err
		}
		watch.lap("objects", time.Now())
		// The fleet of the warm-up is one more, without pods.
		at, err := t.observer.until(ctx, "all pods of all objects are ready", t.all(objects+1, objects*each))
		watch.stop(at)
		return err
	})
}

// restTogether lets all trials do nothing for a while, together.
func restTogether(ctx context.Context, s *stage, trials []*trial) error {
	var users []string
	for _, t := range trials {
		if err := t.scaleQuietly(ctx, s.options.Sizes.Rollout); err != nil {
			return err
		}
		users = append(users, t.process.user)
	}
	if err := s.settle(ctx, users...); err != nil {
		return err
	}
	before := make([]reading, len(trials))
	for i, t := range trials {
		var err error
		if before[i], err = t.startMeters(); err != nil {
			return err
		}
	}
	began := time.Now()
	timer := time.NewTimer(s.options.Sizes.Quiet)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}
	if err := s.ledger.read(time.Now()); err != nil {
		return err
	}
	for i, t := range trials {
		sample, err := t.sample("f", before[i], &stopwatch{done: time.Since(began).Seconds()})
		if err != nil {
			return err
		}
		t.say("  f    %-22s %d writes, %d LISTs, %.2f s CPU, %d MB", t.contender.name, sample.TotalWrites(), sample.Lists, sample.ControllerCPU, sample.PeakMemory/1e6)
		if err := t.add(sample); err != nil {
			return err
		}
	}
	return nil
}
