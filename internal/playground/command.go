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

package playground

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs the command and returns its exit code.
func Main(args []string, out, errOut io.Writer) int {
	// Without a logger, controller-runtime prints a stack trace when a process is older than 30 s.
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Who presses Ctrl-C a second time does not want to wait: then the signal
	// ends us, and the kernel our children.
	context.AfterFunc(ctx, stop)

	command := newCommand()
	command.SetArgs(args)
	command.SetOut(out)
	command.SetErr(errOut)
	err := command.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errStopped):
		fmt.Fprintln(out, err)
		return 0
	default:
		fmt.Fprintln(errOut, "playground:", err)
		return 1
	}
}

// errStopped says that the playground was asked to stop, which is no failure.
var errStopped = errors.New("stopped")

func newCommand() *cobra.Command {
	var l layout
	root := &cobra.Command{
		Use:           "playground",
		Short:         "A real local Kubernetes with the operator on it",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if l.root != "" {
				return nil
			}
			found, err := findRoot()
			l.root = found.root
			return err
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringVar(&l.root, "root", "", "the project's folder, when it is not the one around the working folder")
	root.AddCommand(upCommand(&l), kubeconfigCommand(&l), kubectlCommand(&l), installCommand(&l), operatorFlagsCommand(&l), pageCommand(&l),
		&cobra.Command{
			Use: "down", Short: "Stop it; the data stays", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return down(c.Context(), l, c.OutOrStdout()) },
		},
		&cobra.Command{
			Use: "status", Short: "Show its processes and the API server's health", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return status(c.Context(), l, c.OutOrStdout(), time.Now()) },
		},
		&cobra.Command{
			Use: "reset", Short: "Stop it and remove its data", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return reset(c.Context(), l, c.OutOrStdout()) },
		},
	)
	return root
}

func upCommand(l *layout) *cobra.Command {
	var opts upOptions
	var inBackground bool
	var cluster string
	command := &cobra.Command{
		Use:   "up [-- OPERATOR FLAGS]",
		Short: "Start it, with the operator and a sample, and show the sample until it is ready",
		Example: `  playground up
  playground up --detach --nodes=10
  playground up --cluster=current
  playground up -- --zap-log-level=debug`,
		RunE: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return fmt.Errorf("up takes no arguments but the operator's flags after --, not %q", args[0])
			}
			opts.operatorArgs = args
			switch cluster {
			case "":
			case "current":
				return upOnCurrent(c.Context(), *l, opts, c.OutOrStdout())
			default:
				return fmt.Errorf("--cluster is %q: it is current, or left out for a local one", cluster)
			}
			if opts.detach && !inBackground {
				return detach(c.Context(), *l, opts, c.OutOrStdout())
			}
			opts.detach = inBackground
			return up(c.Context(), *l, opts, c.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.BoolVarP(&opts.detach, "detach", "d", false, "give the prompt back when it is ready, and go on in the background")
	flags.IntVar(&opts.port, "port", 0, "the API server's port; 0 means any free one")
	flags.IntVar(&opts.nodes, "nodes", 3, "how many nodes there are")
	flags.BoolVar(&opts.audit, "audit", false, "write an audit log to .playground/cluster/logs/audit.log")
	flags.BoolVar(&opts.noOperator, "without-operator", false, `do not run the operator, so that "make run" can`)
	flags.StringVar(&l.kubernetes, "kubernetes", "", `the version of Kubernetes, such as 1.36; "make up K8S=1.36" builds it`)
	flags.StringVar(&cluster, "cluster", "", `"current" runs the operator on the cluster of the current kubeconfig instead of a local one`)
	flags.BoolVar(&inBackground, "in-background", false, "")
	_ = flags.MarkHidden("in-background") // it is there, two lines above
	return command
}

func kubeconfigCommand(l *layout) *cobra.Command {
	return &cobra.Command{
		Use: "kubeconfig", Short: "Print the path of the administrator's kubeconfig", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), l.kubeconfig())
			return err
		},
	}
}

func kubectlCommand(l *layout) *cobra.Command {
	command := &cobra.Command{
		Use: "kubectl -- ARGS", Short: "Run kubectl as the administrator",
		Example: "  playground kubectl -- get podmanager,pods",
		RunE:    func(_ *cobra.Command, args []string) error { return runKubectl(*l, args) },
	}
	// From the first word on, flags are kubectl's; the two dashes are needed
	// only where kubectl's command begins with a flag.
	command.Flags().SetInterspersed(false)
	return command
}

// runKubectl becomes kubectl: the terminal, the signals and the exit code are its.
func runKubectl(l layout, args []string) error {
	if _, err := readRunning(l); err != nil {
		return err
	}
	kubectl := l.bin("kubectl")
	environment := append(os.Environ(), "KUBECONFIG="+l.kubeconfig())
	if err := syscall.Exec(kubectl, append([]string{"kubectl"}, args...), environment); err != nil {
		return fmt.Errorf("run %s: %w", kubectl, err)
	}
	return nil
}
