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

// Command bench measures PodManager beside other controllers; make bench runs
// it. Its first argument raw-loop makes it one of them, the bare loop; the first
// argument scale measures how it grows, for make scale.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mycompany/pod-operator/test/bench"
	"github.com/mycompany/pod-operator/test/bench/figures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	log.SetLogger(logr.Discard()) // the clients of this program have nothing to log
	if len(args) > 0 && args[0] == bench.RawLoopVerb {
		return bench.RawLoop(ctx, args[1:], os.Stderr)
	}
	if len(args) > 0 && args[0] == bench.RawResourceVerb {
		return bench.RawResource(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == bench.ScaleVerb {
		return scale(ctx, args[1:])
	}
	options, err := bench.ParseFlags(args, os.Stderr)
	if errors.Is(err, bench.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	results, err := measure(ctx, options)
	if printErr := results.Print(os.Stdout); printErr != nil {
		return errors.Join(err, printErr)
	}
	if err != nil {
		// What is incomplete is kept apart from what was measured before.
		return errors.Join(err, results.Write(options.Output+".incomplete"))
	}
	if err := results.Write(options.Output); err != nil {
		return err
	}
	if options.Document == "" {
		return nil
	}
	return results.WriteDocument(options.Document, options.Images)
}

func measure(ctx context.Context, options bench.Options) (figures.Results, error) {
	if options.ReportOnly {
		return figures.Read(options.Output)
	}
	results, err := bench.Run(ctx, options, os.Stderr)
	if err != nil {
		return results, err
	}
	if err := bench.MeasurePlanner(ctx, &results, os.Stderr); err != nil {
		return results, err
	}
	if options.Merge {
		earlier, err := figures.Read(options.Output)
		if err != nil {
			return results, err
		}
		results.Merge(earlier)
	}
	return results, nil
}

// scale measures growth. What was measured is written after each step, and the
// document also where a step did not reach its goal: that is a result.
func scale(ctx context.Context, args []string) error {
	options, err := bench.ParseScaleFlags(args, os.Stderr)
	if errors.Is(err, bench.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return bench.Scale(ctx, options, os.Stderr)
}
