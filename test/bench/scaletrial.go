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
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/bench/figures"
)

const (
	// missed is how many pods are deleted while the contender is away, at most.
	missed = 10
	// progressInterval is how often a step that takes long says how far it is.
	progressInterval = 15 * time.Second
)

// growth is one contender that goes from size to size.
type growth struct {
	*stage
	grower
	// each is how many pods one of many objects has.
	each    int
	timeout time.Duration
	add     func(figures.Growth) error

	processes []*process
	observer  *observer
	// made is how many objects there are beside the first, spaces how many
	// namespaces, pods how many pods.
	made, spaces, pods int
}

// run goes through the sizes. At each of them the contender grows, is restarted,
// and replaces what was lost.
func (t *growth) run(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	steps := []struct {
		name string
		act  func(ctx context.Context, size int, watch *stopwatch) error
	}{{figures.Grow, t.grow}, {figures.Restart, t.restart}, {figures.Lost, t.lose}}
	for _, size := range t.sizes {
		for _, step := range steps {
			if finished, err := t.measure(ctx, step.name, size, step.act); err != nil || !finished {
				return err
			}
		}
	}
	return nil
}

// begin starts the contender and has it make its first pod and remove it.
func (t *growth) begin(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	if err := t.makeSpaces(ctx, 1); err != nil {
		return err
	}
	if t.observer, err = newObserver(context.WithoutCancel(ctx), t.clients, t.objects, &t.contender, ""); err != nil {
		return err
	}
	if err := t.start(ctx); err != nil {
		return err
	}
	if err := t.create(ctx, 0, 1); err != nil {
		return err
	}
	if _, err := t.observer.until(ctx, t.contender.name+" has made its first pod", t.all(1)); err != nil {
		return err
	}
	if err := t.scale(ctx, 0); err != nil {
		return err
	}
	if _, err = t.observer.until(ctx, t.contender.name+" has removed it", t.all(0)); err != nil {
		return err
	}
	return t.settle(ctx)
}

func (t *growth) end() {
	if t.observer != nil {
		t.observer.stop()
	}
	t.stop()
}

// start runs the contender's processes.
func (t *growth) start(ctx context.Context) error {
	for n := range max(1, t.shards) {
		var p *process
		var err error
		if t.shards > 0 {
			p, err = startShard(t.stage, &t.contender, t.shards, n)
		} else {
			p, err = t.contender.start(t.stage, &t.contender)
		}
		if err != nil {
			return err
		}
		t.processes = append(t.processes, p)
	}
	for _, p := range t.processes {
		if err := p.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *growth) stop() {
	var all sync.WaitGroup
	for _, p := range t.processes {
		all.Go(func() { p.Stop(stopGrace) })
	}
	all.Wait()
	t.processes = nil
}

func (t *growth) users() []string {
	var users []string
	for _, p := range t.processes {
		users = append(users, p.user)
	}
	return users
}

func (t *growth) settle(ctx context.Context) error { return t.stage.settle(ctx, t.users()...) }

// all is the view in which there are so many pods, all ready, and every object
// says so.
func (t *growth) all(pods int) func(view) bool {
	return func(v view) bool {
		return v.Live == pods && v.Ready == pods && v.Terminating == 0 && v.Objects == t.made+1 && v.Told == v.Objects
	}
}

func (t *growth) space(object int) string { return fmt.Sprintf("scale-%d", object/spaceObjects) }

// makeSpaces creates the namespaces that so many objects need.
func (t *growth) makeSpaces(ctx context.Context, objects int) error {
	first, last := t.spaces, (objects-1)/spaceObjects
	t.spaces = max(first, last+1)
	return inParallel(ctx, t.spaces-first, func(ctx context.Context, i int) error {
		return t.createNamespace(ctx, t.space((first+i)*spaceObjects))
	})
}

// create makes an object whose pods are bound to a node by their template.
func (t *growth) create(ctx context.Context, n, replicas int) error {
	object := t.contender.object(t.space(n), fmt.Sprintf("%s-%d", rawFleet, n), replicas)
	node := fmt.Sprintf("node-%d", n%t.nodes()+1)
	if err := unstructured.SetNestedField(object.Object, node, "spec", "template", "spec", "nodeName"); err != nil {
		return err
	}
	if _, err := t.objects.Resource(t.contender.gvr).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create %s %s/%s: %w", t.contender.kind, object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

// scale changes the first object.
func (t *growth) scale(ctx context.Context, replicas int) error {
	name := rawFleet + "-0"
	_, err := t.objects.Resource(t.contender.gvr).Namespace(t.space(0)).
		Patch(ctx, name, types.MergePatchType, t.contender.scalePatch(replicas), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scale %s %s/%s: %w", t.contender.kind, t.space(0), name, err)
	}
	return nil
}

// grow adds pods up to the size.
func (t *growth) grow(ctx context.Context, size int, watch *stopwatch) error {
	if t.shape == figures.One {
		if err := t.scale(ctx, size); err != nil {
			return err
		}
	} else {
		first, more := t.made+1, (size-t.pods)/t.each
		if err := t.makeSpaces(ctx, first+more); err != nil {
			return err
		}
		watch.start = time.Now()
		t.made += more
		err := inParallel(ctx, more, func(ctx context.Context, i int) error { return t.create(ctx, first+i, t.each) })
		if err != nil {
			return err
		}
		watch.lap(figures.Objects, time.Now())
	}
	t.pods = size
	at, err := t.observer.until(ctx, "all pods exist", func(v view) bool { return v.Live >= size })
	if err != nil {
		return err
	}
	watch.lap(figures.Exist, at)
	at, err = t.observer.until(ctx, "all pods are ready, and the status says so", t.all(size))
	watch.stop(at)
	return err
}

// restart deletes a few pods while the contender is away, and starts it again: its first action is the first of them that it creates anew.
func (t *growth) restart(ctx context.Context, size int, watch *stopwatch) error {
	lost := t.observer.some(min(missed, max(1, size/100)))
	if err := t.remove(ctx, lost); err != nil {
		return err
	}
	rest := size - len(lost)
	if _, err := t.observer.until(ctx, "the pods are gone", func(v view) bool { return v.Live == rest && v.Terminating == 0 }); err != nil {
		return err
	}
	watch.start = time.Now()
	if err := t.start(ctx); err != nil {
		return err
	}
	at, err := t.observer.until(ctx, "a pod is created", func(v view) bool { return v.Live > rest })
	if err != nil {
		return err
	}
	watch.lap(figures.FirstAction, at)
	at, err = t.observer.until(ctx, "the pods are replaced", t.all(size))
	watch.stop(at)
	return err
}

// lose deletes a hundredth of the pods while nothing else happens.
func (t *growth) lose(ctx context.Context, size int, watch *stopwatch) error {
	lost := t.observer.some(max(1, size/100))
	if err := t.remove(ctx, lost); err != nil {
		return err
	}
	everywhere := t.all(size)
	at, err := t.observer.until(ctx, "the pods are replaced", func(v view) bool { return everywhere(v) && t.observer.gone(lost) })
	watch.stop(at)
	return err
}

func (t *growth) remove(ctx context.Context, pods []podID) error {
	err := inParallel(ctx, len(pods), func(ctx context.Context, i int) error {
		return t.clients.CoreV1().Pods(pods[i].namespace).Delete(ctx, pods[i].name, *metav1.NewDeleteOptions(0))
	})
	if err != nil {
		return fmt.Errorf("force-delete pods: %w", err)
	}
	return nil
}

// measure takes a sample of a step, also of one that does not reach its goal.
func (t *growth) measure(ctx context.Context, step string, size int, act func(context.Context, int, *stopwatch) error) (finished bool, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, t.timeout, fmt.Errorf("its %s were over", t.timeout))
	defer cancel()
	if step == figures.Restart {
		t.stop() // what it used until here is not a part of its start
	}
	before, err := t.startMeters(t.processes)
	if err != nil {
		return false, err
	}
	for _, component := range t.Components() {
		if err := t.resetComponent(component); err != nil {
			return false, err
		}
	}
	sample := figures.Growth{Pods: size, Before: t.pods}
	silent := t.showProgress(step, size)
	watch := &stopwatch{start: time.Now(), laps: map[string]float64{}}
	failed := act(limited, size, watch)
	silent()
	if ctx.Err() != nil {
		before.endMemory()
		return false, context.Cause(ctx)
	}
	if failed != nil {
		watch.stop(time.Now())
		v, _ := t.observer.look()
		sample.Unfinished, sample.Ready = failed.Error(), v.Ready
	} else if err := t.settle(limited); err != nil {
		before.endMemory()
		return false, err
	}
	if err := t.fill(&sample, before, watch); err != nil {
		return false, errors.Join(failed, err)
	}
	sample.Step, sample.Contender, sample.Repetition = step, t.contender.name, 1
	t.report(&sample)
	return failed == nil, t.add(sample)
}

func (t *growth) resetComponent(component localkube.Component) error {
	p, err := t.Process(component)
	if err != nil {
		return err
	}
	return resetPeak(p.PID())
}

// fill reads the meters.
func (t *growth) fill(sample *figures.Growth, before reading, watch *stopwatch) error {
	if err := t.ledger.read(time.Now()); err != nil {
		before.endMemory()
		return err
	}
	counted, after, err := t.sample(t.processes, before, watch)
	if err != nil {
		return err
	}
	sample.Sample, sample.Processes = counted, len(t.processes)
	for _, p := range t.processes {
		peak, err := peakMemory(p.PID())
		if err != nil {
			return err
		}
		sample.AllMemory += peak
	}
	for component, memory := range map[localkube.Component]*int64{
		localkube.APIServer: &sample.APIServerMemory, localkube.Etcd: &sample.EtcdMemory,
	} {
		p, err := t.Process(component)
		if err != nil {
			return err
		}
		if *memory, err = peakMemory(p.PID()); err != nil {
			return err
		}
	}
	sample.EtcdCPU, sample.KwokCPU = after.cpu(localkube.Etcd, before), after.cpu(localkube.Kwok, before)
	database, err := os.Stat(filepath.Join(t.Dir(), "etcd", "member", "snap", "db"))
	if err != nil {
		return err
	}
	sample.Database = database.Size()
	return nil
}

func (t *growth) report(s *figures.Growth) {
	n := figures.Thousands
	if s.Unfinished != "" {
		t.say("  %-8s %7s pods  NOT FINISHED after %.0f s: %s", s.Step, n(s.Pods), s.Seconds, s.Unfinished)
		return
	}
	t.say("  %-8s %7s pods %8.2f s %8s writes  %6.2f s CPU  API server %7.2f s  %4d MB  API server %5d MB  database %4d MB  others %2.0f %%",
		s.Step, n(s.Pods), s.Seconds, n(s.TotalWrites()), s.ControllerCPU, s.APIServerCPU, s.PeakMemory/1e6, s.APIServerMemory/1e6,
		s.Database/1e6, 100*s.Others)
}

// showProgress says now and then how far a step is, until the returned function
// is called.
func (t *growth) showProgress(step string, size int) (stop func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	began := time.Now()
	all.Go(func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				v, _ := t.observer.look()
				t.say("  %-8s %7s pods: %s exist, %s are ready, %s objects say so, after %s", step, figures.Thousands(size),
					figures.Thousands(v.Live), figures.Thousands(v.Ready), figures.Thousands(v.Told), time.Since(began).Round(time.Second))
			}
		}
	})
	return func() { close(done); all.Wait() }
}
