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

package localkube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

const (
	startTries = 3

	// deathsKept bounds the unread reports; a cluster has five components.
	deathsKept = 16
)

// Cluster is a running control plane.
type Cluster struct {
	opts      Options
	lock      *os.File
	temporary bool // Dir is ours to remove
	spawner   *spawner
	ca        *authority
	admin     *rest.Config
	ports     map[Component]int
	peerPort  int // etcd's second one
	died      chan error

	mu        sync.Mutex
	processes map[Component]*Process
	guests    []*Process // started by RunProcess
	stopped   bool
}

// Start starts a cluster and returns when it is of use: the API is ready, pods
// can be created, nodes are ready. The context bounds the start alone; the
// cluster runs until Stop.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.StartTimeout)
	defer cancel()
	for try := 1; ; try++ {
		c, err := startOnce(ctx, opts)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errPortTaken) || try == startTries {
			return nil, err
		}
		fmt.Fprintln(opts.Log, "another process took one of our ports; trying again with others")
	}
}

func startOnce(ctx context.Context, opts Options) (_ *Cluster, err error) {
	c := &Cluster{
		opts:      opts,
		ports:     map[Component]int{},
		processes: map[Component]*Process{},
		died:      make(chan error, deathsKept),
	}
	if err := c.openDir(); err != nil {
		return nil, err
	}
	c.spawner = newSpawner()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	if err := c.choosePorts(); err != nil {
		return nil, err
	}
	if err := c.writePKI(); err != nil {
		return nil, fmt.Errorf("keys and certificates: %w", err)
	}
	if err := c.startAll(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// startAll starts the components, each as early as it can be of use.
func (c *Cluster) startAll(ctx context.Context) error {
	// The API server waits for etcd by itself; its own start takes longer.
	for _, component := range []Component{Etcd, APIServer} {
		if c.opts.has(component) {
			if err := c.launch(component); err != nil {
				return err
			}
		}
	}
	for _, component := range []Component{Etcd, APIServer} {
		if c.opts.has(component) {
			if err := c.waitReady(ctx, component); err != nil {
				return err
			}
		}
	}
	if !c.opts.has(APIServer) {
		return nil
	}
	if c.opts.OnAPIReady != nil {
		if err := c.opts.OnAPIReady(ctx, c.RESTConfig()); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, component := range []Component{ControllerManager, Scheduler} {
		if c.opts.has(component) {
			group.Go(func() error { return c.launchAndWait(ctx, component) })
		}
	}
	if c.opts.has(Kwok) {
		group.Go(func() error { return c.startKwok(ctx) })
	}
	return group.Wait()
}

func (c *Cluster) launchAndWait(ctx context.Context, component Component) error {
	if component == Kwok {
		if err := c.dropNodeLeases(ctx); err != nil {
			return err
		}
	}
	if err := c.launch(component); err != nil {
		return err
	}
	return c.waitReady(ctx, component)
}

// launch starts the component's process and does not wait for anything.
func (c *Cluster) launch(component Component) error {
	args, err := c.arguments(component)
	if err != nil {
		return fmt.Errorf("%s: %w", component, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("the cluster is stopped")
	}
	process, err := startProcess(c.spawner, ProcessSpec{
		Name:    string(component),
		Path:    filepath.Join(c.opts.BinDir, string(component)),
		Args:    args,
		LogPath: c.LogPath(component),
	}, c.reportDeath)
	if err != nil {
		return err
	}
	c.processes[component] = process
	return nil
}

// RunProcess runs a program of yours as the components are run: it dies with
// us, its unexpected end is reported by Died, and Stop ends it first. Without a
// LogPath it writes to NAME.log beside the components' logs.
func (c *Cluster) RunProcess(spec ProcessSpec) (*Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, errors.New("the cluster is stopped")
	}
	if spec.LogPath == "" {
		spec.LogPath = filepath.Join(c.logDir(), spec.Name+".log")
	}
	process, err := startProcess(c.spawner, spec, c.reportDeath)
	if err != nil {
		return nil, err
	}
	c.guests = append(c.guests, process)
	return process, nil
}

func (c *Cluster) reportDeath(err error) {
	select {
	case c.died <- err:
	default: // the last sixteen have not been read either
	}
}

// Died reports components that ended without being asked to, as *DiedError.
func (c *Cluster) Died() <-chan error { return c.died }

// Kill ends the component with SIGKILL and returns when it is gone.
func (c *Cluster) Kill(component Component) error {
	process, err := c.process(component)
	if err != nil {
		return err
	}
	process.Kill()
	return nil
}

// Pause freezes the component with SIGSTOP: connections stay open, nothing answers.
func (c *Cluster) Pause(component Component) error {
	process, err := c.process(component)
	if err != nil {
		return err
	}
	return process.Pause()
}

// Resume ends a Pause.
func (c *Cluster) Resume(component Component) error {
	process, err := c.process(component)
	if err != nil {
		return err
	}
	return process.Resume()
}

// Restart stops the component if it runs, starts it again on the same port with
// the same data, and returns when it is ready.
func (c *Cluster) Restart(ctx context.Context, component Component) error {
	process, err := c.process(component)
	if err != nil {
		return err
	}
	process.Stop(stopGrace)
	return c.launchAndWait(ctx, component)
}

// Process is the component's process, running or not.
func (c *Cluster) Process(component Component) (*Process, error) { return c.process(component) }

// Usage is what the component's process has used so far.
func (c *Cluster) Usage(component Component) (Usage, error) {
	process, err := c.process(component)
	if err != nil {
		return Usage{}, err
	}
	return process.Usage()
}

func (c *Cluster) process(component Component) (*Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	process, ok := c.processes[component]
	if !ok {
		return nil, fmt.Errorf("%s is not part of this cluster", component)
	}
	return process, nil
}

// Components are those the cluster was started with, in the order of their start.
func (c *Cluster) Components() []Component {
	var out []Component
	for _, component := range Everything() {
		if c.opts.has(component) {
			out = append(out, component)
		}
	}
	return out
}

// Port is where the component serves on 127.0.0.1.
func (c *Cluster) Port(component Component) int { return c.port(component) }

func (c *Cluster) port(component Component) int { return c.ports[component] }

// Dir is the cluster's folder.
func (c *Cluster) Dir() string { return c.opts.Dir }

// LogPath is the component's log file.
func (c *Cluster) LogPath(component Component) string {
	return filepath.Join(c.logDir(), string(component)+".log")
}

func (c *Cluster) logDir() string { return filepath.Join(c.opts.Dir, "logs") }

// stopGrace is how long a process gets to end by itself. The API server would
// wait a minute for its watchers, which is not needed.
const stopGrace = 5 * time.Second

// Stop ends all processes and returns when they are gone. A folder that
// outlives the cluster is left in order; one that does not is removed. A second
// Stop does nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return nil
	}
	c.stopped = true
	c.mu.Unlock()

	for _, guest := range c.guests {
		guest.Stop(stopGrace)
	}
	if c.temporary {
		c.killAll()
	} else {
		c.stopInOrder()
	}
	c.spawner.close()
	return c.closeDir()
}

// killAll is for data that is about to be thrown away.
func (c *Cluster) killAll() {
	for _, process := range c.processes {
		process.expectExit()
		_ = process.signal(syscall.SIGKILL)
	}
	for _, process := range c.processes {
		process.Kill()
	}
}

// stopInOrder ends the API's clients first, then the API, then its storage, so
// that no component fills its log with complaints about another's absence.
func (c *Cluster) stopInOrder() {
	var clients sync.WaitGroup
	for _, component := range []Component{Kwok, Scheduler, ControllerManager} {
		if process, ok := c.processes[component]; ok {
			clients.Go(func() { process.Stop(stopGrace) })
		}
	}
	clients.Wait()
	for _, component := range []Component{APIServer, Etcd} {
		if process, ok := c.processes[component]; ok {
			process.Stop(stopGrace)
		}
	}
}
