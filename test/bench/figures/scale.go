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

package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// PodManagerShards is PodManager with several operators that share the work.
const PodManagerShards = "podmanager-shards"

// Shape is how pods are spread over objects.
type Shape string

// The shapes that are measured.
const (
	// Many objects, each with the same small number of pods.
	Many Shape = "many"
	// One object with all pods.
	One Shape = "one"
)

// The steps at each size.
const (
	// Grow adds the pods that are missing to the size.
	Grow = "grow"
	// Restart starts the controller again after it missed the loss of a few pods.
	Restart = "restart"
	// Lost deletes a hundredth of the pods.
	Lost = "lost"
)

// The milestones of a Growth.
const (
	// FirstAction is the first pod that a restarted controller creates.
	FirstAction = "first"
	// Objects is when all objects are created.
	Objects = "objects"
	// Exist is when all pods are created.
	Exist = "exist"
)

// Growth is what a contender did in one step at one size.
type Growth struct {
	Sample
	// Pods is the size. Before is how many there were when the step began.
	Pods   int `json:"pods"`
	Before int `json:"before"`
	// Processes of the contender. PeakMemory is that of the largest, AllMemory
	// the sum of their peaks.
	Processes int   `json:"processes"`
	AllMemory int64 `json:"allMemory"`
	// APIServerMemory and EtcdMemory are peaks of resident memory; Database is
	// the size of etcd's file.
	APIServerMemory int64 `json:"apiServerMemory"`
	EtcdMemory      int64 `json:"etcdMemory"`
	Database        int64 `json:"database"`
	// EtcdCPU and KwokCPU are seconds.
	EtcdCPU float64 `json:"etcdCPU"`
	KwokCPU float64 `json:"kwokCPU"`
	// Unfinished says why the step did not reach its goal; Ready is how many
	// pods were ready then.
	Unfinished string `json:"unfinished,omitempty"`
	Ready      int    `json:"ready,omitempty"`
}

// Series is one contender that grows on a cluster of its own.
type Series struct {
	Contender string    `json:"contender"`
	Shape     Shape     `json:"shape"`
	Time      time.Time `json:"time"`
	// Commit is what was checked out, if that is known.
	Commit  string   `json:"commit,omitempty"`
	Samples []Growth `json:"samples"`
}

// Scale is everything that make scale measured.
type Scale struct {
	Kubernetes string `json:"kubernetes"`
	CPUs       int    `json:"cpus"`
	// Memory of the machine in bytes, 0 where it is not known.
	Memory int64 `json:"memory"`
	// ObjectPods is how many pods each of many objects has.
	ObjectPods int `json:"objectPods"`
	// MemoryLimit is what the operator's Deployment allows it, in bytes.
	MemoryLimit int64 `json:"memoryLimit"`
	// Timeout is what a step may take, in seconds.
	Timeout float64  `json:"timeout"`
	Series  []Series `json:"series"`
}

// Of is the series of a contender, or nil.
func (s *Scale) Of(contender string, shape Shape) *Series {
	for i := range s.Series {
		if s.Series[i].Contender == contender && s.Series[i].Shape == shape {
			return &s.Series[i]
		}
	}
	return nil
}

// Merge takes over the series of an earlier run that this one does not have.
func (s *Scale) Merge(earlier Scale) {
	for _, series := range earlier.Series {
		if s.Of(series.Contender, series.Shape) == nil {
			s.Series = append(s.Series, series)
		}
	}
	order := []string{PodManager, ReplicaSet, PodManagerShards}
	slices.SortStableFunc(s.Series, func(a, b Series) int {
		if a.Shape != b.Shape {
			return strings.Compare(string(a.Shape), string(b.Shape)) // many, then one
		}
		return slices.Index(order, a.Contender) - slices.Index(order, b.Contender)
	})
}

// Step are the samples of one step that reached their goal, by size.
func (s *Series) Step(step string) []Growth {
	if s == nil {
		return nil
	}
	var samples []Growth
	for i := range s.Samples {
		if s.Samples[i].Step == step && s.Samples[i].Unfinished == "" {
			samples = append(samples, s.Samples[i])
		}
	}
	return samples
}

// at is a step's sample at a size, finished or not, or nil.
func (s *Series) at(step string, pods int) *Growth {
	if s == nil {
		return nil
	}
	for i := range s.Samples {
		if s.Samples[i].Step == step && s.Samples[i].Pods == pods {
			return &s.Samples[i]
		}
	}
	return nil
}

// broken is the sample that did not reach its goal, or nil.
func (s *Series) broken() *Growth {
	for i := range s.Samples {
		if s.Samples[i].Unfinished != "" {
			return &s.Samples[i]
		}
	}
	return nil
}

// Write stores what was measured as JSON.
func (s *Scale) Write(path string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// ReadScale loads what Write stored.
func ReadScale(path string) (Scale, error) {
	var s Scale
	raw, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", path, err)
	}
	return s, nil
}
