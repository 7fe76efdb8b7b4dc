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
	"os"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"golang.org/x/sync/errgroup"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/bench/figures"
)

const (
	// silence is how long a contender sends nothing before its writes are
	// counted; silenceTimeout is how long that is waited for.
	silence        = 1500 * time.Millisecond
	silenceTimeout = 20 * time.Second
	// hands are how many requests of ours are under way at once.
	hands = 32
	// stopGrace is what a contender gets to end by itself.
	stopGrace = 15 * time.Second
)

// trial is one contender in a namespace of its own.
type trial struct {
	*stage
	contender  contender
	repetition int
	space      string
	process    *process
	observer   *observer
	add        func(figures.Sample) error
}

// namespace is the newest namespace.
func (s *stage) namespace() string { return fmt.Sprintf("bench-%d", s.namespaces) }

// newTrial starts a contender, and lets it make and remove a pod.
func (s *stage) newTrial(ctx context.Context, c contender, repetition int, add func(figures.Sample) error) (_ *trial, err error) {
	s.namespaces++
	t := &trial{stage: s, contender: c, repetition: repetition, space: s.namespace(), add: add}
	defer func() {
		if err != nil {
			t.end(context.WithoutCancel(ctx))
		}
	}()
	if err := s.createNamespace(ctx, t.space); err != nil {
		return nil, err
	}
	if t.observer, err = newObserver(context.WithoutCancel(ctx), s.clients, s.objects, &c, t.space); err != nil {
		return nil, err
	}
	if t.process, err = c.start(s, &c); err != nil {
		return nil, err
	}
	if err := t.process.waitReady(ctx); err != nil {
		return nil, err
	}
	return t, t.warmUp(ctx)
}

// createNamespace returns when pods can be made in it.
func (s *stage) createNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.clients.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := s.clients.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the default ServiceAccount of %s: %w", name, err)
	}
	return nil
}

func (t *trial) warmUp(ctx context.Context) error {
	if err := t.create(ctx, rawFleet, 1); err != nil {
		return err
	}
	if _, err := t.observer.until(ctx, t.contender.name+" has made its first pod", t.all(1, 1)); err != nil {
		return err
	}
	if err := t.scale(ctx, 0); err != nil {
		return err
	}
	if _, err := t.observer.until(ctx, t.contender.name+" has removed it", t.none); err != nil {
		return err
	}
	return t.settle(ctx)
}

// all is the view in which so many objects have so many pods, all ready, and
// say so.
func (t *trial) all(objects, pods int) func(view) bool {
	return func(v view) bool {
		return v.Live == pods && v.Ready == pods && v.Objects == objects && (t.contender.bare || v.Told == objects)
	}
}

// none is the view without pods.
func (t *trial) none(v view) bool {
	return v.Live == 0 && v.Terminating == 0 && (t.contender.bare || v.ToldNone == v.Objects)
}

func (t *trial) resource() dynamic.ResourceInterface {
	return t.objects.Resource(t.contender.gvr).Namespace(t.space)
}

func (t *trial) create(ctx context.Context, name string, replicas int) error {
	object := t.contender.object(t.space, name, replicas)
	if _, err := t.resource().Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create %s %s/%s: %w", t.contender.kind, t.space, name, err)
	}
	return nil
}

func (t *trial) scale(ctx context.Context, replicas int) error {
	_, err := t.resource().Patch(ctx, rawFleet, types.MergePatchType, t.contender.scalePatch(replicas), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scale %s %s/%s: %w", t.contender.kind, t.space, rawFleet, err)
	}
	return nil
}

// stopwatch takes the time of one step.
type stopwatch struct {
	start time.Time
	laps  map[string]float64
	done  float64
}

func (w *stopwatch) lap(name string, at time.Time) { w.laps[name] = at.Sub(w.start).Seconds() }

func (w *stopwatch) stop(at time.Time) { w.done = at.Sub(w.start).Seconds() }

// reading is what the meters show.
type reading struct {
	// contender is what all of its processes have used.
	contender  time.Duration
	components map[localkube.Component]localkube.Usage
	// machine is what all programs have used, ours what the cluster, the
	// contender and this process have.
	machine, ours time.Duration
	at            time.Time
	memory        []*memoryWatch
}

func (s *stage) readMeters(processes []*process) (r reading, err error) {
	for _, p := range processes {
		usage, err := p.Usage()
		if err != nil {
			return r, err
		}
		r.contender += usage.CPU
	}
	r.ours = r.contender
	r.components = map[localkube.Component]localkube.Usage{}
	for _, component := range s.Components() {
		usage, err := s.Usage(component)
		if err != nil {
			return r, err
		}
		r.ours += usage.CPU
		r.components[component] = usage
	}
	self, err := localkube.ProcessUsage(os.Getpid())
	if err != nil {
		return r, err
	}
	r.ours += self.CPU
	r.at = time.Now()
	r.machine, err = machineCPU()
	return r, err
}

// others is the share of the machine that programs beside ours took.
func (r reading) others(before reading) float64 {
	capacity := r.at.Sub(before.at) * time.Duration(runtime.NumCPU())
	if capacity <= 0 {
		return 0
	}
	return max(0, (r.machine-before.machine-(r.ours-before.ours)).Seconds()/capacity.Seconds())
}

// cpu is what a component has used since an earlier reading, in seconds.
func (r reading) cpu(component localkube.Component, before reading) float64 {
	return (r.components[component].CPU - before.components[component].CPU).Seconds()
}

// endMemory stops looking and returns the largest peak of a process.
func (r reading) endMemory() int64 {
	var peak int64
	for _, watch := range r.memory {
		peak = max(peak, watch.end())
	}
	return peak
}

// measure takes a sample of what act does, until the contender is silent.
func (t *trial) measure(ctx context.Context, step string, act func(context.Context, *stopwatch) error) error {
	before, err := t.startMeters()
	if err != nil {
		return err
	}
	stopProfile := t.startProfile(ctx, step)
	watch := &stopwatch{start: time.Now(), laps: map[string]float64{}}
	err = act(ctx, watch)
	if err == nil {
		err = t.settle(ctx)
	}
	if err != nil {
		before.endMemory()
		return err
	}
	stopProfile()
	sample, err := t.sample(step, before, watch)
	if err != nil {
		return err
	}
	t.say("  %-4s %-22s %8.2f s %7s writes  %5.2f s CPU  API server %5.2f s  %4d MB  others %2.0f %%", step, t.contender.name, sample.Seconds,
		figures.Thousands(sample.TotalWrites()), sample.ControllerCPU, sample.APIServerCPU, sample.PeakMemory/1e6, 100*sample.Others)
	return t.add(sample)
}

func (t *trial) startMeters() (reading, error) { return t.stage.startMeters([]*process{t.process}) }

// startMeters begins to count.
func (s *stage) startMeters(processes []*process) (reading, error) {
	if err := s.ledger.reset(); err != nil {
		return reading{}, err
	}
	for _, p := range processes {
		if err := resetPeak(p.PID()); err != nil {
			return reading{}, fmt.Errorf("reset the peak memory of %s: %w", p.user, err)
		}
	}
	before, err := s.readMeters(processes)
	for _, p := range processes {
		before.memory = append(before.memory, watchMemory(p.PID()))
	}
	return before, err
}

func (t *trial) sample(step string, before reading, watch *stopwatch) (figures.Sample, error) {
	sample, _, err := t.stage.sample([]*process{t.process}, before, watch)
	sample.Step, sample.Contender, sample.Repetition = step, t.contender.name, t.repetition
	return sample, err
}

// sample is what was counted since the meters were started. Requests and CPU
// are those of all processes, memory is that of the largest.
func (s *stage) sample(processes []*process, before reading, watch *stopwatch) (figures.Sample, reading, error) {
	private := before.endMemory()
	after, err := s.readMeters(processes)
	if err != nil {
		return figures.Sample{}, after, err
	}
	asked := requests{writes: map[string]int{}, reads: map[string]int{}}
	var peak int64
	for _, p := range processes {
		memory, err := peakMemory(p.PID())
		if err != nil {
			return figures.Sample{}, after, err
		}
		peak = max(peak, memory)
		asked.add(s.ledger.of(p.user))
	}
	return figures.Sample{
		Seconds: watch.done, Milestones: watch.laps,
		Writes: asked.writes, Reads: asked.reads, DryRuns: asked.dryRuns, Lists: asked.lists, Conflicts: asked.conflicts,
		ControllerCPU: (after.contender - before.contender).Seconds(),
		APIServerCPU:  after.cpu(localkube.APIServer, before),
		PeakMemory:    peak,
		PrivateMemory: private,
		Others:        after.others(before),
	}, after, nil
}

// settle waits until the contender has nothing more to say.
func (t *trial) settle(ctx context.Context) error { return t.stage.settle(ctx, t.process.user) }

// settle waits for silence of the users, or of all users, but no longer than
// silenceTimeout.
func (s *stage) settle(ctx context.Context, users ...string) error {
	began := time.Now()
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, silenceTimeout, true, func(context.Context) (bool, error) {
		now := time.Now()
		if err := s.ledger.read(now); err != nil {
			return false, err
		}
		last := s.ledger.lastOf(users...)
		return now.Sub(began) > silence && now.Sub(last) > silence, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil
	}
	return err
}

// end removes the trial's objects and pods, then ends the contender, and waits
// until the cluster is quiet again.
func (t *trial) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, t.options.StepTimeout)
	defer cancel()
	background := metav1.DeletePropagationBackground
	var err error
	if t.contender.bare {
		err = t.scale(ctx, 0)
	} else {
		err = t.resource().DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
	}
	if err == nil {
		err = t.clients.CoreV1().Pods(t.space).DeleteCollection(ctx, *metav1.NewDeleteOptions(0), metav1.ListOptions{})
	}
	if err == nil && t.observer != nil {
		_, err = t.observer.until(ctx, "the namespace is empty", func(v view) bool {
			return v.Live == 0 && v.Terminating == 0 && (t.contender.bare || v.Objects == 0)
		})
	}
	if t.observer != nil {
		t.observer.stop()
	}
	if t.process != nil {
		t.process.Stop(stopGrace)
	}
	if err == nil {
		err = t.stage.settle(ctx)
	}
	if err != nil {
		t.say("clean up after %s: %v", t.contender.name, err)
	}
}

// inParallel runs n requests of ours.
func inParallel(ctx context.Context, n int, request func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hands)
	for i := range n {
		group.Go(func() error { return request(ctx, i) })
	}
	return group.Wait()
}
