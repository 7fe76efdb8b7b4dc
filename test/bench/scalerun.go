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

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/bench/figures"
)

const (
	// scaleNodePods is how many pods a node has: fewer and larger nodes than
	// kubelets have, because each of them renews a Lease.
	scaleNodePods = 1000
	// spaceObjects is how many objects share a namespace.
	spaceObjects = 100
)

// grower is one series to be measured.
type grower struct {
	contender contender
	shape     figures.Shape
	sizes     []int
	// shards is how many operators there are; 0 means one that has everything.
	shards int
}

// growers in the order in which they are measured: what the others are compared
// with comes early, because what is late may be left out.
func (o *ScaleOptions) growers() []grower {
	var list []grower
	add := func(shape figures.Shape, sizes []int) {
		for _, c := range chosen(o.Contenders) {
			if len(sizes) > 0 {
				list = append(list, grower{contender: c, shape: shape, sizes: sizes})
			}
		}
	}
	add(figures.Many, o.Sizes)
	add(figures.One, o.OneSizes)
	if o.Shards > 0 && len(o.Sizes) > 0 {
		c := chosen([]string{figures.PodManager})[0]
		c.name = figures.PodManagerShards
		list = append(list, grower{contender: c, shape: figures.Many, sizes: o.Sizes[len(o.Sizes)-1:], shards: o.Shards})
	}
	return list
}

// Scale measures, unless only the report is wanted, and writes the document.
func Scale(ctx context.Context, o ScaleOptions, log io.Writer) error {
	var earlier figures.Scale
	if o.Merge || o.ReportOnly {
		var err error
		if earlier, err = figures.ReadScale(o.Output); err != nil {
			return err
		}
	}
	results := earlier
	var failed error
	if !o.ReportOnly {
		failed = growAll(ctx, o, log, func(now figures.Scale) error {
			now.Series = slices.Clone(now.Series)
			now.Merge(earlier)
			results = now
			return results.Write(o.Output)
		})
	}
	if o.Document == "" || len(results.Series) == 0 {
		return failed
	}
	return errors.Join(failed, results.WriteDocument(o.Document, o.Images))
}

// growAll measures one series after the other, each on a cluster of its own,
// and hands over everything so far after each step. A step that does not reach
// its goal ends its series, and is a result like others.
func growAll(ctx context.Context, o ScaleOptions, log io.Writer, save func(figures.Scale) error) error {
	results := figures.Scale{CPUs: runtime.NumCPU(), ObjectPods: o.ObjectPods, Timeout: o.Timeout.Seconds()}
	var err error
	if results.Memory, err = machineMemory(); err != nil {
		return err
	}
	container, err := shippedContainer()
	if err != nil {
		return err
	}
	results.MemoryLimit = container.Resources.Limits.Memory().Value()
	var errs []error
	for _, g := range o.growers() {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		at := len(results.Series)
		results.Series = append(results.Series, figures.Series{
			Contender: g.contender.name, Shape: g.shape, Time: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx),
		})
		err := growSeries(ctx, o, g, log, func(version string, sample figures.Growth) error {
			results.Kubernetes = version
			results.Series[at].Samples = append(results.Series[at].Samples, sample)
			return save(results)
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", g.contender.name, g.shape, err))
			fmt.Fprintf(log, "%v\n", err)
		}
	}
	return errors.Join(errs...)
}

// growSeries is one series on a new cluster.
func growSeries(ctx context.Context, o ScaleOptions, g grower, log io.Writer, add func(version string, sample figures.Growth) error) error {
	began := time.Now()
	s, err := newScaleStage(ctx, o, g, log)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.close(); err != nil {
			s.say("stop the cluster: %v", err)
		}
	}()
	version, err := s.clients.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	s.say("%s, %s: Kubernetes %s is up after %.1f s", g.contender.name, g.shape, version.GitVersion, time.Since(began).Seconds())
	t := &growth{
		stage: s, grower: g, each: o.ObjectPods, timeout: o.Timeout,
		add: func(sample figures.Growth) error { return add(version.GitVersion, sample) },
	}
	defer t.end()
	return t.run(ctx)
}

// scaleAudit writes down what contenders ask for and nothing else: at this size
// the log of all requests costs the API server more than it tells.
const scaleAudit = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: [` + contendersGroup + `]
- level: None
`

// scaleReady makes a pod ready in one cheap step. localkube's own stage plays init
// containers, gates and resizes, too, and would be the bottleneck of every contender.
const scaleReady = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: scale-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - jq: {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - jq: {key: .status.phase, operator: In, values: [Pending]}
  weight: 1
  steps:
  - patch:
      subresource: status
      template: |
        {{ $now := Now }}
        metadata: {uid: {{ .metadata.uid | Quote }}}
        status:
          observedGeneration: {{ .metadata.generation }}
          phase: Running
          startTime: {{ $now | Quote }}
          conditions:
          - {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
          - {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
          - {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
          containerStatuses:
          {{ range .spec.containers }}
          - name: {{ .name | Quote }}
            image: {{ .image | Quote }}
            imageID: simulated
            ready: true
            started: true
            restartCount: 0
            state: {running: {startedAt: {{ $now | Quote }}}}
          {{ end }}
`

// newScaleStage starts a cluster without a scheduler: templates name the node.
func newScaleStage(ctx context.Context, o ScaleOptions, g grower, log io.Writer) (*stage, error) {
	s := &stage{options: Options{Manager: o.Manager, StepTimeout: o.Timeout}, log: log}
	return s, s.start(ctx, localkube.Options{
		Components:  []localkube.Component{localkube.Etcd, localkube.APIServer, localkube.ControllerManager, localkube.Kwok},
		Audit:       localkube.AuditOptions{Policy: scaleAudit},
		ExtraStages: []string{scaleReady},
		Nodes:       localkube.NodeOptions{Count: g.nodes(), Pods: scaleNodePods, CPU: "64", Memory: "256Gi"},
	})
}

// nodes is how many there are. The pods of one object are all on one of them,
// because its template names one.
func (g *grower) nodes() int { return max(3, g.sizes[len(g.sizes)-1]/scaleNodePods) }
