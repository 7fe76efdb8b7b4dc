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
	"strconv"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/test/bench/figures"
)

// ScaleVerb as the first argument measures growth; the flags follow.
const ScaleVerb = "scale"

// ScaleOptions say how large things grow.
type ScaleOptions struct {
	// Sizes are numbers of pods in objects of ObjectPods each, OneSizes those of
	// one object, both in ascending order.
	Sizes, OneSizes []int
	ObjectPods      int
	Contenders      []string
	// Shards is how many operators share the largest of Sizes; 0 leaves that out.
	Shards int
	// Timeout is how long one step may take at one size.
	Timeout time.Duration
	Manager string

	// Output is the JSON file; Document and Images are left alone when empty.
	Output, Document, Images string
	// Merge keeps the series of an earlier Output that are not measured now.
	Merge bool
	// ReportOnly measures nothing and writes Document from Output.
	ReportOnly bool
}

// scaleContenders are who can take part.
func scaleContenders() []string { return []string{figures.PodManager, figures.ReplicaSet} }

// ParseScaleFlags reads the command line.
func ParseScaleFlags(args []string, output io.Writer) (ScaleOptions, error) {
	var o ScaleOptions
	var sizes, one, contenders string
	fs := flag.NewFlagSet("scale", flag.ContinueOnError)
	fs.SetOutput(output)
	fs.StringVar(&sizes, "sizes", "1000,5000,20000,50000", "Pods of many objects, separated by commas; empty leaves these out.")
	fs.StringVar(&one, "one-sizes", "1000,5000,20000", "Pods of one object, separated by commas; empty leaves these out.")
	fs.IntVar(&o.ObjectPods, "object-pods", 5, "How many pods each of many objects has.")
	fs.StringVar(&contenders, "contenders", strings.Join(scaleContenders(), ","), "Who takes part, separated by commas; empty means none but the shards.")
	fs.IntVar(&o.Shards, "shards", 4, "How many operators share the pods of the largest size; 0 leaves that out.")
	fs.DurationVar(&o.Timeout, "timeout", 20*time.Minute, "How long a contender may take for one step at one size.")
	fs.StringVar(&o.Manager, "manager", "bin/manager", "The operator.")
	fs.StringVar(&o.Output, "output", "test/bench/results/scale.json", "Where the samples go.")
	fs.StringVar(&o.Document, "document", "docs/scale.md", "The document to update; empty for none.")
	fs.StringVar(&o.Images, "images", "docs/images", "The folder for the plot.")
	fs.BoolVar(&o.Merge, "merge", false, "Keep the series of an earlier output that are not measured now.")
	fs.BoolVar(&o.ReportOnly, "report-only", false, "Measure nothing, write the document from the output.")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag; see --help", fs.Arg(0))
	}
	o.Contenders = splitList(contenders)
	var err, oneErr error
	o.Sizes, err = parseSizes("sizes", sizes)
	o.OneSizes, oneErr = parseSizes("one-sizes", one)
	return o, errors.Join(err, oneErr, o.validate())
}

func parseSizes(name, list string) ([]int, error) {
	var sizes []int
	for _, text := range splitList(list) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--%s: %q is no number of pods", name, text)
		}
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), nil
}

func (o *ScaleOptions) validate() error {
	var errs []error
	for _, name := range o.Contenders {
		if !slices.Contains(scaleContenders(), name) {
			errs = append(errs, fmt.Errorf("--contenders: no contender is called %q, choose from %s", name, strings.Join(scaleContenders(), ", ")))
		}
	}
	if o.ObjectPods < 1 {
		errs = append(errs, fmt.Errorf("--object-pods is %d: it must be at least 1", o.ObjectPods))
	}
	for _, size := range o.Sizes {
		if o.ObjectPods > 0 && size%o.ObjectPods != 0 {
			errs = append(errs, fmt.Errorf("--sizes: %d pods are not whole objects of %d", size, o.ObjectPods))
		}
	}
	if o.Shards < 0 {
		errs = append(errs, fmt.Errorf("--shards is %d: it must be at least 0", o.Shards))
	}
	if o.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout is %s: a step needs time", o.Timeout))
	}
	return errors.Join(errs...)
}
