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
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Options say what to measure.
type Options struct {
	Steps      []string
	Contenders []string
	// TwoVersions has PodManagers served in v1alpha1 too.
	TwoVersions bool
	Repeat      int
	Sizes       Sizes

	// Budget is after how long no further repetition begins.
	Budget time.Duration
	// StepTimeout is how long one contender may take for one step.
	StepTimeout time.Duration

	// Manager and CloneSetManager are the operators' binaries; the second is
	// the user's own, and CloneSetConfig is the folder config of its source.
	Manager         string
	CloneSetManager string
	CloneSetConfig  string

	// Output is the JSON file; Document and Images are left alone when empty.
	Output, Document, Images string
	// Merge keeps the steps of an earlier Output that are not measured now.
	Merge bool
	// ReportOnly measures nothing and writes Document from Output.
	ReportOnly bool
	// WarmUp has a bare loop make pods first that do not count. The loop is
	// this program again, so it has to be one that knows RawLoopVerb.
	WarmUp bool
	// Profiles is a folder for CPU profiles of PodManager and the API server, or empty.
	Profiles string
	// ProfileTime is how long they are: a server ends one by time alone.
	ProfileTime time.Duration
}

// Sizes of the steps.
type Sizes struct {
	Pods          int // a, b: 0 to Pods and back
	Killed        int // c: of Pods
	Rollout       int // d
	Objects       int // e: of ObjectPods each
	ObjectPods    int
	Quiet         time.Duration // f
	GrowthPods    int           // g1
	GrowthObjects int           // g2: of GrowthEach each
	GrowthEach    int
	GrowthRepeat  int
}

// FullSizes are the sizes that the targets are set for.
func FullSizes() Sizes {
	return Sizes{
		Pods: 1000, Killed: 100, Rollout: 100, Objects: 500, ObjectPods: 2, Quiet: time.Minute,
		GrowthPods: 5000, GrowthObjects: 2000, GrowthEach: 5, GrowthRepeat: 1,
	}
}

// full reports whether the targets can be held against these sizes.
func (s Sizes) full() bool {
	full := FullSizes()
	s.GrowthRepeat = full.GrowthRepeat
	return s == full
}

// most is how many pods there are at once.
func (s Sizes) most() int {
	return max(s.Pods+s.Killed, 2*s.Rollout, s.Objects*s.ObjectPods, s.GrowthPods, s.GrowthObjects*s.GrowthEach)
}

// ErrHelp says that the user asked for help and got it.
var ErrHelp = flag.ErrHelp

// ParseFlags reads the command line.
func ParseFlags(args []string, output io.Writer) (Options, error) {
	o := Options{Sizes: FullSizes()}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(output)
	var steps, contenders string
	fs.StringVar(&steps, "steps", "a,b,c,d,e,f,g", "The steps, separated by commas; g1 and g2 are the two parts of g.")
	fs.StringVar(&contenders, "contenders", "", "Who takes part, separated by commas. Empty means all: "+strings.Join(contenderNames(true), ", ")+".")
	fs.BoolVar(&o.TwoVersions, "two-versions", false, "Serve PodManagers in v1alpha1 too, which are converted then.")
	fs.IntVar(&o.Repeat, "repeat", 3, "How often each contender runs each step.")
	fs.DurationVar(&o.Budget, "budget", 45*time.Minute, "After how long no further run of a step begins. What was measured is reported.")
	fs.DurationVar(&o.StepTimeout, "step-timeout", 6*time.Minute, "How long one contender may take for one step.")
	fs.IntVar(&o.Sizes.Pods, "pods", o.Sizes.Pods, "Steps a and b: from 0 to so many pods, and back.")
	fs.IntVar(&o.Sizes.Killed, "kill", o.Sizes.Killed, "Step c: how many of those pods are force-deleted.")
	fs.IntVar(&o.Sizes.Rollout, "rollout", o.Sizes.Rollout, "Step d: how many pods get another image.")
	fs.IntVar(&o.Sizes.Objects, "objects", o.Sizes.Objects, "Step e: how many objects.")
	fs.IntVar(&o.Sizes.ObjectPods, "object-pods", o.Sizes.ObjectPods, "Step e: how many pods each has.")
	fs.DurationVar(&o.Sizes.Quiet, "quiet", o.Sizes.Quiet, "Step f: how long nothing happens.")
	fs.IntVar(&o.Sizes.GrowthPods, "growth-pods", o.Sizes.GrowthPods, "Step g1: from 0 to so many pods of one object.")
	fs.IntVar(&o.Sizes.GrowthObjects, "growth-objects", o.Sizes.GrowthObjects, "Step g2: how many objects.")
	fs.IntVar(&o.Sizes.GrowthEach, "growth-object-pods", o.Sizes.GrowthEach, "Step g2: how many pods each has.")
	fs.IntVar(&o.Sizes.GrowthRepeat, "growth-repeat", o.Sizes.GrowthRepeat, "Step g: how often.")
	fs.StringVar(&o.Manager, "manager", "bin/manager", "The operator.")
	fs.StringVar(&o.CloneSetManager, "cloneset-manager", "", "A manager of OpenKruise that you built; without it CloneSet does not take part.")
	fs.StringVar(&o.CloneSetConfig, "cloneset-config", "", "The folder config of the source that it was built from, for its CRDs and webhooks.")
	fs.StringVar(&o.Output, "output", "test/bench/results/bench.json", "Where the samples go.")
	fs.StringVar(&o.Document, "document", "docs/performance.md", "The document to update; empty for none.")
	fs.StringVar(&o.Images, "images", "docs/images", "The folder for the plots.")
	fs.BoolVar(&o.Merge, "merge", false, "Keep the steps of an earlier output that are not measured now.")
	fs.BoolVar(&o.ReportOnly, "report-only", false, "Measure nothing, write the document from the output.")
	fs.BoolVar(&o.WarmUp, "warm-up", true, "Create pods that do not count before the first measurement.")
	fs.StringVar(&o.Profiles, "profiles", "", "A folder for CPU profiles of the API server and CPU and heap profiles of PodManager, for each step; taking them costs time.")
	fs.DurationVar(&o.ProfileTime, "profile-time", 15*time.Second, "How long the CPU profiles are, from the beginning of a step.")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag; see --help", fs.Arg(0))
	}
	o.Steps = expandSteps(splitList(steps))
	o.Contenders = splitList(contenders)
	if len(o.Contenders) == 0 {
		o.Contenders = contenderNames(o.CloneSetManager != "")
	}
	return o, o.validate()
}

func splitList(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func expandSteps(names []string) []string {
	var steps []string
	for _, name := range names {
		if name == "g" {
			steps = append(steps, "g1", "g2")
		} else {
			steps = append(steps, name)
		}
	}
	return steps
}

func (o *Options) validate() error {
	var errs []error
	for _, name := range o.Steps {
		if !slices.Contains(stepNames(), name) {
			errs = append(errs, fmt.Errorf("--steps: there is no step %q, choose from %s", name, strings.Join(stepNames(), ", ")))
		}
	}
	for _, name := range o.Contenders {
		if !slices.Contains(contenderNames(true), name) {
			errs = append(errs, fmt.Errorf("--contenders: no contender is called %q, choose from %s", name, strings.Join(contenderNames(true), ", ")))
		}
		if strings.HasPrefix(name, "cloneset") && (o.CloneSetManager == "" || o.CloneSetConfig == "") {
			errs = append(errs, fmt.Errorf("--contenders: %s needs --cloneset-manager and --cloneset-config", name))
		}
	}
	for name, n := range map[string]int{
		"repeat": o.Repeat, "pods": o.Sizes.Pods, "kill": o.Sizes.Killed, "rollout": o.Sizes.Rollout, "objects": o.Sizes.Objects,
		"object-pods": o.Sizes.ObjectPods, "growth-pods": o.Sizes.GrowthPods, "growth-objects": o.Sizes.GrowthObjects,
		"growth-object-pods": o.Sizes.GrowthEach, "growth-repeat": o.Sizes.GrowthRepeat,
	} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("--%s is %d: it must be at least 1", name, n))
		}
	}
	if o.Sizes.Killed > o.Sizes.Pods {
		errs = append(errs, fmt.Errorf("--kill is %d of --pods %d", o.Sizes.Killed, o.Sizes.Pods))
	}
	return errors.Join(errs...)
}
