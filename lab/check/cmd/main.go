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

// Command cmd grades an exercise of the lab: make lab CHECK=03.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mycompany/pod-operator/lab/check"
)

// notPassed is the exit code of a check that was made and not passed, which make lab leaves
// without a complaint of make's.
const notPassed = 3

func main() {
	o := check.Options{Out: os.Stdout, Now: time.Now}
	flags := flag.NewFlagSet("check", flag.ExitOnError)
	flags.StringVar(&o.Root, "root", ".", "the folder of the repository")
	flags.StringVar(&o.Language, "lang", "en", "the language: en or zh")
	flags.BoolVar(&o.Solution, "solution", false, "grade the solution instead of your file")
	flags.BoolVar(&o.WithoutServer, "without-server", false, "leave out the real API server")
	_ = flags.Parse(os.Args[1:]) // it exits on an error
	if flags.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "which exercise? For example: make lab CHECK=01")
		os.Exit(2)
	}
	o.Number = flags.Arg(0)
	ctrl.SetLogger(logr.Discard()) // the report says what matters
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	passed, err := check.Run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !passed {
		os.Exit(notPassed)
	}
}
