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

// Package dashboard is "kubectl podmanager dashboard": the operator's page in a
// browser, through this command, until it is ended. The browser gets a token that
// only this command knows; the user's own stays here.
package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

type options struct {
	explain *explain.Options
	open    bool
	port    uint16
}

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	o := &options{explain: e}
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show the operator's page in a browser, until Ctrl-C",
		Long: "Serve the operator's page on this machine and print the link, until Ctrl-C. The requests go to the operator as those of\n" +
			"the other verbs do: to --explain-url, or through a port that is forwarded to its pod, with a short-lived token if one can\n" +
			"be made (--explain-account). The token in the link is for this command alone and ends with it.",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	cmd.Flags().BoolVar(&o.open, "open", false, "Open the link in a browser, if the output is a terminal.")
	cmd.Flags().Uint16Var(&o.port, "port", 0, "The port on this machine; 0 takes a free one.")
	return cmd
}

func (o *options) run(ctx context.Context, s *kube.Session) error {
	operator, err := o.explain.Connect(ctx, s)
	if err != nil {
		return fmt.Errorf("the operator could not be reached: %w", err)
	}
	defer operator.Close()
	user, err := operator.Whoami(ctx)
	if err != nil {
		return fmt.Errorf("the operator could not be reached: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.port))))
	if err != nil {
		return fmt.Errorf("open a port on this machine: %w", err)
	}
	page := operator.NewPage(listener.Addr().String())
	fmt.Fprintf(s.Out, "The operator's page, as %s, until Ctrl-C:\n%s\n", user, page.Link())
	if o.open && kube.Terminal(s.Out) {
		if err := browse(ctx, page.Link()); err != nil {
			fmt.Fprintf(s.ErrOut, "The browser could not be started: %v. Open the link yourself.\n", err)
		}
	}
	return serve(ctx, listener, page)
}

// serve ends with the context, which is no error.
func serve(ctx context.Context, listener net.Listener, page http.Handler) error {
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// browse opens a link in the user's browser.
func browse(ctx context.Context, link string) error {
	words := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		words = []string{"open"}
	case "windows":
		words = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return exec.CommandContext(ctx, words[0], append(words[1:], link)...).Run() //nolint:gosec // the link is ours
}
