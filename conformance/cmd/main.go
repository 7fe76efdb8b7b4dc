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

// Command conformance judges kinds that keep pods and writes a report for each.
//
// Without --kubeconfig it starts a control plane with simulated nodes for each kind, and
// the kind's controller behind a proxy, so that faults can be played. With --kubeconfig
// it uses a cluster on which the controller runs already: everything happens in
// namespaces that the suite makes and deletes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mycompany/pod-operator/conformance"
)

type options struct {
	kinds, profiles, only   []string
	kubeconfig              string
	bin, manager, manifests string
	out, version, suite     string
	patience                time.Duration
	parallel                int
	keepLogs                string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard())
	o, err := parse(os.Args[1:])
	if err == nil {
		err = o.run(ctx)
	}
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	list := func(into *[]string, name, value, usage string) {
		*into = split(value)
		flags.Func(name, usage, func(s string) error { *into = split(s); return nil })
	}
	list(&o.kinds, "kind", "podmanager,podmanager-random,replicaset,deployment,statefulset",
		"what to judge, separated by commas: "+strings.Join(conformance.Shipped(), ", ")+", or a file with an adapter")
	list(&o.profiles, "profiles", "", "core, rollout, in-place, faults; all unless given")
	list(&o.only, "only", "", "names of behaviours; all unless given")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "a cluster on which the controller runs already; without it the suite starts one")
	flags.StringVar(&o.bin, "bin", "bin", "the folder with the control plane")
	flags.StringVar(&o.manager, "manager", "", "the command of your controller, started with KUBECONFIG set; for a kind that is not ours or Kubernetes'")
	flags.StringVar(&o.manifests, "manifests", "", "what to install before: a kustomize folder")
	flags.StringVar(&o.out, "out", "", "the folder for the reports; none are written without it")
	flags.StringVar(&o.version, "version", "", "the version of your controller, for the report")
	flags.StringVar(&o.suite, "suite", "", "the commit of the suite, for the report")
	flags.DurationVar(&o.patience, "patience", time.Minute, "how long to wait for each thing")
	flags.IntVar(&o.parallel, "parallel", 6, "how many behaviours run side by side")
	flags.StringVar(&o.keepLogs, "keep-logs", "", "a folder for the logs of the controllers")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	return o, nil
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// run judges each kind, and fails when one of them does.
func (o *options) run(ctx context.Context) error {
	failed := 0
	for _, kind := range o.kinds {
		adapter, err := conformance.Load(kind)
		if err != nil {
			return err
		}
		report, err := o.judge(ctx, adapter)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		fmt.Printf("\n%s\n", report)
		if o.out != "" {
			file, err := report.Write(o.out)
			if err != nil {
				return err
			}
			fmt.Printf("wrote %s\n\n", filepath.ToSlash(file))
		}
		failed += len(report.Failures())
	}
	if failed > 0 {
		return fmt.Errorf("%d behaviours failed", failed)
	}
	return nil
}

func (o *options) judge(ctx context.Context, adapter *conformance.Adapter) (*conformance.Report, error) {
	run := conformance.Options{Adapter: adapter, Only: o.only, Patience: o.patience, Parallel: o.parallel, Progress: os.Stdout}
	for _, profile := range o.profiles {
		run.Profiles = append(run.Profiles, conformance.Profile(profile))
	}
	version, nodes := o.version, "of the given cluster"
	if o.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return nil, err
		}
		run.Config = config
	} else {
		fmt.Printf("starting Kubernetes and the controller of %s\n", adapter.Metadata.Name)
		stage, err := o.start(ctx, adapter)
		if err != nil {
			return nil, err
		}
		defer func() {
			if err := stage.stop(); err != nil {
				fmt.Fprintln(os.Stderr, "conformance: stop the cluster:", err)
			}
		}()
		run.Config, run.Disturber, nodes = stage.RESTConfig(), stage, "simulated by kwok"
	}
	report, err := conformance.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if len(adapter.Manager.KubeControllers) > 0 {
		version = report.Kubernetes
	}
	report.Suite, report.Nodes, report.Implementation.Version = o.suite, nodes, version
	return report, nil
}
